package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// transportHeaders are set by every HTTP server, corsHeaders if the API is configured
// for other origins. The document has neither.
var (
	transportHeaders = []string{"Content-Type", "Content-Length", "Date", "Connection"}
	corsHeaders      = []string{
		"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
		"Access-Control-Expose-Headers", "Access-Control-Allow-Credentials", "Access-Control-Max-Age", "Vary",
	}
)

// requiredHeaders is a schema's extension: the headers required with its body. OpenAPI
// can only require headers for a whole status.
const requiredHeaders = "x-required-headers"

// Check compares an answer with the document and returns its outcome. It fails if the
// document does not have the status, a header or the body for this request.
func (c *Contract) Check(method string, u *url.URL, a Answer) (Outcome, error) {
	operation, _ := c.find(method, u)
	outcome := Outcome{Operation: operation.ID, Status: a.Status}
	schema, err := judge(operation, method, a)
	if err != nil {
		return outcome, fmt.Errorf("%s %s was answered %d %.300s: not in the contract of %s: %w",
			method, u.Path, a.Status, a.Body, outcome.Operation, err)
	}
	if schema != nil {
		outcome.Schema = nameOf(schema)
	}
	return outcome, nil
}

// CheckExchange holds an answer against the document, and its request if that was not refused.
func (c *Contract) CheckExchange(r *http.Request, a Answer) error {
	_, err := c.Check(r.Method, r.URL, a)
	if err == nil && a.Status < http.StatusBadRequest {
		err = c.checkRequest(r)
	}
	return err
}

// checkRequest holds a request that was accepted against the document as it stands: whoever checks requests by it
// must let it pass.
func (c *Contract) checkRequest(r *http.Request) error {
	operation, variables := c.find(r.Method, r.URL)
	for name := range r.URL.Query() {
		if !slices.ContainsFunc(operation.plain.Operation.Parameters, func(p *openapi3.ParameterRef) bool {
			return p.Value.In == "query" && (p.Value.Name == name || p.Value.Schema.Value.Type.Is("object"))
		}) {
			return fmt.Errorf("%s %s: %s has no such parameter", r.Method, r.URL, operation.ID)
		}
	}
	sent := r.Clone(r.Context())
	if sent.Body = http.NoBody; r.GetBody != nil {
		sent.Body, _ = r.GetBody() // what was sent is read
	}
	err := openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: sent, PathParams: variables, Route: operation.plain,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	})
	if err != nil {
		return fmt.Errorf("%s %s: not in the contract of %s: %w", r.Method, r.URL, operation.ID, err)
	}
	return nil
}

// judge returns the schema that the body matches, nil if there is no body.
func judge(operation Operation, method string, a Answer) (*openapi3.SchemaRef, error) {
	route := operation.route
	response := route.Operation.Responses.Status(a.Status)
	if response == nil {
		return nil, errors.New("no such status")
	}
	if err := checkHeader(route, method, a); err != nil {
		return nil, err
	}
	if len(response.Value.Content) == 0 || method == http.MethodHead {
		if len(a.Body) > 0 {
			return nil, errors.New("it has a body")
		}
		return nil, nil
	}
	// Content.Get would also match a wildcard media type.
	media, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	content := response.Value.Content[media]
	if content == nil {
		return nil, fmt.Errorf("no such content type: %q", media)
	}
	var value any = string(a.Body) // of a text, which may be compressed
	if !strings.HasPrefix(media, "text/") && media != "image/svg+xml" {
		if err := json.Unmarshal(a.Body, &value); err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
	}
	schema, err := follows(content.Schema, value)
	if err == nil { // closed schemas may tell apart what open ones do not
		err = visit(operation.plain.Operation.Responses.Status(a.Status).Value.Content[media].Schema, value)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range headersOf(schema.Value) {
		if a.Header.Get(name) == "" {
			return nil, fmt.Errorf("%s comes without the header %s", nameOf(schema), name)
		}
	}
	return schema, nil
}

func checkHeader(route *routers.Route, method string, a Answer) error {
	response := route.Operation.Responses.Status(a.Status)
	for name, values := range a.Header {
		switch {
		case slices.Contains(corsHeaders, name):
		case response.Value.Headers[name] == nil && !slices.Contains(transportHeaders, name):
			return fmt.Errorf("no such header: %s", name)
		case len(values) > 1:
			return fmt.Errorf("header %s comes more than once", name)
		}
	}
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: &http.Request{Method: method}, Route: route},
		Status:                 a.Status, Header: a.Header,
		Options: &openapi3filter.Options{ExcludeResponseBody: true},
	})
}

func visit(schema *openapi3.SchemaRef, value any) error {
	return schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.VisitAsResponse())
}

// follows returns the alternative that a body matches.
func follows(schema *openapi3.SchemaRef, value any) (*openapi3.SchemaRef, error) {
	all := alternatives(schema)
	first, why := (*openapi3.SchemaRef)(nil), errors.New("the body is of no alternative's kind")
	for _, ref := range all {
		if len(all) > 1 && !speaks(ref.Value, value) {
			continue
		}
		err := visit(ref, value)
		if err == nil {
			return ref, nil
		}
		if first == nil { // the same code may come with other members
			first, why = ref, err
		}
	}
	return first, why
}

// speaks reports whether the value has an alternative's constants, such as its code.
func speaks(schema *openapi3.Schema, value any) bool {
	object, _ := value.(map[string]any)
	for name, property := range schema.Properties {
		if want := property.Value.Const; want != nil && object[name] != nil && object[name] != want {
			return false
		}
	}
	return true
}

func headersOf(schema *openapi3.Schema) []string {
	var names []string
	if list, ok := schema.Extensions[requiredHeaders].([]any); ok {
		for _, name := range list {
			names = append(names, fmt.Sprint(name))
		}
	}
	for _, base := range schema.AllOf {
		names = append(names, headersOf(base.Value)...)
	}
	return names
}
