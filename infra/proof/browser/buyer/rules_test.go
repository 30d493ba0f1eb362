package buyer

import (
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

var broken = flag.Bool("broken", false, "also check that each rule's broken pages are noticed, which takes minutes")

// mutant is a broken version of the page: text of one of its files is replaced.
type mutant struct{ file, old, new string }

// rules are what the page must do, each with broken pages that its check must notice.
var rules = map[string]struct {
	check   func(t testing.TB, tab *browser.Tab)
	mutants []mutant
}{
	"the first order has no key and its repeats have the same one": {keysOfOrders, []mutant{
		{"page.js", `orders++ ? "page" : ""`, `"page"`},
		{"page.js", `orders++ ? "page" : ""`, `""`},
		{"page.js", `orders++ ? "page" : ""`, `orders++ ? crypto.randomUUID() : ""`},
		{"page.js", `orders++ ? "page" : ""`, `(sessionStorage.key2 ??= "k")`},
	}},
	"an order after a reload has the key": {keyAfterAReload, []mutant{
		{"page.js", `e.type !== "navigate"`, `false`},
	}},
	"a busy shop is asked again, not too soon and not for ever": {repeatsOfABusyShop, []mutant{
		{"page.js", `a.wait + 500 + Math`, `500 + Math`},
		{"page.js", `if (!again || n === most) return a;`, `if (!again) return a;`},
	}},
	"a page reads the sale twice until it opens, and nothing in the rush after that": {readsBeforeTheOpening, []mutant{
		{"page.js", `if (!sale?.draw) return;`, ``},
		{"page.js", `if (now() >= reread) refresh();`, `refresh();`},
		{"page.js", `if (now() >= reread) reread = Infinity;`, ``},
		{"page.js", `sale.opens - (0.2 + 0.6 * Math.random())`, `sale.opens - 0.2`},
	}},
	"the countdown is the shop's": {countdownByTheShop, []mutant{
		{"shop.js", `performance.now() + offset`, `Date.now()`},
	}},
	"a sale's name is text": {nameAsText, []mutant{
		{"page.js", `e.textContent = text`, `e.innerHTML = text`},
	}},
	"a buyer pays where it is safe": {paymentElsewhere, []mutant{
		{"page.js", `protocol === "https:" || origin === own`, `true`},
		{"page.js", `!address || typeof`, `typeof`},
	}},
	"two presses do not cancel": {cancellationPressedTwice, []mutant{
		{"page.js", `cancelling = asking ? "" : "cancelSure";`, `if (asking) return cancel(); cancelling = "cancelSure";`},
		{"page.js", `keep.className = asking ? "keep" : "";`, ``},
	}},
	"an opening is read again before it is announced": {movedOpening, []mutant{
		{"page.js", `moved ||= Math.abs(sale.opens - before) > 0;`, ``},
		{"page.js", `if (passing(a) && (phase() === "NOT_OPEN" || sale?.draw))`, `if (false)`},
		{"page.js", `if (sale.opens !== before) reread`, `if (Number.isNaN(before)) reread`},
	}},
	"a winner is not refused": {refusalOfAWinner, []mutant{
		{"page.js", `(refusals.includes(is) && !token() && available`, `(false`},
		{"page.js", `else await seek(false);`, `else seek(false);`},
		{"page.js", `includes(phase())) await Promise`, `includes("OPEN")) await Promise`},
	}},
	"an order that is not paid is only reserved": {reservedOrder, []mutant{
		{"page.js", `["PENDING", "CONFIRMED"].includes(claim?.state)`, `claim?.state === "PENDING"`},
		{"page.js", `state() === "reserved" || wait`, `wait`},
		{"page.js", `if (payBy()) return now() < payBy() ? "unpaid" : "late";`, `if (now() >= payBy()) return "late";`},
	}},
	"a buyer whose order has ended is told what becomes of a payment": {paymentOfAnEndedOrder, []mutant{
		{"page.js", `already && ["accepted", "confirmed", "held"].includes(is)`, `already`},
		{"page.js", `claim?.state !== "PAID" && now()`, `claim?.state === "CONFIRMED" && now()`},
		{"page.js", `return refundedAt ?`, `return !refundedAt ?`},
		{"page.js", `[detail(is), ...refunds()]`, `[detail(is)]`},
	}},
	"a cancelled order stays cancelled": {cancellationDuringALook, []mutant{
		{"page.js", `if (claim !== was) return;`, ``},
	}},
	"a payment after its time is shown": {paymentAfterItsTime, []mutant{
		{"page.js", `const late = 600000;`, `const late = 0;`},
	}},
	"the time left to pay is measured again": {clockOfAnUnpaidOrder, []mutant{
		{"page.js", `|| slept()))`, `))`},
	}},
	"what is sold is shown, and nothing of elsewhere": {whatIsSold, []mutant{
		{"page.js", `protocol === "https:" || origin === own`, `true`},
		{"page.js", `broken = image;`, ``},
		{"page.js", `put("about", sale?.text ?? "")`, `put("about", "")`},
		{"page.js", `digits[currency] ?? 2`, `2`},
		{"page.js", `digits[currency] ?? 2`, `new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2`},
		{"page.js", `words.orderFor ? fill(words.orderFor, sale.price)`, `"" ? ""`},
		{"page.js", `sale.read >= sale.opens ? sale`, `sale.read < sale.opens ? sale`},
	}},
	"a recalled sale says so before anything else": {recalledSale, []mutant{
		{"page.js", `claim.state !== "EXPIRED" && sale?.state === "RECALLED"`, `false`},
		{"page.js", `is === "unpaid" ? payBy() : NaN`, `payBy()`},
		{"page.js", `claim.state !== "EXPIRED" && sale`, `sale`},
		{"page.js", `RECALLED: "recalled",`, ``},
		{"page.js", `recalled: "recalled", "already`, `"already`},
		{"page.js", `"closed", "recalled", "otherState", "turnOver",`, `"closed", "otherState", "turnOver",`},
	}},
	"the sales of a group are one choice, and one order": {oneOfAGroup, []mutant{
		{"page.js", `if (wanted && group && !chosen)`, `if (false)`},
		{"page.js", `    choose(elsewhere);`, ``},
		{"page.js", `sale.state = "SOLD_OUT";`, ``},
		{"page.js", `&& s !== sale)) return words.otherChoice`, `&& s === sale)) return words.otherChoice`},
		{"page.js", `&& !elsewhere;`, `;`},
		{"page.js", `(group || sale?.grouped) && words`, `false && words`},
	}},
	"a choice outlives the sign-in": {choiceOverASignIn, []mutant{
		{"page.js", `if (id) sessionStorage`, `if (false) sessionStorage`},
		{"page.js", `const at = group ? "g" : "s";`, `const at = "s";`},
	}},
	"a holder finds the order in whichever sale of the group it is": {orderOfAGroup, []mutant{
		{"page.js", `if (other && sales.some((s) => s.id === other)) {`, `if (false) {`},
	}},
	"a call's end is read again before it is announced": {callMadeLonger, []mutant{
		{"draw.js", `sale.read < turn.until`, `now() < turn.until`},
		{"page.js", `[sale.closes, lot?.end(sale, "called") ?? NaN]`, `[sale.closes]`},
	}},
	"a draw is entered once, and its receipt is kept": {entryAndReceipt, []mutant{
		{"page.js", `call("PUT", `, `call("GET", `},
		{"page.js", `doing === "entering" ? doing : "loading"`, `"loading"`},
		{"page.js", `  code = "";
  render();
  const a = await repeat(() => call("PUT"`, `  code = "";
  const a = await repeat(() => call("PUT"`},
		{"draw.js", `localStorage.setItem("draw " + sale.id,`, `localStorage.setItem("drawn " + sale.id,`},
		{"draw.js", `if (token() && !place.leaf &&`, `if (token() &&`},
	}},
	"a receipt is its owner's": {receiptOfAnother, []mutant{
		{"draw.js", `place.user !== user)`, `false)`},
	}},
	"a rank decides about the turn as the shop does": {turnByRank, []mutant{
		{"draw.js", `rank <= (c.hi`, `rank < (c.hi`},
		{"draw.js", `sale.read < turn.until`, `true`},
		{"draw.js", `last?.hi ?`, `last ?`},
		{"draw.js", `rankOf(draw.seed, leaf)`, `rankOf(leaf, draw.seed)`},
		{"draw.js", `seedOf(id, roll, await`, `seedOf("", roll, await`},
	}},
	"the page notices another roll, and one without the buyer": {forgedDraw, []mutant{
		{"draw.js", `(!!draw.roll && draw.roll !== roll)`, `false`},
		{"draw.js", `draw.seed !== await seedOf`, `draw.seed === await seedOf`},
		{"draw.js", `leaf !== await leafOf`, `leaf === await leafOf`},
		{"draw.js", `a.body.leaves.includes(leaf)`, `true`},
		{"draw.js", `if (placeOf(sale).doubt)`, `if (false)`},
	}},
	"a page reads a draw when something is known to happen": {readsOfADraw, []mutant{
		{"draw.js", `place.leaf ? !sale.draw?.roll :`, `place.leaf ? false :`},
		{"draw.js", `place.leaf ? !sale.draw?.roll :`, `place.leaf ? true :`},
		{"draw.js", `place.on !== null ||`, ``},
		{"draw.js", `2 ** Math.min(place.late++, 5)`, `1`},
		{"draw.js", `if (last.open) return Infinity;`, `return last.from + gap;`},
		{"draw.js", `Math.max(time, until);`, `time;`},
	}},
	"only the sign-in that was asked for is accepted": {signInOfOthers, []mutant{
		{"signin.js", `answer.get("state") === state &&`, ``},
		{"signin.js", `validSale(sale) ? sale : ""`, `sale`},
	}},
}

func TestThePagesRules(t *testing.T) {
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule.check(t, chromium.Tab(t))
			if !*broken {
				return
			}
			for _, m := range rule.mutants {
				r := &recorder{TB: t}
				r.run(func() {
					tab := chromium.Tab(r)
					tab.Change(m.file, m.old, m.new)
					rule.check(r, tab)
				})
				if len(r.failures) == 0 {
					t.Errorf("the check does not notice %q in place of %q", m.new, m.old)
				} else if strings.Contains(r.failures[0], "times, want once") {
					t.Error(r.failures[0])
				}
			}
		})
	}
}

