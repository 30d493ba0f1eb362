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
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"flashsale/shared/sale"
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
	if !fits || p.Name == "orderId" && !isOrderID(value) || p.Name == "user" && (arrives != strings.TrimSpace(arrives) || strings.Contains(arrives, "\ufffd")) {
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
		r.Body = g.example(r, wanted.Value.Content["application/json"])
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
	if !fitsBody(wanted.Value.Content[media].Schema.Value, r.Body) || !isSeen(r) {
		r.Flaws = append(r.Flaws, http.StatusBadRequest)
	}
}

// example draws one of a body's examples. Known values of its members are drawn, too, and what may
// have been seen of the sale of the path.
func (g *Generator) example(r *Request, of *openapi3.MediaType) []byte {
	example := of.Examples[pick(slices.Sorted(maps.Keys(of.Examples)), g.random)].Value.Value.(map[string]any)
	example = maps.Clone(example)
	for _, name := range slices.Sorted(maps.Keys(example)) {
		if known := g.Known[name]; len(known) > 0 && g.oneIn(2) {
			example[name] = pick(known, g.random)
		}
	}
	if saleID := saleOf(r); example["seen"] != nil && !g.oneIn(4) {
		example["seen"] = sale.Seen{Edits: g.random.Int64N(2)}.Text(saleID)
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

// Token is an Authorization header, "" for none, and its expected result.
type Token struct {
	Authorization string
	// Refused: API Gateway refuses it; Unfit: API Gateway accepts it, but its sub is
	// not a valid user id.
	Refused, Unfit bool
	// Barred are the operations for which it names no role that they take.
	Barred []string
}

// Request is a drawn request.
type Request struct {
	Operation Operation // the one it was drawn for; Target may differ
	Method    string
	Path      string // escaped, with a query
	Header    http.Header
	Body      []byte
	Token     Token
	// Flaws are the statuses that its parts cause: 400 for a parameter that does not
	// match its schema, and so on. Without any it is a valid request.
	Flaws []int
}

// HTTP returns the request to a server. It fails if the path is invalid.
func (r *Request) HTTP(ctx context.Context, base string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	request.Header = r.Header.Clone()
	if r.Token.Authorization != "" {
		request.Header.Set("Authorization", r.Token.Authorization)
	}
	return request, nil
}

func (r *Request) String() string {
	return fmt.Sprintf("%s %s %q %q (flaws %v, token refused %v)",
		r.Method, excerpt([]byte(r.Path)), r.Header, excerpt(r.Body), r.Flaws, r.Token.Refused)
}

func (r *Request) addQuery(text string) {
	separator := "?"
	if strings.Contains(r.Path, "?") {
		separator = "&"
	}
	r.Path += separator + text
}

// large is about the size at which the document's 431 begins: the client adds its own
// headers.
const large = 9_000

func (r *Request) isLarge() bool {
	size := len(r.Path) + len(r.Token.Authorization)
	for name, values := range r.Header {
		size += len(name) + len(values[0]) + 4
	}
	return size > large
}

// Judge checks that an outcome is allowed for this request: a refused token gets a 401,
// one without a role a 403, a flawed request the matching problem, a valid one none, and nothing gets a 500.
func (r *Request) Judge(got Outcome) error {
	fail := func(want string) error { return fmt.Errorf("got %s, want %s", got, want) }
	switch {
	case got.Status == http.StatusInternalServerError:
		return fail("no failure")
	case got.Status == http.StatusRequestHeaderFieldsTooLarge:
		if !r.isLarge() {
			return fail("another answer to a short request")
		}
	case got.Operation == elsewhere:
		if got.Status != http.StatusNotFound {
			return fail("404")
		}
	case got.Operation != r.Operation.ID:
		return nil // a flaw made it another operation, with unknown expectations
	case !r.Operation.Public && r.Token.Refused:
		if got.Status != http.StatusUnauthorized {
			return fail("401")
		}
	case !r.Operation.Public && slices.Contains(r.Token.Barred, r.Operation.ID):
		if got.Status != http.StatusForbidden {
			return fail("403")
		}
	default:
		flaws := r.Flaws
		if !r.Operation.Public && r.Token.Unfit {
			flaws = append(slices.Clone(flaws), http.StatusBadRequest)
		}
		isFlaw := slices.Contains([]int{400, 413, 415}, got.Status)
		if len(flaws) > 0 && !slices.Contains(flaws, got.Status) {
			return fail(fmt.Sprint(flaws))
		}
		if len(flaws) == 0 && (isFlaw || got.Status == http.StatusUnauthorized) {
			return fail("no refusal of a good request")
		}
	}
	return nil
}

// isSeen checks the part of the format of a body's seen that the document states only in prose: that
// it came with the sale of the path.
func isSeen(r *Request) bool {
	var body struct{ Seen *string }
	if err := json.Unmarshal(r.Body, &body); err != nil || body.Seen == nil {
		return true
	}
	_, err := sale.ParseSeen(saleOf(r), *body.Seen)
	return err == nil
}

// saleOf is the sale of the operators' path /operate/sales/{saleId}/….
func saleOf(r *Request) string {
	if parts := strings.Split(r.Path, "/"); len(parts) > 3 {
		saleID, _ := url.PathUnescape(parts[3])
		return saleID
	}
	return ""
}

// isOrderID checks the part of an order id's format that the document states only in
// prose.
func isOrderID(text string) bool {
	id, err := strconv.ParseUint(text, 10, 63)
	return err == nil && uint32(id) != 0
}

// escape writes a path segment, sometimes with more escapes than it needs.
func escape(segment string, all bool) string {
	if !all {
		return url.PathEscape(segment)
	}
	var b bytes.Buffer
	for i := range len(segment) {
		fmt.Fprintf(&b, "%%%02X", segment[i])
	}
	return b.String()
}

// most bounds how often an unbounded repetition is drawn.
const most = 8

// sample draws a text that matches a pattern. A third of the repetitions have the
// minimum length and a third the maximum: mistakes are most likely at limits.
func sample(pattern string, r *rand.Rand) (string, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("read pattern: %w", err)
	}
	var b strings.Builder
	if err := draw(&b, tree, r); err != nil {
		return "", fmt.Errorf("sample %s: %w", pattern, err)
	}
	return b.String(), nil
}

func draw(b *strings.Builder, tree *syntax.Regexp, r *rand.Rand) error {
	switch tree.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
		return nil
	case syntax.OpLiteral:
		b.WriteString(string(tree.Rune))
		return nil
	case syntax.OpCharClass:
		b.WriteRune(fromClass(tree.Rune, r))
		return nil
	case syntax.OpConcat, syntax.OpCapture:
		return repeat(b, tree.Sub, 1, r)
	case syntax.OpAlternate:
		return draw(b, tree.Sub[r.IntN(len(tree.Sub))], r)
	case syntax.OpStar:
		return repeat(b, tree.Sub, times(0, most, r), r)
	case syntax.OpPlus:
		return repeat(b, tree.Sub, times(1, most, r), r)
	case syntax.OpQuest:
		return repeat(b, tree.Sub, times(0, 1, r), r)
	case syntax.OpRepeat:
		limit := tree.Max
		if limit < 0 {
			limit = tree.Min + most
		}
		return repeat(b, tree.Sub, times(tree.Min, limit, r), r)
	}
	return fmt.Errorf("%s cannot be drawn", tree.Op)
}

