package enumerate

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	publishhandler "flashsale/functions/publish/handler"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/harness"
)

// eventScenarios returns the scenarios in which changes of the table are published.
func eventScenarios() []scenario {
	var t *recorder
	return []scenario{{
		name:  "orders that are confirmed, paid and cancelled, a refund and the end of the stock, and poison among them",
		stock: 3, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) {
			t = &recorder{bus: harness.NewBus(), judge: harness.NewEventJudge()}
			r.DB.Stream = t.record
			r.buyConfirmed("alice", "bob", "carol")
			r.buy(r.Start(harness.Purchasing, 0), "dave", "") // closes the shard
			poison := *t.waiting[0]
			poison.Raw, poison.Sequence = harness.PoisonRecord(t.last, 3)
			t.judge.Poison[string(poison.Raw)] = true
			t.waiting = append(t.waiting, &poison)
			r.pay("bob", "pi_1")
			r.pay("bob", "pi_2")
			r.cancel("carol")
			r.DB.Stream = nil
		},
		act: func(r *run) {
			for try := 0; try < 6 && len(t.waiting) > 0; try++ {
				r.publish(t)
			}
		},
		check: func(r *run) {
			for try := 0; try < 3 && len(t.waiting) > 0; try++ {
				r.publish(t)
			}
			figures, found := t.judge.Judge(r.DB.Items(harness.TableName), t.bus, io.Discard)
			r.violations = append(r.violations, found...)
			if len(t.waiting) > 0 || figures.Events != 7 {
				r.violate("P26: %d records wait, %d events are published", len(t.waiting), figures.Events)
			}
		},
	}}
}

// recorder collects the records of a run that Lambda would deliver.
type recorder struct {
	bus     *harness.Bus
	judge   *harness.EventJudge
	waiting []*harness.PendingRecord
	last    dynamotest.Record // of a claim
}

func (t *recorder) record(r dynamotest.Record) {
	if harness.IsDelivered(r) {
		t.judge.Observe(r)
		if r.New["claimId"] != nil {
			t.last = r
		}
		t.waiting = append(t.waiting, &harness.PendingRecord{Raw: r.JSON(), Sequence: r.SequenceNumber()})
	}
}

// publish delivers all waiting records in one batch.
func (r *run) publish(t *recorder) {
	e := r.Start(harness.Publishing, 0)
	handler := harness.NewPublisher(e, plannedCalls{r, e, t.bus}, func() float64 { return 0.5 }, 0)
	records := make([]json.RawMessage, len(t.waiting))
	for i, w := range t.waiting {
		records[i] = w.Raw
	}
	var answer events.DynamoDBEventResponse
	var err error
	end := e.Invoke(func(ctx context.Context) { answer, err = handler.Handle(ctx, publishhandler.Batch{Records: records}) })
	r.checkDuration(harness.Publishing, end.Took)
	r.chooser.logf("publish: died %t, %+v, %v", end.Died, answer, err)
	if err != nil {
		r.violate("P26: a batch fails with %v", err)
	}
	if end.Died || err != nil {
		return
	}
	a := r.chooser.choose(harness.Publishing, harness.Point{Op: "Checkpoint"})
	r.chooser.logf("checkpoint: %s", a.name)
	if a.name != "failed" {
		t.waiting = t.waiting[harness.CountHandled(t.waiting, answer):]
	}
	time.Sleep(time.Second)
}

// plannedCalls are the outside calls of a publishing environment under a plan.
type plannedCalls struct {
	r   *run
	e   *harness.Environment
	bus *harness.Bus
}

func (p plannedCalls) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	return harness.Intercept(ctx, p.e, harness.Point{Op: "PutEvents", Writes: true}, func() (*eventbridge.PutEventsOutput, error) {
		f := p.r.chooser.current()
		return applyUnder(f, func() (*eventbridge.PutEventsOutput, error) {
			return p.bus.Put(in, func(index int) string {
				// An entry is named by its place from the beginning, or from the end as -1.
				if f.Kind == dynamotest.Unprocessed && slices.ContainsFunc(f.Items, func(i int) bool { return i == index || i == index-len(in.Entries) }) {
					return "InternalFailure"
				}
				return ""
			})
		})
	})
}

func (p plannedCalls) SendMessage(ctx context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	return harness.Intercept(ctx, p.e, harness.Point{Op: "SendMessage", Writes: true}, func() (*sqs.SendMessageOutput, error) {
		return applyUnder(p.r.chooser.current(), func() (*sqs.SendMessageOutput, error) { return p.bus.Store(in) })
	})
}

// applyUnder makes a call that may be refused, or whose answer may be lost.
func applyUnder[O any](f dynamotest.Fault, do func() (*O, error)) (*O, error) {
	if f.Kind == dynamotest.ServerError {
		return nil, harness.ErrDown
	}
	out, err := do()
	if f.Kind == dynamotest.LostReply {
		return nil, harness.ErrTimeout
	}
	return out, err
}
