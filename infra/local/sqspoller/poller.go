package sqspoller

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/eventsource"
)

// Queue is the part of an SQS client that a poller uses.
type Queue interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// Config describes one event source mapping.
type Config struct {
	QueueURL string
	QueueARN string
	// Function is the function's name for the Invoker.
	Function string
	// Region is the region in the event's records.
	Region string
	// BatchSize is between 1 and 10,000; above 10 it needs a Window of at least 1 s.
	BatchSize int
	// Window is how long a batch may wait to fill after its first message, 0 to 5 min.
	Window time.Duration
	// ReportBatchItemFailures means that the response names the messages that failed.
	ReportBatchItemFailures bool
	// Concurrency is the number of batches that run at once, at least 1.
	Concurrency int
	// Grace bounds how long running invocations may continue after Run's context ends;
	// 10 s when zero.
	Grace time.Duration
	// Log receives errors; nil discards them.
	Log *slog.Logger
}

// Poller connects one queue with one function.
type Poller struct {
	c     Config
	queue Queue
	run   eventsource.Invoker
}

// New checks the configuration by Lambda's rules.
func New(c Config, q Queue, i eventsource.Invoker) (*Poller, error) {
	switch {
	case c.QueueURL == "" || c.QueueARN == "" || c.Function == "":
		return nil, errors.New("configure SQS poller: queue URL, queue ARN and function are needed")
	case c.BatchSize < 1 || c.BatchSize > 10000:
		return nil, errors.New("configure SQS poller: batch size must be between 1 and 10000")
	case c.Window < 0 || c.Window > 5*time.Minute:
		return nil, errors.New("configure SQS poller: window must be between 0 and 5 minutes")
	case c.BatchSize > 10 && c.Window < time.Second:
		return nil, errors.New("configure SQS poller: a batch size above 10 needs a window of at least 1 second")
	case c.Concurrency < 1:
		return nil, errors.New("configure SQS poller: concurrency must be at least 1")
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = c.Log.With("queue", c.QueueURL, "function", c.Function)
	return &Poller{c: c, queue: q, run: i}, nil
}

// Run polls until ctx ends, then lets the running invocations finish within the grace
// period and returns nil. It retries a queue that cannot be reached.
func (p *Poller) Run(ctx context.Context) error {
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var running sync.WaitGroup
	// Take a slot before receiving messages: a message that waits here would use up its
	// visibility timeout and one of its receives.
	slots := make(chan struct{}, p.c.Concurrency)
	var pause eventsource.Backoff
	for ctx.Err() == nil {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		batch, err := p.gather(ctx)
		if err != nil && ctx.Err() == nil {
			p.c.Log.Warn("receive messages failed", "error", err)
		}
		if len(batch) == 0 {
			<-slots
		} else {
			running.Go(func() {
				defer func() { <-slots }()
				p.handle(work, batch)
			})
		}
		if err == nil {
			pause.Reset()
			continue
		}
		eventsource.Sleep(ctx, pause.Next())
	}
	limit := time.AfterFunc(p.c.Grace, abandon)
	defer limit.Stop()
	running.Wait()
	return nil
}

// handle runs one batch and deletes what succeeded.
func (p *Poller) handle(ctx context.Context, batch []types.Message) {
	payload, err := encode(batch, p.c.QueueARN, p.c.Region)
	if err != nil {
		p.c.Log.Error("encode event failed", "error", err)
		return
	}
	response, functionError, err := p.run.Invoke(ctx, p.c.Function, payload)
	if err != nil {
		p.c.Log.Warn("invoke failed, the batch comes back", "messages", len(batch), "error", err)
		return
	}
	if functionError != "" {
		p.c.Log.Warn("function failed, the batch comes back", "messages", len(batch), "functionError", functionError)
		return
	}
	done := batch
	if p.c.ReportBatchItemFailures {
		if done, err = succeeded(batch, response); err != nil {
			p.c.Log.Warn("bad batch response, the batch comes back", "messages", len(batch), "error", err)
			return
		}
	}
	if err := p.remove(ctx, done); err != nil {
		p.c.Log.Warn("delete messages failed, they come back", "error", err)
	}
}
