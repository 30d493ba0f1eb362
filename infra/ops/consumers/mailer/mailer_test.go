package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/eventbus"
	"flashsale/shared/sale"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

func delivered(e sale.Event) events.EventBridgeEvent {
	return events.EventBridgeEvent{ID: "1", Source: eventbus.Source, DetailType: string(e.Type), Detail: eventbus.Detail(e)}
}

func eventOf(kind sale.EventType, order uint64, state sale.ClaimState) sale.Event {
	return sale.Event{
		Type: kind, ID: string(kind) + ":" + strconv.FormatUint(order, 10), OccurredAt: noon, SaleID: "moutai", OrderID: order,
		ClaimID: "C", User: fmt.Sprint("user-", order), State: state,
	}
}

// outbox is a mailer whose mails are counted by their ids.
type outbox struct {
	mailer
	mails map[string]int
	now   time.Time
	fails error // of the next mail
}

func newOutbox() *outbox {
	o := &outbox{mails: map[string]int{}, now: noon.Add(time.Minute)}
	o.mailer = mailer{
		db: dynamotest.New(dynamotest.Table{Name: "Mails", PK: "id"}), table: "Mails", now: func() time.Time { return o.now },
		send: func(_ context.Context, m mail) error {
			if err := o.fails; err != nil {
				o.fails = nil
				return err
			}
			o.mails[m.ID]++
			return nil
		},
	}
	return o
}

func TestEachEventIsMailedOnceHoweverOftenAndInWhichOrderItComes(t *testing.T) {
	for seed := range uint64(20) {
		chance := rand.New(rand.NewPCG(seed, 1))
		var all []sale.Event
		want := map[string]int{}
		for order := range uint64(8) {
			of := []sale.Event{eventOf(sale.EventConfirmed, order+1, sale.Confirmed), eventOf(sale.EventPaid, order+1, sale.Paid)}
			if order%2 == 0 {
				of[1] = eventOf(sale.EventReleased, order+1, sale.Expired)
			}
			for _, e := range of {
				want[e.ID] = 1
				all = append(all, slices.Repeat([]sale.Event{e}, 1+chance.IntN(3))...)
			}
		}
		all = append(all, eventOf(sale.EventSoldOut, 1, ""), eventOf(sale.EventRefundDue, 1, ""))
		chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		o := newOutbox()
		for _, e := range all {
			o.now = o.now.Add(time.Duration(chance.IntN(int(time.Hour))))
			if err := o.handle(t.Context(), delivered(e)); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, o.mails); diff != "" {
			t.Fatalf("seed %d: mails (-want +got):\n%s", seed, diff)
		}
	}
}

// unnoted is a table in which it cannot be noted that a mail is sent.
type unnoted struct{ table }

func (unnoted) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, errors.New("crash")
}

func TestAMailIsRatherSentTwiceThanNever(t *testing.T) {
	e := delivered(eventOf(sale.EventPaid, 7, sale.Paid))
	for name, tt := range map[string]struct {
		crash func(*outbox)
		mails int
	}{
		"the function ends before it sends the mail":    {func(o *outbox) { o.fails = errors.New("crash") }, 1},
		"the function ends before it notes the sending": {func(o *outbox) { o.db = unnoted{o.db} }, 2},
	} {
		o := newOutbox()
		whole := o.db
		tt.crash(o)
		if o.handle(t.Context(), e) == nil {
			t.Errorf("%s: it did not fail", name)
		}
		before := o.mails["OrderPaid:7"]
		o.db = whole
		o.now = o.now.Add(lease)
		if o.handle(t.Context(), e) == nil || o.mails["OrderPaid:7"] != before {
			t.Errorf("%s: a repetition did not wait for the lease", name)
		}
		for range 2 {
			o.now = o.now.Add(time.Second)
			if err := o.handle(t.Context(), e); err != nil || o.mails["OrderPaid:7"] != tt.mails {
				t.Errorf("%s: %v, %d mails", name, err, o.mails["OrderPaid:7"])
			}
		}
	}
}

func TestAnEventThatIsPublishedAgainLongAfterIsNotMailedAgain(t *testing.T) {
	o := newOutbox()
	e := delivered(eventOf(sale.EventPaid, 7, sale.Paid))
	if err := o.handle(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	items := o.db.(*dynamotest.DB).Items("Mails")
	expires, err := strconv.ParseInt(items[0]["expiresAt"].(*types.AttributeValueMemberN).Value, 10, 64)
	if err != nil || len(items) != 1 || time.Unix(expires, 0).Before(noon.Add(keep+time.Hour)) {
		t.Fatalf("the table has %v (%v)", items, err)
	}
	forgetful := newOutbox() // the item has expired
	forgetful.now = time.Unix(expires, 0)
	if err := forgetful.handle(t.Context(), e); err != nil || len(forgetful.mails) > 0 {
		t.Errorf("%v, mails %v", err, slices.Collect(maps.Keys(forgetful.mails)))
	}
}

func TestWhatCannotBeReadOrNotedIsRepeated(t *testing.T) {
	o := newOutbox()
	if err := o.handle(t.Context(), events.EventBridgeEvent{DetailType: "OrderPaid", Detail: []byte(`{"schemaVersion":2,"id":"x"}`)}); err == nil {
		t.Error("a newer event was dropped")
	}
	o.table = "none"
	if err := o.handle(t.Context(), delivered(eventOf(sale.EventPaid, 7, sale.Paid))); err == nil || len(o.mails) > 0 {
		t.Errorf("%v, mails %v", err, o.mails)
	}
}
