package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"

	finalizehandler "flashsale/functions/finalize/handler"
	payhandler "flashsale/functions/pay/handler"
	purchasehandler "flashsale/functions/purchase/handler"
	queryhandler "flashsale/functions/query/handler"
	reconcilehandler "flashsale/functions/reconcile/handler"
	releasehandler "flashsale/functions/release/handler"
	seedhandler "flashsale/functions/seed/handler"
	"flashsale/shared/clock"
	"flashsale/shared/clock/clocktest"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/dynamotest"
	"flashsale/shared/orderq"
	"flashsale/shared/telemetry"
)

const (
	// TableName is the table of every World.
	TableName = "Ledger"
	// SaleID is the sale of a World that has one.
	SaleID = "moutai"
)

// Function names a deployed function.
type Function string

// The functions that a World can start; of PublishFunction see NewPublisher.
const (
	Purchasing  Function = "purchase"
	Finalizing  Function = "finalize"
	Querying    Function = "query"
	Seeding     Function = "seed"
	Reconciling Function = "reconcile"
	Paying      Function = "pay"
	Releasing   Function = "release"
	Publishing  Function = "publish"
)

// Timeouts are the functions' timeouts in template.yaml.
var Timeouts = map[Function]time.Duration{
	Purchasing: 6 * time.Second, Finalizing: 5 * time.Second, Querying: 6 * time.Second,
	Seeding: 120 * time.Second, Reconciling: 300 * time.Second, Paying: 6 * time.Second, Releasing: 60 * time.Second,
	Publishing: 30 * time.Second,
}

// InvocationMargin is the time left of an invocation when its handler gives up, or
// slightly less.
const InvocationMargin = 490 * time.Millisecond

// RefusalAge is the maximum age of a refusal's reason.
const RefusalAge = 2 * time.Second

// MinutesToFinish is how many minutes without faults may pass until every order is
// finished: a claim's message is resent after at most half its age.
const MinutesToFinish = 60

// World is what the environments share: the table, the queue and what intercepts
// their calls.
type World struct {
	DB          *dynamotest.DB
	Queue       *Queue
	interceptor Interceptor
	random      func() float64 // jitter; must be safe for concurrent use
	claims      atomic.Int64   // claim ids made so far
	made        atomic.Int64   // environments made so far
	// Invocations counts invocations, for interceptors that need it.
	Invocations int
}

// NewWorld makes a world with an empty table.
func NewWorld(i Interceptor, random func() float64) *World {
	return &World{
		DB:    dynamotest.New(dynamotest.Table{Name: TableName, PK: "pk", SK: "sk"}),
		Queue: NewQueue(), interceptor: i, random: random,
	}
}

// Environment is one execution environment of a function: it has its own memory and
// serves one event at a time.
type Environment struct {
	world    *World
	Function Function
	Number   int64
	// Invocation is the number of the current invocation, for the interceptor; Deadline
	// is when Lambda kills it.
	Invocation int
	Deadline   time.Time
	// stopped is when its last invocation ended, zero while one runs; frozen is how
	// long it was frozen in total.
	stopped time.Time
	frozen  time.Duration
	// ClaimIDs are the claim ids that it has tried to write in this invocation.
	ClaimIDs []string
	// lookedForClaim: an eventually consistent read of a claim was answered in this invocation.
	// readFailed is when a read of one item last failed.
	lookedForClaim bool
	readFailed     time.Time
	// Calls counts its calls of table and queue.
	Calls atomic.Int64
	Dead  atomic.Bool

	http  func(context.Context, httpapi.Request) (httpapi.Response, error)
	batch func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
	raw   func(context.Context, json.RawMessage) (any, error)
}

