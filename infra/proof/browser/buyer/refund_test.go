package buyer

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	published "github.com/bojanz/currency"

	"flashsale/infra/proof/browser"
	"flashsale/shared/currency"
)

// An order expires while its buyer looks at it, and then the payment arrives.
func TestAPaymentAfterItsTimeIsSeenToGoBack(t *testing.T) {
	for name, tt := range map[string]struct {
		language, refunds string
		line, says        string
	}{
		"refund due":             {"en", `{"amount":89900,"currency":"CNY"}`, "Not paid in time. The unit is no longer kept for you.", "Your payment of CN¥899.00 will be paid back."},
		"refund due of cents":    {"en", `{"amount":89950,"currency":"EUR"}`, "Not paid in time. The unit is no longer kept for you.", "Your payment of €899.50 will be paid back."},
		"refund done":            {"en", `{"amount":899,"currency":"JPY","refundedAt":"2026-11-11T12:00:00.000Z"}`, "Not paid in time. The unit is no longer kept for you.", "Your payment of JPY\u00a0899 was paid back on November 11, 2026."},
		"refund due in Chinese":  {"zh-CN", `{"amount":89900,"currency":"CNY"}`, "未按时付款，商品不再为您保留。", "您支付的 ¥899.00 将退还给您。"},
		"refund done in Chinese": {"zh-CN", `{"amount":89900,"currency":"CNY","refundedAt":"2026-11-11T12:00:00.000Z"}`, "未按时付款，商品不再为您保留。", "您支付的 ¥899.00 已于 2026年11月11日 退还。"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab, saleID := shop.tab(t, newID("user")), shop.createUnpaid(t)
			tab.Clock(0)
			tab.Language(tt.language)
			payBy := time.Now().Add(time.Minute)
			var looks atomic.Int64
			tab.Intercept(func(r browser.Request) browser.Answer {
				if !strings.HasSuffix(r.Path, "/me") {
					return browser.Answer{}
				}
				more := map[bool]string{true: `"state":"CONFIRMED"`, false: `"state":"EXPIRED"`}[looks.Add(1) == 1]
				if looks.Load() > 2 {
					more += `,"refunds":[` + tt.refunds + `]`
				}
				return browser.Answer{Status: 200, Body: fmt.Sprintf(`{"claimId":"C","orderId":"1","payBy":%q,%s}`, payBy.UTC().Format(time.RFC3339), more)}
			})
			tab.Open(shop.page(saleID))
			waitState(tab, "unpaid")
			passTime(t, tab, "expired")
			tab.WaitText(map[string]string{"en": "A payment that arrives now is paid back.", "zh-CN": "此后到账的付款将退还给您。"}[tt.language])
			tab.Advance(76 * time.Second)
			tab.WaitText(tt.says)
			settled(t, tab, "expired", tt.line)
			for range 15 {
				tab.Advance(76 * time.Second)
				time.Sleep(20 * time.Millisecond)
			}
			if n := looks.Load(); n > 2+11 {
				t.Errorf("asked %d times until ten minutes after its time", n)
			}
		})
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
		"en-US USD": "$", "en-US CAD": "CA$", "en-US JPY": "JPY", "en-US CNY": "CN¥", "en-CA CAD": "$", "en-CA USD": "USD", "en USD": "USD",
		"zh-CN CNY": "¥", "zh-CN JPY": "JP¥", "zh-CN USD": "US$", "zh-TW TWD": "NT$", "zh-TW CNY": "CNY", "zh-TW JPY": "JP¥",
	}
	for _, language := range []string{"en-US", "en-CA", "en", "zh-CN", "zh-TW"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			tab, saleID := shop.tab(t, newID("user")), shop.createUnpaid(t)
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
				if got := strings.Trim(regexp.MustCompile(`[\d.]+\d|\d`).FindString(said), "."); got != want[i] {
					t.Errorf("%s: %q, want %s", code, said, want[i])
				}
				letters := strings.ReplaceAll(strings.ReplaceAll(said, "\u202f", ""), " ", "")
				if other, is := seen[letters]; is {
					t.Errorf("%s and %s are both %q", other, code, said)
				}
				seen[letters] = code
				if sign, known := signs[language+" "+code]; known && !strings.Contains(said, " "+sign+want[i]) && !strings.Contains(said, " "+sign+" "+want[i]) {
					t.Errorf("%s: %q, want %s", code, said, sign)
				}
			}
		})
	}
}