// recorder is a test that is expected to fail.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) run(test func()) {
	var done sync.WaitGroup
	done.Go(func() {
		defer func() {
			for _, cleanup := range slices.Backward(r.cleanups) {
				cleanup()
			}
		}()
		test()
	})
	done.Wait()
}

func (r *recorder) Helper()                   {}
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(a ...any)            { r.fail(fmt.Sprint(a...)) }
func (r *recorder) Errorf(f string, a ...any) { r.fail(fmt.Sprintf(f, a...)) }
func (r *recorder) Fatal(a ...any)            { r.fail(fmt.Sprint(a...)); runtime.Goexit() }
func (r *recorder) Fatalf(f string, a ...any) {
	r.fail(fmt.Sprintf(f, a...))
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, text)
}

func keysOfOrders(t testing.TB, tab *browser.Tab) {
	saleID := shop.create(t, sale{stock: 1})
	shop.signIn(t, tab, newID("user"))
	tab.Clock(0)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	posts(tab, browser.Answer{Lost: true}, browser.Problem(503, "busy", "1"))
	tab.Click(button)
	for len(keys(tab)) < 3 && !t.Failed() {
		tab.Advance(time.Second)
		time.Sleep(10 * time.Millisecond)
	}
	wantKeys(t, tab, "", "page", "page")
	if stored := browser.Eval[[]string](tab, "[...Object.keys(sessionStorage), ...Object.keys(localStorage), document.cookie].filter((k) => k && k !== 'token')"); len(stored) > 0 {
		t.Errorf("the page stores %q", stored)
	}
	if !t.Failed() {
		passTime(t, tab, "confirmed") // although the sale is sold out by now
		shop.sold(t, saleID, 1)
	}
}

