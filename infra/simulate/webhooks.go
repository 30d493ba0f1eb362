package simulate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	payhandler "flashsale/functions/pay/handler"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger/dynamotest"
)

// The payment providers, by the name in their path, and the secrets that they sign with.
const (
	stripe           = "stripe"
	stripeSecret     = "whsec_simulated_stripe"
	standardWebhooks = "standard-webhooks"
	standardSecret   = "whsec_c2ltdWxhdGVkLXN0YW5kYXJkLXdlYmhvb2tz"
	foreignSecret    = "whsec_Zm9yZWlnbi1mb3JlaWduLWZvcmVpZ24tZm9yZWlnbg=="
)

// price is what the sales that ask for payment cost, in cents.
const price = 100

const (
	// payWithin and grace are those of the scenarios with payments.
	payWithin = time.Minute
	grace     = time.Minute
)

// retries are the pauses after which a provider repeats what was not answered 2xx: what
// Stripe does in practice, and what Standard Webhooks recommends.
var retries = map[string][]time.Duration{
	stripe:           {5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 16 * time.Hour},
	standardWebhooks: {5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour},
}

// webhooksOf returns what the function takes: of Stripe the events of Checkout.
func webhooksOf() payhandler.Providers {
	all, err := payhandler.NewProviders(stripeSecret, "checkout", standardSecret)
	if err != nil {
		panic(err)
	}
	return all
}

// payment is a payment as its provider knows it.
type payment struct {
	provider, reference string
	sale, order         string // that it names
	user                string // whose order it pays; "" if it can be nobody's
	amount              int
	// wrong is the reason for which it can only be refunded; "" if it can pay its order.
	wrong string
}

// id is how the table names the payment.
func (p payment) id() string { return p.provider + "#" + p.reference }

// name makes the payment name its order, or none that exists.
func (p *payment) name(sale string, orderID uint64) {
	kind := p.order
	p.sale, p.order = sale, strconv.FormatUint(orderID, 10)
	switch {
	case p.wrong != "unknown-order":
	case kind == "":
		p.order = ""
	case kind == "elsewhere":
		p.sale = "elsewhere"
	default: // of two days before, when there was no sale
		p.order = strconv.FormatUint(orderID-2*86400<<32, 10)
	}
}

// report is the body of the webhook that reports the payment.
func (p payment) report() string {
	if p.provider == stripe {
		return p.stripeEvent("checkout.session.completed", `"payment_intent":%q,"payment_status":"paid","amount_total":%d`)
	}
	return fmt.Sprintf(`{"type":"payment.succeeded","timestamp":%q,"data":{"saleId":%q,"orderId":%q,"paymentId":%q,"amount":%d,"currency":"CNY"}}`,
		stamp(time.Now()), p.sale, p.order, p.reference, p.amount)
}

// stripeEvent is an event with an object that has the reference and the amount where
// format says.
func (p payment) stripeEvent(kind, format string) string {
	return fmt.Sprintf(`{"id":"evt_1","object":"event","type":%q,"data":{"object":{`+format+`,"currency":"cny","metadata":{"flashsale_sale":%q,"flashsale_order":%q}}}}`,
		kind, p.reference, p.amount, p.sale, p.order)
}

// signed is the request that delivers a body, signed at that instant.
func (p payment) signed(body, secret string, at time.Time) httpapi.Request {
	r := httpapi.Request{RouteKey: "POST /payments/{provider}", Body: body}
	r.Path.Provider = p.provider
	seconds := strconv.FormatInt(at.Unix(), 10)
	if p.provider == stripe {
		r.StripeSignature = given("t=" + seconds + ",v1=" + hex.EncodeToString(mac([]byte(secret), seconds+"."+body)))
		return r
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err)
	}
	r.WebhookID, r.WebhookTimestamp = given("msg_1"), given(seconds)
	r.WebhookSignature = given("v1," + base64.StdEncoding.EncodeToString(mac(key, "msg_1."+seconds+"."+body)))
	return r
}

func given(value string) httpapi.Header { return httpapi.Header{Value: value, Given: true} }

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // writing to a hash never fails
	return h.Sum(nil)
}

func (p payment) secret() string {
	return map[string]string{stripe: stripeSecret, standardWebhooks: standardSecret}[p.provider]
}

// deliver reports the payment until it is answered 200, and returns that answer. send
// reports false if there was no answer. Any other answer than 200 and "busy" is an error.
func (p payment) deliver(send func(httpapi.Request) (reply, bool), wait func(time.Duration)) (settlement, error) {
	body := p.report()
	for i := 0; ; i++ {
		r, ok := send(p.signed(body, p.secret(), time.Now()))
		switch {
		case ok && r.status == 200:
			return r.settlement, nil
		case ok && r.code != "busy":
			return settlement{}, fmt.Errorf("P24: %s is answered %d %s", p.id(), r.status, r.body)
		case i == len(retries[p.provider]):
			return settlement{}, fmt.Errorf("P24: %s is never recorded", p.id())
		}
		wait(retries[p.provider][i])
	}
}

