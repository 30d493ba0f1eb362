package buyer

import (
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

//go:embed scenes.js
var shopScript string

// scenes makes the tab's pages get the answers of shopScript. The tab's clock must be set.
func scenes(tab *browser.Tab, scenes string) {
	tab.Before("Math.random = () => 0.5; window.scenes = {" + scenes + "}; " + shopScript)
}

// How many requests an open page makes in an hour, after those of its load. 100,000 pages that
// are seen read the sale 1,340 times a second while it sells, which caches answer; who has an order,
// of which there are as many as units, also reads that.
func TestWhatAPageAsksForInAnHour(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	scenes(tab, `
		early: { first: { state: "NOT_OPEN", opens: 18000 } },
		opening: { first: { state: "NOT_OPEN", opens: 60 } },
		open: {},
		hidden: {},
		paused: { first: { state: "PAUSED" } },
		soldOut: { first: { state: "SOLD_OUT", remaining: 0 } },
		mayReturn: { first: { state: "SOLD_OUT", remaining: 0, mayReturn: true } },
		over: { first: { state: "CLOSED", closes: -60 } },
		past: { first: { state: "CLOSED", closes: -7200 } },
		recalled: { first: { state: "RECALLED" } },
		refunded: { first: { state: "RECALLED" }, claim: { state: "CANCELLED" } },
		confirmed: { claim: { state: "CONFIRMED" } },
		toCome: { claim: { state: "SHIPPED" } },
		unpaid: { first: { payWithin: 9000 }, claim: { state: "CONFIRMED", payBy: 9000 } },
		payable: { first: { state: "CLOSED", closes: -7200, payWithin: 9000 }, claim: { state: "CONFIRMED", payBy: 9000 } },
		expired: { first: { payWithin: 600, state: "SOLD_OUT", remaining: 0 }, claim: { state: "EXPIRED", payBy: -7200 } },
	`)
	for id, most := range map[string][2]float64{ // of the sale and of the claim
		"early": {5, 0}, "opening": {47, 0}, "open": {48, 0}, "hidden": {0, 0}, "paused": {48, 0}, "soldOut": {18, 0}, "mayReturn": {48, 0}, "over": {18, 0}, "past": {0, 0},
		"recalled": {0, 0}, "refunded": {0, 0}, "confirmed": {48, 48}, "toCome": {48, 48}, "unpaid": {48, 48}, "payable": {48, 48}, "expired": {18, 18},
	} {
		tab.Open(shop.page(id))
		hasRead(tab)
		if browser.Eval[float64](tab, "asked.sale") != 1 || browser.Eval[float64](tab, "asked.claim") != 1 {
			t.Errorf("%s: the load reads sale and claim %v times, want once", id, browser.Eval[any](tab, "asked"))
		}
		if id == "hidden" {
			browser.Eval[any](tab, "look(true)")
		}
		got := browser.Eval[[2]float64](tab, "pass(3600)")
		for i, what := range []string{"sale", "claim"} {
			if got[i]--; got[i] > most[i] || got[i] < most[i]*0.9-1 {
				t.Errorf("%s: %v reads of the %s in an hour, want about %v", id, got[i], what, most[i])
			}
		}
	}
}

// What changes reaches a page that is seen within a minute and a half, and is not announced by
// what was read before.
func TestAnOpenPageLearnsWhatHasChanged(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	noteStates(tab)
	scenes(tab, `
		paused: { then: { state: "PAUSED" } },
		resumed: { first: { state: "PAUSED" } , then: {} },
		added: { first: { state: "SOLD_OUT", remaining: 0 }, then: {} },
		returned: { first: { state: "SOLD_OUT", remaining: 0, mayReturn: true }, then: {} },
		recalled: { then: { state: "RECALLED" } },
		longer: { first: { closes: 30 }, then: { closes: 3600 } },
		ends: { first: { closes: 30 } },
		sold: { then: { remaining: 3 } },
		sizes: { first: { a: {}, b: {} }, then: { a: { remaining: 2 }, b: {} } },
		reopened: { first: { state: "CLOSED", closes: -60 }, then: {} },
		holder: { first: { payWithin: 60 }, claim: { state: "PAID", payBy: -60 }, then: { payWithin: 60, state: "RECALLED" }, later: { state: "CANCELLED", refunds: [{ amount: 500, currency: "CNY" }] } },
		reserved: { first: { payWithin: 600 }, claim: { state: "PENDING" }, later: { state: "CONFIRMED", payBy: 600 } },
		late: { first: { payWithin: 60 }, claim: { state: "CONFIRMED", payBy: -30 }, later: { state: "PAID", payBy: -30 } },
		operator: { first: { payWithin: 60 }, claim: { state: "PAID", payBy: -60 }, later: { state: "CANCELLED", refunds: [{ amount: 500, currency: "CNY" }, { amount: 700, currency: "CNY", refundedAt: "2026-11-11T12:00:00Z" }] } },
		back: { first: { payWithin: 60 }, claim: { state: "PAID" }, later: { state: "PAID", refund: { payment: "p", state: "whole", amount: 500, currency: "CNY", refundedAt: "2026-11-11T12:00:00Z" } } },
		won: { first: { payWithin: 60 }, claim: { state: "PAID", refund: { payment: "p", state: "disputed", amount: 500, currency: "CNY" } }, later: { state: "PAID" } },
		refunded: { first: { payWithin: 60, state: "RECALLED" }, claim: { state: "PAID" }, later: { state: "CANCELLED", refunds: [{ amount: 500, currency: "CNY" }] } },
		expired: { first: { state: "RECALLED" }, claim: { state: "EXPIRED", refunds: [{ amount: 500, currency: "CNY" }] } },
		paying: { first: { payWithin: 600 }, claim: { state: "CONFIRMED", payBy: 600, paymentUrl: "/pay" }, then: { payWithin: 600, state: "RECALLED" }, later: { state: "PAID", payBy: 600 } },
	`)
	for id, want := range map[string]struct{ from, to, shows, never string }{
		"paused":   {"open", "paused", "It will continue later.", ""},
		"resumed":  {"paused", "open", "Order one", ""},
		"added":    {"soldOut", "open", "Order one", ""},
		"returned": {"soldOut", "open", "Order one", ""},
		"recalled": {"open", "recalled", "Nobody can order any more.", ""},
		"longer":   {"open", "open", "Order one", "closed"},
		"ends":     {"open", "closed", "The sale is over.", ""},
		"sold":     {"open", "open", "3 of 20 left at ", ""},
		"sizes":    {"open", "open", "2 left", ""},
		"reopened": {"closed", "open", "Order one", ""},
		"holder":   {"paid", "recalledOrder", "Your payment of ¥5.00 will be paid back.", ""},
		"reserved": {"reserved", "unpaid", "Pay by ", ""},
		"late":     {"late", "paid", "Thank you.", ""},
		"operator": {"paid", "cancelled", "Your payment of ¥5.00 will be paid back.\nYour payment of ¥7.00 was paid back on November 11, 2026.", ""},
		"back":     {"paid", "unsettled", "Your payment of ¥5.00 was paid back on November 11, 2026.", ""},
		"won":      {"unsettled", "paid", "Paid. It’s yours!", ""},
		"refunded": {"recalledOrder", "recalledOrder", "Your payment of ¥5.00 will be paid back.", ""},
		"expired":  {"expired", "expired", "Your payment of ¥5.00 will be paid back.", ""},
		"paying":   {"unpaid", "recalledOrder", "Whatever you have paid for it is paid back.", "paid"},
	} {
		at := map[bool]string{true: "/g/", false: "/s/"}[id == "sizes"]
		tab.Open(shop.Stack.API + at + id)
		hasRead(tab)
		waitFor(t, tab, want.from)
		if id == "reserved" { // before the order has its id nobody knows until when to pay, and who leaves may lose the unit
			examine(t, tab, "reserved", "You got one. It is reserved for you.")
			tab.WaitText("Stay on this page: your order id follows in a moment, with the time by which you must pay.")
		}
		browser.Eval[any](tab, "(window.changed = true, pass(105))")
		waitFor(t, tab, want.to)
		text := browser.Eval[string](tab, "document.body.innerText")
		browser.Check(t, strings.Contains(strings.ReplaceAll(text, "CN¥", "¥"), want.shows), "%s: the page does not say %q:\n%s", id, want.shows, text)
		got := tab.Text("#countdown") + tab.Text("#pay") + tab.Text("#cancel")
		browser.Check(t, want.to != "recalledOrder" || got == "", "%s: a recalled order has %q", id, got)
		if want.never != "" {
			wantNever(t, tab, want.never)
		}
	}
}

// A buyer who comes back to the page sees at once what has changed, with the order that was
// placed on another device.
func TestAPageThatIsLookedAtAgainIsUpToDate(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	scenes(tab, `s: { first: {}, then: { state: "SOLD_OUT", remaining: 0 }, later: { state: "CONFIRMED" } },
		pays: { first: { payWithin: 600 }, claim: { state: "CONFIRMED", payBy: 600 }, later: { state: "PAID" } }`)
	tab.Open(shop.page("pays")) // in another app, for some seconds
	waitState(tab, "unpaid")
	browser.Eval[any](tab, "(look(true), pass(5))")
	browser.Eval[any](tab, "(window.changed = true, look(false), pass(1))")
	waitFor(t, tab, "paid")
	tab.Open(shop.page("s"))
	waitState(tab, "open")
	browser.Eval[any](tab, "(look(true), pass(29))")
	browser.Gives(tab, "(look(false), look(true), pass(0))", [2]float64{1, 1}, "asked for after half a minute")
	browser.Eval[any](tab, "pass(600)")
	browser.Gives(tab, "(window.changed = true, look(false), pass(1))", [2]float64{2, 2}, "asked for after ten minutes, sale and claim")
	waitState(tab, "confirmed")
}

// An answer may be overtaken by a newer one: nobody is asked to pay for what is paid.
func TestAnOlderAnswerThatComesLaterChangesNothing(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	const unpaid = `first: { payWithin: 6000 }, claim: { state: "CONFIRMED", payBy: 6000 }, `
	scenes(tab, `paid: { `+unpaid+`later: { state: "PAID" } }, cancelled: { `+unpaid+`later: { state: "CANCELLED" } }, recalled: { then: { state: "RECALLED" } }`)
	for state, tt := range map[string]struct{ from, held, then string }{
		"paid":      {"unpaid", "hold('/me', 1)", "(look(true), await pass(75), look(false))"},
		"cancelled": {"unpaid", "hold('/me', 1)", "(cancel.click(), sure.click())"},
		"recalled":  {"open", "hold('/recalled', 1)", "(look(true), await pass(40), look(false))"},
	} {
		tab.Open(shop.page(state))
		waitState(tab, tt.from)
		browser.Eval[any](tab, "(async () => { look(true); await pass(90); "+tt.held+"; look(false); await pass(1); })()")
		tab.Wait("window.release")
		browser.Eval[any](tab, "(async () => { window.changed = true; "+tt.then+"; await pass(1); })()")
		waitState(tab, state)
		browser.Eval[any](tab, "(release(), pass(5))")
		waitFor(t, tab, state)
	}
}

// The browser says that there is no network, and there is one.
func TestANetworkThatComesBackIsNoticed(t *testing.T) {
	t.Parallel()
	tab, saleID := shop.tab(t, newID("user")), shop.create(t, sale{})
	tab.Clock(0)
	tab.Before(`Object.defineProperty(Navigator.prototype, "onLine", { get: () => false })`)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	text := browser.Eval[string](tab, "document.body.innerText")
	browser.Check(t, !strings.Contains(text, "You are offline"), "an answer came, and the page says\n%s", text)
	tab.Answers("POST", "", browser.Answer{Refused: true}, browser.Problem(503, "busy", "1"))
	tab.Click(button)
	examine(t, tab, "offline", "You are offline.")
	passTime(t, tab, "confirmed")
}

// The functions that browsers of five years do not have: Chrome 96, Firefox 94 and Safari 15.
const newer = `
	delete URL.canParse; delete URL.parse; delete AbortSignal.timeout; delete AbortSignal.any; delete window.BroadcastChannel; delete window.structuredClone;
	delete crypto.randomUUID; delete Object.hasOwn; delete Object.groupBy; delete Promise.withResolvers; delete Promise.try; delete Element.prototype.ariaDisabled;
	for (const name of ["at", "findLast", "findLastIndex", "toSorted", "toReversed", "toSpliced", "with"]) delete Array.prototype[name];
	for (const name of ["at", "isWellFormed", "toWellFormed"]) delete String.prototype[name];`

func TestBrowsersOfFiveYearsWork(t *testing.T) {
	t.Parallel()
	tab, user := chromium.Tab(t), newID("user")
	tab.Before(newer)
	shop.signIn(t, tab, user)
	l := newLot(tab, user, true)
	l.shows("OPEN", -time.Hour, l.called(call{hi: l.rank.String(), from: -time.Hour}))
	l.open(tab)
	waitFor(t, tab, "called")
	// Firefox has :has from 121 on, and the second value of content from 128 on.
	rewrites(t, tab, "style", strings.NewReplacer(":has(", ":-x-has(", `/ ""`, `/ -x-`).Replace)
	groupID := newID("group")
	for _, size := range []string{"42", "43"} {
		shop.create(t, sale{}, map[string]any{"name": "Trail Runner · " + size, "limitGroup": groupID, "payWithin": 1800, "price": 89900, "currency": "CNY", "link": "https://shop.example/a"})
	}
	tab.Open(shop.Stack.API + "/g/" + groupID)
	waitState(tab, "open")
	choose(tab, "43")
	tab.Wait("new Set([...document.querySelectorAll('label')].map((l) => getComputedStyle(l).borderColor)).size === 2") // which one is chosen can be seen
	tab.Click(button)
	waitState(tab, "unpaid")
	for id, want := range map[string]string{"#pay": "Pay now", "#link": "More about it"} {
		tab.HasText(id, want, "%s says", id)
	}
	pays(tab, "alipay")
	tab.Open(shop.Stack.API + "/g/" + groupID)
	waitState(tab, "paid")
	mark := browser.Eval[string](tab, "getComputedStyle(line, '::before').content")
	browser.Check(t, mark != "none", "a paid order has no mark")
}

// Where the scripts do not run, because the browser is too old or one of them does not arrive, the page says what it
// needs and how to go on.
func TestAPageWithoutItsScriptsSaysHowToGoOn(t *testing.T) {
	for name, broken := range map[string]func(*browser.Tab){
		"too old": func(tab *browser.Tab) {
			rewrites(t, tab, "modules", strings.NewReplacer("export function", "export function =").Replace)
		},
		"no answer": func(tab *browser.Tab) {
			tab.Intercept(func(r browser.Request) browser.Answer {
				return browser.Answer{Refused: strings.HasPrefix(r.Path, "/assets/words-")}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := shop.tab(t, "")
			broken(tab)
			tab.Open(shop.page(shop.create(t, sale{})))
			tab.Wait("getComputedStyle(document.querySelector('#old')).visibility === 'visible'")
			tab.Axe()
			tab.Forgive(map[string]string{"too old": "SyntaxError", "no answer": "Failed to fetch"}[name])
			tab.Intercept(func(browser.Request) browser.Answer { return browser.Answer{} })
			tab.Click("#old a")
			waitState(tab, "open")
			browser.Check(t, tab.Text("#old") == "", "a page that works says that it may not")
		})
	}
}

// A browser translates what it finds, again and again. The page writes only what has become another text, so that
// the translation stays and a screen reader says nothing twice, and no number is translated.
func TestATranslationByTheBrowserStays(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	scenes(tab, `
		hold: { first: { payWithin: 600, price: 89900, currency: "CNY" }, claim: { state: "CONFIRMED", payBy: 600, paymentUrl: "/pay" }, later: { state: "PAID" } },
		sizes: { first: { a: { name: "Shoe 42" }, b: { name: "Shoe 43" } }, then: { a: { name: "Shoe 42", remaining: 3 }, b: { name: "Shoe 43" } } },
		soon: { first: { state: "NOT_OPEN", opens: 90, image: "`+imageOrigin+`/none.svg" }, then: { opens: 90 } },
	`)
	tab.Before(`told = () => document.title + "\n" + [...document.querySelectorAll("main, img")].map((e) => e.innerText + e.alt).join("\n")`)
	shows(tab, "", "", "") // the picture
	for address, then := range map[string]struct{ numbers, says string }{
		"/s/hold":  {`^S hold\nCN¥899.00\nOrder id 1$`, "Paid. It’s yours!"},
		"/g/sizes": {"", "3 left"},
		"/s/soon":  {"", "The sale is open."},
	} {
		tab.Open(shop.Stack.API + address)
		hasRead(tab)
		if address == "/s/soon" {
			tab.Wait("document.querySelector('#picture').hidden")
		}
		tab.Translate()
		told := browser.Eval[[2]string](tab, "[told(), countdown.innerText]")
		before, shown := told[0], told[1]
		browser.Eval[any](tab, "pass(5)")
		if line := tab.Text(line); !strings.HasPrefix(line, "~") {
			t.Fatalf("%s: %q is not translated", address, line)
		}
		now := tab.Text("#countdown")
		browser.Check(t, now == "" || now < shown && !strings.Contains(now, "~"), "%s: the countdown says %q after %q", address, now, shown)
		got := strings.Replace(browser.Eval[string](tab, "told()"), tab.Text("#countdown"), shown, 1)
		browser.Check(t, got == before, "%s: the page has written over its translation:\n%s\nbefore:\n%s", address, got, before)
		got = tab.Text("#order")
		browser.Check(t, regexp.MustCompile(then.numbers).MatchString(got), "%s: the order is %q", address, got)
		browser.Eval[any](tab, "(window.changed = true, pass(105))")
		tab.WaitText(then.says)
	}
}

// Seven sizes and a picture are higher than the screen of a phone, and the button is in sight.
func TestTheOrderButtonStaysInSight(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	var open, early []string
	for size := range 7 {
		more := fmt.Sprintf(`name: "Trail Runner · %d", remaining: 20, image: "%s/a.svg", price: 89900, currency: "CNY", payWithin: 600, about: "Hand-made.\nOf wool."`, 38+size, imageOrigin)
		open = append(open, fmt.Sprintf("s%d: { %s }", size, more))
		early = append(early, fmt.Sprintf(`s%d: { state: "NOT_OPEN", opens: 3600, %s }`, size, more))
	}
	scenes(tab, "open: { first: {"+strings.Join(open, ",")+"} }, early: { first: {"+strings.Join(early, ",")+"} }")
	tab.Intercept(func(r browser.Request) browser.Answer {
		if !strings.HasPrefix(r.URL, imageOrigin) {
			return browser.Answer{}
		}
		return browser.Answer{Status: 200, Header: map[string]string{"Content-Type": "image/svg+xml"}, Body: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3"><path fill="#c96f4a" d="M0 0h4v3H0z"/></svg>`}
	})
	for state, scheme := range map[string]string{"early": "dark", "open": "light"} {
		tab.Prefer("prefers-color-scheme", scheme)
		for _, language := range []string{"zh-CN", "en-GB"} {
			tab.Language(language)
			tab.Open(shop.Stack.API + "/g/" + state)
			tab.Wait("document.querySelector('#picture img')?.naturalWidth > 0")
			for _, size := range [][2]int64{{320, 480}, {320, 568}, {360, 740}, {1280, 800}} {
				tab.Size(size[0], size[1])
				seen := browser.Eval[bool](tab, `(({ left, top, width, height }) => top >= 0 && top + height <= innerHeight && document.elementFromPoint(left + width / 2, top + height / 2) === act)(act.getBoundingClientRect())`)
				browser.Check(t, seen, "%s, %v: the button is out of sight", state, size)
			}
		}
		day := time.Now().UTC()
		if state == "early" {
			day = day.Add(time.Hour) // it opens then, after eleven at night tomorrow
		}
		if facts := tab.Text("#facts"); state == "early" && !strings.Contains(facts, "140 units for sale") || !strings.Contains(facts, day.Format("2 January 2006")) {
			t.Errorf("a British buyer of one of seven sizes of 20 reads %q", facts)
		}
	}
}

func TestTheScriptsTypesAreRight(t *testing.T) {
	t.Parallel()
	compiler := filepath.Join(browser.Folder(root), "node_modules", "typescript", "bin", "tsc")
	out, err := exec.CommandContext(t.Context(), "node", compiler, "--project", filepath.Join(root, "infra/proof/browser/tsconfig.json")).CombinedOutput()
	browser.Check(t, err == nil, "%v\n%s", err, out)
}
