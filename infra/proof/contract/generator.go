package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// maxBytes is a request body's extension: its maximum length. OpenAPI has no keyword
// for that.
const maxBytes = "x-max-bytes"

// isSigned is the extension of an operation whose requests must be signed.
const isSigned = "x-signed"

// Generator draws requests from the document's schemas: valid ones, and valid ones with
// faults. The same seed draws the same requests. It belongs to one goroutine.
type Generator struct {
	contract *Contract
	random   *rand.Rand
	// Known are values of parameters and of a body's members, by name, that exist in the tested
	// system, such as sales; they are drawn in addition to those of the schemas.
	Known map[string][]string
	// Tokens are the tokens to draw from; at least one must not be refused.
	Tokens []Token
}

// Generator returns a generator with that seed.
func (c *Contract) Generator(seed uint64) *Generator {
	return &Generator{contract: c, random: rand.New(rand.NewPCG(seed, 0)), Tokens: []Token{{Refused: true}}}
}

// Next draws a request. It fails if a schema of the document cannot be drawn from.
func (g *Generator) Next() (Request, error) {
	o := pick(g.contract.operations, g.random)
	r := Request{Operation: o, Method: o.Method, Path: o.Path, Header: http.Header{}, Token: g.Tokens[0]}
	if g.oneIn(3) {
		r.Token = pick(g.Tokens, g.random)
	}
	if g.oneIn(20) {
		r.Method = pick(oddMethods, g.random)
	}
	for _, p := range append(o.route.PathItem.Parameters, o.route.Operation.Parameters...) {
		if err := g.parameter(&r, p.Value); err != nil {
			return r, fmt.Errorf("draw %s of %s: %w", p.Value.Name, o.ID, err)
		}
	}
	g.body(&r)
	if o.route.Operation.Extensions[isSigned] == true {
		// Nobody draws a valid signature.
		r.Flaws = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge}
	}
	for g.oneIn(4) {
		header := pick(oddHeaders, g.random)
		r.Header.Add(header[0], header[1])
	}
	if g.oneIn(10) {
		r.addQuery(pick([]string{"a=b", "access_token=x", "saleId=other", "%ff=%00", "=&&=", "a=" + strings.Repeat("x", 2000)}, g.random))
	}
	return r, nil
}

// Press draws requests and makes them at the API of that address, one after the other. before is
// called with the number of each. It returns the outcomes that were met; wrong gets every answer
// that is outside the contract, or not the one for its request.
func (g *Generator) Press(ctx context.Context, base string, requests int, before func(n int), do func(*http.Request) (Answer, error), wrong func(error)) map[Outcome]int {
	met := map[Outcome]int{}
	for n := range requests {
		before(n)
		r, err := g.Next()
		var request *http.Request
		if err == nil {
			request, err = r.HTTP(ctx, base)
		}
		var a Answer
		if err == nil {
			a, err = do(request)
		}
		if err != nil {
			wrong(fmt.Errorf("%s: %w", &r, err))
			return met
		}
		outcome, err := g.contract.Check(request.Method, request.URL, a)
		if err == nil {
			met[outcome]++
			err = r.Judge(outcome)
		}
		if err != nil {
			wrong(fmt.Errorf("%s: %w", &r, err))
		}
	}
	return met
}

func (g *Generator) oneIn(n int) bool { return g.random.IntN(n) == 0 }

// parameter draws a value, valid or not, and sets it in the request.
func (g *Generator) parameter(r *Request, p *openapi3.Parameter) error {
	if !p.Required && g.oneIn(2) {
		return nil
	}
	value, err := sample(p.Schema.Value.Pattern, g.random)
	if err != nil {
		return err
	}
	if known := g.Known[p.Name]; len(known) > 0 && !g.oneIn(3) {
		value = pick(known, g.random)
	}
	if g.oneIn(3) {
		value = oddText(value, g.random)
	}
	switch p.In {
	case openapi3.ParameterInHeader:
		value = fieldValue(value)
		r.Header.Set(p.Name, value)
	case openapi3.ParameterInQuery:
		r.addQuery(p.Name + "=" + url.QueryEscape(value))
	default:
		r.Path = strings.Replace(r.Path, "{"+p.Name+"}", escape(value, g.oneIn(10)), 1)
	}
	arrives := strings.ToValidUTF8(value, "\ufffd") // an event is JSON
	fits := p.Schema.Value.VisitJSON(arrives, openapi3.EnableJSONSchema2020()) == nil
	if !fits || p.Name == "orderId" && !isOrderID(value) {
		r.Flaws = append(r.Flaws, http.StatusBadRequest)
	}
	return nil
}

