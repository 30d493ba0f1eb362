package operator

import (
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// market is a shop with a sale in each state.
func market(t *testing.T) *shop {
	s := open(t)
	now := time.Now()
	s.add("moutai", "Feitian Moutai 53 %", nil)
	s.add("trail-42", "Trail Runner 7, size 42", object{"state": "PAUSED", "paused": true, "edits": 1, "limitGroup": "trail-runner"})
	s.add("lamp", "Lamp", object{"state": "NOT_OPEN", "opensAt": instant(now.Add(26*time.Hour + 30*time.Minute)), "closesAt": instant(now.Add(30 * time.Hour)), "books": nil})
	wrong := object{"asOf": instant(now.Add(-8 * time.Minute)), "stock": 0, "seeded": 50, "claims": 51, "pending": 4, "confirmed": 47, "paid": 40, "unpaid": 7, "released": 0,
		"refundsDue": 2, "oldestPendingSeconds": 402, "balanced": false, "findings": []string{"shard 3: 11 claims of 10 units"}}
	s.add("kettle", "Kettle", object{"state": "SOLD_OUT", "seeded": 50, "shards": 5, "books": wrong})
	s.add("shoe", "Shoe", object{"state": "RECALLED", "paused": true, "recalledAt": instant(now), "recalling": true, "recallNote": "the soles come off"})
	s.add("future", "", object{"error": "newer-version"})
	s.add("old", "Old sale", object{"state": "CLOSED", "drained": true, "opensAt": instant(now.Add(-48 * time.Hour)), "closesAt": instant(now.Add(-47 * time.Hour))})
	s.by(t, "arn:aws:sts::123456789012:assumed-role/ops/bob", "moutai", false, object{"id": "a1", "action": "add", "stock": 50.0, "note": "the second pallet"})
	s.by(t, "carol", "moutai", true, object{"id": "a2", "action": "reschedule", "opensAt": instant(now.Add(-time.Hour)), "closesAt": instant(now.Add(27*time.Hour + 30*time.Minute))})
	s.by(t, "", "moutai", false, object{"id": "a3", "action": "describe", "about": "x"})
	return s
}

// looks are what the page is examined in.
var looks = []struct {
	name, language, scheme string
	width                  int64
}{{"wide", "en-US,en", "light", 1200}, {"dark", "en-US,en", "dark", 800}, {"zh", "zh-CN,zh", "light", 800}, {"narrow", "zh-CN,zh", "dark", 360}, {"phone", "en-US,en", "light", 320}}

// TestEveryViewIsForEverybody opens each view in both languages and schemes, down to 320 pixels.
func TestEveryViewIsForEverybody(t *testing.T) {
	t.Parallel()
	s := market(t)
	s.feels(ill())
	s.shoe(9, 10, 11)
	s.owes("moutai", 60)
	s.owes("", 1)
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			tab := s.tab(t, "operator alice")
			tab.Before("delete AbortSignal.any; delete AbortSignal.timeout") // browsers before 2024 lack the one or both
			tab.Language(l.language)
			tab.Prefer("prefers-color-scheme", l.scheme)
			tab.Size(l.width, 900)
			examine := func(view, ready string) {
				t.Helper()
				tab.Wait(ready)
				tab.Axe()
				over := browser.Eval[int](tab, "Math.max(...['html', 'dialog'].map((e) => document.querySelector(e)).map((e) => e.scrollWidth - e.clientWidth), ...[...document.querySelectorAll('.field input')].map((e) => 100 - e.offsetWidth))")
				browser.Check(t, over <= 0, "%s is %d pixels too wide, or a field too narrow", view, over)
			}
			tab.Open(s.URL + "/")
			examine("sales", "document.querySelectorAll('.card').length === 7 && document.querySelectorAll('.rows li').length === 9")
			tab.Open(s.URL + "/#create/moutai")
			examine("create", "document.querySelector('#new-name')?.value.startsWith('Feitian')")
			tab.Open(s.URL + "/#sale/moutai")
			tab.Wait("document.querySelectorAll('.trail li').length === 3")
			tab.Type("#user", "alice")
			tab.Press(browser.Enter)
			examine("sale", "document.querySelector('.story')")
			for _, action := range []string{"reschedule", "add", "recall"} {
				press(tab, action)
				if action == "add" {
					tab.Type("#units", "250")
				}
				examine(action, "document.querySelector('dialog').open")
				tab.Click(".answers button[type=button]")
				tab.Wait("!document.querySelector('dialog').open")
			}
			tab.Open(s.URL + "/#sale/trail-42")
			press(tab, "resume")
			examine("resume", "document.querySelector('dialog').open")
			tab.Open(s.URL + "/#sale/shoe")
			examine("recalled", "document.querySelector('[data-state=RECALLED]') && !document.querySelector('dialog').open")
			tab.Open(s.URL + "/#group/runner")
			tab.Wait("document.querySelectorAll('.sizes li').length === 3")
			tab.Click("p.others button.recall")
			examine("group", "document.querySelector('.recalling')")
			tab.Open(s.URL + "/#sale/runner-10")
			examine("pace", "document.querySelector('.pace')")
			tab.Open(s.URL + "/#refunds/sale/moutai")
			tab.Wait("document.querySelector('[data-key=csv]')")
			tab.Click("#every")
			tab.Click("[data-key=mark]")
			examine("refunds", "document.querySelector('[data-key=asked]')")
		})
	}
}

