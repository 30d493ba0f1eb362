// Package harness runs the functions' real handlers in one process, and judges what they
// did. It is the world of infra/proof/explore, which decides which faults happen when.
//
// A World is the system: a table, a queue (queue.go), and the environments of the functions
// (world.go), which take the requests of buyers and operators (requests.go). Every outside
// call of an environment passes the World's Interceptor, which may let it fail or hang, or
// end the environment (calls.go). The Bus is where order events go (bus.go), from the records
// of the table's stream that Lambda delivers (queue.go).
//
// The judges check the promises, the functions' answers and the table as documented: Books
// what the table says of a sale (books.go), EventJudge what must be on the bus (events.go),
// both by infra/kit/books; Payment what its provider must be told (webhooks.go). They share no
// code with the ledger, so they do not share its faults.
//
// Everything runs inside a testing/synctest bubble: time is virtual, waiting costs nothing,
// and nothing outside the process is called. Not there are the gateway's own refusals, size
// limits and the killing of an invocation at its timeout: an invocation that reaches its
// timeout is a violation (P16). Only PublishFunction's may hang until then.
package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	drawhandler "flashsale/functions/draw/handler"
	finalizehandler "flashsale/functions/finalize/handler"
	payhandler "flashsale/functions/pay/handler"
	publishhandler "flashsale/functions/publish/handler"
	purchasehandler "flashsale/functions/purchase/handler"
	queryhandler "flashsale/functions/query/handler"
	reconcilehandler "flashsale/functions/reconcile/handler"
	refundhandler "flashsale/functions/refund/handler"
	releasehandler "flashsale/functions/release/handler"
	seedhandler "flashsale/functions/seed/handler"
	"flashsale/infra/kit/bank"
	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/eventbus"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
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

// The functions that a World can start.
const (
	Purchasing  Function = "purchase"
	Finalizing  Function = "finalize"
	Querying    Function = "query"
	Seeding     Function = "seed"
	Reconciling Function = "reconcile"
	Paying      Function = "pay"
	Releasing   Function = "release"
	Publishing  Function = "publish"
	Drawing     Function = "draw"
	Refunding   Function = "refund"
	Operating   Function = "operate"
	// Replaying is no function: it is the command that replays a restored table.
	Replaying Function = "replay"
)

// Timeouts are the functions' timeouts in template.yaml.
var Timeouts = map[Function]time.Duration{
	Purchasing: 6 * time.Second, Finalizing: 9 * time.Second, Querying: 6 * time.Second,
	Seeding: 120 * time.Second, Reconciling: 300 * time.Second, Paying: 6 * time.Second, Releasing: 60 * time.Second,
	Publishing: 30 * time.Second, Drawing: 120 * time.Second, Refunding: 60 * time.Second, Operating: 28 * time.Second, Replaying: time.Hour,
}

// InvocationMargin is the time left of an invocation when its handler gives up, or
// slightly less.
const InvocationMargin = 490 * time.Millisecond

// RefusalAge is the maximum age of a refusal's reason.
const RefusalAge = 2 * time.Second

// TimeToFinish is how long after the faults the last order may be unfinished (P8), with
// clocks that are off by that much at most: one environment's mark is read by another.
func TimeToFinish(skew time.Duration) time.Duration { return ledger.RepairBound + 2*skew }

// World is what the environments share: the table, the queue and what intercepts
// their calls.
type World struct {
	DB          *dynamotest.DB
	Queue       *Queue
	Bus         *Bus
	interceptor Interceptor
	random      func() float64 // jitter; must be safe for concurrent use
	// Bank is asked for refunds.
	Bank *bank.Bank
	// Dice are the public dice; by default every throw is the same.
	Dice drawhandler.Dice
	// Log gets the functions' log lines, but none of an environment that has died.
	Log    io.Writer
	claims atomic.Int64 // claim ids made so far
	made   atomic.Int64 // environments made so far
	// TooLong is called for each invocation that took longer than its function's timeout.
	TooLong func(Function, time.Duration)
	// Invocations counts invocations, for interceptors that need it.
	Invocations int
}

