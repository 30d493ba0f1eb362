package httpapi

import (
	"context"
	"errors"
	"fmt"

	"flashsale/shared/jsonread"
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
	return response.json(), nil
}

// Decode reads the fields we use from a payload 2.0 event. For duplicate names the last
// wins, except on the path to the caller's identity, where a duplicate is an error. It
// fails if the event is not JSON, a field that is used has the wrong type, or the event
// names its caller twice.
func Decode(payload []byte) (r Request, err error) {
	if err := jsonread.Read(payload, func(e *jsonread.Reader) error { return readEvent(e, &r) }); err != nil {
		return Request{}, fmt.Errorf("decode event: %w", err)
	}
	return r, nil
}

func readEvent(e *jsonread.Reader, r *Request) error {
	identified := false
	return e.Object(func(name []byte) (err error) {
		switch string(name) {
		case "routeKey":
			r.RouteKey, _, err = e.Text()
		case "body":
			r.Body, _, err = e.Text()
		case "isBase64Encoded":
			r.IsBase64Encoded, err = e.Bool()
		case "headers":
			err = readHeaders(e, r)
		case "pathParameters":
			err = readPath(e, r)
		case "requestContext":
			if identified {
				return errTwice
			}
			identified = true
			err = readDeep(e, &r.Sub, "authorizer", "jwt", "claims", "sub")
		default:
			err = e.Skip()
		}
		return err
	})
}

func readPath(e *jsonread.Reader, r *Request) error {
	return e.Object(func(name []byte) (err error) {
		switch string(name) {
		case "saleId":
			r.Path.SaleID, _, err = e.Text()
		case "groupId":
			r.Path.GroupID, _, err = e.Text()
		case "orderId":
			r.Path.OrderID, _, err = e.Text()
		case "provider":
			r.Path.Provider, _, err = e.Text()
		case "page":
			r.Path.Page, _, err = e.Text()
		default:
			err = e.Skip()
		}
		return err
	})
}

// errTwice: API Gateway writes each member once, so a duplicate is ambiguous.
var errTwice = errors.New("duplicate member on the path to the caller's identity")

// readDeep reads the string at a path of the next object, and skips everything else.
// Names are case-sensitive: "Sub" is not the claim that identifies the caller (P12). It
// fails if a name on the path is duplicated.
func readDeep(e *jsonread.Reader, to *string, path ...string) error {
	found := false
	return e.Object(func(name []byte) (err error) {
		if string(name) != path[0] {
			return e.Skip()
		}
		if found {
			return errTwice
		}
		found = true
		if len(path) > 1 {
			return readDeep(e, to, path[1:]...)
		}
		*to, _, err = e.Text()
		return err
	})
}
