package providers

import (
	"crypto/rand"
	"net/http"
	"regexp"
	"slices"
	"strconv"
)

var (
	stripeVersion = regexp.MustCompile(`^(20\d\d-\d\d-\d\d(\.[a-z]+)?)?$`)
	stripeField   = regexp.MustCompile(`^(payment_intent|amount|metadata\[\w+\])$`)
)

// callStripe makes a refund, or lists those of a payment, newest first. Under an idempotency key it keeps refusals, too, but
// not of a form that is wrong (docs.stripe.com/api/idempotent_requests).
func (p *Providers) callStripe(c *call) answer {
	intent, isList := c.Form.Get("payment_intent"), c.Method == http.MethodGet
	amount, err := strconv.ParseInt(c.Form.Get("amount"), 10, 64)
	isForm := c.URL.RawQuery == "" && err == nil && amount > 0
	for name, values := range c.Form {
		isForm = isForm && stripeField.MatchString(name) && len(values) == 1
	}
	switch {
	case c.Header.Get("Authorization") != "Bearer "+p.keys.Stripe.SecretKey:
		return p.refuse(c, http.StatusUnauthorized, "", "Invalid API Key provided")
	case !stripeVersion.MatchString(c.Header.Get("Stripe-Version")):
		return p.refuse(c, http.StatusBadRequest, "", "Invalid Stripe API version")
	case intent == "" || !isForm && !isList || len(c.Header.Get("Idempotency-Key")) > 255:
		return p.refuse(c, http.StatusBadRequest, "", "A parameter is missing, unknown or invalid.")
	}
	of, missing := p.named(c, intent), p.refuse(c, http.StatusNotFound, "resource_missing", "No such payment_intent: '"+intent+"'")
	if isList {
		if of == nil {
			return missing
		}
		listed := []object{}
		for _, r := range slices.Backward(of.Refunds) {
			listed = append(listed, stripeRefund(r))
		}
		return answer{Status: http.StatusOK, Body: object{"object": "list", "url": "/v1/refunds", "has_more": false, "data": listed}.String()}
	}
	return p.once(c, c.Form.Encode(), func() answer {
		switch {
		case of == nil:
			return missing
		case c.control.Refuse != "":
			return p.refuse(c, http.StatusBadRequest, c.control.Refuse, "The refund is refused.")
		case c.rest(of) == 0:
			return p.refuse(c, http.StatusBadRequest, "charge_already_refunded", "The charge has already been refunded.")
		case amount > c.rest(of):
			return p.refuse(c, http.StatusBadRequest, "", "Refund amount is greater than unrefunded amount on charge")
		}
		as := pending // until there is balance
		if c.control.spend(amount) {
			as = succeeded
		}
		return answer{Status: http.StatusOK, Body: stripeRefund(p.add(of, c.Form.Get("metadata[flashsale]"), amount, as)).String()}
	}, p.refuse(c, http.StatusBadRequest, "idempotency_error", "Keys for idempotent requests can only be used with the same parameters."))
}

func stripeRefund(r *refund) object {
	return object{
		"id": "re_" + r.ID, "object": "refund", "amount": r.Amount, "currency": r.payment.Currency, "payment_intent": r.payment.Reference,
		"status": r.State, "created": r.At.Unix(), "metadata": object{"flashsale": r.Request},
		"failure_reason": map[state]string{failed: "expired_or_canceled_card"}[r.State],
	}
}

// tellStripe are the events of a refund's new state.
func tellStripe(r *refund) (bodies []string) {
	of, kind := r.payment, "refund.updated"
	event := func(kind string, about object) {
		bodies = append(bodies, object{
			"id": "evt_" + rand.Text(), "object": "event", "api_version": "2025-09-30.clover", "type": kind, "created": r.At.Unix(),
			"livemode": false, "data": object{"object": about},
		}.String())
	}
	if r.State == failed {
		kind = "refund.failed"
	} else if r.Told == "" {
		kind = "refund.created"
	}
	event(kind, stripeRefund(r))
	if r.State == succeeded {
		event("charge.refunded", object{
			"id": "ch_" + of.Reference, "object": "charge", "amount": of.Paid, "amount_captured": of.Paid, "currency": of.Currency,
			"amount_refunded": of.Paid - of.rest(false), "payment_intent": of.Reference, "metadata": object{},
		})
	}
	return bodies
}
