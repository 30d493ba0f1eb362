package buyer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// createUnpaid creates a sale that asks for payment within half an hour.
func (s *stack) createUnpaid(t testing.TB) string {
	t.Helper()
	return s.createWith(t, map[string]any{"payWithin": 1800, "price": 89900, "currency": "CNY"})
}

// buysUnpaid opens the page of such a sale and orders.
func buysUnpaid(t *testing.T) (tab *browser.Tab, saleID, user string) {
	t.Helper()
	saleID, user = shop.createUnpaid(t), newID("user")
	tab = shop.tab(t, user)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.Click(button)
	waitState(tab, "unpaid")
	tab.WaitText("Pay by ")
	return tab, saleID, user
}

// Before the order has its id nobody knows until when to pay, and a buyer who leaves may lose the unit.
func TestABuyerWhoMustPayIsAskedToStay(t *testing.T) {
	for language, says := range map[string][2]string{
		"en":    {"Your order is placed. One unit is reserved for you.", "Stay on this page: your order id follows in a moment, with the time by which you must pay."},
		"zh-CN": {"下单成功，已为您保留一件。", "请不要离开本页面：稍后将显示订单号和付款截止时间。"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			tab, saleID := shop.tab(t, newID("user")), shop.createUnpaid(t)
			tab.Language(language)
			var ordered atomic.Bool
			tab.Intercept(func(r browser.Request) browser.Answer {
				if r.Method == http.MethodPost {
					ordered.Store(true)
				}
				if !strings.Contains(r.Path, "/orders") || !ordered.Load() {
					return browser.Answer{}
				}
				return browser.Answer{Status: 200, Body: `{"claimId":"C","state":"PENDING"}`}
			})
			tab.Open(shop.page(saleID))
			waitState(tab, "open")
			tab.Click(button)
			examine(t, tab, "reserved", says[0])
			tab.WaitText(says[1])
			tab.Reload()
			waitState(tab, "reserved")
			tab.WaitText(says[1]) // and not only that there is an order
		})
	}
}

// settled fails the test if an order that has ended is still to be paid or cancelled.
func settled(t *testing.T, tab *browser.Tab, state, says string) {
	t.Helper()
	waitState(tab, state)
	for _, id := range []string{"pay", "cancel", "sure", "ask", "countdown"} {
		if got := tab.Text("#" + id); got != "" {
			t.Errorf("%s: the page still shows %q", state, got)
		}
	}
	examine(t, tab, state, says)
}

// Another client of the buyer has ordered. The refusal of a second order says that the first is
// confirmed, and not that it must be paid.
func TestAnUnpaidOrderIsNeverCalledConfirmed(t *testing.T) {
	t.Parallel()
	saleID, user := shop.createUnpaid(t), newID("user")
	tab := shop.tab(t, user)
	noteStates(tab)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	shop.buy(t, saleID, user)
	shop.sold(t, saleID, 1)
	tab.Click(button)
	examine(t, tab, "unpaid", "Reserved. Not paid yet.")
	wantNever(t, tab, "accepted", "confirmed", "paid")
	for _, call := range tab.Calls() {
		if strings.HasPrefix(call, "POST") {
			return
		}
	}
	t.Error("the page has learned of the order before the press")
}

func TestABuyerPays(t *testing.T) {
	t.Parallel()
	tab, saleID, user := buysUnpaid(t)
	if mark := browser.Eval[string](tab, "getComputedStyle(line, '::before').content"); mark != "none" {
		t.Errorf("an unpaid order has the mark %s", mark)
	}
	examine(t, tab, "unpaid", "Reserved. Not paid yet.")
	if left := tab.Text("#countdown"); left < "00:25:00" || left > "00:30:00" {
		t.Errorf("%s is left to pay, want almost half an hour", left)
	}
	want := "/_local/pay?order=" + shop.claim(t, saleID, user).OrderID
	if got := browser.Eval[string](tab, "pay.getAttribute('href').slice(location.origin.length) + pay.rel"); got != want+"noreferrer" {
		t.Fatalf("the link is %q, want %s", got, want)
	}
	browser.Eval[bool](tab, "pay.focus(), true")
	tab.Press(browser.Enter)
	tab.WaitText(`{"outcome":"paid"}`)
	tab.Open(shop.page(saleID))
	settled(t, tab, "paid", "Paid. One unit is yours.")
}

