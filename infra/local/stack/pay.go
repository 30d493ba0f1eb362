package stack

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stripe/stripe-go/v84/webhook"

	"flashsale/infra/local/engine"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
)

// The signing secrets of the local stack's payment providers, documented in HTTP.md, so
// that any tool can sign.
const (
	StripeSecret           = "whsec_local_stripe"
	StandardWebhooksSecret = "whsec_bG9jYWwtZmxhc2hzYWxlLXdlYmhvb2stc2VjcmV0"
)

const (
	secretARN = "arn:aws:secretsmanager:" + region + ":" + accountID + ":secret:"
	payPath   = "/_local/pay"
)

// pay plays a payment provider: it sends the signed webhook of a payment of the order in
// the query, and answers as the function did. Also in the query: provider, reference,
// amount and currency; what is left out is the sale's, or 1 CNY.
func (s *Stack) pay(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	id, err := orderid.Parse(q.Get("order"))
	if err != nil {
		http.Error(w, "order must be an order's id: use "+payPath+"?order=…", http.StatusBadRequest)
		return
	}
	p := localPayment{OrderID: q.Get("order"), PaymentID: cmp.Or(q.Get("reference"), "pi_"+q.Get("order")), Amount: 100, Currency: "CNY"}
	book := ledger.New(engine.Client(s.DynamoDB), s.Table, ledger.Options{})
	if order, err := book.Order(r.Context(), id); err == nil {
		p.SaleID = order.SaleID
		if held, err := book.Sale(r.Context(), order.SaleID); err == nil && held.Price != 0 {
			p.Amount, p.Currency = held.Price, held.Currency
		}
	}
	p.SaleID, p.Currency = cmp.Or(q.Get("sale"), p.SaleID, "unknown"), cmp.Or(q.Get("currency"), p.Currency)
	if text := q.Get("amount"); text != "" {
		if p.Amount, err = strconv.ParseInt(text, 10, 64); err != nil {
			http.Error(w, "amount must be a whole number of minor units", http.StatusBadRequest)
			return
		}
	}
	request, err := p.request(r, s.API, cmp.Or(q.Get("provider"), "stripe"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}

type localPayment struct {
	SaleID    string `json:"saleId"`
	OrderID   string `json:"orderId"`
	PaymentID string `json:"paymentId"`
	Amount    int64  `json:"amount"`
	Currency  string `json:"currency"`
}

// request is the webhook as that provider sends it now.
func (p localPayment) request(r *http.Request, api, provider string) (*http.Request, error) {
	now := time.Now()
	var body []byte
	headers := map[string]string{"Content-Type": "application/json"}
	var err error
	switch provider {
	case "stripe":
		body, err = json.Marshal(map[string]any{
			"id": "evt_" + p.PaymentID, "object": "event", "type": "checkout.session.completed",
			"data": map[string]any{"object": map[string]any{
				"id": "cs_" + p.PaymentID, "object": "checkout.session", "payment_status": "paid", "payment_intent": p.PaymentID,
				"amount_total": p.Amount, "currency": strings.ToLower(p.Currency),
				"metadata": map[string]string{"flashsale_sale": p.SaleID, "flashsale_order": p.OrderID},
			}},
		})
		headers["Stripe-Signature"] = fmt.Sprintf("t=%d,v1=%x", now.Unix(), webhook.ComputeSignature(now, body, StripeSecret))
	case "standard-webhooks":
		var key *standardwebhooks.Webhook
		if body, err = json.Marshal(map[string]any{"type": "payment.succeeded", "timestamp": now.UTC().Format(time.RFC3339), "data": p}); err != nil {
			return nil, err
		}
		if key, err = standardwebhooks.NewWebhook(StandardWebhooksSecret); err != nil {
			return nil, err
		}
		id := "msg_" + p.PaymentID
		headers["webhook-id"], headers["webhook-timestamp"] = id, strconv.FormatInt(now.Unix(), 10)
		headers["webhook-signature"], err = key.Sign(id, now, body)
	default:
		return nil, fmt.Errorf("provider must be stripe or standard-webhooks")
	}
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, api+"/payments/"+provider, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	return request, nil
}
