package handler

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// Settings are what the providers need, each as its environment variable has it; "" of a provider
// that sends nothing.
type Settings struct {
	// StripeSecrets and StandardWebhooksSecrets are for verifying signatures. Several are separated by commas, so
	// that a new one works before the old one ends.
	StripeSecrets, StandardWebhooksSecrets string
	// StripeEvents is the kind of Stripe's events that counts.
	StripeEvents string
	// These are JSON, see package settings.
	WeChatPaySecrets, AlipaySecrets, AdyenSecrets string
}

// The names of the providers. They are part of payments' ids.
const (
	Stripe           = "stripe"
	StandardWebhooks = "standard-webhooks"
	WeChatPay        = "wechat-pay"
	Alipay           = "alipay"
	Adyen            = "adyen"
)

// provider is one kind of webhook.
type provider struct {
	// verify fails unless the body is signed with one of the secrets, as it was sent or, with Adyen, in what it says,
	// and at an instant at most 300 seconds from now, if what is signed has one.
	verify func(r *httpapi.Request, body []byte) error
	// read returns what a verified body reports, at least one report.
	read func(body []byte) ([]report, error)
	// answer is what the provider is told of the webhook that came to this, or of the error. Without one it is
	// told the outcome as JSON, or a problem.
	answer func(outcome, error) httpapi.Response
	// wrong: its settings cannot be right, because of this, and it takes nothing.
	wrong error
}

// outcome is what became of a webhook that was not refused, as its sender is told.
type outcome struct {
	Outcome  string            `json:"outcome"`
	Reason   sale.RefundReason `json:"reason,omitempty"` // of a refund
	Detail   string            `json:"detail,omitempty"` // what to do about that reason
	repeated bool
	about    subject // of what is ignored
}

// notThePrice is told of a payment that is not of the price, because then most payments of the sale are not.
const notThePrice = "the payment is not exactly the sale's price, times the order's units: " +
	"ask for that alone, without tax on top of it, shipping or a promotion code, " +
	"or allow a sale's extras when it is created, or each payment has to be refunded"

// report is what a webhook, or a part of a batch of them, is about, and its payment, if it is about one:
// without its provider.
type report struct {
	payment sale.Payment
	// money is what it says of money of that payment that went back, did not, or is disputed, without provider and
	// reference. If it is set, about does not matter.
	money *sale.MoneyReport
	about subject
	// refused: the report is not taken, because of this. Others of its batch are.
	refused error
}

// subject is what a verified webhook is about. Those that are neither ours nor otherKind are
// ignored. It is a closed set, whatever types a provider has, because metrics count it.
type subject string

const (
	ours      subject = "ours"       // a payment of an order
	otherKind subject = "other-kind" // a payment of an order, in a kind of event that does not count

	otherStack subject = "other-stack" // a payment that names another stack, and no order here

	foreign  subject = "foreign"  // a payment, not of an order of this system
	unpaid   subject = "unpaid"   // no money came or went: not yet, or the attempt failed
	free     subject = "free"     // a session that needed no payment
	charge   subject = "charge"   // money came, perhaps: charges are not read
	refunded subject = "refunded" // money went back, and the event lacks the payment or the amount
	notBack  subject = "not-back" // a refund failed or came again, and the event lacks the payment
	disputed subject = "disputed" // a dispute, and the event lacks the payment, or its state is unknown
	unknown  subject = "unknown"  // any other type
)

// one makes the reader of a provider whose webhooks report one thing each.
func one(read func(body []byte) (report, error)) func([]byte) ([]report, error) {
	return func(body []byte) ([]report, error) {
		r, err := read(body)
		if err != nil && r.payment.Reference == "" {
			return nil, err
		}
		r.refused = err
		return []report{r}, nil
	}
}

// tolerance is how far from now the time of a signature may be; standard-webhooks v0.0.1 allows as much.
const tolerance = 300 * time.Second

// errUnsigned and errOld say nothing about the secrets or the body.
var (
	errUnsigned = sale.Refuse(sale.InvalidRequest, "the webhook has no valid signature")
	errOld      = sale.Refuse(sale.InvalidRequest, "the webhook was not signed within 300 seconds of now")
)

// errNoAmount: an amount that is missing or null is not zero.
var errNoAmount = errors.New("there is no amount")

// ofStack finds the stack behind an order, whose id has at least 15 digits.
var ofStack = regexp.MustCompile(`[0-9]{15,}-([0-9a-f]{8})$`)

// stackOf returns the stack that such a text as orderOf reads names, "" for none.
func stackOf(text string) string {
	if found := ofStack.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// orderOf reads the text by which a shop names an order in the one field that its provider sends back,
// flashsale-SALE-ORDER or flashsale-SALE-ORDER-STACK. named is false for any other text: the payment is for something
// else. order is 0 if it is invalid; Pay then records a refund due for an unknown order.
func orderOf(text string) (saleID string, order uint64, named bool) {
	name, named := strings.CutPrefix(text, "flashsale-")
	if stack := stackOf(text); stack != "" {
		name = strings.TrimSuffix(name, "-"+stack)
	}
	at := max(strings.LastIndexByte(name, '-'), 0) // a sale's id may have hyphens, too
	order, _ = orderid.Parse(strings.TrimPrefix(name[at:], "-"))
	return name[:at], order, named
}

// told is what an answer in a provider's form says of an error: its status, and its code with what may be shown of it.
func told(err error) (status int, message string) {
	message = string(sale.CodeOf(err))
	if said, ours := errors.AsType[*sale.Error](err); ours && said.Detail != "" {
		message += ": " + said.Detail
	}
	return httpapi.Problem(err, "").StatusCode, message
}

// unreadable is the refusal of a signed body that cannot be read.
func unreadable(err error) error {
	return &sale.Error{Code: sale.InvalidRequest, Detail: "the webhook's body cannot be read", Err: err}
}
