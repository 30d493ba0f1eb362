package security

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// lapses are hostile or careless inputs of SeedFunction, by name. The given sale
// exists. Each field's own bounds are in shared/sale and functions/seed/handler.
func lapses(sale string) map[string]string {
	const window = `"opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z"`
	add := func(stock string) string {
		return fmt.Sprintf(`{"action":"add","saleId":%q,"seedId":"lapse","stock":%s}`, sale, stock)
	}
	create := func(more string) string { return `{"action":"create","saleId":"lapse",` + more + `}` }
	pause := func(more string) string { return fmt.Sprintf(`{"action":"pause","saleId":%q%s}`, sale, more) }
	named := func(id string) string {
		return `{"action":"add","saleId":` + quoted(id) + `,"seedId":"lapse","stock":1}`
	}
	return map[string]string{
		"stock of -0":                           add("-0"),
		"stock of a billion and one":            add("1000000001"),
		"stock of the largest 64-bit number":    add("9223372036854775807"),
		"stock with a negative exponent":        add("1e-3"),
		"stock of text":                         add(`"5"`),
		"stock that is null":                    add("null"),
		"stock twice":                           add(`1,"stock":1000`),
		"stock twice, once in escapes":          add(`1,"\u0073tock":1000`),
		"stock in another case besides":         add(`1,"Stock":1000`),
		"stock with a long s besides":           add(`1,"ſtock":1000`),
		"a sale id with a separator":            named(sale + "#0"),
		"a sale id that is a key":               named("SALE#" + sale),
		"an unknown sale":                       named("nowhere"),
		"an unknown action":                     `{"action":"delete","saleId":"` + sale + `"}`,
		"an action in capitals":                 `{"action":"PAUSE","saleId":"` + sale + `"}`,
		"two actions":                           pause(`,"action":"resume"`),
		"no action":                             `{"saleId":"` + sale + `"}`,
		"an extra field":                        pause(`,"force":true`),
		"another action's field":                pause(`,"stock":1`),
		"a prototype":                           pause(`,"__proto__":{"action":"create"}`),
		"an instant in the future":              pause(`,"at":"2099-01-01T00:00:00Z"`),
		"an instant without a zone":             pause(`,"at":"2026-01-01T00:00:00"`),
		"an instant that is a number":           pause(`,"at":0`),
		"2^32 shards and one":                   create(window + `,"stock":5,"shards":4294967297`),
		"a window of the year 9999":             create(`"opensAt":"2026-01-01T00:00:00Z","closesAt":"9999-12-31T23:59:59Z","stock":5`),
		"a window of a day that is none":        create(`"opensAt":"2026-02-30T00:00:00Z","closesAt":"2036-01-01T00:00:00Z","stock":5`),
		"a name of a megabyte":                  create(window + `,"stock":5,"name":"` + strings.Repeat("n", 1<<20) + `"`),
		"the same sale with other units":        `{"action":"create","saleId":"` + sale + `",` + window + `,"stock":999999}`,
		"a list of requests":                    `[` + pause("") + `]`,
		"a request in a text":                   quoted(pause("")),
		"a number":                              `1`,
		"5,000 nested lists":                    strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"a scheduler's variable left as it is":  pause(`,"at":"<aws.scheduler.scheduled-time>"`),
		"an event of EventBridge":               `{"version":"0","source":"aws.events","detail-type":"Scheduled Event","detail":` + pause("") + `}`,
		"an event of SQS":                       batch(note{"m", pause("")}),
		"an event of HTTP with it as a body":    `{"version":"2.0","routeKey":"$default","headers":{},"isBase64Encoded":false,"body":` + quoted(pause("")) + `}`,
		"an event of HTTP that says the action": `{"version":"2.0","routeKey":"$default","action":"pause","saleId":"` + sale + `"}`,
	}
}

func TestAHostileSeedingIsRefusedAndChangesNothing(t *testing.T) {
	s := shared(t)
	s.openSale(t, "seed", 5)
	before := s.books(t)
	all := lapses("seed")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := s.invoke(t, "SeedFunction", all[name])
		// The Lambda service itself refuses input that is not JSON.
		if o.status == http.StatusBadRequest && !json.Valid([]byte(all[name])) {
			continue
		}
		switch o.errorType() {
		case "invalid-request", "sale-not-found", "conflicting-request":
		default:
			t.Errorf("%s: %.300s", name, o)
		}
		for _, inside := range []string{".go:", "goroutine", "dynamodb", "ConditionalCheck", "LedgerTable", "json:"} {
			if strings.Contains(o.raw, inside) {
				t.Errorf("%s: the answer tells of the inside: %.300s", name, o)
			}
		}
	}
	s.unchanged(t, before)
}

