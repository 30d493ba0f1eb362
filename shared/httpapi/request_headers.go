package httpapi

import (
	"strings"

	"flashsale/shared/jsonread"
)

// Header is a request's header.
type Header struct {
	Value string
	Given bool
}

// The request headers we use.
const (
	idempotencyKey = "idempotency-key"
	contentType    = "content-type"
	originVerify   = "x-origin-verify"

	// Of payment providers: Stripe's own, those of Standard Webhooks, and WeChat Pay's.
	stripeSignature  = "stripe-signature"
	webhookID        = "webhook-id"
	webhookTimestamp = "webhook-timestamp"
	webhookSignature = "webhook-signature"

	wechatpaySerial    = "wechatpay-serial"
	wechatpayTimestamp = "wechatpay-timestamp"
	wechatpayNonce     = "wechatpay-nonce"
	wechatpaySignature = "wechatpay-signature"
)

// readHeaders reads the headers we use. API Gateway writes names in lower case; a
// handmade event may not.
func readHeaders(e *jsonread.Reader, r *Request) error {
	return e.Object(func(name []byte) (err error) {
		var h *Header
		switch {
		case is(name, contentType):
			h = &r.ContentType
		case is(name, idempotencyKey):
			h = &r.IdempotencyKey
		case is(name, originVerify):
			h = &r.OriginVerify
		case is(name, stripeSignature):
			h = &r.StripeSignature
		case is(name, webhookID):
			h = &r.WebhookID
		case is(name, webhookTimestamp):
			h = &r.WebhookTimestamp
		case is(name, webhookSignature):
			h = &r.WebhookSignature
		case is(name, wechatpaySerial):
			h = &r.WechatpaySerial
		case is(name, wechatpayTimestamp):
			h = &r.WechatpayTimestamp
		case is(name, wechatpayNonce):
			h = &r.WechatpayNonce
		case is(name, wechatpaySignature):
			h = &r.WechatpaySignature
		default:
			return e.Skip()
		}
		h.Value, h.Given, err = e.Text()
		return err
	})
}

func is(name []byte, header string) bool {
	return len(name) == len(header) && strings.EqualFold(string(name), header)
}
