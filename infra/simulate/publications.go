package simulate

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
	"flashsale/shared/ledger/dynamotest"
)

// publications returns the scenarios in which changes of the table are published.
func publications() []scenario {
	var t *tap
	return []scenario{{
		name:  "orders that are confirmed, paid and cancelled, a refund and the end of the stock, and poison among them",
		stock: 3, shards: 1, payWithin: payWithin,
		prepare: func(r *run) {
			t = &tap{bus: newBus(), judge: newEventJudge()}
			r.db.Stream = t.record
			r.confirmed("alice", "bob", "carol")
			r.buys(r.start(purchasing, 0), "dave", "") // closes the shard
			poison := *t.waiting[0]
			poison.raw, poison.sequence = poisonLike(t.last, 3)
			t.judge.poison[string(poison.raw)] = true
			t.waiting = append(t.waiting, &poison)
			r.pays("bob", "pi_1")
			r.pays("bob", "pi_2")
			r.cancels("carol")
			r.db.Stream = nil
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
			figures, found := t.judge.judge(r.db.Items(tableName), t.bus, io.Discard)
			r.found = append(r.found, found...)
			if len(t.waiting) > 0 || figures.events != 7 {
				r.violate("P26: %d records wait, %d events are published", len(t.waiting), figures.events)
			}
		},
	}}
}

// tap collects the records of a run that Lambda would deliver.
type tap struct {
	bus     *bus
	judge   *eventJudge
	waiting []*entry
	last    dynamotest.Record // of a claim
}

func (t *tap) record(r dynamotest.Record) {
	if delivered(r) {
		t.judge.saw(r)
		if r.New["claimId"] != nil {
			t.last = r
		}
		t.waiting = append(t.waiting, &entry{raw: r.JSON(), sequence: r.SequenceNumber()})
	}
}

// publishes delivers all waiting records in one batch.
func (r *run) publishes(t *tap) {
	e := r.start(publishing, 0)
	handler := newPublisher(e, planned{r, e, t.bus}, func() float64 { return 0.5 }, 0)
	records := make([]json.RawMessage, len(t.waiting))
	for i, w := range t.waiting {
		records[i] = w.raw
	}
	var answer events.DynamoDBEventResponse
	var err error
	end := e.invoke(func(ctx context.Context) { answer, err = handler.Handle(ctx, publishhandler.Batch{Records: records}) })
	r.inTime(publishing, end.took)
	r.chooser.tell("publish: died %t, %+v, %v", end.died, answer, err)
	if err != nil {
		r.violate("P26: a batch fails with %v", err)
	}
	if end.died || err != nil {
		return
	}
	a := r.chooser.choose(publishing, point{op: "Checkpoint"})
	r.chooser.tell("checkpoint: %s", a.name)
	if a.name != "failed" {
		t.waiting = t.waiting[handled(t.waiting, answer):]
	}
	time.Sleep(time.Second)
}

// planned are the outside calls of a publishing environment under a plan.
type planned struct {
	r   *run
	e   *environment
	bus *bus
}

func (p planned) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	return through(ctx, p.e, point{op: "PutEvents", writes: true}, func() (*eventbridge.PutEventsOutput, error) {
		f := p.r.chooser.fault
		return applied(f, func() (*eventbridge.PutEventsOutput, error) {
			return p.bus.put(in, func(index int) string {
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
	return through(ctx, p.e, point{op: "SendMessage", writes: true}, func() (*sqs.SendMessageOutput, error) {
		return applied(p.r.chooser.fault, func() (*sqs.SendMessageOutput, error) { return p.bus.store(in) })
	})
}

// applied makes a call that may be refused, or whose answer may be lost.
func applied[O any](f dynamotest.Fault, do func() (*O, error)) (*O, error) {
	if f.Kind == dynamotest.ServerError {
		return nil, errDown
	}
	out, err := do()
	if f.Kind == dynamotest.LostReply {
		return nil, errTimeout
	}
	return out, err
}
