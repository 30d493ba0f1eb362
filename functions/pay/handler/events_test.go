package handler

import (
	"os"
	"testing"
	"time"
)

// The events are signed with the local stack's secrets.
func TestEveryEventOfThisFunctionIsAnswered(t *testing.T) {
	tests := map[string]int{"pay-adyen.json": 200, "pay-stripe.json": 200, "pay-standard.json": 200, "pay-wechat.json": 204, "pay-alipay.json": 200, "pay-unsigned.json": 400, "pay-cancel.json": 200}
	local := func(provider string) string {
		text, err := os.ReadFile("../../../infra/kit/client/webhook/local/" + provider + ".json")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, want := range tests {
		owing(t, func(t *testing.T, f *function) {
			time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 1, 31, 0, time.UTC)))
			r := f.Ask(t, t.Context(), event(t, name))
			if r.StatusCode != want {
				t.Errorf("%s: %d %s, want %d", name, r.StatusCode, r.Body, want)
			}
		}, "STRIPE_SECRETS", local(Stripe), "STANDARD_WEBHOOKS_SECRETS", "whsec_bG9jYWwtZmxhc2hzYWxlLXdlYmhvb2stc2VjcmV0",
			"WECHAT_PAY_SECRETS", local(WeChatPay), "ALIPAY_SECRETS", local(Alipay), "ADYEN_SECRETS", local(Adyen))
	}
}
