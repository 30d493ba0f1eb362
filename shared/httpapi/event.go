package httpapi

import (
	"context"
	"errors"
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
	start, err := d.ReadToken()
	if err != nil || start.Kind() == 'n' {
		return err
	}
	if start.Kind() != '{' {
		return errors.New("headers are no object")
	}
	var name []byte
	for d.PeekKind() == '"' {
		quoted, err := d.ReadValue()
		if err != nil {
			return err
		}
		name, _ = jsontext.AppendUnquote(name[:0], quoted) // what is no UTF-8 is none of them
		i := slices.IndexFunc(readHeaders, func(read string) bool {
			return len(read) == len(name) && strings.EqualFold(read, string(name))
		})
		if i < 0 {
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if _, twice := (*h)[readHeaders[i]]; twice {
			return fmt.Errorf("header %q is there twice", readHeaders[i])
		}
		var value string
		if err := jsonv2.UnmarshalDecode(d, &value); err != nil {
			return err
		}
		if *h == nil {
			*h = RequestHeaders{}
		}
		(*h)[readHeaders[i]] = value
	}
	_, err = d.ReadToken()
	return err
}
