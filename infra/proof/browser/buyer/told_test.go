package buyer

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// saleText is a sale as the API shows it, with its opening so long after now.
func saleText(state string, now time.Time, opens time.Duration) string {
	return fmt.Sprintf(`{"name":"S","state":%s,"opensAt":%q,"closesAt":%q,"now":%q,"remaining":1}`, state,
		now.Add(opens).UTC().Format(time.RFC3339Nano), now.Add(opens+10*time.Hour).UTC().Format(time.RFC3339Nano), now.UTC().Format(time.RFC3339Nano))
}

// The sale is put off after its page was opened, and the shop is busy at the second read.
func movedOpening(t testing.TB, tab *browser.Tab) {
	saleID, begun := newID("sale"), time.Now()
	tab.Clock(0)
	tab.Before("Math.random = () => 0.5")
	noteStates(tab)
	var reads atomic.Int64
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Path != "/sales/"+saleID {
			return browser.Answer{}
		}
		switch reads.Add(1) {
		case 1:
			return browser.Answer{Status: 200, Body: saleText(`"NOT_OPEN"`, begun, 100*time.Second)}
		case 2:
			return browser.Problem(503, "busy", "1")
		}
		return browser.Answer{Status: 200, Body: saleText(`"NOT_OPEN"`, begun, 10*time.Minute)}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "notOpen")
	for i, stay := range []time.Duration{51 * time.Second, 9 * time.Second, 8*time.Minute + 30*time.Second} {
		tab.Advance(stay)
		want := int64(i + 2)
		for end := time.Now().Add(2 * time.Second); reads.Load() < want && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if n := reads.Load(); n != want {
			t.Errorf("%d reads, want %d", n, want)
			return
		}
		time.Sleep(200 * time.Millisecond) // the page shows the answer
		if said := tab.Text(line); i > 0 && !strings.HasPrefix(said, "The opening was moved to ") {
			t.Errorf("the page says %q", said)
			return
		}
	}
	wantNever(t, tab, "open")
}

// A winner comes back to a sale that is sold out, is told to sign in, and does. The shop is busy
// when the page asks for the order.
func refusalOfAWinner(t testing.TB, tab *browser.Tab) {
	saleID := newID("sale")
	tab.Clock(0)
	noteStates(tab)
	var asked atomic.Bool
	tab.Intercept(func(r browser.Request) browser.Answer {
		switch r.Path {
		case "/sales/" + saleID:
			return browser.Answer{Status: 200, Body: saleText(`"SOLD_OUT","mayReturn":true`, time.Now(), -time.Hour)}
		case "/sales/" + saleID + "/orders/me":
			if !asked.Swap(true) {
				return browser.Problem(503, "busy", "1")
			}
			return browser.Answer{Status: 200, Body: `{"claimId":"C","state":"CONFIRMED","orderId":"1"}`}
		}
		return browser.Answer{}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "soldOut")
	if said := tab.Text(line); said != "If you have ordered, sign in to see it.\nSold out." {
		t.Errorf("the page says %q", said)
		return
	}
	shop.signIn(t, tab, newID("user"))
	tab.Reload()
	for end := time.Now().Add(5 * time.Second); browser.Eval[string](tab, "main.dataset.state") != "confirmed" && time.Now().Before(end); {
		tab.Advance(500 * time.Millisecond)
		time.Sleep(20 * time.Millisecond)
	}
	waitFor(t, tab, "confirmed")
	wantNever(t, tab, "soldOut")
}

// waitFor fails the test unless the page has the state now.
func waitFor(t testing.TB, tab *browser.Tab, state string) {
	t.Helper()
	if is := browser.Eval[string](tab, "main.dataset.state"); is != state {
		t.Errorf("the page is %s, want %s", is, state)
	}
}

// The shop says of an order that it is confirmed, and a moment later by when it must be paid.
func reservedOrder(t testing.TB, tab *browser.Tab) {
	saleID := shop.createUnpaid(t)
	shop.signIn(t, tab, newID("user"))
	tab.Clock(0)
	noteStates(tab)
	var ordered atomic.Bool
	payBy := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	tab.Intercept(func(r browser.Request) browser.Answer {
		switch {
		case r.Method == http.MethodPost:
			ordered.Store(true)
			return browser.Answer{Status: 202, Body: `{"claimId":"C","state":"CONFIRMED","orderId":"1"}`}
		case strings.HasSuffix(r.Path, "/me") && ordered.Load():
			return browser.Answer{Status: 200, Body: `{"claimId":"C","state":"CONFIRMED","orderId":"1","payBy":"` + payBy + `"}`}
		}
		return browser.Answer{}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.Click(button)
	tab.Wait("!['open', 'sending'].includes(main.dataset.state)")
	waitFor(t, tab, "reserved")
	for range 10 {
		tab.Advance(500 * time.Millisecond)
		time.Sleep(20 * time.Millisecond)
	}
	waitFor(t, tab, "unpaid")
	wantNever(t, tab, "confirmed")
}

// An order was cancelled, and its payments come all the same.
func paymentOfAnEndedOrder(t testing.TB, tab *browser.Tab) {
	saleID := shop.createUnpaid(t)
	shop.signIn(t, tab, newID("user"))
	tab.Clock(0)
	var looks atomic.Int64
	tab.Intercept(func(r browser.Request) browser.Answer {
		if !strings.HasSuffix(r.Path, "/me") {
			return browser.Answer{}
		}
		refunds := ""
		if looks.Add(1) > 1 {
			refunds = `,"refunds":[{"amount":89900,"currency":"CNY"},{"amount":899,"currency":"CNY","refundedAt":"2026-11-11T12:00:00.000Z"}]`
		}
		return browser.Answer{Status: 200, Body: fmt.Sprintf(`{"claimId":"C","state":"CANCELLED","orderId":"1","payBy":%q%s}`,
			time.Now().Add(10*time.Minute).UTC().Format(time.RFC3339), refunds)}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "cancelled")
	want := "A payment that arrives now is paid back. You cannot order again in this sale."
	if said := tab.Text("#detail"); said != want {
		t.Errorf("the page says %q", said)
		return
	}
	for range 6 {
		tab.Advance(15 * time.Second)
		time.Sleep(50 * time.Millisecond)
	}
	want += "\nYour payment of CN¥899.00 will be paid back.\nYour payment of CN¥8.99 was paid back on November 11, 2026."
	if said := tab.Text("#detail"); said != want {
		t.Errorf("the page says %q, want %q", said, want)
	}
}
