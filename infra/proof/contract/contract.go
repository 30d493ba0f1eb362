package contract

import (
	"embed"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// The documents, by their names.
const (
	Buyers    = "openapi.yaml"
	Operators = "operate.yaml"
)

//go:embed openapi.yaml operate.yaml
var documents embed.FS

// elsewhere is the document's extension for answers to a method and path that it does
// not have; here it is an operation of that name.
const elsewhere = "elsewhere"

// Contract is a loaded document. It is safe for concurrent use.
type Contract struct {
	doc, plain *openapi3.T // closed, and as it stands
	operations []Operation
	elsewhere  Operation
}

// Operation is one method and path of the document.
type Operation struct {
	ID     string
	Method string
	Path   string // a template such as /sales/{saleId}
	// Public is true for an operation that needs no token.
	Public   bool
	segments []string
	route    *routers.Route // in the closed document
	plain    *routers.Route // in the document as it stands, which clients read
}

// Open reads one of this package's documents. It fails if that is not a valid OpenAPI
// document. The document is open, so that clients accept what a later version adds; an answer
// of this version must have nothing that it does not describe.
func Open(name string) (*Contract, error) {
	text, err := documents.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read contract: %w", err)
	}
	c := &Contract{}
	for _, doc := range []**openapi3.T{&c.doc, &c.plain} {
		if *doc, err = openapi3.NewLoader().LoadFromData(text); err != nil {
			return nil, fmt.Errorf("read contract: %w", err)
		}
	}
	closeSchemas(c.doc.Components.Schemas)
	for path, item := range c.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.OperationID == "" || operation.Security == nil {
				return nil, fmt.Errorf("read contract: %s %s has no operationId or does not say who may call it", method, path)
			}
			c.operations = append(c.operations, Operation{
				ID: operation.OperationID, Method: method, Path: path, Public: len(*operation.Security) == 0,
				segments: strings.Split(path, "/"), route: routeOf(c.doc, method, path), plain: routeOf(c.plain, method, path),
			})
		}
	}
	slices.SortFunc(c.operations, func(a, b Operation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
	route, err := readElsewhere(c.doc)
	if err != nil {
		return nil, fmt.Errorf("read contract: %w", err)
	}
	c.elsewhere = Operation{ID: elsewhere, route: route, plain: route}
	return c, nil
}

func routeOf(doc *openapi3.T, method, path string) *routers.Route {
	item := doc.Paths.Value(path)
	return &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: item.GetOperation(method)}
}

// extensibleEnum is a schema's extension: the values that this version has.
const extensibleEnum = "x-extensible-enum"

// closeSchemas lets every schema of an object accept only what is described. A schema
// on which others build stays open, because they close what it contributes.
func closeSchemas(schemas openapi3.Schemas) {
	base := map[*openapi3.Schema]bool{}
	for _, ref := range schemas {
		for _, under := range ref.Value.AllOf {
			base[under.Value] = true
		}
	}
	no := openapi3.BoolSchema{Has: new(bool)}
	for _, ref := range schemas {
		switch schema := ref.Value; {
		case len(schema.AllOf) > 0:
			schema.UnevaluatedProperties = no
		case schema.Type.Is("object") && !base[schema]:
			schema.AdditionalProperties = no
		}
		for _, property := range ref.Value.Properties {
			if values, ok := property.Value.Extensions[extensibleEnum].([]any); ok {
				property.Value.Enum = values
			}
		}
	}
}

func readElsewhere(doc *openapi3.T) (*routers.Route, error) {
	named, ok := doc.Extensions["x-"+elsewhere].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("x-%s is missing", elsewhere)
	}
	responses := openapi3.NewResponsesWithCapacity(len(named))
	for status, name := range named {
		response := doc.Components.Responses[fmt.Sprint(name)]
		if response == nil {
			return nil, fmt.Errorf("x-%s: no response %v", elsewhere, name)
		}
		responses.Set(status, response)
	}
	operation := &openapi3.Operation{OperationID: elsewhere, Responses: responses}
	return &routers.Route{Spec: doc, Path: elsewhere, PathItem: &openapi3.PathItem{}, Operation: operation}, nil
}

// Operations returns the document's operations, sorted by path.
func (c *Contract) Operations() []Operation { return slices.Clone(c.operations) }

// find returns the operation of a request, and the path's variables. As in API Gateway, a path is split before it
// is decoded, an encoded slash stays in its segment, and no variable is empty.
func (c *Contract) find(method string, u *url.URL) (Operation, map[string]string) {
	segments := strings.Split(u.EscapedPath(), "/")
	for _, o := range c.operations {
		if variables, ok := o.takes(segments); ok && o.Method == method {
			return o, variables
		}
	}
	return c.elsewhere, nil
}

func (o *Operation) takes(segments []string) (variables map[string]string, ok bool) {
	if len(segments) != len(o.segments) {
		return nil, false
	}
	variables = map[string]string{}
	for i, want := range o.segments {
		got, err := url.PathUnescape(segments[i])
		isVariable := strings.HasPrefix(want, "{")
		if err != nil || isVariable && got == "" || !isVariable && got != want {
			return nil, false
		}
		if isVariable {
			variables[strings.Trim(want, "{}")] = got
		}
	}
	return variables, true
}

// Outcome is one kind of answer: an operation's status, and the schema of its body,
// which for a refusal implies its code. Schema is "" for no body.
type Outcome struct {
	Operation string
	Status    int
	Schema    string
}

func (o Outcome) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", o.Operation, o.Status, o.Schema))
}

// Outcomes returns all outcomes of the document, sorted.
func (c *Contract) Outcomes() []Outcome {
	var all []Outcome
	for _, o := range append(c.Operations(), c.elsewhere) {
		for status, response := range o.route.Operation.Responses.Map() {
			number, _ := strconv.Atoi(status)
			outcome := Outcome{Operation: o.ID, Status: number}
			if len(response.Value.Content) == 0 {
				all = append(all, outcome)
			}
			for _, media := range response.Value.Content {
				for _, ref := range alternatives(media.Schema) {
					outcome.Schema = nameOf(ref)
					all = append(all, outcome)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Outcome) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// alternatives returns the schemas of which a body must match one.
func alternatives(schema *openapi3.SchemaRef) openapi3.SchemaRefs {
	if len(schema.Value.OneOf) > 0 {
		return schema.Value.OneOf
	}
	return openapi3.SchemaRefs{schema}
}

func nameOf(schema *openapi3.SchemaRef) string {
	return schema.Ref[strings.LastIndex(schema.Ref, "/")+1:]
}