func TestWhatAReaderOpensStaysOpenWhenThePageIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	s := market(t)
	tab := s.tab(t, "viewer dave")
	tab.Clock(0)
	s.look(tab, "#sale/moutai", "Feitian Moutai 53 %")
	tab.Click("summary")
	tab.Advance(3 * time.Second)
	browser.Check(t, browser.Eval[bool](tab, "document.querySelector('details').open"), "what the numbers are is closed again")
}

// The API's clock says when a sign-in ends, and not the device's.
func TestADevicesClockSignsNobodyOut(t *testing.T) {
	t.Parallel()
	s := market(t)
	for _, tt := range []struct {
		wrong         time.Duration
		expires, says string // the first in hours from what the device's clock says
	}{{48 * time.Hour, "-47", "Sign out"}, {-48 * time.Hour, "49", "Sign out"}, {-48 * time.Hour, "47", "Your sign-in has ended."}} {
		tab := s.tab(t, "")
		tab.Clock(tt.wrong)
		tab.Before(`sessionStorage.token = JSON.stringify({access: "operator alice", expires: Date.now() + 3600000 * ` + tt.expires + `})`)
		tab.Open(s.URL + "/")
		if tt.says == "Sign out" {
			tab.WaitText("Feitian Moutai")
			tab.Advance(2 * time.Second)
		}
		tab.WaitText(tt.says)
	}
}

func TestWithoutAStorageThePageSaysWhyNobodyCanSignIn(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, storage := range []string{`get() { throw new DOMException("denied", "SecurityError") }`, "value: null"} {
		tab := s.tab(t, "")
		tab.Before(`Object.defineProperty(window, "sessionStorage", {` + storage + `})`)
		tab.Open(s.URL + "/")
		tab.WaitText("Sign in to operate sales.")
		tab.Click("#main button")
		tab.WaitText("You cannot sign in here: this app or browser stores nothing. Open this page in your usual browser.")
	}
}

func TestAPageWithoutItsScriptsSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	s := market(t)
	tab := s.tab(t, "operator alice")
	tab.Intercept(func(r browser.Request) browser.Answer {
		return browser.Answer{Refused: strings.HasPrefix(r.Path, "/assets/modules.")}
	})
	tab.Open(s.URL + "/")
	tab.Wait("getComputedStyle(document.querySelector('#old')).visibility === 'visible'")
	tab.Intercept(func(browser.Request) browser.Answer { return browser.Answer{} })
	tab.Click("#old a")
	tab.WaitText("Feitian Moutai")
	tab.Wait("!document.querySelector('#old')")
}

// A browser does not ask again for a script that has not arrived, and waits for one indefinitely.
func TestAViewWhoseScriptDoesNotArriveIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := market(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	for script, view := range map[string][2]string{"create": {"#create", "What is sold"}, "refunds": {"#refunds", "Show done ones"}, "chart": {"#sale/moutai", "Over time"}} {
		for name, first := range map[string]browser.Answer{"no answer": {Until: never}, "no network": {Refused: true}} {
			t.Run(script+" "+name, func(t *testing.T) {
				tab := s.tab(t, "operator alice")
				tab.Clock(0)
				var asked atomic.Int64
				tab.Intercept(func(r browser.Request) browser.Answer {
					if strings.HasPrefix(r.Path, "/assets/"+script+".") && asked.Add(1) == 1 {
						return first
					}
					return browser.Answer{}
				})
				tab.Open(s.URL + "/" + view[0])
				for asked.Load() == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				tab.Advance(16 * time.Second)
				tab.WaitText("This part did not arrive.")
				tab.Axe()
				tab.Click("[data-key=absent] button")
				tab.WaitText(view[1])
			})
		}
	}
}