// fieldValue removes from a text what cannot be in a header.
func fieldValue(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c == 0x7f {
			return -1
		}
		return c
	}, text)
	return strings.Trim(text, " \t")
}

// body draws a body: one of the document's examples, one of them with a single fault, an odd
// one, or none.
func (g *Generator) body(r *Request) {
	wanted := r.Operation.route.Operation.RequestBody
	isRequired := wanted != nil && wanted.Value.Required
	switch {
	case isRequired && g.oneIn(8):
		r.Flaws = append(r.Flaws, http.StatusBadRequest)
		return
	case !isRequired && g.oneIn(2):
		return
	}
	r.Body = []byte("{}")
	if wanted != nil {
		r.Body = g.example(wanted.Value.Content["application/json"])
	}
	switch n := g.random.IntN(4); {
	case n == 0:
		r.Body = g.spoilt(r.Body)
	case n == 1, n == 2 && !isRequired:
		r.Body = []byte(pick(oddBodies, g.random))
	}
	if !g.oneIn(3) {
		r.Header.Set("Content-Type", "application/json")
	}
	if g.oneIn(4) {
		r.Header.Set("Content-Type", pick(oddMediaTypes, g.random))
	}
	if wanted == nil {
		return // it is not read
	}
	if limit, ok := wanted.Value.Extensions[maxBytes].(float64); ok && len(r.Body) > int(limit) {
		r.Flaws = append(r.Flaws, http.StatusRequestEntityTooLarge)
	}
	media := "application/json"
	if sent, ok := r.Header["Content-Type"]; ok {
		media, _, _ = mime.ParseMediaType(sent[0])
		if _, _, err := mime.ParseMediaType(sent[0]); err != nil || wanted.Value.Content[media] == nil {
			r.Flaws = append(r.Flaws, http.StatusUnsupportedMediaType)
			media = "application/json"
		}
	}
	if !fitsBody(wanted.Value.Content[media].Schema.Value, r.Body) {
		r.Flaws = append(r.Flaws, http.StatusBadRequest)
	}
}

// example draws one of a body's examples. Known values of its members are drawn, too.
func (g *Generator) example(of *openapi3.MediaType) []byte {
	example := of.Examples[pick(slices.Sorted(maps.Keys(of.Examples)), g.random)].Value.Value.(map[string]any)
	example = maps.Clone(example)
	for _, name := range slices.Sorted(maps.Keys(example)) {
		if known := g.Known[name]; len(known) > 0 && g.oneIn(2) {
			example[name] = pick(known, g.random)
		}
	}
	text, _ := json.Marshal(example) // read from YAML, it always encodes
	return text
}

// spoilt returns an object in which one of its members is missing or odd, or one is unknown.
func (g *Generator) spoilt(object []byte) []byte {
	var members map[string]any
	if json.Unmarshal(object, &members) != nil || len(members) == 0 {
		return object
	}
	name := pick(append(slices.Sorted(maps.Keys(members)), "unknown"), g.random)
	text, isText := members[name].(string)
	switch {
	case g.oneIn(3):
		delete(members, name)
	case isText && !g.oneIn(3):
		members[name] = oddText(text, g.random)
	default:
		members[name] = pick([]any{nil, true, -1, 0, 1.5, 1_000_000_000, 1_000_000_001, "50", []any{}, map[string]any{}}, g.random)
	}
	object, _ = json.Marshal(members)
	return object
}

func fitsBody(schema *openapi3.Schema, body []byte) bool {
	var value any
	d := json.NewDecoder(bytes.NewReader(body))
	if d.Decode(&value) != nil || d.More() {
		return false
	}
	if rest := bytes.TrimSpace(body[d.InputOffset():]); len(rest) > 0 {
		return false
	}
	return schema.VisitJSON(value, openapi3.EnableJSONSchema2020()) == nil
}
