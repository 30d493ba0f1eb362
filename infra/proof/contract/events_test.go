package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"flashsale/shared/eventbus"
	"flashsale/shared/ledger"
)

// images are items for which the functions publish every type of event, and each variant.
var images = []string{
	claimImage(``),
	claimImage(`,"paidAt":{"N":"1799668805000"},"payment":{"S":"stripe#pi_1 ä"}`),
	claimImage(`,"paidAt":{"N":"1799668805000"},"payment":{"S":"stripe#pi_1"},"amount":{"N":"89900"},"currency":{"S":"CNY"},"labels":{"S":"sku=A-38,campaign=双十一"}`),
	claimImage(`,"releasedAt":{"N":"1799668805000"},"releasedBy":{"S":"expiry"}`),
	claimImage(`,"releasedAt":{"N":"1799668805000"},"releasedBy":{"S":"buyer"}`),
	claimImage(`,"releasedAt":{"N":"1799668805000"},"releasedBy":{"S":"operator"}`),
	refundImage("moutai", "released", true), refundImage("moutai", "other-payment", true), refundImage("moutai", "amount", true), refundImage("moutai", "recalled", true),
	refundImage("", "unknown-order", true), refundImage("", "unknown-order", false),
	`{"pk":{"S":"SALE#moutai"},"sk":{"S":"SALE"},"name":{"S":"m"},"opensAt":{"N":"1799668800000"},"closesAt":{"N":"1799672400000"},"paused":{"BOOL":false},"changedAt":{"N":"0"},
	  "seeded":{"N":"1"},"shards":{"N":"1"},"buckets":{"N":"1"},"empty":{"NS":["0"]},"version":{"N":"1"},"state":{"S":"OPEN"}}`,
	`{"pk":{"S":"SALES"},"sk":{"S":"moutai"},"closesAt":{"N":"1799672400000"},"drained":{"BOOL":true}}`,
	changeImage("pause", `,"actor":{"S":"ana"},"verified":{"BOOL":true},"note":{"S":"too hot"}`), changeImage("resume", ``), changeImage("reschedule", ``), changeImage("recall", ``), changeImage("call", `,"actor":{"S":"draw"},"note":{"S":"call 1"}`),
	`{"pk":{"S":"DRAW#moutai"},"sk":{"S":"HEAD"},"roll":{"S":"` + strings.Repeat("0a", 32) + `"},"entrants":{"N":"3"},"round":{"N":"21000000"},"closedAt":{"N":"1799668805000"}}`,
	`{"pk":{"S":"CHANGES#moutai"},"sk":{"S":"0000000012"},"id":{"S":"d-1"},"action":{"S":"describe"},"at":{"N":"1799668805000"},"call":{"S":"c-1"},"about":{"S":"x"}}`,
	`{"pk":{"S":"SALE#moutai"},"sk":{"S":"SEED#second"},"units":{"N":"50"},"at":{"N":"1799668805000"},"action":{"S":"add"},"labels":{"S":"sku=A-38"}}`,
	`{"pk":{"S":"SALE#moutai"},"sk":{"S":"SEED#typo"},"units":{"N":"-50"},"at":{"N":"1799668805000"},"action":{"S":"withdraw"},"actor":{"S":"ana"}}`,
}

func changeImage(action, more string) string {
	return fmt.Sprintf(`{"pk":{"S":"CHANGES#moutai"},"sk":{"S":"0000000007"},"id":{"S":"c-1"},"action":{"S":%q},"at":{"N":"1799668805000"},"call":{"S":"c-1"},
	  "paused":{"BOOL":false},"opensAt":{"N":"1799668800000"},"closesAt":{"N":"1799672400000"}%s}`, action, more)
}

func claimImage(more string) string {
	return `{"pk":{"S":"CLAIM#moutai#0"},"sk":{"S":"alice"},"claimId":{"S":"C-1"},"shard":{"N":"0"},"acceptedAt":{"N":"1799668800000"},"orderId":{"N":"542537637888000001"}` + more + `}`
}

func refundImage(of, reason string, ofOrder bool) string {
	order := ""
	if ofOrder {
		order = `"orderId":{"N":"542537637888000001"},`
	}
	return fmt.Sprintf(`{"pk":{"S":"REFUND#%s"},"sk":{"S":"stripe#pi_2"},%s"reason":{"S":%q},"amount":{"N":"199900"},"currency":{"S":"CNY"},"at":{"N":"1799668809000"}}`, of, order, reason)
}