// Start makes a cold environment with a clock error of skew.
func (w *World) Start(f Function, skew time.Duration) *Environment {
	e := &Environment{world: w, Function: f, Number: w.made.Add(1)}
	now := func() time.Time { return clock.Strip(clocktest.Frozen(time.Now(), e.frozen)).Add(skew) }
	newID := func() string {
		id := "claim-" + strconv.FormatInt(w.claims.Add(1), 10)
		e.ClaimIDs = append(e.ClaimIDs, id)
		return id
	}
	book := ledger.New(tableAPI{e}, TableName, ledger.Options{Now: now, Random: w.random, NewID: newID})
	sender := orderq.NewSender(queueAPI{e}, "https://sqs.eu-central-1.amazonaws.com/123456789012/OrderQueue")
	log := telemetry.New(io.Discard, string(f), now)
	switch f {
	case Paying:
		e.http = payhandler.New(book, webhooksOf(), log).Handle
	case Releasing:
		h := releasehandler.New(book, Grace, log)
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	case Purchasing:
		e.http = purchasehandler.New(book, sender, log, now).Handle
	case Querying:
		e.http = queryhandler.New(book, log, now).Handle
	case Finalizing:
		e.batch = finalizehandler.New(book, log, now).Handle
	case Seeding:
		h := seedhandler.New(book, log, now)
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	case Reconciling:
		h := reconcilehandler.New(book, sender, log, now)
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	}
	return e
}

// Die ends the environment immediately: the calling goroutine stops here, and all
// others of this environment stop at their next outside call. Deferred functions still
// run; no handler makes outside calls in one.
func (e *Environment) Die() {
	e.Dead.Store(true)
	runtime.Goexit()
}

// Outcome is how one invocation ended.
type Outcome struct {
	Died bool // with its environment: no answer
	Took time.Duration
}

