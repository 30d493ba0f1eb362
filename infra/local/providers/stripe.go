package providers

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	stripeVersion = regexp.MustCompile(`^20\d\d-\d\d-\d\d(\.[a-z]+)?$`)
	stripeField   = regexp.MustCompile(`^(payment_intent|amount|reason|metadata\[\w+\])$`)
)

// forbidStripe refuses a call without the key, or of no version of the API.
func (p *Providers) forbidStripe(c *call) (refused answer, is bool) {
	if c.Header.Get("Authorization") != "Bearer "+p.keys.Stripe.SecretKey {
		return p.refuse(c, http.StatusUnauthorized, "", "Invalid API Key provided"), true
	}
	if v := c.Header.Get("Stripe-Version"); v != "" && !stripeVersion.MatchString(v) {
		return p.refuse(c, http.StatusBadRequest, "", "Invalid Stripe API version: "+v), true
	}
	return answer{}, false
}

// refundStripe makes a refund. Under an idempotency key it keeps refusals, too, but not of a form that is wrong
// (docs.stripe.com/api/idempotent_requests).
func (p *Providers) refundStripe(c *call) answer {
	if refused, is := p.forbidStripe(c); is {
		return refused
	}
	form, err := url.ParseQuery(c.body)
	fault, intent, key := "", form.Get("payment_intent"), c.Header.Get("Idempotency-Key")
	amount, noAmount := strconv.ParseInt(form.Get("amount"), 10, 64)
	for name, values := range form {
		if !stripeField.MatchString(name) || len(values) != 1 {
			fault = "Received unknown parameter: " + name
		}
	}
	switch {
	case err != nil || c.URL.RawQuery != "" || !isOf(c, "application/x-www-form-urlencoded"):
		fault = "the body is no form"
	case intent == "":
		fault = "Missing required param: payment_intent."
	case form.Has("amount") && (noAmount != nil || amount < 1):
		fault = "Invalid integer: " + form.Get("amount")
	case len(key) > 255:
		fault = "The idempotency key is longer than 255 characters."
	}
	if fault != "" {
		return p.refuse(c, http.StatusBadRequest, "", fault)
	}
	of := p.named(c, intent)
	return p.once(c, form.Encode(), func() answer {
		if of == nil {
			return p.refuse(c, http.StatusNotFound, "resource_missing", "No such payment_intent: '"+intent+"'")
		}
		rest := c.control.left(of)
		if amount == 0 {
			amount = rest
		}
		switch {
		case c.control.Refuse != "":
			return p.refuse(c, http.StatusBadRequest, c.control.Refuse, "The refund is refused.")
		case rest == 0:
			return p.refuse(c, http.StatusBadRequest, "charge_already_refunded", "Charge "+stripeCharge(of)+" has already been refunded.")
		case amount > rest:
			return p.refuse(c, http.StatusBadRequest, "", fmt.Sprintf("Refund amount (%d) is greater than unrefunded amount on charge (%d)", amount, rest))
		}
		as := pending // until there is balance
		if c.control.spend(amount) {
			as = succeeded
		}
		return answer{status: http.StatusOK, body: stripeRefund(p.add(of, form.Get("metadata[flashsale]"), amount, as)).String()}
	}, p.refuse(c, http.StatusBadRequest, "idempotency_error", "Keys for idempotent requests can only be used with the same parameters they were first used with."))
}

// isOf reports whether the body has a type.
func isOf(c *call, mediaType string) bool {
	sent, _, _ := strings.Cut(c.Header.Get("Content-Type"), ";")
	return sent == mediaType
}

func stripeCharge(of *payment) string { return "ch_" + strings.TrimPrefix(of.Reference, "pi_") }

func stripeRefund(r *refund) object {
	o := object{
		"id": r.ID, "object": "refund", "amount": r.Amount, "currency": r.payment.Currency, "payment_intent": r.payment.Reference,
		"charge": stripeCharge(r.payment), "status": r.State, "created": r.At.Unix(), "reason": nil, "metadata": object{},
	}
	if r.Request != "" {
		o["metadata"] = object{"flashsale": r.Request}
	}
	if r.State == failed {
		o["failure_reason"] = "expired_or_canceled_card"
	}
	return o
}

// listStripe lists the refunds of a payment, newest first.
func (p *Providers) listStripe(c *call) answer {
	if refused, is := p.forbidStripe(c); is {
		return refused
	}
	of := p.named(c, c.URL.Query().Get("payment_intent"))
	if of == nil {
		return p.refuse(c, http.StatusNotFound, "resource_missing", "No such payment_intent")
	}
	listed := []object{}
	for _, r := range slices.Backward(of.Refunds) {
		listed = append(listed, stripeRefund(r))
	}
	return answer{status: http.StatusOK, body: object{"object": "list", "url": "/v1/refunds", "has_more": false, "data": listed}.String()}
}

// tellStripe are the events of a refund's new state.
func tellStripe(r *refund) (bodies []string) {
	of := r.payment
	event := func(kind string, about object) {
		bodies = append(bodies, object{
			"id": "evt_" + rand.Text(), "object": "event", "api_version": "2025-09-30.clover", "type": kind, "created": r.At.Unix(),
			"livemode": of.Live, "data": object{"object": about},
		}.String())
	}
	switch {
	case r.State == failed:
		event("refund.failed", stripeRefund(r))
	case r.Told == "":
		event("refund.created", stripeRefund(r))
	default:
		event("refund.updated", stripeRefund(r))
	}
	if r.State == succeeded {
		event("charge.refunded", object{
			"id": stripeCharge(of), "object": "charge", "amount": of.Paid, "amount_captured": of.Paid, "amount_refunded": of.Paid - of.rest(),
			"refunded": of.rest() == 0, "currency": of.Currency, "payment_intent": of.Reference, "metadata": object{},
		})
	}
	return bodies
}