// The buyer pays elsewhere, and the page learns of it when they come back to it.
func TestAPageLearnsOfAPayment(t *testing.T) {
	t.Parallel()
	tab, saleID, _ := buysUnpaid(t)
	response, err := http.Get(browser.Eval[string](tab, "pay.href"))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("pay: %v, %v", response, err)
	}
	response.Body.Close()
	before := tab.Count("GET", "/sales/"+saleID+"/orders/me")
	browser.Eval[bool](tab, `document.dispatchEvent(new Event("visibilitychange"))`)
	settled(t, tab, "paid", "Paid. One unit is yours.")
	if n := tab.Count("GET", "/sales/"+saleID+"/orders/me") - before; n != 1 {
		t.Errorf("the page asked %d times, want once", n)
	}
}

func TestABuyerCancelsByKeyboard(t *testing.T) {
	t.Parallel()
	tab, saleID, user := buysUnpaid(t)
	if label := tab.Text("#cancel"); label != "Cancel the order" {
		t.Errorf("the button says %q", label)
	}
	browser.Eval[bool](tab, "cancel.focus(), true")
	tab.Press(browser.Enter)
	tab.WaitText("Cancel the order? The unit goes back on sale")
	if label := tab.Text("#cancel"); label != "Keep the order" {
		t.Errorf("the same button then says %q", label)
	}
	examine(t, tab, "unpaid", "Reserved. Not paid yet.")
	tab.Screenshot("buyer-cancelSure")
	tab.Press(browser.Tabulator)
	tab.Press(browser.Enter)
	settled(t, tab, "cancelled", "Your order was cancelled.")
	if is := shop.claim(t, saleID, user).State; is != "CANCELLED" {
		t.Errorf("the order is %s", is)
	}
	const says = "A payment that arrives now is paid back. You cannot order again in this sale."
	if detail := tab.Text("#detail"); detail != says {
		t.Errorf("the page says %q, want %q", detail, says)
	}
	for _, ordered := range []bool{false, true} {
		if ordered { // a page that was opened before the order
			tab.Intercept(func(r browser.Request) browser.Answer {
				if r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/me") {
					return browser.Problem(404, "order-not-found", "")
				}
				return browser.Answer{}
			})
		}
		tab.Reload()
		if ordered {
			waitState(tab, "open")
			tab.Click(button)
		}
		waitState(tab, "cancelled")
		if detail := tab.Text("#detail"); detail != says {
			t.Errorf("after a press (%t) the page says %q, want %q", ordered, detail, says)
		}
	}
}

// cancels answers the tab's cancellations.
func cancels(tab *browser.Tab, answers ...browser.Answer) {
	var n atomic.Int64
	tab.Intercept(func(r browser.Request) browser.Answer {
		if i := int(n.Load()); r.Method == http.MethodDelete && i < len(answers) {
			n.Add(1)
			return answers[i]
		}
		return browser.Answer{}
	})
}

func TestACancellationIsAnsweredOtherwise(t *testing.T) {
	t.Parallel()
	ended := func(code, state string) browser.Answer {
		a := browser.Problem(409, code, "")
		a.Body = fmt.Sprintf(`{"code":%q,"claim":{"claimId":"C","state":%q,"orderId":"1"}}`, code, state)
		return a
	}
	busy := browser.Problem(503, "busy", "1")
	for name, tt := range map[string]struct {
		answers []browser.Answer
		state   string
		says    string // besides
		sent    int
	}{
		"paid":          {[]browser.Answer{ended("order-paid", "PAID")}, "paid", "Paid. One unit is yours.", 1},
		"expired":       {[]browser.Answer{ended("order-expired", "EXPIRED")}, "expired", "Not paid in time. The unit is no longer kept for you.", 1},
		"lost once":     {[]browser.Answer{{Lost: true}}, "cancelled", "was cancelled", 2},
		"pending once":  {[]browser.Answer{browser.Problem(409, "order-pending", "1")}, "cancelled", "was cancelled", 2},
		"not to be had": {[]browser.Answer{browser.Problem(409, "not-cancellable", "")}, "unpaid", "did not confirm the cancellation", 1},
		"busy for long": {[]browser.Answer{busy, busy, busy, busy, busy, busy, busy, busy, busy, busy}, "unpaid", "did not confirm the cancellation", 9},
		"no longer in":  {[]browser.Answer{browser.Problem(401, "unauthorized", "")}, "unpaid", "You have been signed out", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab, saleID := shop.tab(t, newID("user")), shop.createUnpaid(t)
			tab.Clock(0)
			tab.Open(shop.page(saleID))
			waitState(tab, "open")
			tab.Click(button)
			passTime(t, tab, "unpaid")
			cancels(tab, tt.answers...)
			tab.Click("#cancel")
			tab.Click("#sure")
			for range 200 {
				if strings.Contains(browser.Eval[string](tab, "document.body.innerText"), tt.says) {
					break
				}
				tab.Advance(time.Second)
				time.Sleep(10 * time.Millisecond)
			}
			tab.WaitText(tt.says)
			waitState(tab, tt.state)
			if asks, want := tab.Text("#ask") != "", strings.Contains(tt.says, "did not confirm"); asks != want {
				t.Errorf("the page says that the order may not be cancelled: %t, want %t", asks, want)
			}
			if n := tab.Count("DELETE", "/sales/"+saleID+"/orders/me"); n != tt.sent {
				t.Errorf("%d cancellations, want %d", n, tt.sent)
			}
		})
	}
}

