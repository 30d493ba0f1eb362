package harness

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	payhandler "flashsale/functions/pay/handler"
	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/httpapi"
)

// Price is what the sales that ask for payment cost, in cents.
const Price = 100

const (
	// PayWithin and Grace are those of the sales that ask for payment.
	PayWithin = time.Minute
	Grace     = time.Minute
)

// retries are the pauses after which a provider repeats what was not answered 2xx, much like Stripe and
// Standard Webhooks do.
var retries = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour}

// webhooksOf returns what the function takes: of Stripe the events of Checkout.
func webhooksOf() payhandler.Providers {
	all, err := payhandler.NewProviders(payhandler.Settings{
		StripeSecrets: webhook.LocalSecrets[webhook.Stripe], StripeEvents: "checkout", StandardWebhooksSecrets: webhook.LocalSecrets[webhook.StandardWebhooks],
	}, time.Now)
	if err != nil {
		panic(err)
	}
	for _, name := range []string{webhook.WeChatPay, webhook.Alipay, webhook.Adyen} { // whose own signatures would take most of the time
		all[name] = all[webhook.StandardWebhooks]
	}
	return all
}

// Payment is a payment as its provider knows it.
type Payment struct {
	Provider, Reference string
	Sale, Order         string // that it names
	User                string // whose order it pays; "" if it can be nobody's
	Amount              int
	// Wrong is the reason for which it can only be refunded; "" if it can pay its order.
	Wrong string
}

// ID is how the table names the payment.
func (p Payment) ID() string { return p.Provider + "#" + p.Reference }

// NameOrder makes the payment name its order, or none that exists.
func (p *Payment) NameOrder(sale string, orderID uint64) {
	kind := p.Order
	p.Sale, p.Order = sale, strconv.FormatUint(orderID, 10)
	switch {
	case p.Wrong != "unknown-order":
	case kind == "":
		p.Order = ""
	case kind == "elsewhere":
		p.Sale = "elsewhere"
	default: // of two days before, when there was no sale
		p.Order = strconv.FormatUint(orderID-2*86400<<32, 10)
	}
}

// signer is in whose words the provider reports.
func (p Payment) signer() string {
	if p.Provider == webhook.Stripe {
		return p.Provider
	}
	return webhook.StandardWebhooks
}

// webhook returns a maker of requests that report the payment, each signed when it is made.
func (p Payment) webhook() func() httpapi.Request {
	return p.signed(func(reported webhook.Payment) ([]byte, error) {
		return reported.Body(p.signer(), webhook.LocalSecrets[p.signer()], time.Now())
	})
}

// signed returns a maker of requests of that body.
func (p Payment) signed(bodyOf func(webhook.Payment) ([]byte, error)) func() httpapi.Request {
	reported := webhook.Payment{SaleID: p.Sale, OrderID: p.Order, PaymentID: p.Reference, Amount: int64(p.Amount), Currency: "CNY"}
	body, err := bodyOf(reported)
	if err != nil {
		panic(err) // the provider is one of the two
	}
	return func() httpapi.Request {
		signature := http.Header{}
		if err := reported.Sign(signature, p.signer(), webhook.LocalSecrets[p.signer()], body, time.Now()); err != nil {
			panic(err) // the secrets are well-formed
		}
		r := httpapi.Request{RouteKey: "POST /payments/{provider}", Body: string(body), Headers: map[string]string{}}
		for name := range signature {
			r.Headers[strings.ToLower(name)] = signature.Get(name)
		}
		r.Path.Provider = p.Provider
		return r
	}
}

// ErrGivenUp: a provider reports the payment no more. Somebody has to have it repeat that
// when what did not work works again.
var ErrGivenUp = errors.New("P24: a payment is never recorded")

// Deliver reports the payment until it is answered 200, and returns that answer. send
// reports false if there was no answer. Any other answer than 200 and "busy" is an error, and
// so is none at all (ErrGivenUp).
func (p Payment) Deliver(send func(httpapi.Request) (Reply, bool), wait func(time.Duration)) (PaymentAnswer, error) {
	r, err := deliver(p.ID(), p.webhook(), send, wait)
	return r.payment, err
}

func deliver(
	about string, request func() httpapi.Request, send func(httpapi.Request) (Reply, bool), wait func(time.Duration),
) (Reply, error) {
	for i := 0; ; i++ {
		r, ok := send(request())
		switch {
		case ok && r.Status == 200:
			return r, nil
		case ok && r.Code != "busy":
			return Reply{}, fmt.Errorf("P24: %s is answered %d %s", about, r.Status, r.Body)
		case i == len(retries):
			return Reply{}, fmt.Errorf("%w: %s", ErrGivenUp, about)
		}
		wait(retries[i])
	}
}

// RefundReport is what a provider says of a refund of a payment, in the words of its webhook.
type RefundReport struct {
	Payment   Payment
	ID, State string
	Amount    int
}

