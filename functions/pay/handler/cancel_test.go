package handler

import (
	"testing"

	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry/telemetrytest"
)

var event = httpapitest.Event

func TestABuyerCancelsWhateverIsWrongWithProviders(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		for range 2 {
			r := f.Ask(t, t.Context(), event(t, "pay-cancel.json", telemetrytest.Confide))
			want := `{"claimId":"5LJQBKBVNQ2XRCM7KD3V4HTYWA","saleId":"moutai","state":"CANCELLED","acceptedAt":"2026-01-01T00:00:05.000Z","now":"2026-01-01T00:00:06.000Z","orderId":"406709376884146177"}`
			if r.StatusCode != 200 || r.Body != want || r.Headers.CacheControl != "no-store" {
				t.Errorf("%d %s, want %s", r.StatusCode, r.Body, want)
			}
			f.Counts = "cancellations"
			f.IsLine(t, "", map[string]any{"coldStart": false, "route": cancelRoute, "user": "alice", "saleId": "moutai"}, nil)
		}
		if c := f.Claim("alice"); c.State() != sale.Cancelled {
			t.Errorf("the claim is %s", c.State())
		}
	}, "STRIPE_SECRETS", "x", "STANDARD_WEBHOOKS_SECRETS", "x", "WECHAT_PAY_SECRETS", "x", "ALIPAY_SECRETS", "x", "ADYEN_SECRETS", "x", "STRIPE_EVENTS", "all")
}
