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

// answered waits until the page has that many answers to looks at the order.
func answered(tab *browser.Tab, saleID string, n int) {
	tab.Wait(fmt.Sprintf("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/sales/%s/orders/me')).length >= %d", saleID, n))
}

// The page looks at the order when the buyer cancels it, and the answer comes later.
func cancellationDuringALook(t testing.TB, tab *browser.Tab) {
	saleID := shop.createUnpaid(t)
	shop.signIn(t, tab, newID("user"))
	payBy := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	claim := func(state string, until <-chan struct{}) browser.Answer {
		return browser.Answer{Status: 200, Until: until, Body: fmt.Sprintf(`{"claimId":"C","state":%q,"orderId":"1","payBy":%q}`, state, payBy)}
	}
	var looks atomic.Int64
	hold := make(chan struct{})
	tab.Intercept(func(r browser.Request) browser.Answer {
		switch {
		case r.Method == http.MethodDelete:
			return claim("CANCELLED", nil)
		case !strings.HasSuffix(r.Path, "/me"):
			return browser.Answer{}
		case looks.Add(1) == 1:
			return claim("CONFIRMED", nil)
		}
		return claim("CONFIRMED", hold)
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "unpaid")
	browser.Eval[bool](tab, `document.dispatchEvent(new Event("visibilitychange"))`)
	for looks.Load() < 2 && !t.Failed() {
		time.Sleep(10 * time.Millisecond)
	}
	tab.Click("#cancel")
	tab.Click("#sure")
	waitState(tab, "cancelled")
	close(hold)
	answered(tab, saleID, 3)
	browser.Eval[bool](tab, "new Promise((done) => setTimeout(() => done(true), 200))")
	if is := browser.Eval[string](tab, "main.dataset.state"); is != "cancelled" {
		t.Errorf("after an answer from before the cancellation the page is %s", is)
	}
}

// A payment may be reported after payBy, while the order has not been released.
func paymentAfterItsTime(t testing.TB, tab *browser.Tab) {
	saleID := shop.createUnpaid(t)
	shop.signIn(t, tab, newID("user"))
	tab.Clock(0)
	var state atomic.Value
	state.Store("CONFIRMED")
	payBy := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	tab.Intercept(func(r browser.Request) browser.Answer {
		if !strings.HasSuffix(r.Path, "/me") {
			return browser.Answer{}
		}
		return browser.Answer{Status: 200, Body: fmt.Sprintf(`{"claimId":"C","state":%q,"orderId":"1","payBy":%q}`, state.Load(), payBy)}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "late")
	state.Store("PAID")
	for minute := 0; minute < 3 && browser.Eval[string](tab, "main.dataset.state") != "paid"; minute++ {
		tab.Advance(75 * time.Second)
		browser.Eval[bool](tab, "new Promise((done) => done(true))")
		time.Sleep(100 * time.Millisecond)
	}
	waitState(tab, "paid")
}
