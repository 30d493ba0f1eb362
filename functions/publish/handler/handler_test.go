package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/clock"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

// bus keeps what is published, except what it refuses.
type bus struct {
	got    []string // ids
	events []sale.Event
	refuse map[string]sale.Code
}

func (b *bus) Publish(_ context.Context, events []sale.Event) []error {
	errs := make([]error, len(events))
	for i, e := range events {
		if code := b.refuse[e.ID]; code != "" {
			errs[i] = sale.Fail(code, errors.New("refused"))
			continue
		}
		b.got = append(b.got, e.ID)
		b.events = append(b.events, e)
	}
	return errs
}

// queue is an SQS queue.
type queue struct {
	bodies []string
	err    error
}

func (q *queue) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	if q.err != nil {
		return nil, q.err
	}
	if len(*in.MessageBody) > 1<<20 {
		return nil, errors.New("a message of more than 1 MiB")
	}
	if *in.QueueUrl != "http://127.0.0.1/failures" {
		return nil, errors.New("another queue")
	}
	q.bodies = append(q.bodies, *in.MessageBody)
	return &sqs.SendMessageOutput{}, nil
}

// world is a handler between a bus and a queue, in virtual time.
type world struct {
	bus   bus
	queue queue
	log   bytes.Buffer
}

var changedAt = time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)

func in(t *testing.T, test func(*testing.T, *world)) {
	synctest.Test(t, func(t *testing.T) {
		// A synctest bubble begins in 2000, before the first order id.
		time.Sleep(time.Until(changedAt))
		test(t, &world{})
	})
}

// handle handles a batch and returns the sequence numbers that it answers.
func (w *world) handle(t *testing.T, records ...string) (sequences []string) {
	t.Helper()
	var batch Batch
	if err := json.Unmarshal([]byte(`{"Records":[`+strings.Join(records, ",")+`]}`), &batch); err != nil {
		t.Fatal(err)
	}
	h := New(&w.bus, NewFailureQueue(&w.queue, "http://127.0.0.1/failures"), telemetry.New(&w.log, "publish", clock.Wall), clock.Wall)
	answer, err := h.Handle(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range answer.BatchItemFailures {
		sequences = append(sequences, f.ItemIdentifier)
	}
	return sequences
}

// order is the record of an order's confirmation. Each was made a second after the one before.
func order(n int) string {
	claim := `"pk":{"S":"CLAIM#moutai#0"},"sk":{"S":"user-%[1]d"},"claimId":{"S":"C%[1]d"},"shard":{"N":"0"},"acceptedAt":{"N":"1794427199000"}`
	return fmt.Sprintf(`{"eventID":"e%[1]d","eventName":"MODIFY","dynamodb":{"ApproximateCreationDateTime":%[3]d,"SequenceNumber":"s%[1]d",`+
		`"OldImage":{`+claim+`},"NewImage":{`+claim+`,"orderId":{"N":"%[2]d"}}}}`, n, id(n), 1794427197+n)
}

// id is the order id that was reserved when the claim changed.
func id(n int) int {
	return int(changedAt.Sub(time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC))/time.Second)<<32 | n
}

func eventID(n int) string { return fmt.Sprint("OrderConfirmed:", id(n)) }

// soldOut is the record of a sale whose only shard became empty, created at an instant in
// Unix seconds.
func soldOut(at string) string {
	sold := `"pk":{"S":"SALE#moutai"},"sk":{"S":"SALE"},"name":{"S":"Moutai"},"opensAt":{"N":"1794427200000"},"closesAt":{"N":"1794430800000"},` +
		`"paused":{"BOOL":false},"changedAt":{"N":"0"},"seeded":{"N":"1"},"shards":{"N":"1"},"buckets":{"N":"1"},"version":{"N":"3"},"state":{"S":"OPEN"}`
	return `{"dynamodb":{"ApproximateCreationDateTime":` + at + `,"SequenceNumber":"s1","OldImage":{` + sold + `},"NewImage":{` + sold + `,"empty":{"NS":["0"]}}}}`
}

