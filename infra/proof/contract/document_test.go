package contract

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// inEach runs a test for each document.
func inEach(t *testing.T, test func(t *testing.T, api string, c *Contract)) {
	for _, api := range []string{Buyers, Operators} {
		t.Run(api, func(t *testing.T) { test(t, api, opened(t, api)) })
	}
}

func TestTheDocumentsAreValidAndTheirExamplesFitTheirSchemas(t *testing.T) {
	inEach(t, func(t *testing.T, _ string, c *Contract) {
		if err := c.doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableMultiError()); err != nil {
			t.Error(err)
		}
	})
}

// The documents are open, so that clients accept what a later version adds.
func TestTheDocumentsAcceptWhatALaterReleaseAdds(t *testing.T) {
	inEach(t, func(t *testing.T, api string, c *Contract) {
		for name, ref := range c.plain.Components.Schemas {
			if strings.HasSuffix(name, "Request") || name == "Nothing" {
				continue // a body that is sent
			}
			if may := ref.Value.AdditionalProperties.Has; may != nil && !*may {
				t.Errorf("%s: a client would refuse %s with a member more", api, name)
			}
			for member, property := range ref.Value.Properties {
				if len(property.Value.Enum) > 0 {
					t.Errorf("%s: a client would refuse another %s of %s", api, member, name)
				}
			}
		}
	})
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

func TestTheDocumentsHaveTheTemplatesRoutesAndSecurity(t *testing.T) {
	inEach(t, func(t *testing.T, api string, c *Contract) {
		want, got := map[string]bool{}, map[string]bool{} // whether a route is public
		for _, r := range described(t, api).Routes {
			want[r.Method+" "+r.Path] = r.Authorizer == ""
		}
		for _, o := range c.Operations() {
			got[o.Method+" "+o.Path] = o.Public
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("template and document (-template +document):\n%s", diff)
		}
	})
}

// refusal is how a code appears to a client.
type refusal struct {
	Status      int
	Type, Title string
}

func TestTheDocumentsHaveTheFunctionsCodes(t *testing.T) {
	want := map[string]refusal{}
	for _, code := range declared(t, "errors.go", "Code") {
		answer := httpapi.Problem(sale.Refuse(sale.Code(code), "why"), "")
		var p struct {
			Type, Title, Code string
			Status            int
		}
		if err := json.Unmarshal([]byte(answer.Body), &p); err != nil {
			t.Fatal(err)
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
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-functions +documents):\n%s", diff)
	}
}