// A browser translates what it finds, again and again. The page writes only what has become another text, and no id,
// amount or time is translated.
func TestATranslationByTheBrowserStays(t *testing.T) {
	t.Parallel()
	s := market(t)
	s.owes("moutai", 1)
	s.shoe(9, 10)
	for _, tt := range []struct{ place, heading, exact, last string }{
		{"", "Sales", "moutai", "Create a sale"}, {"#sale/moutai", "Feitian Moutai 53 %", "moutai", "Accepted 151"},
		{"#group/runner", "runner", "runner", "Recall sizes"}, {"#refunds/sale/moutai", "Refunds", "CN¥1,499.00", "Mark by a file"},
	} {
		tab := s.tab(t, "operator alice")
		tab.Clock(0)
		s.look(tab, tt.place, tt.heading)
		tab.WaitText(tt.exact, tt.last, "alice may change")
		tab.Translate()
		told := browser.Eval[string](tab, `(told = () => [...document.querySelectorAll("title, main h1, main h2, main label, main dt, main button, main code, main [aria-label], main [translate=no]")]
			.map((e) => e.textContent + (e.ariaLabel ?? "")).join("\n"))()`)
		tab.Advance(3 * time.Second) // it is brought up to date every second
		now := browser.Eval[string](tab, "told()")
		browser.Check(t, now == told && strings.Contains(now, "~"), "%q: the page has written over its translation:\n%s\nbefore:\n%s", tt.place, now, told)
		browser.Check(t, strings.Contains(told, "\n"+tt.exact+"\n"), "%q: %q is translated:\n%s", tt.place, tt.exact, told)
	}
}

// The orders of a sale hang, and were counted before that was worth a word; nobody counts another one.
func TestWhatIsWrongIsRedAndItsAgeGoesOn(t *testing.T) {
	t.Parallel()
	s := open(t)
	counted := func(ago time.Duration, pending, waits int) object {
		return object{"books": object{"asOf": instant(time.Now().Add(-ago)), "stock": 812, "seeded": 1000, "claims": 188, "pending": pending, "confirmed": 185, "paid": 140, "unpaid": 45,
			"released": 6, "refundsDue": 0, "oldestPendingSeconds": waits, "balanced": true, "findings": []string{}}}
	}
	s.add("well", "Well", counted(58*time.Second, 3, 4))
	tab := s.tab(t, "operator alice")
	s.look(tab, "", "Sales")
	tab.WaitText("all counted books balance", "Selling")
	s.add("hangs", "Hangs", counted(62*time.Second, 3, 20))
	s.add("silent", "Silent", counted(11*time.Minute, 0, 0))
	tab.WaitText("Oldest waits")
	shows := func(id, text string) {
		t.Helper()
		tab.Wait("[...document.querySelectorAll('.card')].find((c) => c.innerText.includes('" + id + "'))?.innerText.replace(/\\s+/g, ' ').includes('" + text + "')")
	}
	shows("hangs", "Oldest waits 1 min 28 s if it still does")
	shows("hangs", "Selling, orders that hang")
	shows("hangs", "Oldest waits 1 min 31 s if it still does")
	shows("hangs", "orders that hang · Runbook: OldestPendingAlarm")
	shows("silent", "no count for 10 minutes · Runbook: ReconcileSilentAlarm")
	tab.WaitText("1 with orders that hang · 1 with no count for 10 minutes")
	text := tab.Text("main")
	browser.Check(t, !strings.Contains(text, "all counted books balance"), "the page says that all is well: %s", text)
	color := func(of string) string { return browser.Eval[string](tab, "getComputedStyle("+of+").color") }
	for i, id := range []string{"hangs", "silent", "well"} {
		badge := color("[...document.querySelectorAll('.card')].find((c) => c.innerText.includes('" + id + "')).querySelector('.badge')")
		bad := badge == color("document.querySelector('.troubles')")
		browser.Check(t, bad == (i < 2), "%s: the state is %s", id, badge)
	}
	links := browser.Eval[string](tab, "[...document.querySelectorAll('.troubles a')].map((a) => a.href).sort().join(' ')")
	want := "https://wiki.example/runbook#oldestpendingalarm https://wiki.example/runbook#tickets-the-functions"
	browser.Check(t, links == want, "the links are %s, want %s", links, want)
}

