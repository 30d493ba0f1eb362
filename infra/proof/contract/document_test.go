package contract

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// inEach runs a test for each document.
func inEach(t *testing.T, test func(t *testing.T, api string, c *Contract)) {
	for _, api := range []string{Buyers, Operators} {
		t.Run(api, func(t *testing.T) { test(t, api, opened(t, api)) })
	}
}

func TestTheDocumentsAreValidOpenAPI31AndTheirExamplesFitTheirSchemas(t *testing.T) {
	inEach(t, func(t *testing.T, _ string, c *Contract) {
		if !c.doc.IsOpenAPI31OrLater() {
			t.Errorf("it is OpenAPI %s", c.doc.OpenAPI)
		}
		if err := c.doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableMultiError()); err != nil {
			t.Error(err)
		}
	})
}

// TestEveryKindOfAnswerHasAnExample: an example of a whole status is judged like
// an answer, with whatever headers its schema asks for.
func TestEveryKindOfAnswerHasAnExample(t *testing.T) { inEach(t, everyKindHasAnExample) }

func everyKindHasAnExample(t *testing.T, _ string, c *Contract) {
	shown := map[Outcome]bool{}
	values := map[string]string{
		"Retry-After": "2", "Cache-Control": "no-store", "Www-Authenticate": "Bearer", "Location": "/sales/moutai/orders/me", "Flashsale-Version": "0.6.0",
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer",
	}
	caches := map[string]string{"sale": "max-age=1", "group": "max-age=1", "page": "public, max-age=60", "groupPage": "public, max-age=60", "signin": "public, max-age=60", "asset": "public, max-age=10", "roll": "public, max-age=31536000, immutable"}
	for _, o := range append(c.Operations(), Operation{Method: http.MethodGet, Path: "/elsewhere", route: c.elsewhere}) {
		for status, response := range o.route.Operation.Responses.Map() {
			for media, content := range response.Value.Content {
				for name, example := range content.Examples {
					number, _ := strconv.Atoi(status)
					a := Answer{Status: number, Header: http.Header{"Content-Type": {media}}, Body: encoded(t, example.Value.Value)}
					for header := range response.Value.Headers {
						if value := values[header]; value != "" {
							a.Header.Set(header, value)
						}
					}
					if (o.ID == "sale" || o.ID == "group" || o.ID == "roll") && (number == http.StatusBadRequest || number == http.StatusNotFound) {
						a.Header.Set("Cache-Control", "max-age=2")
					}
					if cache := caches[o.ID]; cache != "" && (number == http.StatusOK || strings.HasPrefix(media, "text/")) {
						a.Header.Set("Cache-Control", cache)
					}
					outcome, err := c.Check(o.Method, &url.URL{Path: path(o)}, a)
					if err != nil {
						t.Errorf("example %s: %v", name, err)
					}
					shown[outcome] = true
				}
			}
		}
	}
	for _, outcome := range c.Outcomes() {
		if !shown[outcome] && outcome.Schema != "" {
			t.Errorf("%s has no example", outcome)
		}
	}
}

func path(o Operation) string {
	return strings.NewReplacer("{saleId}", open, "{groupId}", group, "{orderId}", "4294967297", "{name}", "page.js", "{provider}", "stripe", "{user}", "alice", "{page}", "0f").Replace(o.Path)
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryComponentIsUsed(t *testing.T) {
	buyers := components(t, Buyers)
	inEach(t, func(t *testing.T, api string, _ *Contract) {
		text := read(t, api)
		for _, kind := range []string{"parameters", "headers", "responses", "schemas"} {
			for name, one := range components(t, api)[kind] {
				if diff := cmp.Diff(buyers[kind][name], one); api != Buyers && buyers[kind][name] != nil && diff != "" {
					t.Errorf("%s %s is another one in %s (-there +here):\n%s", kind, name, Buyers, diff)
				}
				byExtension := regexp.MustCompile(`(?m)^  "\d+": ` + name + `$`).Match(text)
				if !byExtension && !bytes.Contains(text, []byte(`"#/components/`+kind+"/"+name+`"`)) {
					t.Errorf("%s %s is not used", kind, name)
				}
			}
		}
	})
}

// TestNothingButWordsStandsBesideAReference: readers of OpenAPI 3.0 and of AsyncAPI put what is
// referred to in place of all that stands there. Without a type a constant is of any type.
func TestNothingButWordsStandsBesideAReference(t *testing.T) {
	files := map[string]fs.FS{"*.yaml": documents, "asyncapi.yaml": eventDocuments, "events/*.json": eventDocuments}
	for pattern, in := range files {
		paths, err := fs.Glob(in, pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(paths, err)
		}
		for _, path := range paths {
			text, err := fs.ReadFile(in, path)
			if err != nil {
				t.Fatal(err)
			}
			var doc yaml.Node
			if err := yaml.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			for mapping := range mappings(&doc) {
				keys := map[string]bool{}
				for i := 0; i < len(mapping.Content); i += 2 {
					keys[mapping.Content[i].Value] = true
				}
				if keys["$ref"] && (len(keys) > 2 || len(keys) == 2 && !keys["description"]) {
					t.Errorf("%s:%d: %v beside $ref", path, mapping.Line, slices.Sorted(maps.Keys(keys)))
				}
				if keys["const"] && !keys["type"] {
					t.Errorf("%s:%d: a constant without a type", path, mapping.Line)
				}
			}
		}
	}
}

// mappings are a document's mappings, at every depth.
func mappings(n *yaml.Node) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		if n.Kind == yaml.MappingNode && !yield(n) {
			return
		}
		for _, c := range n.Content {
			for m := range mappings(c) {
				if !yield(m) {
					return
				}
			}
		}
	}
}

