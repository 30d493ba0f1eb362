package providers

import (
	"net/http"
	"time"

	"flashsale/infra/kit/client/webhook"
)

// reverseAdyen takes any reversal of a payment that it knows: only its webhook says whether money goes back.
func (p *Providers) reverseAdyen(c *call) answer {
	var form struct{ MerchantAccount, Reference string }
	isForm := c.isJSON() && strictly(c.body, &form)
	switch own := p.keys.Adyen; {
	case c.Header.Get("X-API-Key") != own.APIKey:
		return p.refuse(c, http.StatusUnauthorized, "000", "HTTP Status Response - Unauthorized")
	case !isForm || len(form.Reference) > 80 || len(c.Header.Get("Idempotency-Key")) > 64:
		return p.refuse(c, http.StatusBadRequest, "702", "The request is wrong")
	case form.MerchantAccount != own.MerchantAccount:
		return p.refuse(c, http.StatusForbidden, "901", "Invalid Merchant Account")
	}
	of := p.named(c, c.PathValue("psp"))
	return p.once(c, c.URL.Path+" "+c.body, func() answer {
		switch {
		case of == nil:
			return p.refuse(c, http.StatusUnprocessableEntity, "167", "Original pspReference required for this operation")
		case c.control.Refuse != "":
			return p.refuse(c, http.StatusUnprocessableEntity, c.control.Refuse, "The reversal is refused")
		}
		as := pending
		if c.rest(of) < of.Paid {
			as = failed
		}
		return answer{Status: http.StatusCreated, Body: object{
			"merchantAccount": form.MerchantAccount, "paymentPspReference": of.Reference, "reference": form.Reference, "status": "received",
			"pspReference": p.add(of, form.Reference, of.Paid, as).ID,
		}.String()}
	}, p.refuse(c, http.StatusUnprocessableEntity, "704", "request already processed or in progress"))
}

// tellAdyen is the webhook of a refund that is over: that of a reversal is CANCEL_OR_REFUND (docs.adyen.com/online-payments/reversal),
// and REFUND_FAILED comes after it.
func (p *Providers) tellAdyen(r *refund) string {
	event, success := "CANCEL_OR_REFUND", "true"
	switch {
	case r.State == failed && r.Told == succeeded:
		event = "REFUND_FAILED"
	case r.State == failed:
		success = "false"
	case r.Request == "":
		event = "REFUND"
	}
	body, _ := webhook.AdyenWebhook(p.signing(webhook.Adyen), "false", map[string]any{
		"pspReference": r.ID, "originalReference": r.payment.Reference, "merchantAccountCode": p.keys.Adyen.MerchantAccount,
		"merchantReference": r.Request, "amount": map[string]any{"value": r.Amount, "currency": r.payment.Currency},
		"eventCode": event, "success": success, "eventDate": r.At.Format(time.RFC3339),
	})
	return string(body)
}
