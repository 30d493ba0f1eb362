package providers

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
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
		body, err := readAgain(r)
		if err != nil {
			return
		}
		said := &answered{w, http.StatusOK}
		api.ServeHTTP(said, r)
		if said.status/100 == 2 {
			p.note(provider, body)
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

// report is what matters of a webhook that is JSON.
type report struct {
	Type string // of Stripe
	Data struct {
		Object struct {
			Intent   string `json:"payment_intent"`
			Total    int64  `json:"amount_total"`
			Currency string
		}
	}
	EventType string `json:"event_type"` // of WeChat Pay
	Resource  struct {
		Nonce      string
		About      string `json:"associated_data"`
		Ciphertext []byte
	}
	Items []struct { // of Adyen
		Item struct {
			Reference          string `json:"pspReference"`
			EventCode, Success string
			Amount             struct {
				Value    int64
				Currency string
			}
		} `json:"NotificationRequestItem"`
	} `json:"notificationItems"`
}

// note notes the payments of a webhook that the API has verified; the first report of a payment counts.
func (p *Providers) note(provider, body string) {
	var n report
	_ = json.Unmarshal([]byte(body), &n) // what is not of its type does not matter
	var all []payment
	switch o := n.Data.Object; {
	case provider == webhook.Alipay:
		if form, _ := url.ParseQuery(body); form.Get("trade_status") == "TRADE_SUCCESS" && !form.Has("refund_fee") {
			all = []payment{{Reference: form.Get("trade_no"), Paid: fen(form.Get("total_amount"))}}
		}
	case n.Type == "checkout.session.completed":
		all = []payment{{Reference: o.Intent, Paid: o.Total, Currency: o.Currency}}
	case n.EventType == "TRANSACTION.SUCCESS":
		all = []payment{n.wechatPay(p.signing(provider))}
	}
	for _, i := range n.Items {
		if of := i.Item; of.EventCode == "AUTHORISATION" && of.Success == "true" {
			all = append(all, payment{Reference: of.Reference, Paid: of.Amount.Value, Currency: of.Amount.Currency})
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range all {
		of.Provider = provider
		if key := provider + "/" + of.Reference; of.Paid > 0 && p.kept.Payments[key] == nil {
			p.kept.Payments[key] = &of
		}
	}
}

// wechatPay is the payment that the resource is, if the key opens it.
func (n *report) wechatPay(key string) (of payment) {
	var about struct {
		Transaction string `json:"transaction_id"`
		Order       string `json:"out_trade_no"`
		Amount      struct{ Total int64 }
	}
	if block, err := aes.NewCipher([]byte(key)); err == nil {
		gcm, _ := cipher.NewGCM(block) // which takes any block of AES
		plain, _ := gcm.Open(nil, []byte(n.Resource.Nonce), n.Resource.Ciphertext, []byte(n.Resource.About))
		_ = json.Unmarshal(plain, &about) // what cannot be opened is none
	}
	return payment{Reference: about.Transaction, Order: about.Order, Paid: about.Amount.Total}
}
