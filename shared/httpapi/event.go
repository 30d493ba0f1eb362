package httpapi

import (
	"context"
	"fmt"
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
// It fails if the event is not JSON, if a field that is used has the wrong type, and if a member or header is there
// twice: API Gateway writes each once, so what names its caller twice names nobody.
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
	for name, value := range event.Headers { // API Gateway writes lower case, SAM CLI's local one does not
		lower := strings.ToLower(name)
		if lower == name {
			continue
		}
		if _, twice := event.Headers[lower]; twice {
			return Request{}, fmt.Errorf("decode event: header %q is there twice", lower)
		}
		delete(event.Headers, name)
		event.Headers[lower] = value
	}
	event.Sub = event.Context.Authorizer.JWT.Claims.Sub
	return event.Request, nil
}
