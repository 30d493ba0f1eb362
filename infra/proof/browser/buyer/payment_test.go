package buyer

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	published "github.com/bojanz/currency"

	"flashsale/infra/local/child"
	"flashsale/infra/proof/browser"
	"flashsale/shared/currency"
)

// unpaid are the members of a creation that ask for payment within half an hour.
var unpaid = map[string]any{"payWithin": 1800, "price": 89900, "currency": "CNY"}

// Another client of the buyer has ordered. The refusal of a second order says that the first is
// confirmed, and not that it must be paid.
func TestAnUnpaidOrderIsNeverCalledConfirmed(t *testing.T) {
	t.Parallel()
	saleID, user := shop.create(t, sale{}, unpaid), newID("user")
	tab := shop.tab(t, user)
	noteStates(tab)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	shop.buy(t, saleID, user)
	shop.sold(t, saleID, 1)
	tab.Click(button)
	examine(t, tab, "unpaid", "You got one. Pay to keep it.")
	wantNever(t, tab, "accepted", "confirmed", "paid")
	wantKeys(t, tab, "")
}

func TestABuyerCancelsByKeyboard(t *testing.T) {
	t.Parallel()
	saleID, user := shop.create(t, sale{}, unpaid), newID("user")
	tab := shop.tab(t, user)
	order(tab, saleID)
	waitState(tab, "unpaid")
	tab.Wait("cancel.innerText === 'Cancel the order'")
	browser.Eval[bool](tab, "cancel.focus(), true")
	tab.Press(browser.Enter)
	tab.Wait("ask.innerText.startsWith('Cancel the order? The unit goes back on sale') && cancel.innerText === 'Keep the order'")
	tab.Press(browser.Enter) // two presses do not cancel
	tab.Wait("sure.hidden")
	tab.Press(browser.Enter)
	examine(t, tab, "unpaid", "You got one. Pay to keep it.")
	tab.Press(browser.Tabulator)
	tab.Press(browser.Enter)
	examine(t, tab, "cancelled", "Your order was cancelled.")
	for _, id := range []string{"pay", "cancel", "sure", "ask", "countdown"} {
		tab.HasText("#"+id, "", "the page still shows")
	}
	is := shop.claim(t, saleID, user).State
	browser.Check(t, is == "CANCELLED", "the order is %s", is)
	detail := tab.Text("#detail")
	browser.Check(t, detail == "A payment that arrives now is paid back. You cannot order again in this sale.", "the page says %q", detail)
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
		"paid":          {[]browser.Answer{ended("order-paid", "PAID")}, "paid", "Paid. It’s yours!", 1},
		"expired":       {[]browser.Answer{ended("order-expired", "EXPIRED")}, "expired", "Not paid in time. It is no longer kept for you.", 1},
		"lost once":     {[]browser.Answer{{Lost: true}}, "cancelled", "was cancelled", 2},
		"pending once":  {[]browser.Answer{browser.Problem(409, "order-pending", "1")}, "cancelled", "was cancelled", 2},
		"not to be had": {[]browser.Answer{browser.Problem(409, "not-cancellable", "")}, "unpaid", "did not confirm the cancellation", 1},
		"busy for long": {[]browser.Answer{busy, busy, busy, busy, busy, busy, busy, busy, busy, busy}, "unpaid", "did not confirm the cancellation", 9},
		"no longer in":  {[]browser.Answer{browser.Problem(401, "unauthorized", "")}, "unpaid", "You have been signed out", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab, saleID := shop.tab(t, newID("user")), shop.create(t, sale{}, unpaid)
			tab.Clock(0)
			order(tab, saleID)
			passTime(t, tab, "unpaid")
			tab.Answers("DELETE", "", tt.answers...)
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
			asks, want := tab.Text("#ask") != "", strings.Contains(tt.says, "did not confirm")
			browser.Check(t, asks == want, "the page says that the order may not be cancelled: %t, want %t", asks, want)
			tab.HasCount("DELETE", "/sales/"+saleID+"/orders/me", tt.sent)
		})
	}
}

// The clock of a hold says what it counts, has no hours that it does not need, and is another one in its last minute. The
// page leads to no address that might be a script, or on which others can look in.
func TestAHoldSaysUntilWhenAndLeadsOnlyWhereItIsSafe(t *testing.T) {
	t.Parallel()
	tab, saleID := shop.tab(t, newID("user")), shop.create(t, sale{}, unpaid)
	for address, want := range map[string]struct {
		left  time.Duration
		clock string
		leads bool
	}{
		"https://pay.example/1": {90 * time.Minute, "Time left to pay 01:29:", true}, "/pay/1": {15 * time.Minute, "Time left to pay 14:5", true},
		"javascript:alert(1)": {50 * time.Second, "last The last minute 00:4", false}, "http://pay.example/1": {time.Hour, "Time left to pay 59:5", false},
		"//pay.example/1": {time.Hour, "", false}, "data:text/html,1": {time.Hour, "", false}, "https://": {time.Hour, "", false}, "": {time.Hour, "", false},
	} {
		tab.Intercept(func(r browser.Request) browser.Answer {
			if !strings.HasSuffix(r.Path, "/me") {
				return browser.Answer{}
			}
			return browser.Answer{Status: 200, Body: fmt.Sprintf(`{"claimId":"C","state":"CONFIRMED","orderId":"1","payBy":%q,"paymentUrl":%q}`, instant(time.Now().Add(want.left-2*time.Second)), address)}
		})
		tab.Open(shop.page(saleID))
		tab.WaitText("Pay by ")
		got := strings.TrimSpace(browser.Eval[string](tab, "countdown.className + ' ' + clock.innerText + ' ' + countdown.innerText"))
		browser.Check(t, strings.HasPrefix(got, want.clock), "%v are left, and the page says %q, want %q", want.left, got, want.clock)
		tab.HasText("#order", saleID+"\nCN¥899.00\nOrder id 1", "the page says of the order")
		leads := tab.Text("#pay") != ""
		browser.Check(t, leads == want.leads, "the page leads to %q: %t, want %t", address, leads, want.leads)
		if want.clock != "" {
			tab.Axe()
		}
	}
}