// NewWorld makes a world with an empty table.
func NewWorld(i Interceptor, random func() float64) *World {
	return &World{
		DB:    dynamotest.New(dynamotest.Table{Name: TableName, PK: "pk", SK: "sk"}),
		Queue: NewQueue(), Bus: NewBus(), interceptor: i, random: random, Dice: oneThrow{}, Log: io.Discard,
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
	// ClaimIDs are the claim ids that it has tried to write in this invocation.
	ClaimIDs []string
	// lookedForClaim: an eventually consistent read of a claim was answered in this invocation.
	// readFailed is when a read of one item last failed.
	lookedForClaim bool
	readFailed     time.Time
	Dead           atomic.Bool
	// end ends the context of the current invocation.
	end context.CancelFunc

	http    func(context.Context, httpapi.Request) (httpapi.Response, error)
	batch   func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
	raw     func(context.Context, json.RawMessage) (any, error)
	publish func(context.Context, publishhandler.Batch) (events.DynamoDBEventResponse, error)
	ledger  *ledger.Ledger // of Operating
	// replay replays a restored table.
	replay func(context.Context, maintenance.Lost) (maintenance.Replayed, error)
}

// Start makes a cold environment with a clock error of skew.
func (w *World) Start(f Function, skew time.Duration) *Environment {
	e := &Environment{world: w, Function: f, Number: w.made.Add(1)}
	now := func() time.Time { return clock.Wall().Add(skew) }
	newID := func() string {
		id := "claim-" + strconv.FormatInt(w.claims.Add(1), 10)
		e.ClaimIDs = append(e.ClaimIDs, id)
		return id
	}
	l := ledger.New(tableAPI{e}, TableName, ledger.Options{Now: now, Random: w.random, NewID: newID, Secret: secret})
	sender := orderq.NewSender(queueAPI{e}, "https://sqs.eu-central-1.amazonaws.com/123456789012/OrderQueue")
	log := telemetry.New(logOf{e}, string(f), now)
	switch f {
	case Replaying:
		e.replay = func(ctx context.Context, lost maintenance.Lost) (maintenance.Replayed, error) {
			return maintenance.Of(l).Replay(ctx, tableAPI{e}, lost, true)
		}
	case Publishing:
		api := busAPI{e}
		e.publish = publishhandler.New(eventbus.New(api, busName, w.random), publishhandler.NewFailureQueue(api, "failures"), telemetry.New(io.Discard, string(f), now), now).Handle
	case Operating:
		e.ledger = l
	case Refunding:
		h := refundhandler.New(l, e.accounts, log, now)
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	case Paying:
		e.http = payhandler.New(l, webhooksOf(), log, now).Handle
	case Releasing:
		h := releasehandler.New(l, Grace, log)
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	case Purchasing:
		h := purchasehandler.New(l, sender, log, now)
		h.Times = DrawTimes
		e.http = h.Handle
	case Querying:
		e.http = queryhandler.New(l, log, now).Handle
	case Finalizing:
		e.batch = finalizehandler.New(l, log, now).Handle
	case Seeding:
		h := seedhandler.New(l, log, now)
		h.Desk.DrawLead = DrawTimes.Lead()
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	case Drawing:
		h := drawhandler.New(l, beacon.Quicknet, w.Dice, DrawTimes, log, now)
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	case Reconciling:
		h := reconcilehandler.New(l, sender, log, now)
		e.raw = func(ctx context.Context, raw json.RawMessage) (any, error) { return h.Handle(ctx, raw) }
	}
	return e
}

// Die ends the environment immediately: the calling goroutine stops here, and all
// others of this environment stop at their next outside call. Deferred functions still
// run; no handler makes outside calls in one.
func (e *Environment) Die() {
	e.Dead.Store(true)
	if e.Function == Drawing {
		e.end() // its main goroutine waits for steps, and makes no call itself
	}
	runtime.Goexit()
}

// Invoke runs one invocation to its end, and reports whether its environment died: then there is no
// answer. Lambda kills an invocation of PublishFunction that has not ended in time.
func (e *Environment) Invoke(run func(context.Context)) (died bool) {
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), caller{}, e), Timeouts[e.Function])
	defer cancel()
	e.end = cancel
	began := time.Now()
	e.Deadline = began.Add(Timeouts[e.Function])
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	<-done
	switch took := time.Since(began); {
	case e.Function == Publishing && took >= Timeouts[e.Function]:
		e.Dead.Store(true)
	case took > Timeouts[e.Function]:
		e.world.TooLong(e.Function, took)
	}
	return e.Dead.Load()
}

// logOf is where an environment's log lines go.
type logOf struct{ e *Environment }

func (l logOf) Write(line []byte) (int, error) {
	if l.e.Dead.Load() {
		return len(line), nil
	}
	return l.e.world.Log.Write(line)
}

// caller is the key of a context's environment.
type caller struct{}

// CallerOf returns the environment whose invocation has that context.
func CallerOf(ctx context.Context) *Environment { return ctx.Value(caller{}).(*Environment) }

// AdvanceClock moves the bubble's clock from the year 2000, where it starts, to a year in
// which there are sales.
func AdvanceClock() { time.Sleep(time.Until(time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC))) }

// PrepareProcess makes a test program faster: the functions' log lines are not read here,
// and there is enough memory for a lazy garbage collector.
func PrepareProcess() {
	if err := os.Setenv("AWS_LAMBDA_LOG_LEVEL", "ERROR"); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400)
}

// keyOf returns the name of a key, or of an item's key.
func keyOf(it map[string]types.AttributeValue) string { return Text(it["pk"]) + "|" + Text(it["sk"]) }

// Text returns a stored string or number; "" for anything else.
func Text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// Number returns a stored number; ok is false for anything else.
func Number(v types.AttributeValue) (n int64, ok bool) {
	held, isNumber := v.(*types.AttributeValueMemberN)
	if !isNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(held.Value, 10, 64)
	return n, err == nil
}

// IsTrue reports whether a stored value is true.
func IsTrue(v types.AttributeValue) bool {
	held, isBool := v.(*types.AttributeValueMemberBOOL)
	return isBool && held.Value
}

// Stamp spells an instant as requests and events do.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Sorted returns the keys of a map in order: map iteration order is the one thing that
// no seed reproduces.
func Sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
