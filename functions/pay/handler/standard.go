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

	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
	"flashsale/shared/settings"
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

// standardData is the data of the types that are read: of a payment, of a refund of it, or of a dispute.
type standardData struct {
	SaleID    string          `json:"saleId"`
	OrderID   string          `json:"orderId"`
	Stack     string          `json:"stack"` // may be missing
	PaymentID string          `json:"paymentId"`
	RefundID  string          `json:"refundId"`
	DisputeID string          `json:"disputeId"`
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

// The types of money that went back, did not, or is disputed.
var (
	standardRefunds = map[string]sale.RefundState{
		"refund.succeeded": sale.RefundDone, "refund.failed": sale.RefundFailed,
	}
	standardDisputes = map[string]sale.DisputeState{
		"dispute.opened": sale.DisputeOpen, "dispute.won": sale.DisputeWon, "dispute.lost": sale.DisputeLost,
	}
)

type standardEvent struct {
	Type      string         `json:"type"`
	Timestamp string         `json:"timestamp"`
	Data      jsontext.Value `json:"data"`
}

func readStandardWebhook(body []byte) (report, error) {
	r := report{about: foreign}
	var e standardEvent
	if err := jsonv2.Unmarshal(body, &e); err != nil {
		return r, unreadable(err)
	}
	if e.Type != "payment.succeeded" {
		return e.readOther(), nil
	}
	var data standardData
	err := jsonv2.Unmarshal(e.Data, &data)
	if err == nil && data.Amount == nil {
		err = errNoAmount
	}
	if err != nil {
		return r, unreadable(err)
	}
	// The payment's id, and not the message's: a payment may be reported by several.
	r.about, r.payment = ours, sale.Payment{
		Reference: data.PaymentID, Amount: int64(*data.Amount), Currency: strings.ToUpper(data.Currency), SaleID: data.SaleID,
	}
	// 0 if the id is invalid; Pay then records a refund due for an unknown order.
	r.payment.OrderID, _ = orderid.Parse(data.OrderID)
	r.payment.Stack = data.Stack
	return r, nil
}

// readOther reads an event that reports no payment. Other senders' data of these types have other members: of such it
// reads no money.
func (e *standardEvent) readOther() report {
	r := report{about: aboutStandard(e.Type)}
	var data standardData
	if jsonv2.Unmarshal(e.Data, &data) != nil || data.PaymentID == "" {
		return r
	}
	at, notRFC3339 := time.Parse(time.RFC3339, e.Timestamp)
	refundState, isRefund := standardRefunds[e.Type]
	disputeState, isDispute := standardDisputes[e.Type]
	m := &sale.MoneyReport{At: at, MayBeOurs: true}
	switch {
	case isRefund && data.RefundID != "" && data.Amount != nil:
		m.Currency = strings.ToUpper(data.Currency)
		m.Refund = &sale.RefundReport{ID: data.RefundID, State: refundState, Amount: int64(*data.Amount)}
	case isDispute && data.DisputeID != "" && notRFC3339 == nil:
		m.Dispute = &sale.DisputeReport{ID: data.DisputeID, State: disputeState, Rank: at.UnixMilli()}
	default:
		return r
	}
	r.payment.Reference, r.money = data.PaymentID, m
	return r
}