// What is shown says how much it is, by ISO 4217, and of which currency: no two look alike.
func TestAPaymentOfOneMinorUnitIsUnmistakableInEachCurrency(t *testing.T) {
	var refunds, want []string
	for _, code := range published.GetCurrencyCodes() {
		refunds = append(refunds, fmt.Sprintf(`{"amount":1,"currency":%q}`, code))
		text, _ := currency.Decimal(1, code)
		want = append(want, text)
	}
	signs := map[string]string{
		"en-US USD": "$", "en-US CAD": "CA$", "en-US JPY": "JPY", "en-US CNY": "CN¥", "en-CA CAD": "$", "en-CA USD": "US$", "en USD": "USD",
		"zh-CN CNY": "¥", "zh-CN JPY": "JP¥", "zh-CN USD": "US$", "zh-TW TWD": "$", "zh-TW CNY": "CN¥", "zh-TW JPY": "JPY", "zh-TW USD": "US$",
	}
	for _, language := range []string{"en-US", "en-CA", "en", "zh-CN", "zh-TW"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			tab, saleID := shop.tab(t, newID("user")), shop.create(t, sale{}, unpaid)
			tab.Language(language)
			tab.Intercept(func(r browser.Request) browser.Answer {
				if !strings.HasSuffix(r.Path, "/me") {
					return browser.Answer{}
				}
				return browser.Answer{Status: 200, Body: `{"claimId":"C","orderId":"1","state":"EXPIRED","refunds":[` + strings.Join(refunds, ",") + `]}`}
			})
			tab.Open(shop.page(saleID))
			waitState(tab, "expired")
			_, after, _ := strings.Cut(strings.ReplaceAll(tab.Text("#detail"), "\u00a0", " "), "\n")
			lines := strings.Split(after, "\n")
			if len(lines) != len(want) {
				t.Fatalf("%d lines, want %d: %q", len(lines), len(want), after)
			}
			seen := map[string]string{} // without spaces, which people do not see
			for i, said := range lines {
				code := published.GetCurrencyCodes()[i]
				got := strings.Trim(regexp.MustCompile(`[\d.]+\d|\d`).FindString(said), ".")
				browser.Check(t, got == want[i], "%s: %q, want %s", code, said, want[i])
				letters := strings.ReplaceAll(strings.ReplaceAll(said, "\u202f", ""), " ", "")
				other, is := seen[letters]
				browser.Check(t, !is, "%s and %s are both %q", other, code, said)
				seen[letters] = code
				if sign, known := signs[language+" "+code]; known && !strings.Contains(said, " "+sign+want[i]) && !strings.Contains(said, " "+sign+" "+want[i]) {
					t.Errorf("%s: %q, want %s", code, said, sign)
				}
			}
		})
	}
}

// payPage is the example of a shop's page, to which the link leads.
func payPage(api string, port int) *child.Program {
	return &child.Program{Name: "payment page", ReadyURL: fmt.Sprintf("http://127.0.0.1:%d/", port), AnyStatus: true, Command: child.Command{
		Path: filepath.Join(root, ".build/host/shop"), Args: []string{api}, Env: []string{"ADDRESSES=" + os.DevNull, fmt.Sprintf("SHOP_PORT=%d", port)},
	}}
}

// pays pays on that page, from the buyer's own, by a provider that it plays.
func pays(tab *browser.Tab, provider string) {
	browser.Eval[any](tab, "pay.click()")
	tab.Wait("document.querySelector('#address')")
	tab.Type("#address", "1 Main Street")
	tab.Click(fmt.Sprintf("label:has([value=%q])", provider))
	tab.Click(button)
	waitState(tab, "paid")
}

// WeChat Pay's notification is encrypted, and signed.
func TestABuyerPaysByWeChatPayInChinese(t *testing.T) {
	t.Parallel()
	tab, saleID := shop.tab(t, newID("user")), shop.create(t, sale{}, unpaid)
	tab.Language("zh-CN,zh")
	tab.Size(320, 700)
	order(tab, saleID)
	waitState(tab, "unpaid")
	link := browser.Eval[string](tab, "pay.href")
	pays(tab, "wechat-pay")
	tab.Open(link)
	if ways := strings.Fields(tab.Text("fieldset")); !slices.Equal(ways, []string{"付款方式", "微信支付", "支付宝", "银行卡（Adyen）", "银行卡（Stripe）", "本店收款"}) {
		t.Errorf("the page offers %q", ways)
	}
	tab.Axe()
	wide := browser.Eval[int](tab, "document.documentElement.scrollWidth")
	browser.Check(t, wide <= 320, "the page is %d pixels wide, want at most 320", wide)
	for language, pay := range map[string]string{"zh-CN,zh": "支付 ¥899.00", "en-US,en": "Pay CN¥899.00"} {
		tab.Language(language)
		tab.Open(shop.page(saleID))
		waitState(tab, "paid")
		price := tab.Text("#price")
		tab.Open(link)
		got := []string{tab.Text("#price"), tab.Text(button)}
		browser.Check(t, slices.Equal(got, []string{price, pay}), "%s: the page asks for %q, want %q, as the buyer's page", language, got, []string{price, pay})
	}
}
