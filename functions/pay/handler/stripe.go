package handler

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/functions/pay/settings"
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

// stripeSettings are STRIPE_SECRETS: JSON, or only the signing secrets of an endpoint of the live mode, with commas
// between them.
type stripeSettings struct {
	// SigningSecrets are the endpoint's, whsec_…. Two while one is being replaced.
	SigningSecrets []string `json:"signingSecrets"`
	// Livemode: the payments of the live mode count, else those of the test mode. A Connect endpoint of the live mode
	// gets both.
	Livemode *bool `json:"livemode"`
	// Accounts are those whose payments count beside the ones of the endpoint's own account: connected ones, or those of
	// its organization.
	Accounts []string `json:"accounts"`

	events string
}

func newStripe(s Settings, now func() time.Time) (provider, error) {
	set, err := stripeSettings{SigningSecrets: settings.Listed(s.StripeSecrets), Livemode: new(true)}, error(nil)
	if strings.HasPrefix(strings.TrimSpace(s.StripeSecrets), "{") {
		set, err = settings.Read[stripeSettings](s.StripeSecrets)
	}
	set.events = s.StripeEvents
	if err == nil {
		err = settings.CheckKeys("signingSecrets", set.SigningSecrets, isStripes)
	}
	if err == nil && set.Accounts != nil {
		err = settings.Check("accounts", set.Accounts, isStripeAccount)
	}
	switch {
	case err != nil:
		return provider{}, err
	case set.Livemode == nil:
		return provider{}, errors.New("livemode must be true or false")
	case !slices.Contains([]string{checkoutEvents, paymentIntentEvents, anyEvents}, set.events):
		return provider{}, fmt.Errorf("STRIPE_EVENTS must be %s, %s or %s", checkoutEvents, paymentIntentEvents, anyEvents)
	}
	verify := func(r *httpapi.Request, body []byte) error {
		return verifyStripe(r.Headers["stripe-signature"], body, set.SigningSecrets, now())
	}
	return provider{verify: verify, read: one(set.read)}, nil
}

// minSecret is the least length of a signing secret, in characters after its prefix.
const minSecret = 12

func isStripes(text string) error {
	rest, isSecret := strings.CutPrefix(text, settings.Whsec)
	err := settings.IsText(text)
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(text, "sk_"), strings.HasPrefix(text, "rk_"), strings.HasPrefix(text, "pk_"):
		return errors.New("it is an API key, not an endpoint's signing secret, which begins with " + settings.Whsec)
	case !isSecret || len(rest) < minSecret || strings.Trim(rest, settings.Letters+settings.Digits+"_-") != "":
		return fmt.Errorf("it is not %s and at least %d letters and digits", settings.Whsec, minSecret)
	}
	return nil
}

func isStripeAccount(text string) error {
	const account = "the id of an account, acct_…"
	err := settings.Form(settings.Letters+settings.Digits+"_", account)(text)
	if id, named := strings.CutPrefix(text, "acct_"); err == nil && (!named || id == "") {
		err = errors.New("it is not " + account)
	}
	return err
}

// verifyStripe checks a Stripe-Signature, such as "t=1495999758,v1=5257a869…,v1=…,v0=…", as
// https://docs.stripe.com/webhooks#verify-manually says: a v1 is the HMAC-SHA256 of the time as it
// stands, a dot and the body as it was sent. There are several v1 while a secret is being replaced; other
// schemes, such as v0 of test events, are no proof.
func verifyStripe(header string, body []byte, secrets []string, now time.Time) error {
	var at string
	var signatures [][]byte
	for part := range strings.SplitSeq(header, ",") {
		switch scheme, value, _ := strings.Cut(part, "="); scheme {
		case "t":
			at = value
		case "v1":
			if s, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, s)
			}
		}
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return errUnsigned
	}
	if now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return errOld
	}
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(at + "."))
		mac.Write(body)
		want := mac.Sum(nil)
		for _, s := range signatures {
			if hmac.Equal(s, want) { // takes the same time for every wrong signature
				return nil
			}
		}
	}
	return errUnsigned
}

// stripeEvent is read in three steps: only the object of an event about us must have the members of stripePayment.
type stripeEvent struct {
	Object   string  `json:"object"`
	Type     string  `json:"type"`
	Account  *string `json:"account"` // the connected account; an own event has none
	Context  *string `json:"context"` // of an organization's endpoint the account
	Livemode *bool   `json:"livemode"`
	Data     struct {
		Object jsontext.Value `json:"object"`
	} `json:"data"`
}

