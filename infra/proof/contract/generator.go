package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"mime"
	"net/http"
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
	// Known are values of parameters, by name, that exist in the tested system, such as
	// sales; they are drawn in addition to those of the schemas.
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
		r.Path += "?" + pick([]string{"a=b", "access_token=x", "saleId=other", "%ff=%00", "=&&=", "a=" + strings.Repeat("x", 2000)}, g.random)
	}
	return r, nil
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
	if p.In == openapi3.ParameterInHeader {
		value = fieldValue(value)
		r.Header.Set(p.Name, value)
	} else {
		r.Path = strings.Replace(r.Path, "{"+p.Name+"}", escape(value, g.oneIn(10)), 1)
	}
	fits := p.Schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020()) == nil
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

func (g *Generator) body(r *Request) {
	if g.oneIn(2) {
		return
	}
	r.Body = []byte("{}")
	if g.oneIn(2) {
		r.Body = []byte(pick(oddBodies, g.random))
	}
	if !g.oneIn(3) {
		r.Header.Set("Content-Type", "application/json")
	}
	if g.oneIn(4) {
		r.Header.Set("Content-Type", pick(oddMediaTypes, g.random))
	}
	wanted := r.Operation.route.Operation.RequestBody
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