// The order arrives after the reloaded page has looked for it, and takes the last unit.
func keyAfterAReload(t testing.TB, tab *browser.Tab) {
	saleID, user := shop.create(t, sale{stock: 1}), newID("user")
	shop.signIn(t, tab, user)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	hold := make(chan struct{})
	defer close(hold)
	posts(tab, browser.Answer{Until: hold})
	tab.Click(button)
	examine(t, tab, "sending", "Sending your order …")
	tab.Click(button) // does nothing
	tab.Reload()
	waitState(tab, "open")
	shop.buy(t, saleID, user)
	tab.Click(button)
	tab.Wait("!['open', 'sending', 'busy'].includes(main.dataset.state)")
	wantKeys(t, tab, "", "page")
	if is := browser.Eval[string](tab, "main.dataset.state"); is != "accepted" && is != "confirmed" {
		t.Errorf("the buyer of the last unit is told %s", is)
	}
	shop.sold(t, saleID, 1)
}

func repeatsOfABusyShop(t testing.TB, tab *browser.Tab) {
	saleID := shop.create(t, sale{})
	shop.signIn(t, tab, newID("user"))
	tab.Clock(0)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	posts(tab, slices.Repeat([]browser.Answer{browser.Problem(503, "busy", "60")}, 99)...)
	tab.Click(button)
	waitState(tab, "busy")
	if tab.Advance(30 * time.Second); len(keys(tab)) != 1 {
		t.Errorf("the order was repeated before the Retry-After")
	}
	for browser.Eval[string](tab, "main.dataset.state") != "stuckOrder" && len(keys(tab)) < 12 && !t.Failed() {
		tab.Advance(10 * time.Second)
		time.Sleep(10 * time.Millisecond)
	}
	if n := len(keys(tab)); n != 9 {
		t.Errorf("%d orders were sent, want 9 until the next press", n)
		return
	}
	examine(t, tab, "stuckOrder", "The shop did not confirm your order. It may still have arrived.")
	posts(tab)
	tab.Click(button)
	passTime(t, tab, "confirmed")
	wantKeys(t, tab, append([]string{""}, slices.Repeat([]string{"page"}, 9)...)...)
}

