package buyer

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// keys returns the Idempotency-Key of each order that the tab has sent, "" for none.
func keys(tab *browser.Tab) (keys []string) {
	for _, r := range tab.Requests() {
		if r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/orders") {
			keys = append(keys, r.Header["idempotency-key"])
		}
	}
	return keys
}

func wantKeys(t testing.TB, tab *browser.Tab, want ...string) {
	t.Helper()
	got := keys(tab)
	browser.Check(t, slices.Equal(got, want), "the orders had the keys %q, want %q", got, want)
}

// passTime moves the page's clock in steps until it has one of the states.
func passTime(t testing.TB, tab *browser.Tab, states ...string) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if slices.Contains(states, browser.Eval[string](tab, "main.dataset.state")) {
			return
		}
		tab.Advance(500 * time.Millisecond)
	}
	t.Fatalf("the page never got to %v", states)
}

// The order arrives after the reloaded page has looked for it, and takes the last unit.
func TestAnOrderAfterAReloadHasTheKey(t *testing.T) {
	t.Parallel()
	saleID, user := shop.create(t, sale{stock: 1}), newID("user")
	tab := shop.tab(t, user)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	hold := make(chan struct{})
	defer close(hold)
	tab.Answers("POST", "", browser.Answer{Until: hold})
	tab.Click(button)
	examine(t, tab, "sending", "Sending your order …")
	tab.Click(button) // does nothing
	tab.Reload()
	waitState(tab, "open")
	shop.buy(t, saleID, user)
	tab.Click(button)
	tab.Wait("!['open', 'sending', 'busy'].includes(main.dataset.state)")
	wantKeys(t, tab, "", "page")
	is := browser.Eval[string](tab, "main.dataset.state")
	browser.Check(t, is == "accepted" || is == "confirmed", "the buyer of the last unit is told %s", is)
	shop.sold(t, saleID, 1)
}

// The first order's answer is lost, and the order has taken the last unit.
func TestABusyShopIsAskedAgainUnderOneKeyNotTooSoonAndNotForEver(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	saleID := shop.create(t, sale{stock: 1})
	tab.Clock(0)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.Answers("POST", "", append([]browser.Answer{{Lost: true}}, slices.Repeat([]browser.Answer{browser.Problem(503, "busy", "60")}, 98)...)...)
	tab.Click(button)
	waitState(tab, "busy")
	until := func(orders int, step time.Duration) {
		for end := time.Now().Add(limit); len(keys(tab)) < orders && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			tab.Advance(step)
		}
	}
	until(2, time.Second)
	time.Sleep(200 * time.Millisecond) // its answer
	if tab.Advance(30 * time.Second); len(keys(tab)) != 2 {
		t.Errorf("the order was repeated before the Retry-After")
	}
	until(9, 10*time.Second)
	passTime(t, tab, "stuckOrder")
	if n := len(keys(tab)); n != 9 {
		t.Fatalf("%d orders were sent, want 9 until the next press", n)
	}
	examine(t, tab, "stuckOrder", "The shop did not confirm your order. It may still have arrived.")
	stored := browser.Eval[[]string](tab, "[...Object.keys(sessionStorage), ...Object.keys(localStorage), document.cookie].filter((k) => k && k !== 'token')")
	browser.Check(t, len(stored) == 0, "the page stores %q", stored)
	tab.Answers("POST", "")
	tab.Click(button)
	passTime(t, tab, "confirmed")
	wantKeys(t, tab, append([]string{""}, slices.Repeat([]string{"page"}, 9)...)...)
	shop.sold(t, saleID, 1)
}
