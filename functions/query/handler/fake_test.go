package handler

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

const orderID = 406709376884146177 // reserved at 2026-01-01T00:00:06Z

// books is one sale, its claims and orders, in memory.
type books struct {
	sale      sale.Sale
	remaining ledger.Remaining
	claims    map[string]sale.Claim // by user
	orders    map[uint64]sale.Order
	refunds   []sale.Refund // of claims that note any
	fault     error
	panics    bool
	calls     int
	deadline  time.Time // of the last context
}

func newBooks() *books {
	opensAt := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	claim := sale.Claim{
		SaleID: "moutai", User: "alice", ID: "5LJQBKBVNQ2XRCM7KD3V4HTYWA",
		AcceptedAt: opensAt.Add(5 * time.Second), RequestKey: "k", OrderID: orderID,
	}
	return &books{
		sale: sale.Sale{
			ID: "moutai", Name: "Feitian Moutai", State: sale.Open, Shards: 5,
			OpensAt: opensAt, ClosesAt: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC),
		},
		remaining: ledger.Remaining{Units: 99},
		claims:    map[string]sale.Claim{"alice": claim},
		orders:    map[uint64]sale.Order{orderID: {ID: orderID, SaleID: "moutai", User: "alice", ClaimID: claim.ID}},
	}
}

func (b *books) call(ctx context.Context) error {
	b.calls++
	b.deadline, _ = ctx.Deadline()
	if b.panics {
		panic("table ledger-7 is on fire")
	}
	return b.fault
}

func (b *books) Sale(ctx context.Context, saleID string) (sale.Sale, error) {
	if err := b.call(ctx); err != nil {
		return sale.Sale{}, err
	}
	if saleID != b.sale.ID || b.sale.State != sale.Open {
		return sale.Sale{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	return b.sale, nil
}

func (b *books) Existing(ctx context.Context, saleID string) (sale.Sale, error) {
	return b.Sale(ctx, saleID)
}

func (b *books) Remaining(ctx context.Context, _ sale.Sale) (ledger.Remaining, error) {
	return b.remaining, b.call(ctx)
}

func (b *books) Claim(ctx context.Context, saleID, user string) (sale.Claim, error) {
	if _, err := b.Sale(ctx, saleID); err != nil {
		return sale.Claim{}, err
	}
	claim, ok := b.claims[user]
	if !ok {
		return sale.Claim{}, sale.Refuse(sale.OrderNotFound, "the user has no order in this sale")
	}
	return claim, nil
}

func (b *books) Order(ctx context.Context, id uint64) (sale.Order, error) {
	if err := b.call(ctx); err != nil {
		return sale.Order{}, err
	}
	order, ok := b.orders[id]
	if !ok {
		return sale.Order{}, sale.Refuse(sale.OrderNotFound, "no such order")
	}
	return order, nil
}

func (b *books) RefundsOf(ctx context.Context, c sale.Claim) ([]sale.Refund, error) {
	if len(c.Refunds) == 0 {
		return nil, nil
	}
	return b.refunds, b.call(ctx)
}

// The shared harness's functions.
var (
	event   = httpapitest.Event
	user    = httpapitest.User
	path    = httpapitest.Path
	refused = httpapitest.Refused
)

func anonymous(r *events.APIGatewayV2HTTPRequest) { r.RequestContext.Authorizer = nil }

// function is the handler as Lambda calls it, with its dependencies.
type function struct {
	*books
	handler *Handler
	httpapitest.Function
}

func newFunction(t *testing.T) *function {
	t.Helper()
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "")
	f := &function{books: newBooks()}
	f.handler = New(f.books, telemetry.New(&f.Log, "query", clock.Wall), clock.Wall)
	f.Handler = lambda.NewHandler(httpapi.Serve(f.handler.Handle))
	return f
}

// answered checks an answer and returns its body.
func answered(t *testing.T, r httpapi.Response, cacheControl string) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != 200 || r.Headers.ContentType != "application/json" || r.Headers.CacheControl != cacheControl {
		t.Errorf("%d %v %s, want 200, JSON, %s", r.StatusCode, r.Headers, r.Body, cacheControl)
	}
	return body
}