func repeat(b *strings.Builder, trees []*syntax.Regexp, times int, r *rand.Rand) error {
	for range times {
		for _, tree := range trees {
			if err := draw(b, tree, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func times(least, limit int, r *rand.Rand) int {
	switch r.IntN(3) {
	case 0:
		return least
	case 1:
		return limit
	}
	return least + r.IntN(limit-least+1)
}

// fromClass draws from ranges, given as pairs.
func fromClass(ranges []rune, r *rand.Rand) rune {
	n := 0
	for i := 0; i < len(ranges); i += 2 {
		n += int(ranges[i+1]-ranges[i]) + 1
	}
	n = r.IntN(n)
	for i := 0; ; i += 2 {
		size := int(ranges[i+1]-ranges[i]) + 1
		if n < size {
			return ranges[i] + rune(n)
		}
		n -= size
	}
}

// oddTexts replace a short identifier.
var oddTexts = []string{
	"", " ", ".", "..", "../orders", "a/b", "a#b", "a|b", "a?b=c", "a;b", "a%b", "%2e%2e", "a\\b", "a&b", "'", `"`, `"a`, "a b", " a", "a ",
	"null", "true", "-1", "+1", "0", "00", "01", "1.5", "1e9", "0x10", "NaN", "9223372036854775807", "9223372036854775808",
	"18446744073709551616", "4294967296", "{}", "[]", "{saleId}", "$default", "__proto__", "constructor", "; DROP TABLE sales", "${jndi:x}",
	"ｍoutai", "mоutai", "moutai\u0301", "茅台", "mou\u200btai", "\u202emoutai", "\ufeffmoutai", "mou\u00adtai", "İ", "ﬀ", "🍶", "👩‍👩‍👧",
	"mou\x00tai", "mou\ntai", "mou\rtai", "mou\ttai", "mou\x7ftai", "mou\x1b[31mtai", "\u0085", "\u2028",
	"\xff", "mou\xfftai", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x28\xa1", "\ufffd",
}

// oddLengths are around the limits of the contract, and far beyond.
var oddLengths = []int{63, 64, 65, 66, 128, 129, 255, 1024, 1025, 4000}

// oddBodies replace an empty object.
var oddBodies = []string{
	"null", "true", "0", `""`, `"{}"`, "[]", "[{}]", "{", "}", "{}{}", "{},", "{}x", "x{}", `{"quantity":2}`, `{"":null}`, `{"a":1,"a":2}`,
	`{"__proto__":{}}`, "{ }", "\t{\r\n}\n", "\ufeff{}", "{\u00a0}", "{\x00}", "\x00", "\xff\xfe{\x00}\x00", "// {}", "{/**/}", "a=b", "<a/>",
	"{\"\xff\":1}", `{"\ud800":1}`, "{\"茅台\":\"🍶\"}", "NaN", "-", "1e400", strings.Repeat("[", 500), strings.Repeat(`{"a":`, 200),
	strings.Repeat(" ", 1022) + "{}", strings.Repeat(" ", 1023) + "{}", strings.Repeat("x", 1024), strings.Repeat("x", 1025), strings.Repeat("x", 4096), strings.Repeat("x", 4097), strings.Repeat("é", 600), strings.Repeat("x", 100_000),
}

var oddMediaTypes = []string{
	"application/json", "application/json; charset=utf-8", "Application/JSON", "application/json;", "application/json; charset=utf-16",
	"application/json; a=b; a=c", "application/json, text/plain", "application/problem+json", "text/json", "text/plain", "application/xml", "*/*", "json", "/", ";", "",
	"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/octet-stream", "application/\xff", "应用/json",
}

// oddHeaders are not in the contract and must not change the answer.
var oddHeaders = [][2]string{
	{"Accept", "text/html;q=0"}, {"Accept-Encoding", "br, zstd, identity;q=0"}, {"Content-Encoding", "gzip"}, {"Cookie", "sub=victim; a"},
	{"Range", "bytes=0-1"}, {"If-None-Match", "*"}, {"X-Http-Method-Override", "DELETE"}, {"X-Forwarded-For", "\xff, 127.0.0.1"},
	{"X-User-Id", "victim"}, {"Forwarded", "for=\"[::1]\""}, {"Referer", "null"}, {"X-Amzn-Trace-Id", "Root=1-茅台"}, {"User-Agent", "\"\\\x80"},
	{"X-Origin-Verify", "guess"}, {"Idempotency", "1"},
}

var oddMethods = []string{"PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "get", "POSTX", "PROPFIND"}

// oddText is a text that probably does not match a schema: one of the list, one of an
// odd length, or a valid one with a single fault.
func oddText(good string, r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return strings.Repeat(pick([]string{"x", "7", "é", "-"}, r), pick(oddLengths, r))
	case 1:
		at := r.IntN(len(good) + 1)
		return good[:at] + pick(oddTexts, r) + good[at:]
	}
	return pick(oddTexts, r)
}

func pick[T any](all []T, r *rand.Rand) T { return all[r.IntN(len(all))] }