// held answers every look at the order with this.
func held(tab *browser.Tab, payBy time.Time, address string) {
	tab.Intercept(func(r browser.Request) browser.Answer {
		if !strings.HasSuffix(r.Path, "/me") {
			return browser.Answer{}
		}
		return browser.Answer{Status: 200, Body: fmt.Sprintf(`{"claimId":"C","state":"CONFIRMED","orderId":"1","payBy":%q,"paymentUrl":%q}`,
			payBy.UTC().Format(time.RFC3339), address)}
	})
}

// An order is asked for once a minute at most, and not for ever.
func TestAnUnpaidOrderIsAskedForGently(t *testing.T) {
	t.Parallel()
	tab, saleID := shop.tab(t, newID("user")), shop.createUnpaid(t)
	tab.Clock(0)
	held(tab, time.Now().Add(5*time.Minute), "/pay")
	tab.Open(shop.page(saleID))
	waitState(tab, "unpaid")
	asked := func() int { return tab.Count("GET", "/sales/"+saleID+"/orders/me") }
	for range 8 {
		tab.Advance(5 * time.Second)
		time.Sleep(20 * time.Millisecond)
	}
	if n := asked(); n != 1 {
		t.Fatalf("asked %d times within 40 s, want once", n)
	}
	for minute := 1; minute <= 30; minute++ {
		tab.Advance(time.Minute)
		time.Sleep(20 * time.Millisecond)
		if n := asked(); n > 1+minute {
			t.Fatalf("asked %d times in %d minutes", n, minute)
		}
	}
	// An answer that takes longer than the sleep above delays the next question by a minute.
	if n := asked(); n < 3 || n > 17 {
		t.Errorf("asked %d times until ten minutes after its time, want 3 to 17", n)
	}
	settled(t, tab, "late", "The time to pay is over.")
}

// The page leads to no address that might be a script, or on which others can look in.
func paymentElsewhere(t testing.TB, tab *browser.Tab) {
	shop.signIn(t, tab, newID("user"))
	saleID := shop.createUnpaid(t)
	for address, shown := range map[string]bool{
		"https://pay.example/1": true, "/pay/1": true,
		"javascript:alert(1)": false, "http://pay.example/1": false, "//pay.example/1": false, "data:text/html,1": false, "https://": false, "": false,
	} {
		held(tab, time.Now().Add(time.Hour), address)
		tab.Open(shop.page(saleID))
		tab.WaitText("Pay by ")
		if got := tab.Text("#pay") != ""; got != shown {
			t.Errorf("the page leads to %q: %t, want %t", address, got, shown)
		}
	}
}

func cancellationPressedTwice(t testing.TB, tab *browser.Tab) {
	shop.signIn(t, tab, newID("user"))
	held(tab, time.Now().Add(time.Hour), "/pay")
	saleID := shop.createUnpaid(t)
	tab.Open(shop.page(saleID))
	tab.WaitText("Pay by ")
	tab.Click("#cancel")
	look := "[cancel, sure].map((b) => { const s = getComputedStyle(b); return [s.borderTopColor !== 'rgba(0, 0, 0, 0)', s.textDecorationLine === 'underline', Number(s.fontWeight) > 500].join() })"
	if looks := browser.Eval[[]string](tab, look); !slices.Equal(looks, []string{"true,false,true", "false,true,false"}) {
		t.Errorf("keeping and cancelling have a border, an underline, weight: %q", looks)
	}
	tab.Click("#cancel")
	tab.Wait("sure.hidden")
	if n := tab.Count("DELETE", "/sales/"+saleID+"/orders/me"); n != 0 {
		t.Errorf("%d cancellations, want none", n)
	}
}

func TestPaymentIsSaidInChinese(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Language("zh-CN")
	held(tab, time.Now().Add(time.Hour), "/pay")
	tab.Open(shop.page(shop.createUnpaid(t)))
	examine(t, tab, "unpaid", "已为您保留，尚未付款。")
	tab.Screenshot("buyer-unpaid-in-Chinese")
	tab.WaitText("去付款")
	tab.Click("#cancel")
	tab.WaitText("确定取消")
	tab.Axe()
}