// publishedEvents are the images' events, as EventBridge delivers them.
func publishedEvents(t *testing.T) (all []map[string]any) {
	t.Helper()
	for _, text := range images {
		var image ledger.Image
		if err := json.Unmarshal([]byte(text), &image); err != nil {
			t.Fatal(err)
		}
		var before ledger.Image
		if image["orderId"] != nil && image["claimId"] != nil { // of a claim: it was pending before
			before = maps.Clone(image)
			delete(before, "orderId")
			delete(before, "paidAt")
			delete(before, "releasedAt")
		}
		events, err := ledger.Changes(before, image, time.UnixMilli(1799668810123))
		if err != nil || len(events) == 0 {
			t.Fatalf("%s: %v, %v", text, events, err)
		}
		for _, e := range events {
			all = append(all, delivered(t, string(e.Type), eventbus.Detail(e)))
		}
	}
	return all
}

func delivered(t *testing.T, kind string, detail []byte) map[string]any {
	t.Helper()
	envelope := map[string]any{
		"version": "0", "id": "11112222-3333-4444-5555-666677778888", "detail-type": kind, "source": eventbus.Source, "account": "123456789012",
		"time": "2027-01-11T12:00:05Z", "region": "eu-central-1", "resources": []any{},
	}
	d := json.NewDecoder(bytes.NewReader(detail))
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil {
		t.Fatal(err)
	}
	envelope["detail"] = members
	return envelope
}

func openedEvents(t *testing.T) Events {
	t.Helper()
	e, err := OpenEvents()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEveryEventThatIsPublishedFitsItsSchema(t *testing.T) {
	schemas, got := openedEvents(t), map[string]int{}
	for _, e := range publishedEvents(t) {
		got[e["detail-type"].(string)]++
		if err := schemas.Check(encoded(t, e)); err != nil {
			t.Errorf("%v: %v", e["detail"], err)
		}
	}
	want := slices.Sorted(slices.Values(eventTypes(t)))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("types (-package sale +published):\n%s", diff)
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(schemas))); diff != "" {
		t.Errorf("types (-package sale +schemas):\n%s", diff)
	}
}

// eventTypes are the types that package sale declares.
func eventTypes(t *testing.T) []string { return declared(t, "event.go", "EventType") }

// declared are the constants of a type in a file of package sale.
func declared(t *testing.T, path, of string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../shared/sale/"+path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == of {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, text)
			}
		}
		return true
	})
	return values
}

