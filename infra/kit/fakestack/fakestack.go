// Package fakestack stands in for a running stack in tests of what loads one.
package fakestack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	purchase "flashsale/functions/purchase/handler"
	query "flashsale/functions/query/handler"
	seeding "flashsale/functions/seed/handler"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Flaws selects the ways in which a stack breaks its promises: enough to show that what infra/kit/verdict,
// infra/kit/books and the buyers find is on the receipt.
type Flaws struct {
	Oversells bool // adds a unit that it was not given
	Breaks    bool // answers some requests with an internal error
}

// Stack is a stack in this process: the functions over a table in memory, in real time.
type Stack struct {
	Flaws
	DB    *dynamotest.DB
	seed  *seeding.Handler
	Mux   http.ServeMux
	asked atomic.Int64 // purchases
}

// New makes a stack.
func New(f Flaws) *Stack {
	h := &Stack{Flaws: f, DB: dynamotest.New(dynamotest.Table{Name: "ShopTable", PK: "pk", SK: "sk"})}
	log := telemetry.New(io.Discard, "test", clock.Wall)
	h.seed = seeding.New(h.environment(), log, clock.Wall)
	buys := purchase.New(h.environment(), h, log, clock.Wall)
	shows := query.New(h.environment(), log, clock.Wall)
	h.Mux.HandleFunc("GET /_local/health", func(w http.ResponseWriter, r *http.Request) {
		at := "http://" + r.Host
		answer(w, 200, map[string]any{"lambda": at, "dynamodb": at, "table": "ShopTable"})
	})
	h.Mux.HandleFunc("GET /_local/token", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "token-of-%s\n", r.FormValue("sub")) })
	h.Mux.HandleFunc("POST /{$}", h.scan)
	h.Mux.HandleFunc("POST /2015-03-31/functions/"+client.SeedFunction+"/invocations", h.invoke)
	for route, handle := range map[string]func(context.Context, httpapi.Request) (httpapi.Response, error){
		"POST /sales/{saleId}/orders": buys.Handle, "GET /sales/{saleId}/orders/me": shows.Handle, "GET /sales/{saleId}": shows.Handle,
	} {
		h.Mux.HandleFunc(route, h.answers(handle))
	}
	return h
}

// Open serves a stack at an address of this machine until the test ends.
func Open(t *testing.T, f Flaws) (h *Stack, url string) {
	h = New(f)
	server := httptest.NewServer(&h.Mux)
	t.Cleanup(server.Close)
	return h, server.URL
}

func (h *Stack) environment() *ledger.Ledger {
	return ledger.New(h.DB, "ShopTable", ledger.Options{Now: clock.Wall})
}

// Send is the order queue of PurchaseFunction: an order has its id at once.
func (h *Stack) Send(ctx context.Context, m orderq.Message) error {
	return h.environment().Confirm(ctx, []ledger.ClaimRef{{SaleID: m.SaleID, User: m.User, ClaimID: m.ClaimID}})[0].Err
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// invoke has SeedFunction create a sale and, if it is to oversell, adds a unit.
func (h *Stack) invoke(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body) // a request that is cut off is invalid
	made, err := h.seed.Handle(r.Context(), raw)
	if err == nil && h.Oversells {
		_, err = h.environment().Add(r.Context(), sale.Addition{SaleID: made.SaleID, SeedID: "more", Stock: 1})
	}
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
	}
	answer(w, 200, made)
}

// answers answers as API Gateway, with what the flaws make of a function's answer.
func (h *Stack) answers(handle func(context.Context, httpapi.Request) (httpapi.Response, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && h.asked.Add(1)%7 == 0 && h.Breaks {
			answer(w, 500, map[string]any{"code": "internal", "status": 500})
			return
		}
		request := httpapi.Request{RouteKey: r.Pattern, Sub: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer token-of-")}
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			request.Headers = map[string]string{"idempotency-key": key}
		}
		request.Path.SaleID = r.PathValue("saleId")
		told, err := handle(r.Context(), request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, told.StatusCode, json.RawMessage(told.Body))
	}
}

// scan answers with every item as DynamoDB does.
func (h *Stack) scan(w http.ResponseWriter, _ *http.Request) {
	items := []json.RawMessage{}
	for _, it := range h.DB.Items("ShopTable") {
		items = append(items, dynamotest.JSON(it))
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(map[string]any{"Items": items, "Count": len(items), "ScannedCount": len(items)})
}
