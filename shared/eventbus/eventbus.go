// Package eventbus publishes the order events to an EventBridge bus: their format, and
// one call with its retries.
//
// EventBridge answers per event, and an answer may be lost. So an event may be published
// twice, but always under the same id (P26).
package eventbus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"flashsale/shared/invocation"
	"flashsale/shared/sale"
)

const (
	// maxEntries is EventBridge's limit for one call. Ten of our events have at most 20
	// KiB, far below its limit for their size, 256 KB.
	maxEntries = 10
	// callTimeout bounds one call: the SDK itself has no limit.
	callTimeout = 2 * time.Second
	// maxTries bounds the calls for one event. Lambda repeats what still fails.
	maxTries = 5
	// backoffBase and backoffCap are the parameters of the back-off with full jitter.
	backoffBase = 50 * time.Millisecond
	backoffCap  = time.Second
)

// API is the part of the EventBridge client that a Bus uses.
type API interface {
	PutEvents(
		context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options),
	) (*eventbridge.PutEventsOutput, error)
}

// Bus publishes to one bus. It is safe for concurrent use.
type Bus struct {
	api    API
	name   *string
	random func() float64 // uniform in [0,1): jitter
}

// New returns a publisher to the bus of that name or ARN.
func New(api API, name string, random func() float64) *Bus {
	return &Bus{api: api, name: aws.String(name), random: random}
}

// FromEnv returns a publisher to the bus named by EVENT_BUS_NAME. It fails if that is not
// set, so that a misconfigured function fails at start (P19). The client makes one attempt
// per call: Publish does the retries.
func FromEnv(cfg aws.Config) (*Bus, error) {
	name := os.Getenv("EVENT_BUS_NAME")
	if name == "" {
		return nil, errors.New("EVENT_BUS_NAME is not set")
	}
	client := eventbridge.NewFromConfig(cfg, func(o *eventbridge.Options) { o.Retryer = aws.NopRetryer{} })
	return New(client, name, rand.Float64), nil
}

// Publish publishes the events and returns nil or an error for each: sale.Poison if the
// bus will never take that event, else sale.Busy. After an error the event may still have
// been published.
func (b *Bus) Publish(ctx context.Context, events []sale.Event) []error {
	errs := make([]error, len(events))
	left := make([]int, len(events)) // indexes of what is not published yet
	for i := range left {
		left[i] = i
	}
	for try := 0; len(left) > 0; try++ {
		var failed []int
		for len(left) > 0 {
			n := min(maxEntries, len(left))
			failed = append(failed, b.put(ctx, events, left[:n], errs)...)
			left = left[n:]
		}
		if try+1 >= maxTries || len(failed) > 0 && !b.backOff(ctx, try) {
			break
		}
		left = failed
	}
	return errs
}

// put makes one call for the events with these indexes, sets their errors and returns the
// indexes of those that are worth another try.
func (b *Bus) put(ctx context.Context, events []sale.Event, indexes []int, errs []error) (failed []int) {
	entries := make([]types.PutEventsRequestEntry, len(indexes))
	for i, index := range indexes {
		e := events[index]
		entries[i] = types.PutEventsRequestEntry{
			EventBusName: b.name,
			Source:       aws.String(Source),
			DetailType:   aws.String(string(e.Type)),
			Detail:       aws.String(string(Detail(e))),
			Time:         aws.Time(e.OccurredAt),
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := b.api.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
	if err == nil && len(out.Entries) != len(entries) {
		err = fmt.Errorf("%d answers to %d events", len(out.Entries), len(entries))
	}
	for i, index := range indexes {
		errs[index] = nil
		switch {
		case err != nil:
			errs[index] = sale.Fail(sale.Busy, fmt.Errorf("put events: %w", err))
			failed = append(failed, index)
		case out.Entries[i].ErrorCode != nil:
			code := *out.Entries[i].ErrorCode
			err := fmt.Errorf("put event: %s: %s", code, aws.ToString(out.Entries[i].ErrorMessage))
			if hopeless(code) {
				errs[index] = sale.Fail(sale.Poison, err)
				continue
			}
			errs[index] = sale.Fail(sale.Busy, err)
			failed = append(failed, index)
		}
	}
	return failed
}

// hopeless reports whether EventBridge will answer the same to the same event. A missing
// permission is not hopeless: once it is there, the events must still come.
func hopeless(code string) bool { return code == "MalformedDetail" || code == "InvalidArgument" }

// backOff waits after this try (counted from 0), with full jitter. It reports false,
// without waiting, if the time budget does not suffice for another call.
func (b *Bus) backOff(ctx context.Context, try int) bool {
	limit := min(backoffCap, backoffBase<<try)
	return invocation.Wait(ctx, time.Duration(b.random()*float64(limit)), callTimeout)
}
