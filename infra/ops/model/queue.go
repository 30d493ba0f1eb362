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
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/telemetry"
)

const (
	// visibility is the queue's visibility timeout in template.yaml.
	visibility = 35 * time.Second
	// finalizeTimeout is FinalizeFunction's timeout.
	finalizeTimeout = 5 * time.Second
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
	c := s.queue.config
	// A queue's tail is longer than a table's: p99 is five medians.
	if err := pause(ctx, s.cpu+s.random.lognormal(c.Send, 5)); err != nil {
		return nil, err
	}
	s.queue.tally.count(func(n *Counts) { n.QueueCalls++ })
	if !c.NoFinalize {
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