// Invoke runs one invocation to its end.
func (e *Environment) Invoke(run func(context.Context)) Outcome {
	ctx, cancel := context.WithTimeout(context.Background(), Timeouts[e.Function])
	defer cancel()
	began := time.Now()
	e.Deadline = began.Add(Timeouts[e.Function])
	if !e.stopped.IsZero() {
		e.frozen += began.Sub(e.stopped)
	}
	defer func() { e.stopped = time.Now() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	<-done
	return Outcome{Died: e.Dead.Load(), Took: time.Since(began)}
}

// Reply is the part of an HTTP answer that the checks use.
type Reply struct {
	Status int
	Body   string
	Code   string // of a refusal
	Claim  ClaimBody
	Page   struct {
		Remaining int64  `json:"remaining"`
		State     string `json:"state"`
	}
	payment PaymentAnswer // of a webhook
}

// ClaimBody is a claim in an answer.
type ClaimBody struct {
	ClaimID    string `json:"claimId"`
	State      string `json:"state"`
	AcceptedAt string `json:"acceptedAt"`
	OrderID    string `json:"orderId"`
}

// Released reports whether the claim's unit goes to somebody else.
func (c ClaimBody) Released() bool { return c.State == "EXPIRED" || c.State == "CANCELLED" }

// Ask sends one HTTP request to the environment. ok is false if the environment died.
func (e *Environment) Ask(sale string, request httpapi.Request) (r Reply, took time.Duration, ok bool) {
	request.Path.SaleID = sale
	var response httpapi.Response
	var err error
	end := e.Invoke(func(ctx context.Context) { response, err = e.http(ctx, request) })
	if end.Died {
		return Reply{}, end.Took, false
	}
	if err != nil {
		return Reply{Code: fmt.Sprintf("invocation failed: %v", err)}, end.Took, true
	}
	r = Reply{Status: response.StatusCode, Body: response.Body}
	var b struct {
		ClaimBody
		Code  string    `json:"code"`
		Claim ClaimBody `json:"claim"`
	}
	if json.Unmarshal([]byte(response.Body), &b) == nil {
		r.Code, r.Claim = b.Code, b.ClaimBody
		if r.Claim.ClaimID == "" {
			r.Claim = b.Claim
		}
	}
	_ = json.Unmarshal([]byte(response.Body), &r.Page) // other bodies leave these empty
	_ = json.Unmarshal([]byte(response.Body), &r.payment)
	return r, end.Took, true
}

// Refuses reports whether the answer means that this request got no unit.
func (r Reply) Refuses() bool {
	switch r.Code {
	case "sold-out", "already-ordered", "sale-closed", "sale-paused", "sale-not-open", "sale-not-found":
		return true
	}
	return false
}

// Buy is POST /sales/{saleId}/orders.
func (e *Environment) Buy(sale, user, key string) (Reply, time.Duration, bool) {
	e.ClaimIDs, e.lookedForClaim = nil, false
	return e.Ask(sale, httpapi.Request{
		RouteKey: "POST /sales/{saleId}/orders", Sub: user,
		ContentType:    httpapi.Header{Value: "application/json", Given: true},
		IdempotencyKey: httpapi.Header{Value: key, Given: key != ""},
	})
}

// MustFindClaim reports whether the last purchase had to find a claim of its user before it was
// refused as sold out or closed: always with a key. Without one the claim is only looked
// for if no read failed in the second before.
func (e *Environment) MustFindClaim(key string) bool {
	return key != "" || e.lookedForClaim || time.Since(e.readFailed) >= time.Second
}

// Status is GET /sales/{saleId}/orders/me.
func (e *Environment) Status(sale, user string) (Reply, time.Duration, bool) {
	return e.Ask(sale, httpapi.Request{RouteKey: "GET /sales/{saleId}/orders/me", Sub: user})
}

// SalePage is GET /sales/{saleId}.
func (e *Environment) SalePage(sale string) (Reply, time.Duration, bool) {
	return e.Ask(sale, httpapi.Request{RouteKey: "GET /sales/{saleId}"})
}

// Deliver delivers a batch to the environment and returns the handles of the messages
// to delete: all but the failures it reports, none if it failed or died.
func (e *Environment) Deliver(batch []events.SQSMessage) (done []string, took time.Duration) {
	var answer events.SQSEventResponse
	var err error
	end := e.Invoke(func(ctx context.Context) { answer, err = e.batch(ctx, events.SQSEvent{Records: batch}) })
	if end.Died || err != nil {
		return nil, end.Took
	}
	failed := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	for _, m := range batch {
		if !failed[m.MessageId] {
			done = append(done, m.ReceiptHandle)
		}
	}
	return done, end.Took
}

// Command sends a raw event and decodes the answer into out. The error is the
// function's, or ErrDied.
func (e *Environment) Command(event string, out any) (took time.Duration, err error) {
	var answer any
	end := e.Invoke(func(ctx context.Context) { answer, err = e.raw(ctx, json.RawMessage(event)) })
	if end.Died {
		return end.Took, ErrDied
	}
	if err != nil {
		return end.Took, err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return end.Took, fmt.Errorf("encode answer: %w", err)
	}
	return end.Took, json.Unmarshal(text, out)
}

// ErrDied: the environment died; its progress is unknown.
var ErrDied = errors.New("the environment died")

// AdvanceClock moves the bubble's clock from the year 2000, where it starts, to a year in
// which there are sales.
func AdvanceClock() { time.Sleep(time.Until(time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC))) }

// CodeOf returns the code of a function's error.
func CodeOf(err error) string {
	var told messages.InvokeResponse_Error
	if errors.As(err, &told) {
		return told.Type
	}
	return ""
}

// Passes is the part of the release function's answer that the checks use.
type Passes struct {
	Passes []struct {
		SaleID            string
		Complete          bool
		Released, PutBack int
	}
}

// Fails reports whether an error of the function is more than a lack of time or luck.
func (p Passes) Fails(err error) bool {
	return err != nil && !errors.Is(err, ErrDied) && CodeOf(err) != "busy"
}

// PrepareProcess makes a test program faster: the functions' log lines are not read here,
// and there is enough memory for a lazy garbage collector.
func PrepareProcess() {
	if err := os.Setenv("AWS_LAMBDA_LOG_LEVEL", "ERROR"); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400)
}
