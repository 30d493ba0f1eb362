// Package webhook makes the request in which a payment provider reports a payment, for
// programs and tests that play the provider.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The providers, as in the path of their webhooks.
const (
	Stripe           = "stripe"
	StandardWebhooks = "standard-webhooks"
	WeChatPay        = "wechat-pay"
	Alipay           = "alipay"
	Adyen            = "adyen"
)

// Providers are all of them.
var Providers = []string{Stripe, StandardWebhooks, WeChatPay, Alipay, Adyen}

// Told are those that are told what became of a payment, see Outcome; the others, that it is durable.
var Told = []string{Stripe, StandardWebhooks}

// What the local stack trusts of the providers whose settings are JSON. It stands in files, so that any tool can use it.
var (
	//go:embed local/stripe.json
	localStripeText string
	//go:embed local/adyen.json
	localAdyenText string
	//go:embed local/wechat-pay.json
	localWeChatPayText string
	//go:embed local/alipay.json
	localAlipayText string
	//go:embed local/rsa-private-key
	localKeyText string
	//go:embed local/refund.json
	// LocalRefundKeys are what the local stack asks its providers for refunds with, and the only ones that these trust, as the
	// secret of RefundKeysArn has them.
	LocalRefundKeys string
)

// LocalSecrets are the signing secrets on the local stack, documented in HTTP.md, so that
// any tool can sign.
var LocalSecrets = map[string]string{
	Stripe:           localStripeText,
	StandardWebhooks: "whsec_bG9jYWwtZmxhc2hzYWxlLXdlYmhvb2stc2VjcmV0",
	WeChatPay:        localWeChatPayText,
	Alipay:           localAlipayText,
	Adyen:            localAdyenText,
}

// settings are those of a provider whose settings are JSON.
type settings struct {
	MchID                                                  string
	AppIDs, SellerIDs, APIv3Keys, HMACKeys, SigningSecrets []string
	PublicKeys                                             any // WeChat Pay's by serial
	Livemode                                               bool
}

// stripeSettings are the first signing secret and the mode of a secret of Stripe, which may have signing secrets alone.
func stripeSettings(secret string) (signing string, livemode bool) {
	set := settings{SigningSecrets: strings.Split(secret, ","), Livemode: true}
	_ = json.Unmarshal([]byte(secret), &set)
	if len(set.SigningSecrets) > 0 {
		signing = set.SigningSecrets[0]
	}
	return signing, set.Livemode
}

func localSettings(provider string) (s settings) {
	if err := json.Unmarshal([]byte(LocalSecrets[provider]), &s); err != nil {
		panic(err) // it is a file of this package
	}
	return s
}

// LocalLinkKey is the key that signs the links to the payment page on the local stack.
const LocalLinkKey = "local-payment-link-key-of-32-bytes"

// Payment is what a provider reports.
type Payment struct {
	SaleID    string `json:"saleId"`
	OrderID   string `json:"orderId"`
	PaymentID string `json:"paymentId"`
	Amount    int64  `json:"amount"` // in minor units of ISO 4217
	Currency  string `json:"currency"`
}

// Request is the provider's webhook of the payment at that instant, to the API at the
// address; without a secret it is not signed.
func (p Payment) Request(ctx context.Context, api, provider, secret string, now time.Time) (*http.Request, error) {
	body, err := p.Body(provider, secret, now)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, api+"/payments/"+provider, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make webhook: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if provider == Alipay {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	}
	if secret == "" {
		return request, nil
	}
	return request, p.Sign(request.Header, provider, secret, body, now)
}

// Body is the body of the provider's webhook of the payment at that instant. Alipay and Adyen sign within it, if there
// is a secret.
func (p Payment) Body(provider, secret string, now time.Time) ([]byte, error) {
	switch provider {
	case Stripe:
		_, livemode := stripeSettings(secret)
		return json.Marshal(map[string]any{
			"id": "evt_" + p.PaymentID, "object": "event", "type": "checkout.session.completed", "livemode": livemode,
			"data": map[string]any{"object": map[string]any{
				"id": "cs_" + p.PaymentID, "object": "checkout.session", "payment_status": "paid", "payment_intent": p.PaymentID,
				"amount_total": p.counted("ISK UGX", "MGA"), "currency": strings.ToLower(p.Currency),
				"metadata": map[string]string{"flashsale_sale": p.SaleID, "flashsale_order": p.OrderID},
			}},
		})
	case StandardWebhooks:
		return json.Marshal(map[string]any{"type": "payment.succeeded", "timestamp": now.UTC().Format(time.RFC3339), "data": p})
	case WeChatPay:
		return p.wechatPayBody(now)
	case Alipay:
		return p.alipayBody(secret, now), nil
	case Adyen:
		return p.adyenBody(secret, now)
	}
	return nil, fmt.Errorf("provider must be %s", strings.Join(Providers, ", "))
}