// settlement is what a provider is told of a payment.
type settlement struct{ Outcome, Reason string }

func (s settlement) isRefund() bool { return s.Outcome == "refund-due" }

// check compares what the provider was told of the payment with the table: how the claim
// of its order ended and whether there is a refund (P24). It returns "" if all is right.
func (p payment) check(db *dynamotest.DB, told settlement, end string) string {
	of := p.sale
	if p.wrong == "unknown-order" {
		of = ""
	}
	reason := text(db.Item(tableName, "REFUND#"+of, p.id())["reason"])
	isRight := false
	switch {
	case told.Outcome == "paid":
		isRight = p.wrong == "" && end == p.id() && reason == ""
	case told.isRefund() && end != p.id() && reason != "" && reason == told.Reason:
		switch reason {
		case "released":
			isRight = p.wrong == "" && (end == "expiry" || end == "buyer")
		case "other-payment":
			isRight = p.wrong == "" && strings.Contains(end, "#")
		default:
			isRight = reason == p.wrong
		}
	}
	if isRight {
		return ""
	}
	return fmt.Sprintf("P24: %+v was said to be %+v; its order's claim ended as %q, the refund has the reason %q", p, told, end, reason)
}

// stray is a webhook that reports no payment, and how it must be answered.
type stray struct {
	name    string
	request httpapi.Request
	status  int
	// reads: the function may read the table. It must write nothing in any case.
	reads bool
}

// strays are webhooks about an order that pretend, repeat or name what is not there.
func (p payment) strays() []stray {
	p.reference += "_stray"
	body, now := p.report(), time.Now()
	unsigned := p.signed(body, p.secret(), now)
	unsigned.StripeSignature, unsigned.WebhookSignature = httpapi.Header{}, httpapi.Header{}
	altered := p.signed(body, p.secret(), now)
	altered.Body = strings.Replace(body, "_stray", "_other", 1)
	unfinished := p
	number, _ := strconv.ParseUint(p.order, 10, 64)
	unfinished.order = strconv.FormatUint(number|(1<<32-1), 10)
	all := []stray{
		{"unsigned", unsigned, 400, false},
		{"altered", altered, 400, false},
		{"signed by another", p.signed(body, foreignSecret, now), 400, false},
		{"signed 301 seconds ago", p.signed(body, p.secret(), now.Add(-302*time.Second)), 400, false},
		{"of an order that may be late", unfinished.signed(unfinished.report(), p.secret(), now), 503, true},
	}
	if p.provider == stripe {
		intent := p.stripeEvent("payment_intent.succeeded", `"id":%q,"amount_received":%d`)
		unpaid := p.stripeEvent("checkout.session.completed", `"payment_intent":%q,"payment_status":"unpaid","amount_total":%d`)
		all = append(all, stray{"the session's intent", p.signed(intent, stripeSecret, now), 200, false},
			stray{"a session that is not paid", p.signed(unpaid, stripeSecret, now), 200, false})
	}
	return all
}

// check compares the answer, and whether the function called the table, with what must be.
func (s stray) check(r reply, reached int64) string {
	if r.status == s.status && (r.status != 200 || r.settlement.Outcome == "ignored") && (s.reads || reached == 0) {
		return ""
	}
	return fmt.Sprintf("P25: a webhook (%s) is answered %d %s after %d calls", s.name, r.status, r.body, reached)
}

// cancel is DELETE /sales/{saleId}/orders/me.
func (e *environment) cancel(sale, user string) (reply, time.Duration, bool) {
	return e.ask(sale, httpapi.Request{RouteKey: "DELETE /sales/{saleId}/orders/me", Sub: user})
}

// checkCancelled compares the answer to a cancellation with how the claim ended (P20).
func checkCancelled(user string, r reply, end string) string {
	switch {
	case r.status == 200 && r.claim.State == "CANCELLED" && end == "buyer",
		r.code == "order-paid" && strings.Contains(end, "#"),
		r.code == "order-expired" && end == "expiry":
		return ""
	}
	return fmt.Sprintf("P20: %s cancels and is told %d %s; the claim ended as %q", user, r.status, r.body, end)
}

// asksForPayment are the members of a creation that asks for payment.
func asksForPayment(within time.Duration) string {
	return fmt.Sprintf(`,"payWithin":%d,"price":%d,"currency":"CNY"`, within/time.Second, price)
}