// components are a document's components by kind.
func components(t *testing.T, api string) map[string]map[string]any {
	t.Helper()
	var doc struct{ Components map[string]map[string]any }
	if err := yaml.Unmarshal(read(t, api), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Components
}

func read(t testing.TB, api string) []byte {
	t.Helper()
	text, err := documents.ReadFile(api)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// route is the part of an operation that both template and document define.
type route struct {
	Key    string
	Public bool
}

func TestTheDocumentsHaveTheTemplatesRoutesAndSecurity(t *testing.T) {
	inEach(t, func(t *testing.T, api string, c *Contract) {
		var want, got []route
		for _, r := range described(t, api).Routes {
			want = append(want, route{r.Method + " " + r.Path, r.Authorizer == ""})
		}
		for _, o := range c.Operations() {
			got = append(got, route{o.Method + " " + o.Path, o.Public})
		}
		for _, list := range [][]route{want, got} {
			slices.SortFunc(list, func(a, b route) int { return strings.Compare(a.Key, b.Key) })
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("template and document (-template +document):\n%s", diff)
		}
	})
}

// TestTheTablesOfCallsHaveTheDocumentsRoutes reads the two tables of HTTP.md: the calls are in
// the first column.
func TestTheTablesOfCallsHaveTheDocumentsRoutes(t *testing.T) {
	text, err := os.ReadFile("../../docs/HTTP.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := strings.Split(string(text), "\n| call | answer |")[1:]
	if len(tables) != 2 {
		t.Fatalf("%d tables of calls", len(tables))
	}
	for i, api := range []string{Buyers, Operators} {
		table, _, _ := strings.Cut(tables[i], "\n\n")
		var want, got []string
		for _, o := range opened(t, api).Operations() {
			want = append(want, o.Method+" "+o.Path)
		}
		for row := range strings.SplitSeq(table, "\n| ") {
			calls, _, _ := strings.Cut(row, " |")
			for _, m := range regexp.MustCompile("`([A-Z]+ /[^`]*)`").FindAllStringSubmatch(calls, -1) {
				got = append(got, m[1])
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-%s +HTTP.md):\n%s", api, diff)
		}
	}
}

// refusal is how a code appears to a client.
type refusal struct {
	Status      int
	Type, Title string
}

func TestTheDocumentsHaveTheFunctionsCodes(t *testing.T) {
	want := map[string]refusal{}
	for _, code := range vocabulary(t) {
		answer := httpapi.Problem(sale.Refuse(code, "why"), "")
		var p struct {
			Type, Title, Code string
			Status            int
		}
		if err := json.Unmarshal([]byte(answer.Body), &p); err != nil {
			t.Fatal(err)
		}
		if p.Status != answer.StatusCode {
			t.Errorf("%s: status %d in the body of a %d", code, p.Status, answer.StatusCode)
		}
		want[p.Code] = refusal{p.Status, p.Type, p.Title} // a code of the back doors is "internal" here
	}
	got := map[string]refusal{}
	for _, api := range []string{Buyers, Operators} {
		c := opened(t, api)
		for name, schema := range c.doc.Components.Schemas {
			constants := map[string]any{}
			for property, ref := range schema.Value.Properties {
				constants[property] = ref.Value.Const
			}
			code, ok := constants["code"].(string)
			if !ok {
				continue
			}
			status, _ := constants["status"].(float64)
			kind, _ := constants["type"].(string)
			title, _ := constants["title"].(string)
			one := refusal{int(status), kind, title}
			if before, known := got[code]; known && before != one {
				t.Errorf("%s says of %s %v, and elsewhere stands %v", api, name, one, before)
			}
			got[code] = one
			for _, outcome := range c.Outcomes() {
				if outcome.Schema == name && outcome.Status != int(status) {
					t.Errorf("%s stands under a status that is not its own", outcome)
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-functions +documents):\n%s", diff)
	}
}

// vocabulary are the codes that package sale declares.
func vocabulary(t *testing.T) (codes []sale.Code) {
	t.Helper()
	for _, text := range declared(t, "errors.go", "Code") {
		codes = append(codes, sale.Code(text))
	}
	if !slices.Contains(codes, sale.SoldOut) {
		t.Fatalf("the vocabulary was read wrongly: %v", codes)
	}
	return codes
}

// TestTheTableOfCodesSaysWhatTheDocumentsSay reads the table of HTTP.md: codes in the
// first column, their statuses in the second.
func TestTheTableOfCodesSaysWhatTheDocumentsSay(t *testing.T) {
	text, err := os.ReadFile("../../docs/HTTP.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| code | status |")
	table, after, _ := strings.Cut(table, "\n\n")
	want := map[string]string{}
	for _, api := range []string{Buyers, Operators} {
		c := opened(t, api)
		for _, o := range c.Outcomes() {
			if schema := c.doc.Components.Schemas[o.Schema]; schema != nil {
				if code := schema.Value.Properties["code"]; code != nil && code.Value.Const != nil {
					want[code.Value.Const.(string)] = strconv.Itoa(o.Status)
				}
			}
		}
	}
	got := map[string]string{}
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(row, "|")
		statuses := strings.Split(cells[2], ",")
		for i, code := range strings.Split(cells[1], ",") {
			got[strings.Trim(code, " `")] = strings.TrimSpace(statuses[min(i, len(statuses)-1)])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes and statuses (-documents +HTTP.md):\n%s", diff)
	}
	for _, code := range vocabulary(t) {
		if want[string(code)] == "" && !strings.Contains(after, "`"+string(code)+"` (") {
			t.Errorf("HTTP.md does not explain the code %s", code)
		}
	}
}
