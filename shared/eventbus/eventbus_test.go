package eventbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/sale"
)

// bus is an EventBridge bus with its rules: ten entries a call, an answer per entry.
type bus struct {
	t     *testing.T
	calls int
	got   []string // details, in the order of their acceptance
	// refuse returns the error code of an event in that call, or "". fail is the error of
	// the whole call, which is applied nonetheless if lost is set.
	refuse func(call int, detail string) string
	fail   func(call int) error
	lost   bool
	took   time.Duration
	short  bool // an answer has one entry less than was asked for
}

func (b *bus) PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	b.calls++
	if n := len(in.Entries); n < 1 || n > 10 {
		b.t.Errorf("a call with %d entries", n)
	}
	select {
	case <-time.After(b.took):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if b.fail != nil {
		if err := b.fail(b.calls); err != nil && !b.lost {
			return nil, err
		}
	}
	out := &eventbridge.PutEventsOutput{}
	for _, e := range in.Entries {
		if aws.ToString(e.EventBusName) != "orders" || aws.ToString(e.Source) != "flashsale" || e.Time == nil ||
			!strings.HasPrefix(*e.Detail, `{"schemaVersion":1,"id":"`+*e.DetailType+":") {
			b.t.Errorf("entry %+v", e)
		}
		var answer types.PutEventsResultEntry
		if b.refuse != nil {
			if code := b.refuse(b.calls, *e.Detail); code != "" {
				answer.ErrorCode, answer.ErrorMessage = aws.String(code), aws.String("because")
				out.FailedEntryCount++
			}
		}
		if answer.ErrorCode == nil {
			b.got = append(b.got, *e.Detail)
			answer.EventId = aws.String(fmt.Sprint("id-", len(b.got)))
		}
		out.Entries = append(out.Entries, answer)
	}
	if b.short {
		out.Entries = out.Entries[1:]
	}
	if b.fail != nil {
		return out, b.fail(b.calls)
	}
	return out, nil
}

func (b *bus) publisher() *Bus { return New(b, "orders", func() float64 { return 0.5 }) }

var at = time.Date(2026, 11, 11, 20, 0, 0, 7e6, time.UTC)

// confirmed are n events.
func confirmed(n int) []sale.Event {
	events := make([]sale.Event, n)
	for i := range events {
		events[i] = sale.Event{Type: sale.EventConfirmed, ID: fmt.Sprint("OrderConfirmed:", i+1), OccurredAt: at, SaleID: "moutai", OrderID: uint64(i + 1)}
	}
	return events
}

func details(events []sale.Event) (all []string) {
	for _, e := range events {
		all = append(all, string(Detail(e)))
	}
	return all
}

func TestAnEventIsJSONOfWhatItIsAbout(t *testing.T) {
	order := sale.Event{
		Type: sale.EventConfirmed, ID: "OrderConfirmed:9223372036854775807", OccurredAt: at.In(time.FixedZone("", 3600)), SaleID: "moutai",
		OrderID: 1<<63 - 1, ClaimID: "C1", User: `a"b`, State: sale.Confirmed,
	}
	head := `{"schemaVersion":1,"id":"OrderConfirmed:9223372036854775807","occurredAt":"2026-11-11T20:00:00.007Z","saleId":"moutai",` +
		`"orderId":"9223372036854775807","claimId":"C1","user":"a\"b",`
	changed := `{"schemaVersion":1,"id":"SaleChanged:moutai:1","occurredAt":"2026-11-11T20:00:00.007Z","saleId":"moutai","changeId":"c","action":`
	with := func(c sale.Change) sale.Event {
		c.ID = "c"
		return sale.Event{Type: sale.EventChanged, ID: "SaleChanged:moutai:1", OccurredAt: at, SaleID: "moutai", Change: c}
	}
	paid, released, several := order, order, order
	several.Units = 2
	paid.State, paid.Payment = sale.Paid, "stripe#pi_1"
	paid.Amount, paid.Currency, paid.Labels = 89900, "CNY", `sku=A-38,erp="47`
	released.State, released.ReleasedBy = sale.Expired, sale.ByExpiry
	for want, e := range map[string]sale.Event{
		head + `"state":"CONFIRMED"}`:                                                                                     order,
		strings.Replace(head, ":1", ":2", 1) + `"state":"CONFIRMED","units":2}`:                                           several,
		changed + `"add","verified":false,"units":5}`:                                                                     with(sale.Change{Action: sale.ActionAdd, Units: 5}),
		head + `"state":"PAID","payment":"stripe#pi_1","amount":89900,"currency":"CNY","labels":["sku=A-38","erp=\"47"]}`: paid,
		head + `"state":"EXPIRED","releasedBy":"expiry"}`:                                                                 released,
		`{"schemaVersion":1,"id":"SaleSoldOut:moutai:3","occurredAt":"2026-11-11T20:00:00.007Z","saleId":"moutai"}`: {
			Type: sale.EventSoldOut, ID: "SaleSoldOut:moutai:3", OccurredAt: at, SaleID: "moutai",
		},
		`{"schemaVersion":1,"id":"RollClosed:moutai","occurredAt":"2026-11-11T20:00:00.007Z","saleId":"moutai","entrants":0,"roll":"ab","round":7}`: {
			Type: sale.EventRollClosed, ID: "RollClosed:moutai", OccurredAt: at, SaleID: "moutai", Roll: sale.Roll{Digest: "ab", Round: 7},
		},
		changed + `"call","verified":false,"opensAt":"2026-11-11T20:00:00.007Z","closesAt":"2026-11-11T21:00:00.007Z"}`: with(
			sale.Change{Action: sale.ActionCall, OpensAt: at, ClosesAt: at.Add(time.Hour)}),
		changed + `"extend","verified":false,"payUntil":"2026-11-11T21:00:00.007Z"}`: with(
			sale.Change{Action: sale.ActionExtend, OpensAt: at, ClosesAt: at.Add(time.Hour), PayUntil: at.Add(time.Hour)}),
		changed + `"reschedule","verified":false,"opensAt":"2026-11-11T20:00:00.007Z","closesAt":"2026-11-11T21:00:00.007Z"}`: with( // what people are shown, not a call
			sale.Change{Action: sale.ActionReschedule, OpensAt: at.Add(time.Minute), ClosesAt: at.Add(2 * time.Minute), BeginsAt: at, EndsAt: at.Add(time.Hour)}),
		`{"schemaVersion":1,"id":"RefundDue::p#1","occurredAt":"2026-11-11T20:00:00.007Z","payment":"p#1","reason":"unknown-order","amount":0,"currency":"EUR"}`: {
			Type: sale.EventRefundDue, ID: "RefundDue::p#1", OccurredAt: at, Payment: "p#1", Reason: sale.RefundUnknownOrder, Currency: "EUR",
		},
	} {
		if got := string(Detail(e)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestEventsArePublishedTenAtATime(t *testing.T) {
	for _, n := range []int{0, 1, 10, 11, 25} {
		synctest.Test(t, func(t *testing.T) {
			b, began := &bus{t: t}, time.Now()
			events := confirmed(n)
			errs := b.publisher().Publish(t.Context(), events)
			if len(errs) != n || errors.Join(errs...) != nil || b.calls != (n+9)/10 || time.Since(began) != 0 {
				t.Errorf("%d events: %d calls in %v, errors %v", n, b.calls, time.Since(began), errs)
			}
			if diff := cmp.Diff(details(events), b.got); diff != "" {
				t.Errorf("%d events (-want +got):\n%s", n, diff)
			}
		})
	}
}

func TestOnlyTheEventsThatFailedAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := confirmed(12)
		b := &bus{t: t, refuse: func(call int, detail string) string {
			if call <= 2 && (strings.Contains(detail, `"orderId":"3"`) || strings.Contains(detail, `"orderId":"12"`)) {
				return "ThrottlingException"
			}
			return ""
		}}
		errs := b.publisher().Publish(t.Context(), events)
		want := details(slices.Concat(events[:2], events[3:11], events[2:3], events[11:]))
		if diff := cmp.Diff(want, b.got); diff != "" || errors.Join(errs...) != nil || b.calls != 3 {
			t.Errorf("%d calls, errors %v (-want +got):\n%s", b.calls, errs, diff)
		}
	})
}

