package model

import (
	"context"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	purchase "flashsale/functions/purchase/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/telemetry"
)

const (
	saleID = "sale"
	// functionTimeout is PurchaseFunction's timeout.
	functionTimeout = 6 * time.Second
	// startsPerSecond and startBurst are Lambda's scale-out of one function:
	// 1,000 new environments every ten seconds, refilled continuously.
	startsPerSecond, startBurst = 100, 1000
	// fullCPU is the memory, in MB, that comes with one full processor.
	fullCPU = 1769
	// cpuPerEvent and cpuPerCall are the CPU time of an event and of a call to AWS on a
	// full processor; a smaller share takes longer.
	cpuPerEvent, cpuPerCall = 200 * time.Microsecond, 250 * time.Microsecond
)

// slowdown is how much longer computing takes with that memory.
func slowdown(memoryMB int) float64 { return max(1, fullCPU/float64(memoryMB)) }

// environment is one execution environment of PurchaseFunction.
type environment struct {
	// provisioned ones were ready before the sale opened.
	provisioned bool
	client      *client
	handle      func(context.Context, httpapi.Request) (httpapi.Response, error)
}

// fleet is PurchaseFunction: its environments, each with its own memory, serving one
// request at a time.
type fleet struct {
	config Config
	table  *table
	queue  *queue
	tally  *tally
	random *randomSource

	mu      sync.Mutex
	free    []*environment
	made    int
	starts  *bucket
	gateway *bucket // API Gateway's throttle; nil: unlimited
	rate    *bucket // nil: unlimited
	busy    int
	claims  atomic.Int64
}

func newFleet(c Config, t *table, q *queue, n *tally) *fleet {
	f := &fleet{config: c, table: t, queue: q, tally: n, random: newRandomSource(c.Seed, 1)}
	f.starts = newBucket(startsPerSecond, startBurst/startsPerSecond*time.Second, time.Now())
	if c.RequestRate > 0 {
		f.rate = newBucket(c.RequestRate, time.Second, time.Now())
	}
	if c.GatewayRate > 0 {
		f.gateway = newBucket(c.GatewayRate, time.Second, time.Now())
	}
	for range c.Environments {
		e := f.start()
		e.provisioned = true
		f.free = append(f.free, e)
	}
	return f
}

func (f *fleet) start() *environment {
	f.made++
	random := newRandomSource(f.config.Seed, 1000+uint64(f.made))
	cpu := time.Duration(float64(cpuPerCall) * slowdown(f.config.MemoryMB))
	c := &client{table: f.table, random: random, cpu: cpu}
	book := ledger.New(c, tableName, ledger.Options{Random: random.float, NewID: func() string {
		return "claim-000000000000000000-" + strconv.FormatInt(f.claims.Add(1), 10)
	}})
	sender := orderq.NewSender(&sender{queue: f.queue, random: random, cpu: cpu}, "queue")
	return &environment{client: c, handle: purchase.New(book, sender, telemetry.New(io.Discard, "purchase", clock.Wall), clock.Wall).Handle}
}

// take returns a random free environment, because Lambda guarantees no order; or starts
// one. nil means that the request is refused, which counts weight times.
func (f *fleet) take(weight float64) (e *environment, cold bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.gateway.pass(time.Now()) {
		f.tally.count(func(n *Counts) { n.GatewayThrottled += weight })
		return nil, false
	}
	if !f.rate.pass(time.Now()) {
		f.tally.count(func(n *Counts) { n.RateThrottled += weight })
		return nil, false
	}
	if n := len(f.free); n > 0 {
		i := f.random.intn(n)
		e, f.free[i] = f.free[i], f.free[n-1]
		f.free = f.free[:n-1]
		f.countBusy()
		return e, false
	}
	if f.made >= f.config.Concurrency || !f.starts.pass(time.Now()) {
		f.tally.count(func(n *Counts) { n.LambdaThrottled += weight })
		return nil, false
	}
	f.countBusy()
	return f.start(), true
}

func (f *fleet) countBusy() {
	f.busy++
	f.tally.count(func(n *Counts) { n.Concurrency = max(n.Concurrency, f.busy) })
}

// answer is a client's answer.
type answer struct {
	throttled    bool // no function was invoked
	response     httpapi.Response
	transactions int
	looked       bool // an item of the user's own was read
}

func (f *fleet) serve(user string, weight float64) answer {
	f.tally.requested(weight)
	e, cold := f.take(weight)
	if e == nil {
		return answer{throttled: true}
	}
	billed := time.Duration(0)
	if cold {
		init := e.client.random.lognormal(f.config.ColdStart, f.config.Spread)
		time.Sleep(init)
		billed = init / 2 // the rest is Lambda's and not billed
	}
	began := time.Now()
	e.client.beginInvocation(user, weight)
	time.Sleep(time.Duration(float64(cpuPerEvent) * slowdown(f.config.MemoryMB)))
	ctx, cancel := context.WithTimeout(context.Background(), functionTimeout)
	response, _ := e.handle(ctx, request(user))
	cancel()
	billed += time.Since(began)
	a := answer{response: response, transactions: int(e.client.transactions.Load()), looked: e.client.looked.Load()}
	f.tally.count(func(n *Counts) {
		n.Invocations += weight
		n.PurchaseInvocations += weight
		took := time.Duration(weight * float64(billed.Truncate(time.Millisecond)+time.Millisecond))
		if e.provisioned {
			n.Warm += took
		} else {
			n.Busy += took
		}
		if cold {
			n.ColdStarts++
		}
	})
	f.mu.Lock()
	f.free = append(f.free, e)
	f.busy--
	f.mu.Unlock()
	return a
}

func request(user string) httpapi.Request {
	r := httpapi.Request{Sub: user}
	r.Path.SaleID = saleID
	return r
}
