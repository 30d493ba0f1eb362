package handler

import (
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stripe/stripe-go/v84/webhook"

	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// The metadata of a Stripe object that name the order. A Stripe endpoint gets all events
// of its account: without the first key the payment is for something else.
const (
	metaSale  = "flashsale_sale"
	metaOrder = "flashsale_order"
)

// The kinds of Stripe's events that may report a payment. Stripe reports one payment with
// both kinds, possibly with different amounts, so only one kind may count.
const (
	checkoutEvents      = "checkout"
	paymentIntentEvents = "payment_intent"
	// anyEvents is for test tools that send either.
	anyEvents = "any"
)

// newStripe takes Stripe's webhooks of the given kind.
func newStripe(secrets []string, events string) (provider, error) {
	switch events {
	case checkoutEvents, paymentIntentEvents, anyEvents:
	default:
		return provider{}, fmt.Errorf("want %s, %s or %s", checkoutEvents, paymentIntentEvents, anyEvents)
	}
	verify := func(r *httpapi.Request, body []byte) error {
		var checks []func() error
		for _, secret := range secrets {
			checks = append(checks, func() error { return webhook.ValidatePayload(body, r.StripeSignature.Value, secret) })
		}
		return verifyAny(checks, func(err error) bool { return errors.Is(err, webhook.ErrTooOld) })
	}
	read := func(body []byte) (sale.Payment, subject, error) {
		return readStripe(body, events)
	}
	return provider{verify, read}, nil
}

// stripeEvent is read in three steps, because only the object of an event about us must
// have the members of stripePayment.
type stripeEvent struct {
	Type string `json:"type"`
	Data struct {
		Object jsontext.Value `json:"object"`
	} `json:"data"`
}

// stripePayment is a Checkout session or a payment intent.
type stripePayment struct {
	ID             string `json:"id"`
	PaymentIntent  string `json:"payment_intent"`
	PaymentStatus  string `json:"payment_status"`
	AmountTotal    int64  `json:"amount_total"`
	AmountReceived int64  `json:"amount_received"`
	Currency       string `json:"currency"`
}

func readStripe(body []byte, events string) (p sale.Payment, _ subject, err error) {
	var e stripeEvent
	if err := jsonv2.Unmarshal(body, &e); err != nil {
		return p, foreign, unreadable(err)
	}
	isCheckout := e.Type == "checkout.session.completed" || e.Type == "checkout.session.async_payment_succeeded"
	isIntent := e.Type == "payment_intent.succeeded"
	if !isCheckout && !isIntent {
		return p, foreign, nil
	}
	var about struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := jsonv2.Unmarshal(e.Data.Object, &about); err != nil {
		return p, foreign, unreadable(err)
	}
	if about.Metadata[metaSale] == "" {
		return p, foreign, nil
	}
	var object stripePayment
	if err := jsonv2.Unmarshal(e.Data.Object, &object); err != nil {
		return p, foreign, unreadable(err)
	}
	// A completed session of a slow method of payment is not paid yet; another event
	// follows.
	if isCheckout && object.PaymentStatus != "paid" {
		return p, foreign, nil
	}
	p = sale.Payment{
		Reference: object.ID, Amount: object.AmountReceived, Currency: strings.ToUpper(object.Currency),
		SaleID: about.Metadata[metaSale],
	}
	if isCheckout {
		// The payment's own id: a session's id would be another one for the same payment.
		p.Reference, p.Amount = object.PaymentIntent, object.AmountTotal
	}
	// 0 if the id is invalid; Pay then records a refund due for an unknown order.
	p.OrderID, _ = orderid.Parse(about.Metadata[metaOrder])
	if isCheckout && events == paymentIntentEvents || isIntent && events == checkoutEvents {
		return p, otherKind, nil
	}
	return p, ours, nil
}
