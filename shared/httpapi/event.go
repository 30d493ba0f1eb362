package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Serve is a function of requests as Lambda invokes it, with JSON on both sides.
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
	return json.Marshal(response)
}

// event is what the functions look at of an event of payload format 2.0. Header
// names match in any case; the claims' names are exact, which encoding/json's
// would not be: "Sub" is another claim than the one by which the caller is known
// (P12).
type event struct {
	RouteKey string `json:"routeKey"`
	Headers  struct {
		ContentType    *string `json:"content-type,case:ignore"`
		IdempotencyKey *string `json:"idempotency-key,case:ignore"`
		OriginVerify   *string `json:"x-origin-verify,case:ignore"`
	} `json:"headers"`
	PathParameters map[string]string `json:"pathParameters"`
	RequestContext struct {
		Authorizer struct {
			JWT struct {
				Claims struct {
					Sub string `json:"sub"`
				} `json:"claims"`
			} `json:"jwt"`
		} `json:"authorizer"`
	} `json:"requestContext"`
	Body            string `json:"body"`
	IsBase64Encoded bool   `json:"isBase64Encoded"`
}

// lenient: what is strange in an event is for the functions to answer, and an
// event that cannot be decoded would be a 500.
var lenient = jsonv2.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// Decode reads an event of payload format 2.0: its route, path parameters and
// body, the caller's sub, and the headers that this package looks at.
// Everything else of the Request stays zero: decoding all of it costs more than
// everything else that a refusal from memory does. It fails if the event is not
// JSON or one of these is not of its type.
func Decode(payload []byte) (Request, error) {
	var e event
	if err := jsonv2.Unmarshal(payload, &e, lenient); err != nil {
		return Request{}, fmt.Errorf("decode event: %w", err)
	}
	r := Request{
		RouteKey: e.RouteKey, Body: e.Body, IsBase64Encoded: e.IsBase64Encoded,
		PathParameters: e.PathParameters, Headers: make(map[string]string, 2),
	}
	if e.Headers.ContentType != nil {
		r.Headers[contentType] = *e.Headers.ContentType
	}
	if e.Headers.IdempotencyKey != nil {
		r.Headers[idempotencyKey] = *e.Headers.IdempotencyKey
	}
	if e.Headers.OriginVerify != nil {
		r.Headers[originVerify] = *e.Headers.OriginVerify
	}
	if sub := e.RequestContext.Authorizer.JWT.Claims.Sub; sub != "" {
		r.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": sub}},
		}
	}
	return r, nil
}
