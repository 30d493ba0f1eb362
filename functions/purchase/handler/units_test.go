package handler

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// asking is a request's body.
func asking(body string) httpapitest.Change {
	return func(r *events.APIGatewayV2HTTPRequest) { r.Body = body }
}

func TestABodyAsksForUnitsOrIsRefusedBeforeAnythingIsRead(t *testing.T) {
	for body, want := range map[string]int64{
		"": 1, "{}": 1, " {\t} ": 1, `{"units":1}`: 1, `{"units":8}`: 8, `{"units":2e0}`: 2, `{"units":2}` + strings.Repeat(" ", 900): 2,
		`{"units":0}`: 0, `{"units":-1}`: 0, `{"units":2.0}`: 0, `{"units":"2"}`: 0, `{"units":null}`: 0, `{"units":9}`: 0,
		`{"units":1,"units":2}`: 0, `{"Units":2}`: 0, `{"units":2,"sku":"a"}`: 0, `{"units":[2]}`: 0, `{"units":18446744073709551618}`: 0,
		`[]`: 0, `null`: 0, `2`: 0, `{"units":2}{}`: 0, `{"units":2`: 0,
	} {
		for _, r := range []httpapi.Request{{Body: body}, {Body: base64.StdEncoding.EncodeToString([]byte(body)), IsBase64Encoded: true}} {
			if got, err := unitsIn(&r); got != want || (want == 0) != (sale.CodeOf(err) == sale.InvalidRequest) {
				t.Errorf("%q asks for %d (%v), want %d", r.Body, got, err, want)
			}
		}
	}
}

func TestTheBodyOfMostPurchasesIsNotParsed(t *testing.T) {
	for _, body := range []string{"", "{}", " { }\n"} {
		r := httpapi.Request{Body: body}
		if n := testing.AllocsPerRun(100, func() { _, _ = unitsIn(&r) }); n != 0 {
			t.Errorf("%q costs %v allocations, want none", body, n)
		}
	}
}

func TestAnOrderOfTwoUnitsSaysSoAndOneOfMoreThanAreLeftHowManyAre(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.Open(func(c *sale.Creation) { c.SaleID, c.Stock, c.MaxPerOrder = "pairs", 3, 2 })
		pairs := httpapitest.Path("saleId", "pairs")
		for range 2 {
			r := f.invoke(t, t.Context(), event(t, "purchase-idempotent.json", pairs, asking(`{"units":2}`)))
			if want := strings.NewReplacer("moutai", "pairs", "Z\"}", "Z\",\"units\":2}").Replace(acceptedBody); r.StatusCode != 202 || r.Body != want {
				t.Errorf("%d %s, want 202 %s", r.StatusCode, r.Body, want)
			}
			if got := f.Logged(t, "units"); got != 2.0 {
				t.Errorf("logged are %v units", got)
			}
		}
		body := refused(t, f.invoke(t, t.Context(), event(t, "purchase-idempotent.json", pairs)), 409, sale.AlreadyOrdered)
		if claim, _ := body["claim"].(map[string]any); claim["units"] != 2.0 {
			t.Errorf("asked for one with its key: told of %v", claim)
		}
		two := event(t, "purchase.json", pairs, user("carol"), asking(`{"units":2}`))
		if body := refused(t, f.invoke(t, t.Context(), two), 409, sale.NotEnough); body["left"] != 1.0 {
			t.Errorf("told of %v left, want 1", body["left"])
		}
		refused(t, f.invoke(t, t.Context(), event(t, "purchase.json", pairs, user("carol"), asking(`{"units":3}`))), 400, sale.InvalidRequest)
		refused(t, f.invoke(t, t.Context(), event(t, "purchase.json", asking(`{"units":2}`))), 400, sale.InvalidRequest)
		if c := f.ClaimIn("pairs", "carol"); c.ID != "" {
			t.Errorf("carol has %+v", c)
		}
	})
}

// What one request can cost at most when a shard is short and nothing that follows succeeds (P16): ten shards have
// what it asks for together, and each split is in conflict, or seven have not, and each proof is.
func TestTheWorstCaseOfASplitStaysInsideTheTimeBudget(t *testing.T) {
	for shards, op := range map[int]string{10: "TransactWriteItems", 7: "TransactGetItems"} {
		for name, delay := range map[string]time.Duration{"fast": 30 * time.Millisecond, "slow": 900 * time.Millisecond} {
			t.Run(name+" "+op, func(t *testing.T) {
				in(t, func(t *testing.T, f *function) {
					f.Open(func(c *sale.Creation) { c.SaleID, c.Stock, c.Shards, c.MaxPerOrder = "tail", int64(shards), shards, 8 })
					f.over(f.LedgerWith(ledger.Options{Random: func() float64 { return 0.999 }})) // the longest jitter
					f.DB.Fault = dynamotest.On(op, "", func(c dynamotest.Call) dynamotest.Fault {
						if len(c.Keys) == 2 { // of one shard
							return dynamotest.Fault{}
						}
						return dynamotest.Fault{Kind: dynamotest.Conflict, Delay: delay}
					})
					began := time.Now()
					calls := f.Calls(func() {
						f.Within(timeout, func(ctx context.Context) {
							r := f.invoke(t, ctx, event(t, "purchase.json", httpapitest.Path("saleId", "tail"), asking(`{"units":8}`)))
							refused(t, r, 503, sale.Busy)
						})
					})
					if took := time.Since(began); took > timeout-invocation.Margin || calls > 13 || f.DB.Calls()["TransactWriteItems"] > 6 {
						t.Errorf("%d calls in %v: %v", calls, took, f.DB.Calls())
					}
				})
			})
		}
	}
}
