package handler

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/functions/pay/settings"
	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// newStandardWebhooks takes webhooks that are signed as www.standardwebhooks.com says.
func newStandardWebhooks(s Settings, _ func() time.Time) (provider, error) {
	secrets := settings.Listed(s.StandardWebhooksSecrets)
	if err := settings.CheckKeys("the signing secrets", secrets, isStandards); err != nil {
		return provider{}, err
	}
	var keys []*standardwebhooks.Webhook
	for _, secret := range secrets {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return provider{}, errors.New("a signing secret is not valid base64") // err may quote it
		}
		keys = append(keys, key)
	}
	verify := func(r *httpapi.Request, body []byte) error {
		headers := http.Header{}
		for _, name := range []string{
			standardwebhooks.HeaderWebhookID, standardwebhooks.HeaderWebhookTimestamp, standardwebhooks.HeaderWebhookSignature,
		} {
			headers.Set(name, r.Headers[name])
		}
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

// The least and the most bytes of a signing secret (spec/standard-webhooks.md of
// github.com/standard-webhooks/standard-webhooks, "Signature scheme", read on 2026-11-28).
const minStandard, maxStandard = 24, 64

func isStandards(text string) error {
	rest, isSecret := strings.CutPrefix(text, settings.Whsec)
	key, notBase64 := base64.StdEncoding.DecodeString(rest)
	err := settings.IsText(text)
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(text, "whpk_"), strings.HasPrefix(text, "whsk_"):
		return errors.New("it is a key of an asymmetric signature, which is not taken: a signing secret begins with " +
			settings.Whsec)
	case !isSecret:
		return errors.New("it does not begin with " + settings.Whsec)
	case notBase64 != nil:
		return fmt.Errorf("what follows %s is not valid base64", settings.Whsec)
	case len(key) < minStandard || len(key) > maxStandard:
		return fmt.Errorf("it is not of %d to %d bytes, in base64 after %s", minStandard, maxStandard, settings.Whsec)
	}
	return nil
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
	p = sale.Payment{
		Reference: data.PaymentID, Amount: int64(*data.Amount), Currency: strings.ToUpper(data.Currency), SaleID: data.SaleID,
	}
	// 0 if the id is invalid; Pay then records a refund due for an unknown order.
	p.OrderID, _ = orderid.Parse(data.OrderID)
	return p, ours, nil
}