// RefundBody is the body of the webhook of Stripe or Standard Webhooks that says at that instant that a refund of the
// payment has succeeded or failed. The amount and the currency of p are the refund's.
func (p Payment) RefundBody(provider, secret, id, state string, at time.Time) ([]byte, error) {
	switch provider {
	case Stripe:
		_, livemode := stripeSettings(secret)
		kind := map[string]string{"succeeded": "refund.updated", "failed": "refund.failed"}[state]
		return json.Marshal(map[string]any{
			"id": "evt_" + id + state, "object": "event", "type": kind, "created": at.Unix(), "livemode": livemode,
			"data": map[string]any{"object": map[string]any{
				"id": id, "object": "refund", "payment_intent": p.PaymentID, "status": state,
				"amount": p.counted("ISK UGX", "MGA"), "currency": strings.ToLower(p.Currency),
			}},
		})
	case StandardWebhooks:
		return json.Marshal(map[string]any{"type": "refund." + state, "timestamp": at.UTC().Format(time.RFC3339), "data": map[string]any{
			"paymentId": p.PaymentID, "refundId": id, "amount": p.Amount, "currency": p.Currency,
		}})
	}
	return nil, fmt.Errorf("a refund is reported by %s or %s", Stripe, StandardWebhooks)
}

// counted is the amount as a provider counts it that takes hundredths of the minor unit in some currencies, and hundreds in others.
func (p Payment) counted(hundredths, hundreds string) int64 {
	switch code := strings.ToUpper(p.Currency); {
	case slices.Contains(strings.Fields(hundredths), code):
		return p.Amount * 100
	case slices.Contains(strings.Fields(hundreds), code):
		return p.Amount / 100
	}
	return p.Amount
}

// Sign sets the headers by which the provider signs a body about the payment at that instant. A provider that signs by a private key
// signs by the local stack's, whatever the secret is.
func (p Payment) Sign(header http.Header, provider, secret string, body []byte, now time.Time) error {
	switch provider {
	case Adyen, Alipay: // have no header
		return nil
	case WeChatPay:
		for serial := range localSettings(WeChatPay).PublicKeys.(map[string]any) {
			for name, value := range WeChatPayHeaders(LocalKey(), serial, string(body), now) {
				header.Set(name, value)
			}
		}
		return nil
	case Stripe:
		signing, _ := stripeSettings(secret)
		mac := hmac.New(sha256.New, []byte(signing))
		fmt.Fprintf(mac, "%d.%s", now.Unix(), body)
		header.Set("Stripe-Signature", fmt.Sprintf("t=%d,v1=%x", now.Unix(), mac.Sum(nil)))
		return nil
	}
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return fmt.Errorf("sign webhook: %w", err)
	}
	id := "msg_" + p.PaymentID
	signature, err := key.Sign(id, now, body)
	if err != nil {
		return fmt.Errorf("sign webhook: %w", err)
	}
	header.Set(standardwebhooks.HeaderWebhookID, id)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return nil
}

// PaymentID is an id of the form that a provider gives to its payments, for the payment of an order.
func PaymentID(provider, order string) string {
	switch provider {
	case WeChatPay, Alipay:
		return "4200000000" + order // 28 digits
	case Adyen:
		id, _ := strconv.ParseUint(order, 10, 64)
		return fmt.Sprintf("%016s", strings.ToUpper(strconv.FormatUint(id, 36)))
	}
	return "pi_" + order
}

// IsTakenBy reports whether a provider takes such an amount.
func (p Payment) IsTakenBy(provider string) bool {
	switch provider {
	case WeChatPay, Alipay:
		return p.Currency == "CNY"
	case Adyen:
		return p.Currency != "CVE" && p.Currency != "IDR" || p.Amount%100 == 0
	}
	return true
}

// IsAccepted reports whether an answer is one after which a provider does not send its webhook again.
func IsAccepted(provider string, status int, body []byte) bool {
	switch provider {
	case WeChatPay:
		return status == http.StatusOK || status == http.StatusNoContent
	case Alipay:
		return string(body) == "success"
	}
	return status/100 == 2
}

// Outcome is what a provider is told of a payment: "paid", or "refund-due" and its reason;
// ok is false if it is told neither.
func Outcome(status int, body []byte) (outcome string, ok bool) {
	var b struct{ Outcome, Reason string }
	if status != http.StatusOK || json.Unmarshal(body, &b) != nil {
		return "", false
	}
	switch {
	case b.Outcome == "paid" && b.Reason == "":
		return b.Outcome, true
	case b.Outcome == "refund-due" && b.Reason != "":
		return b.Outcome + ": " + b.Reason, true
	}
	return "", false
}
