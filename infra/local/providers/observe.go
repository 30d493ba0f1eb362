package providers

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"flashsale/infra/kit/client/webhook"
)

// Observe passes requests on to the API, and notes the payments that a webhook reports once it is taken: so whoever plays a
// provider that is paid need not know this one.
func (p *Providers) Observe(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		provider, isWebhook := strings.CutPrefix(r.URL.Path, "/payments/")
		if !isWebhook || p.controls[provider] == nil {
			api.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		said := &answered{w, http.StatusOK}
		api.ServeHTTP(said, r)
		if said.status/100 == 2 {
			p.note(provider, string(body))
		}
	})
}

// answered notes the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// note notes the payments of a webhook that the API has verified; the first report of a payment counts.
func (p *Providers) note(provider, body string) {
	var all []payment
	switch provider {
	case webhook.Stripe:
		all = paidAtStripe(parse(body))
	case webhook.WeChatPay:
		all = p.keys.paidAtWeChatPay(parse(body))
	case webhook.Alipay:
		all = paidAtAlipay(body)
	case webhook.Adyen:
		all = paidAtAdyen(parse(body))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range all {
		of.Provider = provider
		if key := provider + "/" + of.Reference; of.Paid > 0 && p.kept.Payments[key] == nil {
			p.kept.Payments[key], p.changed = &of, true
		}
	}
}

// parsed is JSON of which only some members matter; those that are missing are empty.
type parsed map[string]any

func parse(text string) (of parsed) {
	_ = json.Unmarshal([]byte(text), &of)
	return of
}

func (of parsed) at(name string) parsed {
	in, _ := of[name].(map[string]any)
	return in
}

func (of parsed) text(name string) string {
	text, _ := of[name].(string)
	return text
}

func (of parsed) number(name string) int64 {
	n, _ := of[name].(float64) // of an amount, which is smaller than 2^53
	return int64(n)
}

func paidAtStripe(e parsed) []payment {
	o := e.at("data").at("object")
	of := payment{Order: o.at("metadata").text("flashsale_order"), Currency: o.text("currency"), Live: e["livemode"] == true}
	switch e.text("type") {
	case "checkout.session.completed", "checkout.session.async_payment_succeeded":
		of.Reference, of.Paid = o.text("payment_intent"), o.number("amount_total")
	case "payment_intent.succeeded":
		of.Reference, of.Paid = o.text("id"), o.number("amount_received")
	}
	return []payment{of}
}

func (k *keys) paidAtWeChatPay(n parsed) []payment {
	block, err := aes.NewCipher([]byte(k.apiV3Key))
	if err != nil || n.text("event_type") != "TRANSACTION.SUCCESS" {
		return nil
	}
	gcm, _ := cipher.NewGCM(block) // which takes any block of AES
	sealed := n.at("resource")
	text, _ := base64.StdEncoding.DecodeString(sealed.text("ciphertext"))
	plain, _ := gcm.Open(nil, []byte(sealed.text("nonce")), text, []byte(sealed.text("associated_data")))
	of := parse(string(plain))
	return []payment{{
		Reference: of.text("transaction_id"), Order: of.text("out_trade_no"), Paid: of.at("amount").number("total"), Currency: of.at("amount").text("currency"),
	}}
}

func paidAtAlipay(body string) []payment {
	form, _ := url.ParseQuery(body)
	paid, is := fen(form.Get("total_amount"))
	if !is || form.Get("trade_status") != "TRADE_SUCCESS" || form.Has("refund_fee") {
		return nil
	}
	return []payment{{Reference: form.Get("trade_no"), Order: form.Get("out_trade_no"), Passback: form.Get("passback_params"), Paid: paid, Currency: "CNY"}}
}

func paidAtAdyen(n parsed) (all []payment) {
	items, _ := n["notificationItems"].([]any)
	for _, item := range items {
		wrapped, _ := item.(map[string]any)
		if i := parsed(wrapped).at("NotificationRequestItem"); i.text("eventCode") == "AUTHORISATION" && i.text("success") == "true" {
			amount := i.at("amount")
			all = append(all, payment{
				Reference: i.text("pspReference"), Order: i.text("merchantReference"), Paid: amount.number("value"), Currency: amount.text("currency"),
			})
		}
	}
	return all
}
