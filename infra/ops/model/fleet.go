package model

import (
	"context"
	"io"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	finalize "flashsale/functions/finalize/handler"
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
	// coldStart is the median time of starting an environment, as a client sees it.
	coldStart = 250 * time.Millisecond
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
		init := e.client.random.lognormal(coldStart, spread)
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
	})
	f.mu.Lock()
	f.free = append(f.free, e)
	f.busy--
	f.mu.Unlock()
	return a
}

func request(user string) httpapi.Request {
	r := httpapi.Request{RouteKey: "POST /sales/{saleId}/orders", Sub: user}
	r.Path.SaleID = saleID
	return r
}

const (
	// visibility is the queue's visibility timeout in template.yaml.
	visibility = 55 * time.Second
	// finalizeTimeout is FinalizeFunction's timeout.
	finalizeTimeout = 9 * time.Second
	// sendTime is the median of SendMessage.
	sendTime = 8 * time.Millisecond
	// perCall is how many messages the event source receives and deletes in one
	// billed request.
	perCall = 10
	// pollersAtFirst is the number of concurrent batches with which Lambda starts on a
	// standard queue, and pollersPerSecond how many it adds as long as messages are
	// left: 300 a minute (Lambda guide, "Configuring scaling behavior for SQS event
	// source mappings").
	pollersAtFirst, pollersPerSecond = 5, 5
	// pollEvery is the mean time between a winner's polls: one to two seconds, as in
	// Retry-After.
	pollEvery = 1500 * time.Millisecond
)

// message is an order message and when it was sent.
type message struct {
	body string
	sent time.Time
}

// queue is the order queue and the event source on it.
type queue struct {
	config   Config
	tally    *tally
	messages chan message
	open     atomic.Int64 // sent but not confirmed
	stop     chan struct{}
	done     sync.WaitGroup
}

func newQueue(c Config, n *tally) *queue {
	return &queue{config: c, tally: n, messages: make(chan message, c.Stock+1), stop: make(chan struct{})}
}

// sender is one environment's access to the queue; it is an orderq.API.
type sender struct {
	queue  *queue
	random *randomSource
	cpu    time.Duration
}

// SendMessage implements orderq.API.
func (s *sender) SendMessage(ctx context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	// A queue's tail is longer than a table's: p99 is five medians.
	if err := pause(ctx, s.cpu+s.random.lognormal(sendTime, 5)); err != nil {
		return nil, err
	}
	s.queue.tally.count(func(n *Counts) { n.QueueCalls++ })
	if !s.queue.config.NoFinalize {
		s.queue.open.Add(1)
		s.queue.messages <- message{aws.ToString(in.MessageBody), time.Now()}
	}
	return &sqs.SendMessageOutput{MessageId: aws.String("m")}, nil
}

// GetQueueAttributes implements orderq.API; a purchase never calls it.
func (s *sender) GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return &sqs.GetQueueAttributesOutput{}, nil
}

// run starts the event source, with as many concurrent batches as the mapping allows.
func (q *queue) run(t *table) {
	for i := range q.config.Finalizers {
		random := newRandomSource(q.config.Seed, 100_000_000+uint64(i))
		cpu := time.Duration(float64(cpuPerCall) * slowdown(q.config.MemoryMB))
		book := ledger.New(&client{table: t, random: random, cpu: cpu}, tableName, ledger.Options{Random: random.float})
		handle := finalize.New(book, telemetry.New(io.Discard, "finalize", clock.Wall), clock.Wall).Handle
		q.done.Go(func() {
			if later := i + 1 - pollersAtFirst; later > 0 {
				select {
				case <-time.After(time.Duration(later) * time.Second / pollersPerSecond):
				case <-q.stop:
					return
				}
			}
			for batch := q.gather(); batch != nil; batch = q.gather() {
				q.invoke(handle, batch)
			}
		})
	}
}

// gather waits until a batch is full or a window old. It returns nil at the end.
func (q *queue) gather() []message {
	var batch []message
	select {
	case m := <-q.messages:
		batch = append(batch, m)
	case <-q.stop:
		return nil
	}
	window := time.NewTimer(q.config.Gather)
	defer window.Stop()
	for len(batch) < q.config.Batch {
		select {
		case m := <-q.messages:
			batch = append(batch, m)
		case <-window.C:
			return batch
		}
	}
	return batch
}

func (q *queue) invoke(handle func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), batch []message) {
	var event events.SQSEvent
	for i, m := range batch {
		event.Records = append(event.Records, events.SQSMessage{MessageId: strconv.Itoa(i), Body: m.body})
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), finalizeTimeout)
	response, err := handle(ctx, event)
	cancel()
	failed := map[string]bool{}
	for _, f := range response.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	confirmed, polls := 0, 0.0
	for i, m := range batch {
		if err == nil && !failed[strconv.Itoa(i)] {
			confirmed++
			polls += 1 + math.Floor(float64(time.Since(m.sent))/float64(pollEvery))
			continue
		}
		q.done.Go(func() {
			time.Sleep(visibility)
			q.messages <- m
		})
	}
	q.open.Add(-int64(confirmed))
	q.tally.count(func(n *Counts) {
		calls := (len(batch) + perCall - 1) / perCall
		n.QueueCalls += float64(2 * calls)
		n.Invocations++
		n.Busy += time.Since(began).Truncate(time.Millisecond) + time.Millisecond
		n.Confirmed += int64(confirmed)
		q.tally.bin().Confirmed += confirmed
		n.Polls += polls
		if confirmed > 0 {
			n.LastConfirmed = time.Since(n.opened)
		}
	})
}

// drain waits until every message is confirmed, at most limit, and stops.
func (q *queue) drain(limit time.Duration) {
	for deadline := time.Now().Add(limit); q.open.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	close(q.stop)
	q.done.Wait()
}