// theirs returns why an event of another account or mode is refused, if it names an order: anybody who has connected
// an account can give a payment our metadata, and a payment of the test mode is no money
// (docs.stripe.com/connect/webhooks, read on 2026-11-28). The context is looked at only where accounts are named:
// Stripe does not say that an account's own events have none
// (docs.stripe.com/changelog/basil/2025-04-30/additional-context-organization-events).
func (s *stripeSettings) theirs(e *stripeEvent) error {
	from := e.Account
	if from == nil && len(s.Accounts) > 0 {
		from = e.Context
	}
	switch {
	case from != nil && !slices.Contains(s.Accounts, *from):
		return errOtherAccount
	case e.Livemode == nil || *e.Livemode != *s.Livemode:
		return errOtherMode
	}
	return nil
}

var (
	errOtherAccount = sale.Refuse(sale.InvalidRequest,
		"the payment names an order, and is of an account that StripeKeysArn does not have in accounts")
	errOtherMode = sale.Refuse(sale.InvalidRequest,
		"the payment names an order, and its livemode is not that of StripeKeysArn")
)

// stripePayment is a Checkout session or a payment intent.
type stripePayment struct {
	ID             string          `json:"id"`
	PaymentIntent  string          `json:"payment_intent"`
	PaymentStatus  string          `json:"payment_status"`
	AmountTotal    *jsonread.Whole `json:"amount_total"`
	AmountReceived *jsonread.Whole `json:"amount_received"`
	Currency       string          `json:"currency"`
}

// aboutStripe is what an event that reports no payment is about. Before version 2024-10-28 of Stripe's API most refunds
// fail without a refund.failed (docs.stripe.com/changelog/acacia/2024-10-28/refund-webhook-update).
func aboutStripe(kind, status string) subject {
	isRefund := strings.HasPrefix(kind, "refund.") || strings.HasPrefix(kind, "charge.refund.")
	switch {
	case kind == "refund.failed", isRefund && (status == "failed" || status == "canceled"):
		return notBack
	case isRefund, kind == "charge.refunded":
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

// readOther reads an event that reports no payment. Its payment is for the log, except of a charge that was refunded as
// a whole: that has the metadata of its payment's intent, if any, so the payment alone says whether it is ours.
func readOther(kind string, object jsontext.Value) (p sale.Payment, about subject, err error) {
	var of struct {
		PaymentIntent string `json:"payment_intent"`
		Refunded      bool   `json:"refunded"` // as a whole
		Status        string `json:"status"`
	}
	isUnread := jsonv2.Unmarshal(object, &of) != nil
	if about = aboutStripe(kind, of.Status); isUnread || about != refunded && about != notBack && about != disputed {
		return p, about, nil
	}
	if p.Reference = of.PaymentIntent; p.Reference != "" && of.Refunded && kind == "charge.refunded" {
		about = paidBack
	}
	return p, about, nil
}

func (s *stripeSettings) read(body []byte) (sale.Payment, subject, error) {
	var e stripeEvent
	if err := jsonv2.Unmarshal(body, &e); err != nil {
		return sale.Payment{}, foreign, unreadable(err)
	}
	p, about, err := s.readEvent(&e)
	theirs := s.theirs(&e)
	switch {
	case theirs == nil || err != nil:
		return p, about, err
	case about == ours || about == otherKind:
		return p, foreign, theirs
	}
	return sale.Payment{}, foreign, nil
}

// readEvent reads an event as if its account and its mode were ours.
func (s *stripeSettings) readEvent(e *stripeEvent) (p sale.Payment, _ subject, err error) {
	// Thin events name their object and no more. If they were ignored, nobody would hear that payments are not recorded.
	if e.Object == "v2.core.event" {
		return p, unknown, sale.Refuse(sale.InvalidRequest, "this is a thin event, which does not say what was paid: "+
			"choose the snapshot payload for Stripe's event destination")
	}
	isCheckout := e.Type == "checkout.session.completed" || e.Type == "checkout.session.async_payment_succeeded"
	isIntent := e.Type == "payment_intent.succeeded"
	if !isCheckout && !isIntent {
		return readOther(e.Type, e.Data.Object)
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
	// A completed session of a slow method of payment is not paid yet; another event follows.
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
		return p, foreign, sale.Refusef(sale.InvalidRequest,
			"the amount must be a multiple of 100, as all of Stripe's in %s", p.Currency)
	}
	// 0 if the id is invalid; Pay then records a refund due for an unknown order.
	p.OrderID, _ = orderid.Parse(about.Metadata[metaOrder])
	if isCheckout && s.events == paymentIntentEvents || isIntent && s.events == checkoutEvents {
		return p, otherKind, nil
	}
	return p, ours, nil
}
