package buyer

import (
	"fmt"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// A page counts down by the shop's clock, and signs nobody out by its own, whatever that says.
func TestTheSaleOpensByTheShopsClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for name, tt := range map[string]struct{ wrong, jump time.Duration }{
		"right": {}, "7 minutes fast": {7 * time.Minute, 0}, "7 minutes slow": {-7 * time.Minute, 0}, "20 years slow": {-20 * year, 0}, "40 years fast": {40 * year, 0},
		"set two hours ahead": {0, 2 * time.Hour}, "set two hours back": {0, -2 * time.Hour}, "two hours fast, and set right": {2 * time.Hour, -2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := shop.tab(t, "")
			tab.Clock(tt.wrong)
			noteStates(tab)
			tab.Open(shop.page(shop.create(t, sale{opens: 10 * time.Minute})))
			waitState(tab, "notOpen")
			tab.Click(button)
			tab.Wait("location.pathname === '/_local/authorize' && document.querySelector('input')")
			tab.Type("input", newID("user"))
			tab.Press(browser.Enter)
			waitState(tab, "notOpen")
			tab.WaitText("Sign out")
			browser.Eval[any](tab, fmt.Sprintf("((before) => (Date.now = () => before() + %d, true))(Date.now)", tt.jump.Milliseconds()))
			for range 3 {
				tab.Advance(time.Second)
				time.Sleep(20 * time.Millisecond)
			}
			shown := tab.Text("#countdown")
			browser.Check(t, shown == "10:00" || shown >= "09:00" && shown <= "09:59", "the countdown says %s, want just below ten minutes", shown)
			tab.Click(button) // does nothing
			waitState(tab, "notOpen")
			wantKeys(t, tab)
			wantNever(t, tab, "signedOut")
		})
	}
}

// What a page shows at the opening it has read shortly before. Nobody is told that a sale has
// begun which was moved before that.
func TestASaleThatIsMovedIsNotAnnounced(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	tab.Before("Math.random = () => 0.5; " + patient)
	noteStates(tab)
	saleID := shop.create(t, sale{opens: 100 * time.Second, closes: 10 * time.Hour})
	read := "/sales/" + saleID
	tab.Open(shop.page(saleID))
	waitState(tab, "notOpen")
	at := time.Now().UTC().Add(5 * time.Hour)
	shop.seed(t, map[string]any{"action": "reschedule", "saleId": saleID, "opensAt": at.Format(time.RFC3339), "closesAt": at.Add(time.Hour).Format(time.RFC3339)})
	time.Sleep(2 * time.Second) // until no function answers by what it has read before
	tab.Advance(50 * time.Second)
	tab.Wait(`line.textContent.startsWith("The opening was moved to ")`)
	tab.Advance(110 * time.Second) // the old opening
	examine(t, tab, "notOpen", tab.Text(line))
	shown := tab.Text("#countdown")
	browser.Check(t, shown >= "04:45:00" && shown <= "05:00:00", "the countdown says %s", shown)
	wantNever(t, tab, "open")
	tab.HasCount("GET", read, 2)
	for range 5 * 60 {
		tab.Advance(time.Minute) // the new opening
	}
	waitState(tab, "open")
	if n := tab.Count("GET", read); n < 20 || n > 35 { // every ten minutes or so
		t.Errorf("%d reads until the new opening, in five hours", n)
	}
}

// patient makes pages wait for each answer: none comes while a clock is moved.
const patient = `{ const set = setTimeout; setTimeout = (run, ms, ...more) => (ms === 15000 ? 0 : set(run, ms, ...more)) }`

// A page that looks only once a second would be late by another part of it each time.
func TestTheSaleOpensOnTheSecond(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	scenes(tab, `soon: { first: { state: "NOT_OPEN", opens: 5.5 } }`)
	for range 3 {
		tab.Open(shop.page("soon"))
		waitState(tab, "notOpen")
		late := browser.Eval[float64](tab, `(async () => {
			for (; main.dataset.state === "notOpen"; await null) clock.advance(10);
			return Date.now() - begun - 5500;
		})()`)
		browser.Check(t, late >= -50 && late <= 150, "the sale opens %v ms late", late)
	}
	// The device sleeps over most of an hour, and the browser does not say so.
	scenes(tab, `later: { first: { state: "NOT_OPEN", opens: 3600 } }`)
	tab.Open(shop.page("later"))
	waitState(tab, "notOpen")
	browser.Eval[any](tab, "((awake) => (Date.now = () => awake() + 3000000, pass(2)))(Date.now)")
	tab.Wait("countdown.textContent < '10:30'")
}
