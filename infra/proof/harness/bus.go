package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/dynamotest"
)

const (
	busName    = "orders"
	maxEntries = 10 // of one PutEvents
)

// Bus is an EventBridge bus with the rules of PutEvents.
type Bus struct {
	// Fault is called once per call, with the number of its entries: LostReply applies the call, an
	// Unprocessed refuses Items of its entries, -1 for the last one, and ServerError the call.
	Fault func(op string, entries int) dynamotest.Fault

	mu     sync.Mutex
	events map[string]*publication // by detail
	wrong  []string                // requests that break a rule
}

// publication is one distinct event.
type publication struct {
	source, detailType string
	time               time.Time
	first              time.Time // when it was published first
	times              int
}

func NewBus() *Bus { return &Bus{events: map[string]*publication{}} }

// Put is PutEvents. fails returns the error code of an entry, or "".
func (b *Bus) Put(in *eventbridge.PutEventsInput, fails func(index int) string) (*eventbridge.PutEventsOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(in.Entries); n < 1 || n > maxEntries {
		b.wrong = append(b.wrong, fmt.Sprintf("PutEvents of %d entries", n))
		return nil, errors.New("ValidationException")
	}
	out := &eventbridge.PutEventsOutput{}
	for i, e := range in.Entries {
		code := fails(i)
		detail := aws.ToString(e.Detail)
		switch {
		case code != "":
		case aws.ToString(e.Source) == "" || aws.ToString(e.DetailType) == "" || aws.ToString(e.EventBusName) != busName:
			code = "InvalidArgument"
		}
		if code != "" {
			out.FailedEntryCount++
			out.Entries = append(out.Entries, types.PutEventsResultEntry{ErrorCode: &code})
			continue
		}
		p := b.events[detail]
		if p == nil {
			p = &publication{source: *e.Source, detailType: *e.DetailType, time: aws.ToTime(e.Time), first: time.Now()}
			b.events[detail] = p
		}
		p.times++
		out.Entries = append(out.Entries, types.PutEventsResultEntry{EventId: aws.String("event")})
	}
	return out, nil
}

// Archive returns each event that has been published, as an archive of the bus stores it: one a line.
func (b *Bus) Archive() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	var text []byte
	for _, detail := range Sorted(b.events) {
		text = fmt.Appendf(text, `{"source":%q,"detail-type":%q,"detail":%s}`+"\n", b.events[detail].source, b.events[detail].detailType, detail)
	}
	return text
}

// busAPI is one environment's access to the bus and to the queue of failures.
type busAPI struct{ e *Environment }

func (a busAPI) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	b := a.e.world.Bus
	return Intercept(ctx, a.e, Point{Op: "PutEvents", Writes: true}, func() (*eventbridge.PutEventsOutput, error) {
		n := len(in.Entries)
		f := b.Fault("PutEvents", n)
		return under(f, func() (*eventbridge.PutEventsOutput, error) {
			return b.Put(in, func(index int) string {
				if f.Kind == dynamotest.Unprocessed && (slices.Contains(f.Items, index) || slices.Contains(f.Items, index-n)) {
					return []string{"InternalFailure", "ThrottlingException"}[index%2]
				}
				return ""
			})
		})
	})
}

// SendMessage is that of the failure queue, which gets nothing: no record is poison.
func (a busAPI) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	a.e.world.Bus.wrong = append(a.e.world.Bus.wrong, "the failure queue gets "+aws.ToString(in.MessageBody))
	return &sqs.SendMessageOutput{MessageId: aws.String("failure")}, nil
}

// under makes a call that may be refused, or whose answer may be lost.
func under[O any](f dynamotest.Fault, do func() (*O, error)) (*O, error) {
	if f.Kind == dynamotest.ServerError {
		return nil, ErrDown
	}
	out, err := do()
	if f.Kind == dynamotest.LostReply {
		return nil, ErrTimeout
	}
	return out, err
}
