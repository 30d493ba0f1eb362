package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// shop is a sale in memory that keeps the ledger's promises: a stock that never
// goes below zero, one claim per user, and a repeat that is recognised by its
// key.
type shop struct {
	sale   sale.Sale
	stock  int
	now    time.Time
	claims map[string]*sale.Claim

	fault    error     // what Purchase fails with instead
	panics   bool      // or panics with
	markErr  error     // what MayResend fails with
	deadline time.Time // of the last context
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

func (s *shop) Purchase(ctx context.Context, r ledger.Request) (ledger.Purchase, error) {
	s.requests = append(s.requests, r)
	s.deadline, _ = ctx.Deadline()
	switch {
	case s.panics:
		panic("table ledger-7 is on fire")
	case s.fault != nil:
		return ledger.Purchase{}, s.fault
	case r.SaleID != s.sale.ID:
		return ledger.Purchase{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	if held := s.claims[r.User]; held != nil {
		if r.Key != "" && r.Key == held.RequestKey {
			return ledger.Purchase{Claim: *held}, nil
		}
		claim := *held
		return ledger.Purchase{Claim: claim}, &sale.Error{Code: sale.AlreadyOrdered, Claim: &claim}
	}
	if refusal := s.sale.Refusal(s.now); refusal != nil {
		return ledger.Purchase{}, refusal
	}
	if s.stock == 0 {
		return ledger.Purchase{Tries: 1}, sale.Refuse(sale.SoldOut, "every unit has been sold")
	}
	if r.Admit != nil {
		if err := r.Admit(ctx, s.sale.ClosesAt); err != nil {
			return ledger.Purchase{}, err
		}
	}
	s.stock--
	claim := sale.Claim{
		SaleID: r.SaleID, User: r.User, ID: fmt.Sprintf("CLAIM%d", len(s.claims)+1),
		AcceptedAt: s.now, RequestKey: r.Key,
	}
	s.claims[r.User] = &claim
	return ledger.Purchase{Claim: claim, New: true, Tries: 1}, nil
}

func (s *shop) MayResend(_ context.Context, c sale.Claim) (bool, error) {
	if s.markErr != nil {
		return false, s.markErr
	}
	held := s.claims[c.User]
	if held.State() == sale.Confirmed || s.now.Sub(held.AcceptedAt) <= ledger.ResendGrace || held.ResentAt.Equal(s.now) {
		return false, nil
	}
	held.ResentAt = s.now
	return true, nil
}

// mailbox is a queue that may be out of order.
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

// function is the handler as Lambda calls it, with what is around it.
type function struct {
	*shop
	queue   mailbox
	log     bytes.Buffer
	handler *Handler
	lambda.Handler
}

func newFunction(t *testing.T) *function {
	t.Helper()
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "")
	f := &function{shop: newShop()}
	f.handler = New(f.shop, &f.queue, telemetry.New(&f.log, "purchase", clock.Wall), func() time.Time { return f.now })
	f.Handler = lambda.NewHandler(httpapi.Serve(f.handler.Handle))
	return f
}

// invoke runs one event, and checks what holds for every answer: it is no
// function error, nobody may store it, and it leaves one log line.
func (f *function) invoke(t *testing.T, ctx context.Context, event []byte) httpapi.Response {
	t.Helper()
	f.log.Reset()
	raw, err := f.Invoke(ctx, event)
	if err != nil {
		t.Fatalf("the function failed: %v", err)
	}
	var response httpapi.Response
	if err := json.Unmarshal(raw, &response); err != nil {
		t.Fatal(err)
	}
	if got := response.Headers.CacheControl; got != "no-store" {
		t.Errorf("Cache-Control %q, want no-store", got)
	}
	if !json.Valid([]byte(response.Body)) {
		t.Errorf("the body is not JSON: %s", response.Body)
	}
	line := f.log.Bytes()
	if bytes.Count(line, []byte("\n")) != 1 || !json.Valid(line) {
		t.Errorf("want one JSON line in the log, got %s", line)
	}
	if bytes.Contains(line, []byte("header.claims.signature")) {
		t.Errorf("the token is in the log: %s", line)
	}
	return response
}

// logged is a field of the event's line.
func (f *function) logged(t *testing.T, name string) any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(f.log.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	return fields[name]
}

// event is a fixture, changed.
func event(t *testing.T, name string, changes ...func(*events.APIGatewayV2HTTPRequest)) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../../events", name))
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) == 0 {
		return raw
	}
	var r events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(&r)
	}
	if raw, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	return raw
}

func user(name string) func(*events.APIGatewayV2HTTPRequest) {
	return func(r *events.APIGatewayV2HTTPRequest) { r.RequestContext.Authorizer.JWT.Claims["sub"] = name }
}

func header(name, value string) func(*events.APIGatewayV2HTTPRequest) {
	return func(r *events.APIGatewayV2HTTPRequest) { r.Headers[name] = value }
}

// refused checks a refusal and returns its body.
func refused(t *testing.T, r httpapi.Response, status int, code sale.Code) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != status || body["code"] != string(code) || body["status"] != float64(status) {
		t.Errorf("%d %s, want %d %s", r.StatusCode, r.Body, status, code)
	}
	if got := r.Headers.ContentType; got != "application/problem+json" {
		t.Errorf("Content-Type %q", got)
	}
	for _, word := range []string{"goroutine", "panic", "Exception", "ledger"} {
		if strings.Contains(r.Body, word) {
			t.Errorf("the body tells %q: %s", word, r.Body)
		}
	}
	return body
}
