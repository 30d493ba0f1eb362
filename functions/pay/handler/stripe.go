package handler

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stripe/stripe-go/v84/webhook"

	"flashsale/shared/currency"
	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
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
func newStripe(secrets []string, events string, now func() time.Time) (provider, error) {
	switch events {
	case checkoutEvents, paymentIntentEvents, anyEvents:
	default:
		return provider{}, fmt.Errorf("want %s, %s or %s", checkoutEvents, paymentIntentEvents, anyEvents)
	}
	verify := func(r *httpapi.Request, body []byte) error {
		check := func(secret string) error {
			if err := webhook.ValidatePayload(body, r.StripeSignature.Value, secret); err != nil {
				return err
			}
			return notAhead(r.StripeSignature.Value, now())
		}
		return verifyAny(secrets, check, func(err error) bool { return errors.Is(err, webhook.ErrTooOld) || errors.Is(err, errAhead) })
	}
	read := func(body []byte) (sale.Payment, subject, error) {
		return readStripe(body, events)
	}
	return provider{verify, read}, nil
}

// maxAhead is how far ahead of now the time of a signature by Stripe may be. How old one may be
// is for the two libraries to say: 300 s in stripe-go v84.4.1, 5 min in standard-webhooks v0.0.1,
// which allows as much ahead, too.
const maxAhead = 300 * time.Second

var errAhead = errors.New("the signature's time is ahead")

// notAhead fails if the time of a valid signature is too far ahead, which Stripe's library does
// not check. Of several times that library takes the last one.
func notAhead(header string, now time.Time) error {
	var seconds int64
	for _, part := range strings.Split(header, ",") {
		if text, ok := strings.CutPrefix(part, "t="); ok {
			var err error
			if seconds, err = strconv.ParseInt(text, 10, 64); err != nil {
				return err
			}
		}
	}
	if time.Unix(seconds, 0).After(now.Add(maxAhead)) {
		return errAhead
	}
	return nil
}

// stripeEvent is read in three steps, because only the object of an event about us must
// have the members of stripePayment.
type stripeEvent struct {
	Object string `json:"object"`
	Type   string `json:"type"`
	Data   struct {
		Object jsontext.Value `json:"object"`
	} `json:"data"`
}

// stripePayment is a Checkout session or a payment intent.
type stripePayment struct {
	ID             string          `json:"id"`
	PaymentIntent  string          `json:"payment_intent"`
	PaymentStatus  string          `json:"payment_status"`
	AmountTotal    *jsonread.Whole `json:"amount_total"`
	AmountReceived *jsonread.Whole `json:"amount_received"`
	Currency       string          `json:"currency"`
}

// aboutStripe is what an event that reports no payment is about.
func aboutStripe(kind string) subject {
	switch {
	case kind == "charge.refunded", strings.HasPrefix(kind, "charge.refund."), strings.HasPrefix(kind, "refund."):
		return refunded
	case strings.HasPrefix(kind, "charge.dispute."):
		return disputed
	case kind == "charge.failed", kind == "charge.expired",
		strings.HasPrefix(kind, "payment_intent."), strings.HasPrefix(kind, "checkout.session."):
		return unpaid
	case strings.HasPrefix(kind, "charge."):
		return charge
	}
	return unknown
}

func readStripe(body []byte, events string) (p sale.Payment, _ subject, err error) {
	var e stripeEvent
	if err := jsonv2.Unmarshal(body, &e); err != nil {
		return p, foreign, unreadable(err)
	}
	// Thin events name their object and no more. If they were ignored, nobody would hear that
	// payments are not recorded.
	if e.Object == "v2.core.event" {
		return p, unknown, sale.Refuse(sale.InvalidRequest, "this is a thin event, which does not say what was paid: "+
			"choose the snapshot payload for Stripe's event destination")
	}
	isCheckout := e.Type == "checkout.session.completed" || e.Type == "checkout.session.async_payment_succeeded"
	isIntent := e.Type == "payment_intent.succeeded"
	if !isCheckout && !isIntent {
		return p, aboutStripe(e.Type), nil
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
	switch {
	case isCheckout && object.PaymentStatus == "no_payment_required":
		return p, free, nil
	case isCheckout && object.PaymentStatus != "paid":
		return p, unpaid, nil
	}
	reference, amount := object.ID, object.AmountReceived
	if isCheckout {
		// The payment's own id: a session's id would be another one for the same payment.
		reference, amount = object.PaymentIntent, object.AmountTotal
	}
	if amount == nil {
		return p, foreign, unreadable(errNoAmount)
	}
	p = sale.Payment{Reference: reference, Currency: strings.ToUpper(object.Currency), SaleID: about.Metadata[metaSale]}
	var isWhole bool
	if p.Amount, isWhole = currency.FromStripe(int64(*amount), p.Currency); !isWhole {
		return p, foreign, sale.Refusef(sale.InvalidRequest, "the amount must be a multiple of 100, as all of Stripe's in %s", p.Currency)
	}
	// 0 if the id is invalid; Pay then records a refund due for an unknown order.
	p.OrderID, _ = orderid.Parse(about.Metadata[metaOrder])
	if isCheckout && events == paymentIntentEvents || isIntent && events == checkoutEvents {
		return p, otherKind, nil
	}
	return p, ours, nil
}
