package httpapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Serve handles requests; it implements Lambda's Handler, with JSON in and out.
type Serve func(context.Context, Request) (Response, error)

// Invoke implements Lambda's Handler. It fails if payload is not an event.
func (s Serve) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	r, err := Decode(payload)
	if err != nil {
		return nil, err
	}
	response, err := s(ctx, r)
	if err != nil {
		return nil, err
	}
	return encode(response)
}

// Decode reads the fields we use from a payload 2.0 event. Names are case-sensitive: "Sub" is not the claim that
// identifies the caller (P12). Invalid UTF-8 is replaced: an odd text should get an HTTP answer, not fail the function.
// It fails if the event is not JSON, if a field that is used has the wrong type, and if a member, or a header that is
// read, is there twice: API Gateway writes each once, so what names its caller twice names nobody.
func Decode(payload []byte) (Request, error) {
	var event struct {
		Request
		Context struct {
			Authorizer struct {
				JWT struct {
					Claims struct {
						Sub string `json:"sub"`
					} `json:"claims"`
				} `json:"jwt"`
			} `json:"authorizer"`
		} `json:"requestContext"`
	}
	if err := jsonv2.Unmarshal(payload, &event, jsontext.AllowInvalidUTF8(true)); err != nil {
		return Request{}, fmt.Errorf("decode event: %w", err)
	}
	event.Sub = event.Context.Authorizer.JWT.Claims.Sub
	return event.Request, nil
}

// RequestHeaders are those of a request that a function reads, by their names in lower case.
type RequestHeaders map[string]string

// readHeaders are their names. Of the many that clients and API Gateway send the others are skipped.
var readHeaders = []string{
	"content-type", "idempotency-key", "x-origin-verify",
	"stripe-signature", "webhook-id", "webhook-timestamp", "webhook-signature",
	"wechatpay-nonce", "wechatpay-serial", "wechatpay-signature", "wechatpay-timestamp",
}

// UnmarshalJSONFrom reads names in any case: API Gateway writes lower case, SAM CLI's local one does not.
func (h *RequestHeaders) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return jsonv2.UnmarshalDecode(d, (*map[string]string)(h)) // null, or the error of anything else
	}
	*h = RequestHeaders{}
	var name, value string
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() == '"' {
		err = jsonv2.UnmarshalDecode(d, &name)
		name = strings.ToLower(name)
		switch _, twice := (*h)[name]; {
		case err != nil:
		case !slices.Contains(readHeaders, name):
			err = d.SkipValue()
		case twice:
			err = fmt.Errorf("header %q is there twice", name)
		default:
			err = jsonv2.UnmarshalDecode(d, &value)
			(*h)[name] = value
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
}
