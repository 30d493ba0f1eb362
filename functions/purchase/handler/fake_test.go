package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// shop is an in-memory sale that keeps the ledger's promises: a stock that never goes
// below zero, one claim per user, and repeats detected by their key.
type shop struct {
	sale   sale.Sale
	stock  int
	now    time.Time
	claims map[string]*sale.Claim

	fault    error     // what Purchase fails with instead
	panics   bool      // or panics with
	markErr  error     // what MarkResent fails with
	deadline time.Time // of the last context
	marking  time.Time // deadline of MarkResent's last context
	requests []ledger.Request
}

func newShop() *shop {
	opensAt := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &shop{
		sale: sale.Sale{
			ID: "moutai", State: sale.Open, Shards: 5,
			OpensAt: opensAt, ClosesAt: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC),
		},
		stock:  2,
		now:    opensAt.Add(5 * time.Second),
		claims: map[string]*sale.Claim{},
	}
}

func (s *shop) Purchase(ctx context.Context, r ledger.Request) (ledger.PurchaseResult, error) {
	s.requests = append(s.requests, r)
	s.deadline, _ = ctx.Deadline()
	switch {
	case s.panics:
		panic("table ledger-7 is on fire")
	case s.fault != nil:
		return ledger.PurchaseResult{}, s.fault
	case r.SaleID != s.sale.ID:
		return ledger.PurchaseResult{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	if held := s.claims[r.User]; held != nil {
		if r.Key != "" && r.Key == held.RequestKey {
			return ledger.PurchaseResult{Claim: *held}, nil
		}
		claim := *held
		return ledger.PurchaseResult{Claim: claim}, &sale.Error{Code: sale.AlreadyOrdered, Claim: &claim}
	}
	if refusal := s.sale.Refusal(s.now); refusal != nil {
		return ledger.PurchaseResult{}, refusal
	}
	if s.stock == 0 {
		return ledger.PurchaseResult{Tries: 1}, sale.Refuse(sale.SoldOut, "every unit has been sold")
	}
	if r.CheckUser != nil {
		if err := r.CheckUser(ctx, s.sale.ClosesAt); err != nil {
			return ledger.PurchaseResult{}, err
		}
	}
	s.stock--
	claim := sale.Claim{
		SaleID: r.SaleID, User: r.User, ID: fmt.Sprintf("CLAIM%d", len(s.claims)+1),
		AcceptedAt: s.now, RequestKey: r.Key,
	}
	s.claims[r.User] = &claim
	return ledger.PurchaseResult{Claim: claim, New: true, Tries: 1}, nil
}

func (s *shop) MarkResent(ctx context.Context, c sale.Claim, hurry bool) (time.Time, error) {
	s.marking, _ = ctx.Deadline()
	if s.markErr != nil {
		return time.Time{}, s.markErr
	}
	held := s.claims[c.User]
	if held.State() != sale.Pending || s.now.Sub(held.AcceptedAt) <= ledger.ResendGrace || held.ResentAt.Equal(s.now) || hurry {
		return time.Time{}, nil
	}
	held.ResentAt = s.now
	return s.now, nil
}

// mailbox is a queue that may fail.
type mailbox struct {
	sent     []orderq.Message
	fault    error
	deadline time.Time // of the last context
	over     error     // of the last context
}

func (m *mailbox) Send(ctx context.Context, message orderq.Message) error {
	m.deadline, _ = ctx.Deadline()
	m.over = ctx.Err()
	if m.fault != nil {
		return m.fault
	}
	m.sent = append(m.sent, message)
	return nil
}

// The shared harness's functions.
var (
	event   = httpapitest.Event
	user    = httpapitest.User
	header  = httpapitest.Header
	refused = httpapitest.Refused
)

// function is the handler as Lambda calls it, with its dependencies.
type function struct {
	*shop
	queue   mailbox
	handler *Handler
	httpapitest.Function
}

func newFunction(t *testing.T) *function {
	t.Helper()
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "")
	f := &function{shop: newShop()}
	f.handler = New(f.shop, &f.queue, telemetry.New(&f.Log, "purchase", clock.Wall), func() time.Time { return f.now })
	f.Handler = lambda.NewHandler(httpapi.Serve(f.handler.Handle))
	return f
}

// invoke runs one event, whose answer must be JSON and must not be cacheable.
func (f *function) invoke(t *testing.T, ctx context.Context, event []byte) httpapi.Response {
	t.Helper()
	response := f.Ask(t, ctx, event)
	if got := response.Headers.CacheControl; got != "no-store" {
		t.Errorf("Cache-Control %q, want no-store", got)
	}
	if !json.Valid([]byte(response.Body)) {
		t.Errorf("the body is not JSON: %s", response.Body)
	}
	return response
}