func TestAChangeIsOfItsRecordsInstant(t *testing.T) {
	for text, want := range map[string]time.Time{"1794427260": changedAt.Add(time.Minute), "1.79442726E9": changedAt.Add(time.Minute), "1794427200.5": changedAt.Add(time.Second / 2)} {
		in(t, func(t *testing.T, w *world) {
			if got := w.handle(t, soldOut(text)); got != nil {
				t.Errorf("failures %v", got)
			}
			if len(w.bus.events) != 1 || w.bus.events[0].ID != "SaleSoldOut:moutai:3" || !w.bus.events[0].OccurredAt.Equal(want) {
				t.Errorf("published %+v, want it at %v", w.bus.events, want)
			}
		})
	}
}

// Nothing of what comes again is stored.
func TestTheAnswerNamesTheFirstRecordThatFailed(t *testing.T) {
	paid := strings.Replace(order(2), fmt.Sprintf(`"orderId":{"N":"%d"}`, id(2)),
		fmt.Sprintf(`"orderId":{"N":"%d"},"paidAt":{"N":"1794427200000"},"payment":{"S":"p#1"}`, id(2)), 1)
	payment, down := fmt.Sprint("OrderPaid:", id(2)), errors.New("connection refused")
	for name, tt := range map[string]struct {
		second string // of four records
		refuse map[string]sale.Code
		queue  error
		got    []string
	}{
		"two that are busy":            {order(2), map[string]sale.Code{eventID(2): sale.Busy, eventID(3): sale.Busy}, nil, []string{eventID(1), eventID(4)}},
		"poison that cannot be stored": {order(2), map[string]sale.Code{eventID(2): sale.Poison}, down, []string{eventID(1), eventID(3), eventID(4)}},
		"poison, and one that is busy": {paid, map[string]sale.Code{eventID(2): sale.Poison, payment: sale.Busy}, nil, []string{eventID(1), eventID(3), eventID(4)}},
		"one that is busy, and poison": {paid, map[string]sale.Code{eventID(2): sale.Busy, payment: sale.Poison}, nil, []string{eventID(1), eventID(3), eventID(4)}},
	} {
		in(t, func(t *testing.T, w *world) {
			w.bus.refuse, w.queue.err = tt.refuse, tt.queue
			failed := w.handle(t, order(1), tt.second, order(3), order(4))
			if !slices.Equal(failed, []string{"s2"}) || !slices.Equal(w.bus.got, tt.got) || w.queue.bodies != nil {
				t.Errorf("%s: failures %v, published %v, stored %v", name, failed, w.bus.got, w.queue.bodies)
			}
		})
	}
}

func TestARecordThatCannotBePublishedIsStoredAndDoesNotStopTheOthers(t *testing.T) {
	newer := strings.Replace(order(2), `"NewImage":{`, `"NewImage":{"minReader":{"N":"99"},`, 1)
	for name, tt := range map[string]struct {
		record, code string
		refuse       sale.Code
	}{
		"no object":              {record: `7`, code: "poison-message"},
		"an image of no item":    {record: `{"dynamodb":{"SequenceNumber":"s2","NewImage":{"pk":"x"}}}`, code: "poison-message"},
		"a malformed claim":      {record: strings.Replace(order(2), `"shard":{"N":"0"}`, `"shard":{"S":"0"}`, 2), code: "internal"},
		"one for a newer one":    {record: newer, code: "newer-version"},
		"one the bus won't take": {record: order(2), code: "poison-message", refuse: sale.Poison},
	} {
		in(t, func(t *testing.T, w *world) {
			w.bus.refuse = map[string]sale.Code{eventID(2): tt.refuse}
			if got := w.handle(t, order(1), tt.record, order(3)); got != nil {
				t.Errorf("%s: failures %v", name, got)
			}
			if diff := cmp.Diff([]string{eventID(1), eventID(3)}, w.bus.got); diff != "" {
				t.Errorf("%s: events (-want +got):\n%s", name, diff)
			}
			var stored struct {
				Code, Error string
				Record      json.RawMessage
			}
			if len(w.queue.bodies) != 1 {
				t.Fatalf("%s: stored %v", name, w.queue.bodies)
			}
			err := json.Unmarshal([]byte(w.queue.bodies[0]), &stored)
			if err != nil || stored.Code != tt.code || stored.Error == "" || string(stored.Record) != tt.record {
				t.Errorf("%s: stored %s (%v)", name, w.queue.bodies[0], err)
			}
		})
	}
}

