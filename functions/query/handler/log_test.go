package handler

import (
	"errors"
	"maps"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry/telemetrytest"
)

func TestEveryOutcomeLeavesItsLine(t *testing.T) {
	const salePage, claimPage, orderPage = "GET /sales/{saleId}", "GET /sales/{saleId}/orders/me", "GET /orders/{orderId}"
	same := func(*events.APIGatewayV2HTTPRequest) {}
	throttled := sale.Fail(sale.Busy, errors.New("ThrottlingException"))
	tests := []struct {
		name, fixture string
		change        func(*events.APIGatewayV2HTTPRequest)
		books         func(*books)
		outcome       sale.Code
		want          map[string]any // in addition to what every line has
	}{
		{"the sale page", "query-sale.json", same, nil, "ok",
			map[string]any{"route": salePage, "saleId": "moutai"}},
		{"the caller's claim", "query-claim.json", same, nil, "ok",
			map[string]any{"route": claimPage, "saleId": "moutai", "user": "alice"}},
		{"the caller's order", "query-order.json", same, nil, "ok",
			map[string]any{"route": orderPage, "saleId": "moutai", "user": "alice"}},
		{"no such sale", "query-sale.json", path("saleId", "other"), nil, sale.SaleNotFound,
			map[string]any{"route": salePage, "saleId": "other", "error": "sale-not-found: no such sale"}},
		{"no claim", "query-claim.json", user("bob"), nil, sale.OrderNotFound,
			map[string]any{"route": claimPage, "saleId": "moutai", "user": "bob", "error": "order-not-found: the user has no order in this sale"}},
		{"somebody else's order", "query-order.json", user("bob"), nil, sale.OrderNotFound,
			map[string]any{"route": orderPage, "user": "bob", "error": "order-not-found: no such order"}},
		{"an impossible order id", "query-order.json", path("orderId", "x"), nil, sale.InvalidRequest,
			map[string]any{"route": orderPage, "error": "invalid-request: an order id is a decimal number of up to 19 digits"}},
		{"nobody", "query-claim.json", anonymous, nil, sale.Unauthorized,
			map[string]any{"route": claimPage, "error": "unauthorized: the request carries no verified user"}},
		{"a busy table", "query-sale.json", same, func(b *books) { b.fault = throttled }, sale.Busy,
			map[string]any{"route": salePage, "saleId": "moutai", "level": "WARN", "error": "busy: ThrottlingException"}},
		{"a foreign error", "query-sale.json", same, func(b *books) { b.fault = errors.New("strange") }, sale.Internal,
			map[string]any{"route": salePage, "saleId": "moutai", "level": "ERROR", "error": "strange"}},
		{"a panic", "query-sale.json", same, func(b *books) { b.panics = true }, sale.Internal,
			map[string]any{"route": salePage, "saleId": "moutai", "level": "ERROR", "error": "panic: table ledger-7 is on fire"}},
		{"an unknown route", "query-sale.json", func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = "GET /\n" }, nil, sale.Internal,
			map[string]any{"route": "GET /\n", "level": "ERROR", "error": `no such route: "GET /\n"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction(t)
			if tt.books != nil {
				tt.books(f.books)
			}
			f.Ask(t, t.Context(), event(t, tt.fixture, telemetrytest.Confide, tt.change))
			line, err := telemetrytest.Parse(f.Log.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{
				"level": "INFO", "message": "query", "service": "query", "coldStart": true,
				"outcome": string(tt.outcome), "result": string(tt.outcome), "queries": 1.0,
			}
			maps.Copy(want, tt.want)
			if diff := cmp.Diff(want, line.Fields); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]string{"queries": "Count by service, result"}, line.Metrics); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			if told := telemetrytest.Told(f.Log.Bytes()); told != nil {
				t.Errorf("the log tells %q", told)
			}
		})
	}
}

func TestARequestAroundTheFrontIsRefusedBeforeItReachesAnything(t *testing.T) {
	const secret = "sesame-sesame-sesame-sesame-sesame"
	origin, err := httpapi.NewOrigin(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, fixture := range []string{"query-sale.json", "query-claim.json", "query-order.json"} {
		f := newFunction(t)
		f.handler.Behind(origin)
		refused(t, f.Ask(t, t.Context(), event(t, fixture)), 403, sale.Forbidden)
		if line, err := telemetrytest.Parse(f.Log.Bytes()); err != nil || line.Fields["outcome"] != "forbidden" || f.calls != 0 {
			t.Errorf("%s: line %v, %v; %d reads", fixture, line.Fields, err, f.calls)
		}
		f.Ask(t, t.Context(), event(t, fixture, func(r *events.APIGatewayV2HTTPRequest) { r.Headers["x-origin-verify"] = secret }))
		if line, err := telemetrytest.Parse(f.Log.Bytes()); err != nil || line.Fields["outcome"] != "ok" || telemetrytest.Told(f.Log.Bytes()) != nil {
			t.Errorf("%s: line %v, %v", fixture, line.Fields, err)
		}
	}
}
