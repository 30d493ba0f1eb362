package harness

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/infra/kit/dynamotest"
)

const (
	Visibility  = 55 * time.Second
	maxReceives = 5
)

// Queue has the semantics of a standard SQS queue: at-least-once delivery in no order,
// messages invisible while they are handled, and moved to the dead-letter queue after
// five receives without a deletion. It never blocks; callers pass the time.
type Queue struct {
	// Fault is called once per API call: LostReply applies the call, ServerError refuses it.
	Fault func(op string) dynamotest.Fault

	mu       sync.Mutex
	count    int
	messages []*message
	dead     []*message
	// sent is every distinct body ever accepted.
	sent    []string
	known   map[string]bool
	Arrived chan struct{} // holds one token after something was sent
}

// message is one message; a duplicate is the same message received twice.
type message struct {
	id        string
	body      string
	visibleAt time.Time
	receives  int
}

func NewQueue() *Queue {
	return &Queue{known: map[string]bool{}, Arrived: make(chan struct{}, 1)}
}

// Put puts a message into the queue, visible from at on.
func (q *Queue) Put(body string, at time.Time) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count++
	m := &message{id: "message-" + strconv.Itoa(q.count), body: body, visibleAt: at}
	q.messages = append(q.messages, m)
	if !q.known[body] {
		q.known[body] = true
		q.sent = append(q.sent, body)
	}
	select {
	case q.Arrived <- struct{}{}:
	default:
	}
	return m.id
}

// Disorder is how far a queue deviates from first in, first out, exactly once.
type Disorder struct {
	Chance *rand.Rand
	Rates  DisorderRates
}

// DisorderRates are shares in [0,1]: of the receives that shuffle the queue, and of the
// messages that are delivered twice.
type DisorderRates struct{ Shuffled, Twice float64 }

// Receive returns up to most visible messages. A message that was received too often
// goes to the dead-letter queue instead.
func (q *Queue) Receive(now time.Time, most int, d *Disorder) []events.SQSMessage {
	q.mu.Lock()
	defer q.mu.Unlock()
	if d != nil && d.Chance.Float64() < d.Rates.Shuffled {
		d.Chance.Shuffle(len(q.messages), func(i, j int) { q.messages[i], q.messages[j] = q.messages[j], q.messages[i] })
	}
	var batch []events.SQSMessage
	kept := q.messages[:0]
	for _, m := range q.messages {
		switch {
		case m.visibleAt.After(now) || len(batch) == most:
		case m.receives == maxReceives:
			q.dead = append(q.dead, m)
			continue
		default:
			m.receives++
			m.visibleAt = now.Add(Visibility)
			if d != nil && d.Chance.Float64() < d.Rates.Twice {
				m.visibleAt = now.Add(time.Duration(d.Chance.Int64N(int64(3 * time.Second))))
			}
			batch = append(batch, events.SQSMessage{
				MessageId: m.id, ReceiptHandle: m.id + "/" + strconv.Itoa(m.receives), Body: m.body,
				EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:eu-central-1:123456789012:OrderQueue", AWSRegion: "eu-central-1",
				Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(m.receives)},
			})
		}
		kept = append(kept, m)
	}
	clear(q.messages[len(kept):])
	q.messages = kept
	return batch
}

// Remove deletes the message of a receipt handle; the handle of an earlier receive does
// nothing.
func (q *Queue) Remove(handle string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, m := range q.messages {
		if m.id+"/"+strconv.Itoa(m.receives) == handle {
			q.messages = append(q.messages[:i], q.messages[i+1:]...)
			return
		}
	}
}

// Depth counts the messages outside the dead-letter queue.
func (q *Queue) Depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages)
}

// Next returns when the next message becomes visible; ok is false for an empty queue.
func (q *Queue) Next() (at time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.messages {
		if !ok || m.visibleAt.Before(at) {
			at, ok = m.visibleAt, true
		}
	}
	return at, ok
}

// DeadLetters returns the messages of the dead-letter queue.
func (q *Queue) DeadLetters() map[string]bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	bodies := make(map[string]bool, len(q.dead))
	for _, m := range q.dead {
		bodies[m.body] = true
	}
	return bodies
}

// SentBodies returns every body that was ever in the queue, in the order of arrival.
func (q *Queue) SentBodies() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]string(nil), q.sent...)
}

// PoisonMessages are messages that can never be processed.
var PoisonMessages = []string{
	"not an order message",
	`{"v":2,"saleId":"moutai","user":"mallory","claimId":"claim-1"}`,
	`{"v":1,"saleId":"moutai","user":"nobody","claimId":"claim-of-nobody"}`,
}

// IsDelivered reports whether Lambda delivers the record. The filters of template.yaml, which also look
// at attributes, let fewer pass: what they must not keep back is checked in infra/proof/checks.
func IsDelivered(r dynamotest.Record) bool {
	pk := Text(r.Keys["pk"])
	isOfKind := func(prefix string) bool { return strings.HasPrefix(pk, prefix) }
	return slices.ContainsFunc([]string{"CLAIM#", "REFUND#", "CHANGES#", "MONEY#", "SALE", "DRAW#"}, isOfKind)
}