func TestAnEventThatTheBusWillNeverTakeIsPoisonAndNotTriedAgain(t *testing.T) {
	for _, code := range []string{"MalformedDetail", "InvalidArgument"} {
		b := &bus{t: t, refuse: func(_ int, detail string) string {
			if strings.Contains(detail, `"orderId":"2"`) {
				return code
			}
			return ""
		}}
		errs := b.publisher().Publish(t.Context(), confirmed(3))
		if errs[0] != nil || sale.CodeOf(errs[1]) != sale.Poison || errs[2] != nil || b.calls != 1 {
			t.Errorf("%s: %d calls, errors %v", code, b.calls, errs)
		}
		if !strings.Contains(errs[1].Error(), code+": because") {
			t.Errorf("the error %q does not say why", errs[1])
		}
	}
}

func TestWhatStillFailsIsBusy(t *testing.T) {
	down := errors.New("connection refused")
	for name, b := range map[string]*bus{
		"a bus that does not answer":     {fail: func(int) error { return down }},
		"a bus whose answers are lost":   {fail: func(int) error { return down }, lost: true},
		"a bus that refuses each entry":  {refuse: func(int, string) string { return "InternalFailure" }},
		"a bus that may not be used":     {refuse: func(int, string) string { return "AccessDeniedException" }},
		"a bus that hangs for each call": {took: time.Hour},
		"a bus that leaves an entry out": {short: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			b.t = t
			errs := b.publisher().Publish(t.Context(), confirmed(2))
			if b.calls != 5 || sale.CodeOf(errs[0]) != sale.Busy || sale.CodeOf(errs[1]) != sale.Busy {
				t.Errorf("%s: %d calls, errors %v", name, b.calls, errs)
			}
		})
	}
}

func TestTheTimeBudgetEndsTheTries(t *testing.T) {
	for budget, want := range map[time.Duration]int{2 * time.Second: 1, 2*time.Second + 26*time.Millisecond: 2, 5 * time.Second: 5} {
		synctest.Test(t, func(t *testing.T) {
			b := &bus{t: t, refuse: func(int, string) string { return "ThrottlingException" }}
			ctx, cancel := context.WithTimeout(t.Context(), budget)
			defer cancel()
			errs := b.publisher().Publish(ctx, confirmed(1))
			if b.calls != want || sale.CodeOf(errs[0]) != sale.Busy {
				t.Errorf("within %v: %d calls, want %d; %v", budget, b.calls, want, errs)
			}
		})
	}
}

func TestAPublisherWithoutItsBusDoesNotStart(t *testing.T) {
	if b, err := FromEnv(aws.Config{}); b != nil || err == nil {
		t.Errorf("got %v (%v)", b, err)
	}
	t.Setenv("EVENT_BUS_NAME", "orders")
	if b, err := FromEnv(aws.Config{Region: "eu-central-1"}); err != nil || *b.name != "orders" {
		t.Errorf("got %v (%v)", b, err)
	}
}