// Sizes with money in two currencies, of which one is beyond 2^53; one size was recalled.
func TestAGroupIsSummedExactlyAndAsOfItsOldestCount(t *testing.T) {
	t.Parallel()
	s := open(t)
	size := func(n int, ago time.Duration, stock, seeded int, more object, money ...object) {
		books := object{"asOf": instant(time.Now().Add(-ago)), "stock": stock, "seeded": seeded, "claims": 9, "pending": 0, "confirmed": 9, "paid": 9, "unpaid": 0, "released": 0, "refundsDue": 0,
			"oldestPendingSeconds": 0, "balanced": true, "findings": []string{}, "money": append([]object{}, money...)}
		maps.Copy(more, object{"limitGroup": "runner", "seeded": seeded, "books": books})
		s.add(fmt.Sprint("runner-", n), fmt.Sprint("Runner ", n), more)
	}
	sum := func(currency string, digits int, taken int64) object {
		return object{"currency": currency, "digits": digits, "taken": taken, "outstanding": 0, "due": 0, "refunded": 0}
	}
	size(9, 20*time.Second, 12, 20, object{}, sum("CNY", 2, 1<<53+1))
	size(10, 8*time.Minute, 15, 20, object{}, sum("CNY", 2, 1), sum("JPY", 0, 1<<53+1))
	size(11, time.Minute, 3, 4, object{"state": "RECALLED", "recalledAt": instant(time.Now()), "paused": true})
	tab := s.tab(t, "viewer dave")
	tab.Clock(time.Hour) // by which nothing is told
	s.look(tab, "#group/runner", "runner")
	tab.WaitText("CN¥90,071,992,547,409.94", "¥9,007,199,254,740,993", "As counted 8 min", "27 of 40 left", "3 of 4 not sold")
	s.look(tab, "#sale/runner-11", "Runner 11")
	tab.WaitText("of 4 not sold")
}

// Nothing that others have written becomes markup or a script.
func TestTextsOfOthersStayTexts(t *testing.T) {
	t.Parallel()
	s := open(t)
	evil := func(what string) string { return what + ` <img src=x onerror="document.title='hacked'"><b>` }
	s.add("moutai", evil("name"), object{"limitGroup": evil("group"), "recallNote": evil("recall"), "books": object{
		"asOf": instant(time.Now()), "stock": 1, "seeded": 2, "claims": 1, "pending": 0, "confirmed": 1, "paid": 0, "unpaid": 1, "released": 0, "refundsDue": 0, "oldestPendingSeconds": 0,
		"balanced": false, "findings": []string{evil("finding")}}})
	s.add("other", "", object{"error": evil("error")})
	tab := s.tab(t, "operator "+evil("actor"))
	s.look(tab, "", "Sales")
	tab.WaitText(evil("name"), evil("error"))
	s.by(t, evil("user"), "moutai", false, object{"id": "x1", "action": "add", "stock": 1.0, "note": evil("note")})
	tab.WaitText(evil("user"))
	tab.Click("a[href='#sale/moutai']")
	for _, what := range []string{"actor", "name", "finding", "note", "user", "group", "recall"} {
		tab.WaitText(evil(what))
	}
	tab.Type("#user", evil("buyer"))
	tab.Press(browser.Enter)
	tab.WaitText(evil("buyer"))
	press(tab, "add")
	tab.Wait("document.querySelector('dialog').open")
	n := browser.Eval[int](tab, "document.querySelectorAll('img, script:not([src]), main b b').length")
	browser.Check(t, n == 0 && browser.Eval[string](tab, "document.title") != "hacked", "%d elements were made of texts", n)
	for _, place := range []string{`#sale/<img src=x>`, "#sale/..%2f..", "#sale/", "#javascript:alert(1)", "#sale/%"} {
		s.look(tab, place, "Sales")
	}
}
