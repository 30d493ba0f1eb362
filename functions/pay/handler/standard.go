package handler

import (
	"errors"
	"net/http"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// newStandardWebhooks takes webhooks that are signed as www.standardwebhooks.com says.
func newStandardWebhooks(s Settings, _ func() time.Time) (provider, error) {
	secrets, err := secretsOf(s.StandardWebhooks)
	if err != nil {
		return provider{}, err
	}
	var keys []*standardwebhooks.Webhook
	for _, secret := range secrets {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return provider{}, errors.New("a secret is not valid base64") // err may quote it
		}
		keys = append(keys, key)
	}
	verify := func(r *httpapi.Request, body []byte) error {
		headers := http.Header{}
		headers.Set(standardwebhooks.HeaderWebhookID, r.WebhookID.Value)
		headers.Set(standardwebhooks.HeaderWebhookTimestamp, r.WebhookTimestamp.Value)
		headers.Set(standardwebhooks.HeaderWebhookSignature, r.WebhookSignature.Value)
		var failed error
		for _, key := range keys {
			err := key.Verify(body, headers)
			if err == nil {
				return nil
			}
			failed = errors.Join(failed, err)
		}
		if errors.Is(failed, standardwebhooks.ErrMessageTooOld) || errors.Is(failed, standardwebhooks.ErrMessageTooNew) {
			return errOld
		}
		return errUnsigned
	}
	return provider{verify: verify, read: one(readStandardWebhook)}, nil
}

// standardPayment is the data of the one type that reports a payment.
type standardPayment struct {
	SaleID    string          `json:"saleId"`
	OrderID   string          `json:"orderId"`
	PaymentID string          `json:"paymentId"`
	Amount    *jsonread.Whole `json:"amount"`
	Currency  string          `json:"currency"`
}

// aboutStandard is what a type that reports no payment is about. The standard names no types;
// these are what providers use.
func aboutStandard(kind string) subject {
	switch {
	case kind == "refund.failed":
		return notBack
	case strings.HasPrefix(kind, "refund."), kind == "payment.refunded", kind == "payment.partially_refunded":
		return refunded
	case strings.Contains(kind, "dispute"):
		return disputed
	case strings.HasPrefix(kind, "payment."):
		return unpaid
	}
	return unknown
}

func readStandardWebhook(body []byte) (p sale.Payment, _ subject, err error) {
	var e struct {
		Type string         `json:"type"`
		Data jsontext.Value `json:"data"`
	}
	if err := jsonv2.Unmarshal(body, &e); err != nil {
		return p, foreign, unreadable(err)
	}
	if e.Type != "payment.succeeded" {
		return p, aboutStandard(e.Type), nil
	}
	var data standardPayment
	err = jsonv2.Unmarshal(e.Data, &data)
	if err == nil && data.Amount == nil {
		err = errNoAmount
	}
	if err != nil {
		return p, foreign, unreadable(err)
	}
	// The payment's id, and not the message's: a payment may be reported by several.
	p = sale.Payment{Reference: data.PaymentID, Amount: int64(*data.Amount), Currency: strings.ToUpper(data.Currency), SaleID: data.SaleID}
	// 0 if the id is invalid; Pay then records a refund due for an unknown order.
	p.OrderID, _ = orderid.Parse(data.OrderID)
	return p, ours, nil
}
