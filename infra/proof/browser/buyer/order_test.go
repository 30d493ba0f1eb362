package buyer

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
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

// posts makes the answers to the tab's orders; "" lets an order pass.
func posts(tab *browser.Tab, answers ...browser.Answer) {
	var n atomic.Int64
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Method != http.MethodPost {
			return browser.Answer{}
		}
		if i := int(n.Add(1)) - 1; i < len(answers) {
			return answers[i]
		}
		return browser.Answer{}
	})
}

func wantKeys(t testing.TB, tab *browser.Tab, want ...string) {
	t.Helper()
	if got := keys(tab); !slices.Equal(got, want) {
		t.Errorf("the orders had the keys %q, want %q", got, want)
	}
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

func TestAPressBuysOneUnitAndShowsItsOrderID(t *testing.T) {
	t.Parallel()
	saleID, user := shop.create(t, sale{}), newID("user")
	tab := shop.tab(t, user)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.Click(button)
	waitState(tab, "confirmed")
	claim := shop.claim(t, saleID, user)
	if got, want := tab.Text("#order"), "Order id "+claim.OrderID; claim.OrderID == "" || got != want {
		t.Errorf("the page says %q, want %q", got, want)
	}
	if label := tab.Text(button); label != "" {
		t.Errorf("a buyer who has ordered has the button %q", label)
	}
	wantKeys(t, tab, "")
	shop.sold(t, saleID, 1)
	tab.Reload()
	waitState(tab, "confirmed")
	examine(t, tab, "confirmed", "Your order is confirmed.")
}

// The answer is lost, and the page with it.
func TestAReloadAfterALostAnswerShowsTheOrder(t *testing.T) {
	t.Parallel()
	saleID, user := shop.create(t, sale{}), newID("user")
	tab := shop.tab(t, user)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	posts(tab, browser.Answer{Lost: true})
	tab.Click(button)
	waitState(tab, "busy")
	tab.Reload()
	tab.Wait("['accepted', 'confirmed'].includes(document.querySelector('main')?.dataset.state)")
	wantKeys(t, tab, "")
	shop.sold(t, saleID, 1)
}

func TestTwoTabsBuyOneUnit(t *testing.T) {
	t.Parallel()
	saleID, user := shop.create(t, sale{}), newID("user")
	one := shop.tab(t, user)
	two := one.Beside()
	shop.signIn(t, two, user)
	for _, tab := range []*browser.Tab{one, two} {
		tab.Open(shop.page(saleID))
		waitState(tab, "open")
	}
	for _, tab := range []*browser.Tab{one, two} {
		tab.Click(button)
	}
	waitState(one, "confirmed")
	waitState(two, "confirmed")
	if a, b := one.Text("#order"), two.Text("#order"); a != b || a == "" {
		t.Errorf("the tabs show %q and %q", a, b)
	}
	const already = "You have already ordered in this sale."
	if a, b := one.Text("#detail") == already, two.Text("#detail") == already; a == b {
		t.Errorf("that there was an order already is said by the first tab: %t, by the second: %t", a, b)
	}
	shop.sold(t, saleID, 1)
}

// A press there would be told "sold out": a first order is not looked for.
func TestATabBesideLearnsOfTheOrder(t *testing.T) {
	t.Parallel()
	saleID, user := shop.create(t, sale{stock: 1}), newID("user")
	one := shop.tab(t, user)
	two, other, nobody := one.Beside(), one.Beside(), one.Beside()
	shop.signIn(t, two, user)
	shop.signIn(t, other, newID("other"))
	for _, tab := range []*browser.Tab{one, two, other, nobody} {
		tab.Open(shop.page(saleID))
		waitState(tab, "open")
	}
	one.Click(button)
	waitState(two, "confirmed")
	wantKeys(t, two)
	if n := other.Count("GET", "/sales/"+saleID+"/orders/me"); n != 2 {
		t.Errorf("somebody else asked %d times for their order, want 2", n)
	}
	waitState(other, "open")
	if n := nobody.Count("GET", "/sales/"+saleID+"/orders/me"); n != 0 {
		t.Errorf("a tab in which nobody is signed in asked %d times for an order, want 0", n)
	}
	waitState(nobody, "open")
}

// 100,000 pages must not repeat at the same time.
func TestRepeatsAreSpread(t *testing.T) {
	t.Parallel()
	const samples = 40
	tab := shop.tab(t, "")
	tab.Open(shop.page("nowhere"))
	waitState(tab, "unknown")
	waits := browser.Eval[[]float64](tab, `(async () => {
		const waits = [], real = setTimeout;
		window.setTimeout = (run, ms, ...more) => real(run, ms > 400 && ms < 900 * 1000 ? (waits.push(ms), 1e9) : ms, ...more);
		window.fetch = async () => new Response('{"code":"busy"}', { status: 503, headers: { "Retry-After": "2" } });
		document.documentElement.dataset.sale = "s";
		const source = document.querySelector("script[type=module]").src;
		for (let i = 0; i < `+"40"+`; i++) await import(source + "?" + i);
		await new Promise((resolve) => real(resolve, 200));
		return waits.filter((ms) => ms !== 1000);
	})()`)
	first := slices.DeleteFunc(waits, func(ms float64) bool { return ms < 1001 })
	if len(first) < samples || slices.Min(first) < 2000 || slices.Max(first)-slices.Min(first) < 500 {
		t.Errorf("%d waits between %v and %v ms", len(first), slices.Min(first), slices.Max(first))
	}
}

func TestAnOrderWaitsForTheNetwork(t *testing.T) {
	t.Parallel()
	saleID := shop.create(t, sale{})
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.Offline(true)
	tab.WaitText("You are offline.")
	tab.Click(button)
	examine(t, tab, "offline", "You are offline.")
	tab.Advance(5 * time.Minute)
	if sent := len(keys(tab)); sent != 1 {
		t.Errorf("%d orders were tried without a network, want 1", sent)
	}
	tab.Offline(false)
	passTime(t, tab, "confirmed")
	wantKeys(t, tab, "", "page")
	shop.sold(t, saleID, 1)
}

func TestAPausedSaleGoesOnByItself(t *testing.T) {
	t.Parallel()
	saleID := shop.create(t, sale{})
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	shop.operate(t, "pause", saleID)
	tab.Click(button)
	waitState(tab, "pausedBusy")
	shop.operate(t, "resume", saleID)
	passTime(t, tab, "confirmed")
	shop.sold(t, saleID, 1)
}

// Throttled, lost, late and failed calls behind the functions.
func TestABuyerGetsAUnitUnderFaults(t *testing.T) {
	t.Parallel()
	harsh, err := start("-faults", "harsh,send=0,seed=5")
	if err != nil {
		t.Fatal(err)
	}
	defer harsh.stop()
	saleID := harsh.create(t, sale{stock: 3})
	var tabs []*browser.Tab
	for range 3 {
		tab := chromium.Tab(t)
		tab.Clock(0)
		harsh.signIn(t, tab, newID("user"))
		tab.Open(harsh.page(saleID))
		passTime(t, tab, "open")
		tab.Click(button)
		tabs = append(tabs, tab)
	}
	for _, tab := range tabs {
		passTime(t, tab, "accepted", "confirmed")
	}
}
