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
	"flashsale/infra/harness"
	"flashsale/shared/ledger/dynamotest"
)

// publications returns the scenarios in which changes of the table are published.
func publications() []scenario {
	var t *tap
	return []scenario{{
		name:  "orders that are confirmed, paid and cancelled, a refund and the end of the stock, and poison among them",
		stock: 3, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) {
			t = &tap{bus: harness.NewBus(), judge: harness.NewEventJudge()}
			r.DB.Stream = t.record
			r.confirmed("alice", "bob", "carol")
			r.buys(r.Start(harness.Purchasing, 0), "dave", "") // closes the shard
			poison := *t.waiting[0]
			poison.Raw, poison.Sequence = harness.PoisonLike(t.last, 3)
			t.judge.Poison[string(poison.Raw)] = true
			t.waiting = append(t.waiting, &poison)
			r.pays("bob", "pi_1")
			r.pays("bob", "pi_2")
			r.cancels("carol")
			r.DB.Stream = nil
		},
		act: func(r *run) {
			for try := 0; try < 6 && len(t.waiting) > 0; try++ {
				r.publishes(t)
			}
		},
		judge: func(r *run) {
			for try := 0; try < 3 && len(t.waiting) > 0; try++ {
				r.publishes(t)
			}
			figures, found := t.judge.Judge(r.DB.Items(harness.TableName), t.bus, io.Discard)
			r.found = append(r.found, found...)
			if len(t.waiting) > 0 || figures.Events != 7 {
				r.violate("P26: %d records wait, %d events are published", len(t.waiting), figures.Events)
			}
		},
	}}
}

// tap collects the records of a run that Lambda would deliver.
type tap struct {
	bus     *harness.Bus
	judge   *harness.EventJudge
	waiting []*harness.Entry
	last    dynamotest.Record // of a claim
}

func (t *tap) record(r dynamotest.Record) {
	if harness.Delivered(r) {
		t.judge.Saw(r)
		if r.New["claimId"] != nil {
			t.last = r
		}
		t.waiting = append(t.waiting, &harness.Entry{Raw: r.JSON(), Sequence: r.SequenceNumber()})
	}
}

// publishes delivers all waiting records in one batch.
func (r *run) publishes(t *tap) {
	e := r.Start(harness.Publishing, 0)
	handler := harness.NewPublisher(e, planned{r, e, t.bus}, func() float64 { return 0.5 }, 0)
	records := make([]json.RawMessage, len(t.waiting))
	for i, w := range t.waiting {
		records[i] = w.Raw
	}
	var answer events.DynamoDBEventResponse
	var err error
	end := e.Invoke(func(ctx context.Context) { answer, err = handler.Handle(ctx, publishhandler.Batch{Records: records}) })
	r.inTime(harness.Publishing, end.Took)
	r.chooser.tell("publish: died %t, %+v, %v", end.Died, answer, err)
	if err != nil {
		r.violate("P26: a batch fails with %v", err)
	}
	if end.Died || err != nil {
		return
	}
	a := r.chooser.choose(harness.Publishing, harness.Point{Op: "Checkpoint"})
	r.chooser.tell("checkpoint: %s", a.name)
	if a.name != "failed" {
		t.waiting = t.waiting[harness.Handled(t.waiting, answer):]
	}
	time.Sleep(time.Second)
}

// planned are the outside calls of a publishing environment under a plan.
type planned struct {
	r   *run
	e   *harness.Environment
	bus *harness.Bus
}

func (p planned) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	return harness.Through(ctx, p.e, harness.Point{Op: "PutEvents", Writes: true}, func() (*eventbridge.PutEventsOutput, error) {
		f := p.r.chooser.fault
		return applied(f, func() (*eventbridge.PutEventsOutput, error) {
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

func (p planned) SendMessage(ctx context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	return harness.Through(ctx, p.e, harness.Point{Op: "SendMessage", Writes: true}, func() (*sqs.SendMessageOutput, error) {
		return applied(p.r.chooser.fault, func() (*sqs.SendMessageOutput, error) { return p.bus.Store(in) })
	})
}

// applied makes a call that may be refused, or whose answer may be lost.
func applied[O any](f dynamotest.Fault, do func() (*O, error)) (*O, error) {
	if f.Kind == dynamotest.ServerError {
		return nil, harness.ErrDown
	}
	out, err := do()
	if f.Kind == dynamotest.LostReply {
		return nil, harness.ErrTimeout
	}
	return out, err
}
