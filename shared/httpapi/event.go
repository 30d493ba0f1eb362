package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

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
	return response.json(), nil
}

// Decode reads an event of payload format 2.0, token by token: reading it all into
// structs costs more than everything else that a refusal from memory does. Of members
// with one name the last one counts. It fails if the event is not JSON or something
// that is looked at is not of its type.
func Decode(payload []byte) (r Request, err error) {
	e := readers.Get().(*eventReader)
	e.open(payload)
	if err = e.event(&r); err == nil {
		err = e.end()
	}
	e.open(nil) // the pool must not keep the event alive
	readers.Put(e)
	if err != nil {
		return Request{}, fmt.Errorf("decode event: %w", err)
	}
	return r, nil
}

// eventReader reads events one after the other.
type eventReader struct {
	tokens *jsontext.Decoder
	from   bytes.Buffer
}

var readers = sync.Pool{New: func() any { return &eventReader{tokens: jsontext.NewDecoder(strings.NewReader(""))} }}

// lenient: what is strange in an event is for the functions to answer, and an
// event that cannot be decoded would be a 500.
var lenient = jsontext.AllowInvalidUTF8(true)

func (e *eventReader) open(payload []byte) {
	e.from = *bytes.NewBuffer(payload)
	e.tokens.Reset(&e.from, lenient, jsontext.AllowDuplicateNames(true))
}

var (
	errType  = errors.New("a member is not of its type")
	errAfter = errors.New("there is something after the event")
)

// end makes sure that nothing follows.
func (e *eventReader) end() error {
	_, err := e.tokens.ReadToken()
	switch {
	case err == io.EOF:
		return nil
	case err == nil:
		return errAfter
	}
	return err
}

// members reads the object that comes next: visit is told each member's name,
// valid until it reads the value, which it must. The names are exact, as
// encoding/json's would not be: "Sub" is another claim than the one by which the
// caller is known (P12). null has no members.
func (e *eventReader) members(visit func(name []byte) error) error {
	switch t, err := e.tokens.ReadToken(); {
	case err != nil:
		return err
	case t.Kind() == 'n':
		return nil
	case t.Kind() != '{':
		return errType
	}
	for e.tokens.PeekKind() == '"' {
		quoted, err := e.tokens.ReadValue()
		if err != nil {
			return err
		}
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			// It fails at most for a name that is no UTF-8, and none such is looked for.
			name, _ = jsontext.AppendUnquote(nil, quoted)
		}
		if err := visit(name); err != nil {
			return err
		}
	}
	_, err := e.tokens.ReadToken() // the object's end, or what is wrong with it
	return err
}

// skip reads past the value that comes next, at once: SkipValue would go token by
// token.
func (e *eventReader) skip() error {
	_, err := e.tokens.ReadValue()
	return err
}

// text reads a string; null is an empty one and not there.
func (e *eventReader) text() (text string, there bool, err error) {
	switch t, err := e.tokens.ReadToken(); {
	case err != nil:
		return "", false, err
	case t.Kind() == '"':
		return t.String(), true, nil
	case t.Kind() == 'n':
		return "", false, nil
	}
	return "", false, errType
}

func (e *eventReader) event(r *Request) error {
	return e.members(func(name []byte) (err error) {
		switch string(name) {
		case "routeKey":
			r.RouteKey, _, err = e.text()
		case "body":
			r.Body, _, err = e.text()
		case "isBase64Encoded":
			r.IsBase64Encoded, err = e.boolean()
		case "headers":
			err = e.headers(r)
		case "pathParameters":
			err = e.pathParameters(r)
		case "requestContext":
			err = e.deep(&r.Sub, "authorizer", "jwt", "claims", "sub")
		default:
			err = e.skip()
		}
		return err
	})
}

func (e *eventReader) boolean() (bool, error) {
	switch t, err := e.tokens.ReadToken(); {
	case err != nil:
		return false, err
	case t.Kind() == 't':
		return true, nil
	case t.Kind() == 'f', t.Kind() == 'n':
		return false, nil
	}
	return false, errType
}

// headers reads those that are looked at. API Gateway writes names in lower case;
// an event made by hand may not.
func (e *eventReader) headers(r *Request) error {
	return e.members(func(name []byte) (err error) {
		var h *Header
		switch {
		case is(name, contentType):
			h = &r.ContentType
		case is(name, idempotencyKey):
			h = &r.IdempotencyKey
		case is(name, originVerify):
			h = &r.OriginVerify
		default:
			return e.skip()
		}
		h.Value, h.Given, err = e.text()
		return err
	})
}

func is(name []byte, header string) bool {
	return len(name) == len(header) && strings.EqualFold(string(name), header)
}

func (e *eventReader) pathParameters(r *Request) error {
	return e.members(func(name []byte) (err error) {
		switch string(name) {
		case "saleId":
			r.Path.SaleID, _, err = e.text()
		case "orderId":
			r.Path.OrderID, _, err = e.text()
		default:
			err = e.skip()
		}
		return err
	})
}

// deep reads the text at the end of a path through the object that comes next, and
// skips everything else. Of members with one name the last one counts.
func (e *eventReader) deep(to *string, path ...string) error {
	return e.members(func(name []byte) (err error) {
		if string(name) != path[0] {
			return e.skip()
		}
		*to = ""
		if len(path) > 1 {
			return e.deep(to, path[1:]...)
		}
		*to, _, err = e.text()
		return err
	})
}
