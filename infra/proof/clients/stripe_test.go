package clients

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v84"
	"github.com/stripe/stripe-go/v84/webhook"

	"flashsale/functions/pay/handler"
	report "flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/httpapi"
)

// What Stripe's own library signs and reads is what is recorded as a payment, and these signatures are
// refused where it refuses them.
func TestStripesLibrarySignsAndReadsThePaymentsThatAreRecorded(t *testing.T) {
	const before, after = "whsec_stripe_before", "whsec_stripe_after"
	settings := handler.Settings{StripeSecrets: before + "," + after, StripeEvents: "any"}
	owed(t, settings, func(w *testledger.World, ask func(string, string, map[string]string) httpapi.Response) {
		t := w.T
		answer := func(body []byte, signature string) httpapi.Response {
			return ask(handler.Stripe, string(body), map[string]string{"stripe-signature": signature})
		}
		now := time.Now()
		sign := func(body []byte, secret string, age time.Duration) string {
			return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: now.Add(-age)}).Header
		}
		paid := report.Payment{SaleID: testledger.SaleID, OrderID: testledger.AlicesNumber, PaymentID: "pi_1", Amount: 149900, Currency: "CNY"}
		body, err := paid.Body(report.Stripe, "", now)
		if err != nil {
			t.Fatal(err)
		}
		good := sign(body, after, 0)

		event, err := webhook.ConstructEventWithOptions(body, good, after, webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true})
		var session stripe.CheckoutSession
		if err == nil {
			err = json.Unmarshal(event.Data.Raw, &session)
		}
		if err != nil || session.AmountTotal != 149900 || session.Currency != stripe.CurrencyCNY || session.PaymentIntent.ID != "pi_1" ||
			session.PaymentStatus != stripe.CheckoutSessionPaymentStatusPaid || session.Metadata["flashsale_order"] != testledger.AlicesNumber {
			t.Errorf("Stripe's library reads %+v (%v)", session, err)
		}
		thin := []byte(`{"id":"evt_1","object":"v2.core.event","type":"v1.checkout.session.completed","created":"2026-01-01T00:00:00.000Z"}`)
		if _, err := stripe.NewClient("sk_test").ParseEventNotification(thin, sign(thin, after, 0), after); err != nil || answer(thin, sign(thin, after, 0)).StatusCode != 400 {
			t.Errorf("a thin event is one to Stripe's library (%v), and must be refused", err)
		}

		for _, members := range []string{`"account":"acct_1","livemode":true`, `"livemode":false`} {
			other := []byte(strings.Replace(string(body), `"livemode":true`, members, 1))
			event, err := webhook.ConstructEventWithOptions(other, sign(other, after, 0), after, webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true})
			if r := answer(other, sign(other, after, 0)); err != nil || event.Account == "" && event.Livemode || r.StatusCode != 400 {
				t.Errorf("%s is of account %q, live: %t, to Stripe's library (%v), and answered %d, want 400", members, event.Account, event.Livemode, err, r.StatusCode)
			}
		}
		at, v1, _ := strings.Cut(good, ",")
		wrong := "v1=" + strings.Repeat("0", 64)
		valid := 0
		for _, signature := range []string{
			good, sign(body, before, 0), sign(body, after, 300*time.Second), sign(body, after, -300*time.Second), // valid, as the next seven
			at + "," + wrong + "," + v1, good + "," + wrong, at + ",v1=x," + v1, good + ",v0=00", v1 + "," + at, "t=1," + good, at + ",v1=" + strings.ToUpper(v1[3:]),
			sign(body, "whsec_unknown_secret", 0), sign(thin, after, 0), sign(body, after, 301*time.Second), good + ",t=1", v1, at, at + ",v1=",
			good[:len(good)-32], "", strings.Replace(good, "v1", "v0", 1), strings.Replace(good, "t=", "t=x", 1), strings.Replace(good, "t=", "t=10000000000", 1),
		} {
			want := webhook.ValidatePayload(body, signature, before) == nil || webhook.ValidatePayload(body, signature, after) == nil
			if r := answer(body, signature); (r.Body == `{"outcome":"paid"}`) != want {
				t.Errorf("%s is valid to Stripe's library: %t, and answered %d %s", signature, want, r.StatusCode, r.Body)
			}
			if want {
				valid++
			}
		}
		if valid != 11 {
			t.Errorf("%d signatures are valid, want 11", valid)
		}

		back := fmt.Appendf(nil, `{"id":"evt_2","object":"event","api_version":"2025-03-31.basil","created":%d,"livemode":true,"type":"refund.created","data":{"object":{`+
			`"object":"refund","id":"re_1","payment_intent":"pi_1","charge":"ch_1","amount":149900,"currency":"cny","status":"succeeded","metadata":{}}}}`, now.Unix())
		event, err = webhook.ConstructEventWithOptions(back, sign(back, after, 0), after, webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true})
		var refund stripe.Refund
		if err == nil {
			err = json.Unmarshal(event.Data.Raw, &refund)
		}
		r, claim := answer(back, sign(back, after, 0)), w.Claim(testledger.Alice)
		if err != nil || event.Type != stripe.EventTypeRefundCreated || refund.Status != stripe.RefundStatusSucceeded || refund.PaymentIntent.ID != "pi_1" || refund.Amount != claim.Back || claim.RefundedAt.IsZero() {
			t.Errorf("%s of %+v to Stripe's library (%v) is answered %d %s, and the claim is %+v, want its payment back", event.Type, refund, err, r.StatusCode, r.Body, claim)
		}
	})
}