// Deliver is like that of a payment.
func (r RefundReport) Deliver(send func(httpapi.Request) (Reply, bool), wait func(time.Duration)) error {
	at := time.Now()
	part := r.Payment
	part.Amount = r.Amount
	request := part.signed(func(reported webhook.Payment) ([]byte, error) {
		return reported.RefundBody(part.signer(), webhook.LocalSecrets[part.signer()], r.ID, r.State, at)
	})
	_, err := deliver(r.ID+" of "+part.ID(), request, send, wait)
	return err
}

// CheckMoney compares what a payment's provider has said of its refunds, all of it, with what the payment's refund says
// of them, or else the claim that it has paid (P41): no order of the reports makes a difference, and a refund that
// failed is not back (P43). It returns "" if all is right.
func (p Payment) CheckMoney(db *dynamotest.DB, said []RefundReport, claim books.Claim) string {
	guard := db.Item(TableName, "PAYMENT#"+p.ID(), "PAYMENT")
	back, failures, isMarked := claim.Back, claim.Failures, claim.RefundedAt != 0
	if r := db.Item(TableName, "REFUND#"+Text(guard["saleId"]), p.ID()); r != nil {
		back, _ = Number(r["back"])
		failures, _ = Number(r["failures"])
		_, isMarked = r["refundedAt"]
	}
	failed, done := map[string]bool{}, map[string]int64{}
	for _, r := range said {
		if r.State == "failed" {
			failed[r.ID] = true
		} else {
			done[r.ID] = int64(r.Amount)
		}
	}
	var want int64
	for id, amount := range done {
		if !failed[id] {
			want += amount
		}
	}
	amount, _ := Number(guard["amount"])
	if want = min(want, amount); back == want && failures == int64(len(failed)) && isMarked == (want == amount) {
		return ""
	}
	return fmt.Sprintf("P41: of %+v it was said %+v, and the table says that %d is back, %d failed, and the whole is back: %t",
		p, said, back, failures, isMarked)
}

// PaymentAnswer is what a provider is told of a payment.
type PaymentAnswer struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
}

// IsRefund reports whether the payment is to be refunded.
func (s PaymentAnswer) IsRefund() bool { return s.Outcome == "refund-due" }

// Check compares what the provider was told of the payment with the table: what its guard says, how the
// claim of its order ended, and the reason of its refund (P24). That guards, claims and refunds agree is in
// the recount. Another report of the payment may have decided its fate. It returns "" if all is right.
func (p Payment) Check(db *dynamotest.DB, told PaymentAnswer, end string) string {
	guard := db.Item(TableName, "PAYMENT#"+p.ID(), "PAYMENT")
	sale := Text(guard["saleId"])
	reason := Text(db.Item(TableName, "REFUND#"+sale, p.ID())["reason"])
	recalled := reason == "cancelled" || isRecalled(db, sale, reason)
	isFirst := sale == p.Sale && Text(guard["orderId"]) == p.Order && Text(guard["amount"]) == strconv.Itoa(p.Amount)
	switch fate := Text(guard["fate"]); {
	case fate == "paid" && told.Outcome == "paid" && (reason == "" || recalled) && (!isFirst || p.Wrong == "" && end == p.ID()),
		fate == "paid" && recalled && told == PaymentAnswer{"refund-due", reason}, // it has paid the order, and is refunded for that
		fate == told.Outcome && told.IsRefund() && (told.Reason == reason || recalled) && (!isFirst || end != p.ID()):
		return ""
	}
	return fmt.Sprintf("P24: %+v was said to be %+v; its guard is %v, its order's claim ended as %q, the refund has the reason %q", p, told, guard, end, reason)
}

// isRecalled reports whether that reason of a refund is the recall of its sale: the payment has paid
// its order all the same.
func isRecalled(db *dynamotest.DB, sale, reason string) bool {
	return reason == "recalled" && db.Item(TableName, "SALE#"+sale, "SALE")["recalledAt"] != nil
}

// CheckCancelled compares the answer to a cancellation with how the claim ended (P20).
func CheckCancelled(user string, r Reply, end string) string {
	switch {
	case r.Status == 200 && r.Claim.State == "CANCELLED" && (end == "buyer" || end == "operator"),
		r.Code == "order-paid" && strings.Contains(end, "#"), // a payment
		r.Code == "order-expired" && end == "expiry":
		return ""
	}
	return fmt.Sprintf("P20: %s cancels and is told %d %s; the claim ended as %q", user, r.Status, r.Body, end)
}

// AsksForPayment are the members of a creation that asks for payment. Such a sale also has
// labels.
func AsksForPayment(within time.Duration) string {
	return fmt.Sprintf(`,"payWithin":%d,"price":%d,"currency":"CNY","labels":"sku=A-38,campaign=1111"`, within/time.Second, Price)
}
