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

	"flashsale/shared/currency"
	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
	"flashsale/shared/settings"
)

// The metadata of a Stripe object that name the order. A Stripe endpoint gets all events
// of its account: without the first key the payment is for something else.
const (
	metaSale  = "flashsale_sale"
	metaOrder = "flashsale_order"
	metaStack = "flashsale_stack" // may be missing
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
	Object     string         `json:"object"`
	Type       string         `json:"type"`
	APIVersion string         `json:"api_version"` // such as 2025-03-31.basil
	Created    jsontext.Value `json:"created"`     // in seconds, of a thin event a text
	Account    *string        `json:"account"`     // the connected account; an own event has none
	Context    *string        `json:"context"`     // of an organization's endpoint the account
	Livemode   *bool          `json:"livemode"`
	Data       struct {
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

// aboutStripe is what an event that reports no payment is about.
func aboutStripe(kind string) subject {
	switch {
	case kind == "refund.failed":
		return notBack
	case strings.HasPrefix(kind, "refund."), strings.HasPrefix(kind, "charge.refund"):
		return refunded
	case strings.HasPrefix(kind, "charge.dispute."), strings.HasPrefix(kind, "radar.early_fraud_warning."):
		return disputed
	case kind == "charge.failed", kind == "charge.expired",
		strings.HasPrefix(kind, "payment_intent."), strings.HasPrefix(kind, "checkout.session."):
		return unpaid
	case strings.HasPrefix(kind, "charge."):
		return charge
	}
	return unknown
}

// stripeMoney is a refund, a refunded charge, a dispute or a fraud warning.
type stripeMoney struct {
	ID             string            `json:"id"`
	PaymentIntent  string            `json:"payment_intent"`
	Status         string            `json:"status"` // of a refund and of a dispute
	Amount         *jsonread.Whole   `json:"amount"`
	AmountCaptured *jsonread.Whole   `json:"amount_captured"` // of a charge
	AmountRefunded *jsonread.Whole   `json:"amount_refunded"` // of a charge
	Currency       string            `json:"currency"`
	Metadata       map[string]string `json:"metadata"`
}

// The states of Stripe's refunds and disputes, as stripe-go v84.4.1 has them; charge_refunded is of old disputes. One
// that is prevented has become no chargeback.
var (
	stripeRefunds = map[string]sale.RefundState{
		"succeeded": sale.RefundDone, "failed": sale.RefundFailed, "canceled": sale.RefundFailed,
	}
	stripeDisputes = map[string]sale.DisputeState{
		"warning_needs_response": sale.DisputeAsked, "warning_under_review": sale.DisputeAsked,
		"warning_closed": sale.DisputeAsked, "prevented": sale.DisputeAsked, "charge_refunded": sale.DisputeAsked,
		"needs_response": sale.DisputeOpen, "under_review": sale.DisputeOpen,
		"won": sale.DisputeWon, "lost": sale.DisputeLost,
	}
)

// readOther reads an event that reports no payment. Of its money it says nothing if it does not say which payment it is
// of, how much or in which state.
func (e *stripeEvent) readOther() (r report, err error) {
	r.about = aboutStripe(e.Type)
	var of stripeMoney
	isMoney := r.about == refunded || r.about == notBack || r.about == disputed
	if !isMoney || jsonv2.Unmarshal(e.Data.Object, &of) != nil || of.PaymentIntent == "" {
		return r, nil
	}
	var created jsonread.Whole
	_ = jsonv2.Unmarshal(e.Created, &created) // which is 1970 if it is missing, as it never is
	r.payment.Reference = of.PaymentIntent
	m := &sale.MoneyReport{At: time.Unix(int64(created), 0).UTC(), MayBeOurs: true}
	switch {
	case r.about == disputed:
		m.Dispute = of.dispute(e.Type, int64(created))
	case e.Type == "charge.refunded":
		if m.Total, m.Currency, err = of.total(e.APIVersion); m.Total == nil {
			r.about = unpaid
		}
		// A charge has the metadata of its payment's intent; refunds and disputes have their own.
		m.MayBeOurs = len(of.Metadata) == 0 || of.Metadata[metaSale] != ""
	default:
		if e.Type == "refund.failed" {
			of.Status = "failed"
		}
		m.Refund, m.Currency, err = of.refund()
		switch stripeRefunds[of.Status] {
		case sale.RefundFailed:
			r.about = notBack
		case "":
			r.about = unpaid // pending or requires_action
		}
	}
	if m.Refund != nil || m.Total != nil || m.Dispute != nil {
		r.money = m
	}
	return r, err
}

func (c *stripeMoney) dispute(kind string, created int64) *sale.DisputeReport {
	state, known := stripeDisputes[c.Status]
	if strings.HasPrefix(kind, "radar.") {
		state, known = sale.DisputeAsked, true
	}
	if !known {
		return nil
	}
	return &sale.DisputeReport{ID: c.ID, State: state, Rank: created}
}

func (c *stripeMoney) refund() (*sale.RefundReport, string, error) {
	state, known := stripeRefunds[c.Status]
	if !known || c.Amount == nil || *c.Amount == 0 {
		return nil, "", nil
	}
	amount, code, err := minorOfStripe(*c.Amount, c.Currency)
	return &sale.RefundReport{ID: c.ID, State: state, Amount: amount}, code, err
}

// total is how much of a charge went back, of what was taken. Before version 2025-03-31 of Stripe's API amount_refunded
// also counts what a capture in part has released, which was never taken
// (docs.stripe.com/changelog/basil/2025-03-31/remove-refund-from-partial-capture-and-payment-cancellation-flow).
//
// It falls again when a refund fails, of which refund.failed tells and no charge.refunded
// (docs.stripe.com/testing#refunds).
func (c *stripeMoney) total(version string) (*sale.TotalReport, string, error) {
	if c.AmountRefunded == nil {
		return nil, "", nil
	}
	back := *c.AmountRefunded
	if version < "2025-03-31" && c.Amount != nil && c.AmountCaptured != nil {
		back -= *c.Amount - *c.AmountCaptured
	}
	if back <= 0 {
		return nil, "", nil
	}
	amount, code, err := minorOfStripe(back, c.Currency)
	return &sale.TotalReport{Amount: amount}, code, err
}

// minorOfStripe returns an amount of Stripe's in minor units of ISO 4217, and its currency in capitals.
func minorOfStripe(amount jsonread.Whole, code string) (int64, string, error) {
	code = strings.ToUpper(code)
	minor, isWhole := currency.FromStripe(int64(amount), code)
	if !isWhole {
		return 0, code, sale.Refusef(sale.InvalidRequest,
			"the amount must be a multiple of 100, as all of Stripe's in %s", code)
	}
	return minor, code, nil
}

func (s *stripeSettings) read(body []byte) (report, error) {
	var e stripeEvent
	if err := jsonv2.Unmarshal(body, &e); err != nil {
		return report{}, unreadable(err)
	}
	r, err := s.readEvent(&e)
	theirs := s.theirs(&e)
	switch {
	case theirs == nil:
		return r, err
	case r.about == ours || r.about == otherKind:
		return r, theirs
	case r.about == foreign && err != nil: // perhaps a payment of an order
		return r, err
	}
	return report{about: foreign}, nil
}

// readEvent reads an event as if its account and its mode were ours.
func (s *stripeSettings) readEvent(e *stripeEvent) (report, error) {
	r := report{about: foreign}
	// Thin events name their object and no more. If they were ignored, nobody would hear that payments are not recorded.
	if e.Object == "v2.core.event" {
		return r, sale.Refuse(sale.InvalidRequest, "this is a thin event, which does not say what was paid: "+
			"choose the snapshot payload for Stripe's event destination")
	}
	isCheckout := e.Type == "checkout.session.completed" || e.Type == "checkout.session.async_payment_succeeded"
	isIntent := e.Type == "payment_intent.succeeded"
	if !isCheckout && !isIntent {
		return e.readOther()
	}
	var about struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := jsonv2.Unmarshal(e.Data.Object, &about); err != nil {
		return r, unreadable(err)
	}
	if about.Metadata[metaSale] == "" {
		return r, nil
	}
	var object stripePayment
	if err := jsonv2.Unmarshal(e.Data.Object, &object); err != nil {
		return r, unreadable(err)
	}
	// A completed session of a slow method of payment is not paid yet; another event follows.
	switch {
	case isCheckout && object.PaymentStatus == "no_payment_required":
		return report{about: free}, nil
	case isCheckout && object.PaymentStatus != "paid":
		return report{about: unpaid}, nil
	}
	reference, amount := object.ID, object.AmountReceived
	if isCheckout {
		// The payment's own id: a session's id would be another one for the same payment.
		reference, amount = object.PaymentIntent, object.AmountTotal
	}
	if amount == nil {
		return r, unreadable(errNoAmount)
	}
	p, err := sale.Payment{Reference: reference, SaleID: about.Metadata[metaSale]}, error(nil)
	if p.Amount, p.Currency, err = minorOfStripe(*amount, object.Currency); err != nil {
		return report{payment: p, about: foreign}, err
	}
	// 0 if the id is invalid; Pay then records a refund due for an unknown order.
	p.OrderID, _ = orderid.Parse(about.Metadata[metaOrder])
	p.Stack = about.Metadata[metaStack]
	if isCheckout {
		p.Goods, p.GoodsCurrency = stripeGoods(e.Data.Object)
	}
	if isCheckout && s.events == paymentIntentEvents || isIntent && s.events == checkoutEvents {
		return report{payment: p, about: otherKind}, nil
	}
	return report{payment: p, about: ours}, nil
}
