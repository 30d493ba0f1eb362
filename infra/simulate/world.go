package simulate

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
	tableName = "Ledger"
	saleID    = "moutai"
)

// function names a deployed function.
type function string

const (
	purchasing  function = "purchase"
	finalizing  function = "finalize"
	querying    function = "query"
	seeding     function = "seed"
	reconciling function = "reconcile"
	paying      function = "pay"
	releasing   function = "release"
	publishing  function = "publish"
)

// timeouts are the functions' timeouts in template.yaml.
var timeouts = map[function]time.Duration{
	purchasing: 6 * time.Second, finalizing: 5 * time.Second, querying: 6 * time.Second,
	seeding: 120 * time.Second, reconciling: 300 * time.Second, paying: 6 * time.Second, releasing: 60 * time.Second,
	publishing: 30 * time.Second,
}

// invocationMargin is the time left of an invocation when its handler gives up, or
// slightly less.
const invocationMargin = 490 * time.Millisecond

// remembered is the maximum age of a refusal's reason.
const remembered = 2 * time.Second

// patience is how many minutes without accidents may pass until every order is
// finished: a claim's message is resent after at most half its age.
const patience = 60

// world is what the environments share: the table, the queue and the guard of their
// calls.
type world struct {
	db     *dynamotest.DB
	queue  *queue
	guard  guard
	random func() float64 // jitter; must be safe for concurrent use
	claims atomic.Int64   // claim ids made so far
	made   atomic.Int64   // environments made so far
	// invocations counts invocations, for guards that need it.
	invocations int
}

func newWorld(g guard, random func() float64) *world {
	return &world{
		db:    dynamotest.New(dynamotest.Table{Name: tableName, PK: "pk", SK: "sk"}),
		queue: newQueue(), guard: g, random: random,
	}
}

// environment is one execution environment of a function: it has its own memory and
// serves one event at a time.
type environment struct {
	world    *world
	function function
	number   int64
	// invocation is the number of the current invocation, for the guard; deadline is
	// when Lambda kills it.
	invocation int
	deadline   time.Time
	// stopped is when its last invocation ended, zero while one runs; frozen is how
	// long it was frozen in total.
	stopped time.Time
	frozen  time.Duration
	// asked are the claim ids that it has tried to write in this invocation.
	asked []string
	// looked: an eventually consistent read of a claim was answered in this invocation.
	// readFailed is when a read of one item last failed.
	looked     bool
	readFailed time.Time
	// reached counts its calls of table and queue.
	reached atomic.Int64
	dead    atomic.Bool

	http  func(context.Context, httpapi.Request) (httpapi.Response, error)
	batch func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
	raw   func(context.Context, json.RawMessage) (any, error)
}

// start makes a cold environment with a clock error of skew.
func (w *world) start(f function, skew time.Duration) *environment {
	e := &environment{world: w, function: f, number: w.made.Add(1)}
	now := func() time.Time { return clock.Strip(clocktest.Frozen(time.Now(), e.frozen)).Add(skew) }
	newID := func() string {
		id := "claim-" + strconv.FormatInt(w.claims.Add(1), 10)
		e.asked = append(e.asked, id)
		return id
	}
	book := ledger.New(tableAPI{e}, tableName, ledger.Options{Now: now, Random: w.random, NewID: newID})
	sender := orderq.NewSender(queueAPI{e}, "https://sqs.eu-central-1.amazonaws.com/123456789012/OrderQueue")
	log := telemetry.New(io.Discard, string(f), now)
	switch f {
	case paying:
		e.http = payhandler.New(book, webhooksOf(), log).Handle
	case releasing:
		h := releasehandler.New(book, grace, log)
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	case purchasing:
		e.http = purchasehandler.New(book, sender, log, now).Handle
	case querying:
		e.http = queryhandler.New(book, log, now).Handle
	case finalizing:
		e.batch = finalizehandler.New(book, log, now).Handle
	case seeding:
		h := seedhandler.New(book, log, now)
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	case reconciling:
		h := reconcilehandler.New(book, sender, log, now)
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	}
	return e
}

// die ends the environment immediately: the calling goroutine stops here, and all
// others of this environment stop at their next outside call. Deferred functions still
// run; no handler makes outside calls in one.
func (e *environment) die() {
	e.dead.Store(true)
	runtime.Goexit()
}

// invocation is how one invocation ended.
type outcome struct {
	died bool // with its environment: no answer
	took time.Duration
}

// invoke runs one invocation to its end.
func (e *environment) invoke(run func(context.Context)) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), timeouts[e.function])
	defer cancel()
	began := time.Now()
	e.deadline = began.Add(timeouts[e.function])
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
	return outcome{died: e.dead.Load(), took: time.Since(began)}
}

// reply is the part of an HTTP answer that the checks use.
type reply struct {
	status int
	body   string
	code   string // of a refusal
	claim  claimBody
	page   struct {
		Remaining int64  `json:"remaining"`
		State     string `json:"state"`
	}
	settlement settlement // of a webhook
}