func TestAddingUnitsForEverNeverOverflows(t *testing.T) {
	s := shared(t)
	s.openSale(t, "hoard", 1)
	for i := range 5 {
		o := s.invoke(t, "SeedFunction", fmt.Sprintf(`{"action":"add","saleId":"hoard","seedId":"batch-%d","stock":1000000000}`, i))
		if o.failed != "" || !strings.Contains(o.raw, fmt.Sprintf(`"seeded":%d`, 1_000_000_000*int64(i+1)+1)) {
			t.Errorf("batch %d: %v", i, o)
		}
	}
	if got := s.books(t)["STOCK#hoard#0 | STOCK"]["stock"]; got != "5000000001" {
		t.Errorf("the stock is %s, want 5000000001", got)
	}
}

// Reconciling and releasing take the same requests.
func TestNoInputOfReconcilingOrReleasingChangesTheBooks(t *testing.T) {
	s := shared(t)
	s.openSale(t, "audit", 5)
	o := s.invoke(t, "SeedFunction", `{"action":"create","saleId":"unpaid","opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z","stock":5,"payWithin":604800,"price":129900,"currency":"CNY"}`)
	if o.failed != "" {
		t.Fatal(o)
	}
	for _, sale := range []string{"audit", "unpaid"} {
		s.ordered(t, sale, "alice")
		s.buy(t, sale, "bob")
	}
	before := s.books(t)
	for name, c := range map[string]struct{ payload, code string }{
		"every sale":                 {`{}`, ""},
		"null":                       {`null`, "invalid-request"},
		"one sale":                   {`{"saleId":"unpaid"}`, ""},
		"one that is not to be paid": {`{"saleId":"audit"}`, ""},
		"an action":                  {`{"action":"drain","saleId":"unpaid"}`, "invalid-request"},
		"figures to believe":         {`{"saleId":"unpaid","seeded":-1,"stock":1000000000000000000,"balanced":true,"resent":-5}`, "invalid-request"},
		"what to release":            {`{"saleId":"unpaid","users":["alice"],"released":5,"putBack":5}`, "invalid-request"},
		"another grace":              {`{"saleId":"unpaid","grace":-604800,"payWithin":0}`, "invalid-request"},
		"a cursor":                   {`{"saleId":"unpaid","releasing":{"bucket":99},"nextDue":"1970-01-01T00:00:00Z"}`, "invalid-request"},
		"a prototype":                {`{"saleId":"unpaid","__proto__":{"drained":true},"constructor":{"prototype":{}}}`, "invalid-request"},
		"a time":                     {`{"saleId":"unpaid","at":"9999-01-01T00:00:00Z","closesAt":"1970-01-01T00:00:00Z"}`, "invalid-request"},
		"an event of EventBridge":    {`{"version":"0","source":"aws.events","time":"9999-01-01T00:00:00Z","detail":{"saleId":"unpaid"}}`, "invalid-request"},
		"a sale twice":               {`{"saleId":"nowhere","saleId":"unpaid"}`, "invalid-request"},
		"a sale in capitals":         {`{"SaleID":"unpaid"}`, "invalid-request"},
		"a sale that is null":        {`{"saleId":null}`, "invalid-request"},
		"a sale without a name":      {`{"saleId":""}`, "invalid-request"},
		"an unknown sale":            {`{"saleId":"nowhere"}`, "sale-not-found"},
		"a sale with a separator":    {`{"saleId":"unpaid#0"}`, "invalid-request"},
		"a sale that is a number":    {`{"saleId":-1}`, "invalid-request"},
		"a list":                     {`["unpaid"]`, "invalid-request"},
		"a text":                     {`"unpaid"`, "invalid-request"},
		"a number":                   {`1000000000000000000`, "invalid-request"},
		"5,000 nested lists":         {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "invalid-request"},
		"a megabyte for a sale's id": {`{"saleId":"` + strings.Repeat("a", 1<<20) + `"}`, "invalid-request"},
	} {
		for _, function := range []string{"ReconcileFunction", "ReleaseFunction"} {
			if o := s.invoke(t, function, c.payload); o.errorType() != c.code {
				t.Errorf("%s, %s: %.300s, want %q", function, name, o, c.code)
			}
		}
	}
	s.unchanged(t, before)
}