// A page that is opened long before the sale makes these requests and no others.
func readsBeforeTheOpening(t testing.TB, tab *browser.Tab) {
	for _, second := range []struct {
		random string
		before time.Duration // the opening
	}{{"0.999999", 120 * time.Second}, {"0", 30 * time.Second}} {
		saleID := shop.create(t, sale{opens: 10 * time.Minute})
		read := "/sales/" + saleID
		shop.signIn(t, tab, newID("user"))
		tab.Clock(0)
		tab.Before("Math.random = () => " + second.random)
		before := len(tab.Calls())
		tab.Open(shop.page(saleID))
		waitState(tab, "notOpen")
		for _, stay := range []time.Duration{30 * time.Second, 9*time.Minute + 20*time.Second - second.before} {
			if tab.Advance(stay); tab.Count("GET", read) != 1 {
				t.Errorf("%d reads before the second is due, want 1", tab.Count("GET", read))
				return
			}
		}
		if tab.Advance(13 * time.Second); tab.Count("GET", read) != 2 {
			t.Errorf("%d reads when the second is due, want 2", tab.Count("GET", read))
			return
		}
		tab.Wait("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('" + read + "')).length === 2")
		tab.Advance(second.before - 5*time.Second)
		tab.Advance(45 * time.Second) // the page opens, and nobody presses
		waitState(tab, "open")
		if got, want := tab.Calls()[before:], []string{"GET /s/" + saleID, "GET " + read, "GET " + read + "/orders/me", "GET " + read}; !slices.Equal(got, want) {
			t.Errorf("the page made the requests %q, want %q", got, want)
		}
	}
	if files := len(tab.Requests()) - len(tab.Calls()); files > 12 {
		t.Errorf("two pages have %d files", files)
	}
}

func countdownByTheShop(t testing.TB, tab *browser.Tab) {
	tab.Clock(7 * time.Minute)
	tab.Open(shop.page(shop.create(t, sale{opens: 10 * time.Minute})))
	tab.Wait("document.querySelector('#countdown')?.innerText")
	if shown := tab.Text("#countdown"); shown < "00:09:00" || shown > "00:10:00" {
		t.Errorf("the countdown says %s, want just below ten minutes", shown)
	}
}

func nameAsText(t testing.TB, tab *browser.Tab) {
	name := `<img src="/x" onerror="alert(1)"></h1><script>alert(2)</script>&amp;{{.SaleID}}`
	tab.Open(shop.page(shop.create(t, sale{name: name})))
	waitState(tab, "open")
	shown := browser.Eval[[]string](tab, "[document.querySelector('h1').textContent, document.title]")
	if shown[0] != name || shown[1] != name || browser.Eval[int](tab, "document.querySelectorAll('main img, main script').length") != 0 {
		t.Errorf("shown as %q, want %q", shown, name)
		return
	}
	examine(t, tab, "open", "The sale is open.")
}

// The callback accepts only the answer that this tab has asked for, and sends the buyer to
// a sale of this shop only.
func signInOfOthers(t testing.TB, tab *browser.Tab) {
	tab.Before(`sessionStorage.signin ??= JSON.stringify({state: "S", nonce: "N", verifier: "V", sale: "//evil.example"})`)
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Method == http.MethodPost {
			return browser.Answer{Status: 400, Body: "{}"}
		}
		return browser.Answer{}
	})
	tab.Open(shop.Stack.API + "/signin?code=C&state=X")
	tab.WaitText("You are not signed in.")
	for _, call := range tab.Calls() {
		if strings.HasPrefix(call, "POST") {
			t.Errorf("the code of somebody else was exchanged: %s", call)
		}
	}
	if tab.Text(button) != "" {
		t.Error("the page leads to another site")
	}
}