// Readers accept other values of these members; what is published is exactly what the schemas
// name.
func TestMembersThatMayGetNewValuesHaveTheValuesThatTheirSchemasName(t *testing.T) {
	for _, tt := range []struct{ event, member, path, goType string }{
		{"RefundDue", "reason", "payment.go", "RefundReason"}, {"OrderReleased", "releasedBy", "sale.go", "ReleasedBy"},
		{"SaleChanged", "action", "change.go", "Action"},
	} {
		text, err := eventDocuments.ReadFile("events/" + tt.event + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Properties struct {
				Detail struct {
					Properties map[string]struct{ Examples []string }
				}
			}
		}
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		named := slices.Sorted(slices.Values(schema.Properties.Detail.Properties[tt.member].Examples))
		if diff := cmp.Diff(slices.Sorted(slices.Values(declared(t, tt.path, tt.goType))), named); diff != "" {
			t.Errorf("%s of %s (-package sale +schema):\n%s", tt.member, tt.event, diff)
		}
		schemas, published := openedEvents(t), map[string]bool{}
		for _, e := range publishedEvents(t) {
			if e["detail-type"] != tt.event {
				continue
			}
			detail := e["detail"].(map[string]any)
			published[detail[tt.member].(string)] = true
			detail[tt.member] = "added-later"
			if err := schemas.Check(encoded(t, e)); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(named, slices.Sorted(maps.Keys(published))); diff != "" {
			t.Errorf("%s of %s (-schema +published):\n%s", tt.member, tt.event, diff)
		}
	}
}

// TestAChangedEventIsNoticed: no member can be left out, have another type or be empty; and a
// member that a later release adds is accepted, by readers, too.
func TestAChangedEventIsNoticed(t *testing.T) {
	schemas := openedEvents(t)
	for _, e := range publishedEvents(t) {
		for _, inDetail := range []bool{false, true} {
			members := e
			if inDetail {
				members = e["detail"].(map[string]any)
			}
			refused := func(what string) {
				if schemas.Check(encoded(t, e)) == nil {
					t.Errorf("accepted with %s: %s", what, encoded(t, e))
				}
			}
			for name, value := range maps.Clone(members) {
				optional := name == "orderId" && e["detail"].(map[string]any)["reason"] == "unknown-order" || name == "labels" || name == "actor" || name == "note"
				if delete(members, name); !optional {
					refused("no " + name)
				}
				members[name] = []any{value}
				refused("a list as " + name)
				if name != "id" && name != "resources" && inDetail {
					members[name] = ""
					refused("an empty " + name)
				}
				members[name] = value
			}
			members["added"] = map[string]any{"later": true}
			if err := schemas.Check(encoded(t, e)); err != nil {
				t.Errorf("an added member: %v", err)
			}
			delete(members, "added")
		}
		e["detail-type"] = "Other"
		if schemas.Check(encoded(t, e)) == nil {
			t.Error("accepted with another type")
		}
	}
	for _, change := range []struct{ kind, member, value string }{
		{"OrderConfirmed", "state", "PAID"}, {"OrderReleased", "state", "PAID"}, {"OrderReleased", "releasedBy", "expiry"},
		{"OrderPaid", "id", "OrderConfirmed:1"}, {"OrderPaid", "orderId", "0"}, {"OrderPaid", "occurredAt", "2026-11-11T12:00:00Z"},
		{"RefundDue", "reason", "unknown-order"}, {"RefundDue", "currency", "cny"}, {"SaleDrained", "saleId", "a b"},
	} {
		for _, e := range publishedEvents(t) {
			detail := e["detail"].(map[string]any)
			if e["detail-type"] != change.kind || detail["state"] == "EXPIRED" || detail[change.member] == change.value {
				continue
			}
			detail[change.member] = change.value
			if schemas.Check(encoded(t, e)) == nil {
				t.Errorf("accepted with %+v: %v", change, detail)
			}
		}
	}
	if schemas.Check([]byte(`{`)) == nil || schemas.Check([]byte(`[]`)) == nil {
		t.Error("accepted what is no object")
	}
}

// asyncAPI is the part of AsyncAPI 3.0 that the document uses.
type asyncAPI struct {
	AsyncAPI string `yaml:"asyncapi"`
	Info     struct {
		Title, Version, Description string
		License                     struct{ Name, URL string }
	}
	DefaultContentType string `yaml:"defaultContentType"`
	Channels           map[string]struct {
		Title, Description, Address string
		Parameters                  map[string]struct{ Description string }
		Messages                    map[string]reference
	}
	Operations map[string]struct {
		Action, Summary string
		Channel         reference
		Messages        []reference
	}
	Components struct {
		Messages map[string]struct {
			Name, Summary string
			CorrelationID struct{ Description, Location string } `yaml:"correlationId"`
			Payload       struct {
				SchemaFormat string `yaml:"schemaFormat"`
				Schema       reference
			}
		}
	}
}

type reference struct {
	Ref string `yaml:"$ref"`
}

func TestTheAsyncAPIDocumentHasEveryEventWithItsSchema(t *testing.T) {
	text, err := eventDocuments.ReadFile("asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc asyncAPI
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	channel, operation := doc.Channels["orders"], doc.Operations["publish"]
	if doc.AsyncAPI != "3.0.0" || len(doc.Channels) != 1 || len(doc.Operations) != 1 || operation.Action != "send" ||
		operation.Channel.Ref != "#/channels/orders" || !strings.Contains(channel.Address, "{bus}") || channel.Parameters["bus"].Description == "" {
		t.Errorf("got %+v", doc)
	}
	types := slices.Sorted(slices.Values(eventTypes(t)))
	var sent []string
	for _, m := range operation.Messages {
		sent = append(sent, strings.TrimPrefix(m.Ref, "#/channels/orders/messages/"))
	}
	for name, list := range map[string][]string{
		"channel": slices.Sorted(maps.Keys(channel.Messages)), "operation": slices.Sorted(slices.Values(sent)), "components": slices.Sorted(maps.Keys(doc.Components.Messages)),
	} {
		if diff := cmp.Diff(types, list); diff != "" {
			t.Errorf("messages of the %s (-package sale +document):\n%s", name, diff)
		}
	}
	for name, m := range doc.Components.Messages {
		if channel.Messages[name].Ref != "#/components/messages/"+name || m.Name != name || m.Payload.Schema.Ref != "events/"+name+".json" ||
			!strings.Contains(m.Payload.SchemaFormat, "draft-2020-12") || m.CorrelationID.Location != "$message.payload#/detail/id" {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestTheExamplesOfTheDocumentFitTheirSchemas reads the JSON blocks of EVENTS.md that are
// events.
func TestTheExamplesOfTheDocumentFitTheirSchemas(t *testing.T) {
	text, err := os.ReadFile("../../docs/EVENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	schemas, shown := openedEvents(t), 0
	for _, block := range regexp.MustCompile("(?ms)^```json\n(.*?)^```$").FindAllSubmatch(text, -1) {
		shown++
		if err := schemas.Check(block[1]); err != nil {
			t.Errorf("%s: %v", block[1], err)
		}
	}
	if shown == 0 {
		t.Error("EVENTS.md shows no event")
	}
	for _, kind := range eventTypes(t) {
		if !strings.Contains(string(text), "`"+kind+"`") {
			t.Errorf("EVENTS.md does not explain %s", kind)
		}
	}
}
