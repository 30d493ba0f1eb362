package handler

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/sale"
)

// isLine checks the line of the last request; of an error want has the start.
func isLine(t *testing.T, f *function, outcome sale.Code, more map[string]any) {
	t.Helper()
	metrics := map[string]string{}
	if more["seeded"] != nil {
		metrics["seeded"] = "Count by service"
	}
	f.IsLine(t, outcome, more, metrics)
}

func TestEachRequestHasItsAnswerAndItsLine(t *testing.T) {
	const create = "seed-create.json"
	const window = `"opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z"`
	answer := func(seeded int, applied bool, more string) string {
		return fmt.Sprintf(`{"saleId":"moutai","seeded":%d,"shards":5,"applied":%t%s}`, seeded, applied, more)
	}
	for _, tt := range []struct {
		name    string
		before  []string // requests
		request string
		action  string // in the line
		seeded  int    // in answer and line
		answer  string // or
		code    sale.Code
		failure string // its text
	}{
		{"a creation again", []string{create}, create, "create", 100, answer(100, false, ""), "", ""},
		{"a creation with other contents", []string{create}, `{"action":"create","saleId":"moutai",` + window + `,"stock":1000}`, "create", 0,
			"", sale.Conflicting, "conflicting-request: the sale was created before with other contents"},
		{"a pause that is older than the last edit", []string{create, "seed-resume.json"}, "seed-pause-scheduled.json", "pause", 0, "", sale.Conflicting,
			"conflicting-request: an edit of 2026-01-02T00:00:00.000Z stands: the sale is not paused"},
		{"a picture", []string{create}, `{"action":"describe","saleId":"moutai","image":"https://images.example/a.jpg"}`, "describe", 100,
			answer(100, true, `,"name":"Feitian Moutai","image":"https://images.example/a.jpg"`), "", ""},
		{"a description with a picture of another origin", []string{create}, `{"action":"describe","saleId":"moutai","image":"https://other.example/a.jpg"}`, "describe", 0,
			"", sale.InvalidRequest, "invalid-request: image must be of https://images.example"},
		{"a request that is none", nil, `{"action":"\u001b[31m\nsell everything"}`, "", 0, "", sale.InvalidRequest,
			"invalid-request: action must be one of add, cancel, create, describe, extend, pause, recall, reschedule, resume, withdraw"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, f *function) {
				for _, request := range tt.before {
					if _, failure := f.invoke(t, t.Context(), requestOf(t, request)); failure != nil {
						t.Fatal(failure)
					}
				}
				line := map[string]any{"coldStart": len(tt.before) == 0}
				if tt.action != "" {
					line["action"], line["saleId"] = tt.action, "moutai"
				}
				if tt.code == "" {
					line["seeded"] = float64(tt.seeded)
					f.succeed(t, requestOf(t, tt.request), tt.answer)
					isLine(t, f, "", line)
					return
				}
				if line["error"] = tt.failure; tt.code == sale.Conflicting {
					line["level"] = "WARN"
				}
				before := f.DB.Dump()
				f.refuse(t, requestOf(t, tt.request), tt.code)
				isLine(t, f, tt.code, line)
				if f.DB.Dump() != before {
					t.Error("a refused request has changed the table")
				}
			})
		})
	}
}

// requestOf returns a request, which is given as it is or by its name in events/.
func requestOf(t *testing.T, request string) []byte {
	t.Helper()
	if strings.HasSuffix(request, ".json") {
		return event(t, request)
	}
	return []byte(request)
}

func TestTheErrorTypeIsTheCodeAndACauseStaysInside(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*function)
		want   sale.Code
		line   map[string]any
	}{
		{"a busy table", func(f *function) { f.Throttles() }, sale.Busy, map[string]any{"level": "WARN", "error": "busy: "}},
		{"a sale for a newer version", func(f *function) { f.Newer("SALE#moutai", "SALE") }, sale.NewerVersion,
			map[string]any{"result": "internal", "level": "ERROR", "error": "newer-version: "}},
		{"a foreign error", func(f *function) { f.over(f.Nowhere()) }, sale.Internal, map[string]any{"level": "ERROR", "error": "internal: "}},
	} {
		for _, action := range []string{"create", "add", "withdraw", "pause", "describe"} {
			t.Run(tt.name+", "+action, func(t *testing.T) {
				in(t, func(t *testing.T, f *function) {
					f.Open(func(c *sale.Creation) { c.Stock, c.Shards = 100, 5 }) // as the events do
					tt.change(f)
					f.refuse(t, event(t, "seed-"+action+".json"), tt.want)
					want := map[string]any{"action": action, "saleId": "moutai"}
					maps.Copy(want, tt.line)
					isLine(t, f, tt.want, want)
				})
			})
		}
	}
}

func TestAChangeHasTheIDOfItsRequestOrThatOfItsInvocation(t *testing.T) {
	for request, want := range map[string]string{
		`{"action":"pause","saleId":"moutai","changeId":"c-1"}`: "c-1",
		`{"action":"pause","saleId":"moutai"}`:                  "r-1",
	} {
		in(t, func(t *testing.T, f *function) {
			f.Open()
			invoked := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
			_, failure := f.invoke(t, invoked, []byte(request))
			changes, _, err := f.Ledger().Trail(t.Context(), testledger.SaleID, 2)
			if failure != nil || err != nil || len(changes) != 1 || changes[0].ID != want {
				t.Errorf("%s: the trail is %+v (%v, %v), want the change %s", request, changes, failure, err, want)
			}
		})
	}
}