// Lambda repeats everything after the first failure, so what is stored there would be stored again
// with each repetition.
func TestPoisonBehindARecordThatIsRepeatedIsStoredOnce(t *testing.T) {
	malformed := `{"dynamodb":{"SequenceNumber":"s2","NewImage":{"pk":"x"}}}`
	in(t, func(t *testing.T, w *world) {
		w.bus.refuse = map[string]sale.Code{eventID(1): sale.Busy}
		for range 3 {
			if diff := cmp.Diff([]string{"s1"}, w.handle(t, order(1), malformed)); diff != "" || w.queue.bodies != nil {
				t.Fatalf("stored %v, failures (-want +got):\n%s", w.queue.bodies, diff)
			}
		}
		w.bus.refuse = nil
		if got := w.handle(t, order(1), malformed); got != nil || len(w.queue.bodies) != 1 {
			t.Errorf("stored %v, failures %v", w.queue.bodies, got)
		}
	})
}

func TestOfARecordThatIsTooLongTheBeginningIsStored(t *testing.T) {
	for filler, length := range map[string]int{"x": 1 << 20, "\x01": 1 << 20, "y": maxRecord - 2} {
		q := &queue{}
		record, err := json.Marshal(strings.Repeat(filler, length))
		if err != nil {
			t.Fatal(err)
		}
		if err := NewFailureQueue(q, "http://127.0.0.1/failures").Send(t.Context(), record, sale.Fail(sale.Poison, nil)); err != nil {
			t.Fatal(err)
		}
		var stored struct {
			Beginning string
			Record    json.RawMessage
		}
		err = json.Unmarshal([]byte(q.bodies[0]), &stored)
		whole := bytes.Equal(stored.Record, record)
		if err != nil || whole != (len(record) <= maxRecord) || !whole && (len(stored.Beginning) < 100_000 || !strings.HasPrefix(string(record), stored.Beginning)) {
			t.Errorf("of %d bytes %.100s is stored (%v)", len(record), q.bodies[0], err)
		}
	}
}

func TestAFunctionWithoutItsFailureQueueDoesNotStart(t *testing.T) {
	if q, err := FailureQueueFromEnv(aws.Config{}); q != nil || err == nil {
		t.Errorf("got %v (%v)", q, err)
	}
	t.Setenv("FAILURE_QUEUE_URL", "http://127.0.0.1/failures")
	if q, err := FailureQueueFromEnv(aws.Config{Region: "eu-central-1"}); err != nil || q.url != "http://127.0.0.1/failures" {
		t.Errorf("got %v (%v)", q, err)
	}
}

func TestABatchIsALineWithTheFiguresThatAlarmsWatch(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		time.Sleep(1500 * time.Millisecond)
		w.bus.refuse = map[string]sale.Code{eventID(2): sale.Poison, eventID(3): sale.Busy}
		w.handle(t, order(1), order(2), order(3), order(4))
		line, err := telemetrytest.Parse(w.log.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"level": "WARN", "message": "publish", "service": "publish", "coldStart": true, "outcome": "poison-message", "result": "poison-message",
			"error":   fmt.Sprintf("event %s: poison-message: refused", eventID(2)),
			"records": 4.0, "events": 2.0, "failed": 1.0, "poison": 1.0, "delayMs": 3500.0, "batches": 1.0,
		}
		metrics := map[string]string{
			"events": "Count by service", "failed": "Count by service", "poison": "Count by service", "delayMs": "Milliseconds by service",
			"batches": "Count by service, result",
		}
		if diff := line.Diff(want, metrics); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	})
}

func TestTheWorstErrorIsTheBatchs(t *testing.T) {
	for _, refused := range [][2]sale.Code{{sale.Busy, sale.Poison}, {sale.Poison, sale.Busy}} {
		in(t, func(t *testing.T, w *world) {
			w.bus.refuse = map[string]sale.Code{eventID(1): refused[0], eventID(2): refused[1]}
			w.handle(t, order(1), order(2))
			line, err := telemetrytest.Parse(w.log.Bytes())
			if err != nil || line.Fields["outcome"] != "poison-message" || line.Fields["delayMs"] != nil {
				t.Errorf("line %v (%v)", line.Fields, err)
			}
		})
	}
}