type claimBody struct {
	ClaimID    string `json:"claimId"`
	State      string `json:"state"`
	AcceptedAt string `json:"acceptedAt"`
	OrderID    string `json:"orderId"`
}

// released reports whether the claim's unit goes to somebody else.
func (c claimBody) released() bool { return c.State == "EXPIRED" || c.State == "CANCELLED" }

// ask sends one HTTP request to the environment. ok is false if the environment died.
func (e *environment) ask(sale string, request httpapi.Request) (r reply, took time.Duration, ok bool) {
	request.Path.SaleID = sale
	var response httpapi.Response
	var err error
	end := e.invoke(func(ctx context.Context) { response, err = e.http(ctx, request) })
	if end.died {
		return reply{}, end.took, false
	}
	if err != nil {
		return reply{code: fmt.Sprintf("invocation failed: %v", err)}, end.took, true
	}
	r = reply{status: response.StatusCode, body: response.Body}
	var b struct {
		claimBody
		Code  string    `json:"code"`
		Claim claimBody `json:"claim"`
	}
	if json.Unmarshal([]byte(response.Body), &b) == nil {
		r.code, r.claim = b.Code, b.claimBody
		if r.claim.ClaimID == "" {
			r.claim = b.Claim
		}
	}
	_ = json.Unmarshal([]byte(response.Body), &r.page) // other bodies leave these empty
	_ = json.Unmarshal([]byte(response.Body), &r.settlement)
	return r, end.took, true
}

// refuses reports whether the answer means that this request got no unit.
func (r reply) refuses() bool {
	switch r.code {
	case "sold-out", "already-ordered", "sale-closed", "sale-paused", "sale-not-open", "sale-not-found":
		return true
	}
	return false
}

// buy is POST /sales/{saleId}/orders.
func (e *environment) buy(sale, user, key string) (reply, time.Duration, bool) {
	e.asked, e.looked = nil, false
	return e.ask(sale, httpapi.Request{
		RouteKey: "POST /sales/{saleId}/orders", Sub: user,
		ContentType:    httpapi.Header{Value: "application/json", Given: true},
		IdempotencyKey: httpapi.Header{Value: key, Given: key != ""},
	})
}

// mustKnow reports whether the last purchase had to find a claim of its user before it was
// refused as sold out or closed: always with a key. Without one the claim is only looked
// for if no read failed in the second before.
func (e *environment) mustKnow(key string) bool {
	return key != "" || e.looked || time.Since(e.readFailed) >= time.Second
}

// status is GET /sales/{saleId}/orders/me.
func (e *environment) status(sale, user string) (reply, time.Duration, bool) {
	return e.ask(sale, httpapi.Request{RouteKey: "GET /sales/{saleId}/orders/me", Sub: user})
}

// salePage is GET /sales/{saleId}.
func (e *environment) salePage(sale string) (reply, time.Duration, bool) {
	return e.ask(sale, httpapi.Request{RouteKey: "GET /sales/{saleId}"})
}

// deliver delivers a batch to the environment and returns the handles of the messages
// to delete: all but the failures it reports, none if it failed or died.
func (e *environment) deliver(batch []events.SQSMessage) (done []string, took time.Duration) {
	var answer events.SQSEventResponse
	var err error
	end := e.invoke(func(ctx context.Context) { answer, err = e.batch(ctx, events.SQSEvent{Records: batch}) })
	if end.died || err != nil {
		return nil, end.took
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
	return done, end.took
}

// command sends a raw event and decodes the answer into out. The error is the
// function's, or errDied.
func (e *environment) command(event string, out any) (took time.Duration, err error) {
	var answer any
	end := e.invoke(func(ctx context.Context) { answer, err = e.raw(ctx, json.RawMessage(event)) })
	if end.died {
		return end.took, errDied
	}
	if err != nil {
		return end.took, err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return end.took, fmt.Errorf("encode answer: %w", err)
	}
	return end.took, json.Unmarshal(text, out)
}

// errDied: the environment died; its progress is unknown.
var errDied = errors.New("the environment died")

// travel moves the bubble's clock from the year 2000, where it starts, to a year in
// which there are sales.
func travel() { time.Sleep(time.Until(time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC))) }

// codeOf returns the code of a function's error.
func codeOf(err error) string {
	var told messages.InvokeResponse_Error
	if errors.As(err, &told) {
		return told.Type
	}
	return ""
}

// passes is the part of the release function's answer that the checks use.
type passes struct {
	Passes []struct {
		SaleID            string
		Complete          bool
		Released, PutBack int
	}
}

// fails reports whether an error of the function is more than a lack of time or luck.
func (p passes) fails(err error) bool {
	return err != nil && !errors.Is(err, errDied) && codeOf(err) != "busy"
}

// prepareProcess makes a test program faster: the functions' log lines are not read here,
// and there is enough memory for a lazy garbage collector.
func prepareProcess() {
	if err := os.Setenv("AWS_LAMBDA_LOG_LEVEL", "ERROR"); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400)
}
