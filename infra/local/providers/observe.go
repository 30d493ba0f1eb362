package providers

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
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
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range map[string]func(string) []payment{
		webhook.Stripe: paidAtStripe, webhook.WeChatPay: p.keys.paidAtWeChatPay, webhook.Alipay: paidAtAlipay, webhook.Adyen: paidAtAdyen,
	}[provider](body) {
		of.Provider = provider
		if key := provider + "/" + of.Reference; of.Paid > 0 && p.kept.Payments[key] == nil {
			p.kept.Payments[key], p.changed = &of, true
		}
	}
}

func paidAtStripe(body string) []payment {
	var e struct {
		Type     string
		Livemode bool
		Data     struct {
			Object struct {
				ID, Currency string
				Intent       string            `json:"payment_intent"`
				Total        int64             `json:"amount_total"`
				Received     int64             `json:"amount_received"`
				Metadata     map[string]string `json:"metadata"`
			}
		}
	}
	_ = json.Unmarshal([]byte(body), &e)
	o := e.Data.Object
	of := payment{Order: o.Metadata["flashsale_order"], Currency: o.Currency, Live: e.Livemode}
	switch e.Type {
	case "checkout.session.completed", "checkout.session.async_payment_succeeded":
		of.Reference, of.Paid = o.Intent, o.Total
	case "payment_intent.succeeded":
		of.Reference, of.Paid = o.ID, o.Received
	}
	return []payment{of}
}

func (k *keys) paidAtWeChatPay(body string) []payment {
	var n struct {
		Event    string `json:"event_type"`
		Resource struct {
			Nonce      string
			Ciphertext []byte
			Associated string `json:"associated_data"`
		}
	}
	var of struct {
		Order  string `json:"out_trade_no"`
		ID     string `json:"transaction_id"`
		Amount struct {
			Total    int64
			Currency string
		}
	}
	block, err := aes.NewCipher([]byte(k.apiV3Key))
	if err != nil || json.Unmarshal([]byte(body), &n) != nil || n.Event != "TRANSACTION.SUCCESS" {
		return nil
	}
	gcm, _ := cipher.NewGCM(block) // which takes any block of AES
	plain, _ := gcm.Open(nil, []byte(n.Resource.Nonce), n.Resource.Ciphertext, []byte(n.Resource.Associated))
	_ = json.Unmarshal(plain, &of)
	return []payment{{Reference: of.ID, Order: of.Order, Paid: of.Amount.Total, Currency: of.Amount.Currency}}
}

func paidAtAlipay(body string) []payment {
	form, _ := url.ParseQuery(body)
	paid, is := fen(form.Get("total_amount"))
	if !is || form.Get("trade_status") != "TRADE_SUCCESS" || form.Has("refund_fee") {
		return nil
	}
	return []payment{{Reference: form.Get("trade_no"), Order: form.Get("out_trade_no"), Passback: form.Get("passback_params"), Paid: paid, Currency: "CNY"}}
}

func paidAtAdyen(body string) (all []payment) {
	var n struct {
		NotificationItems []struct {
			NotificationRequestItem struct {
				PSPReference, MerchantReference, EventCode, Success string
				Amount                                              struct {
					Value    int64
					Currency string
				}
			}
		}
	}
	_ = json.Unmarshal([]byte(body), &n)
	for _, item := range n.NotificationItems {
		if i := item.NotificationRequestItem; i.EventCode == "AUTHORISATION" && i.Success == "true" {
			all = append(all, payment{Reference: i.PSPReference, Order: i.MerchantReference, Paid: i.Amount.Value, Currency: i.Amount.Currency})
		}
	}
	return all
}
