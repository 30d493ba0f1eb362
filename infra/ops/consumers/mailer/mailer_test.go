package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/consumers/internal/lives"
)

var noon = lives.Noon

var paid = lives.All()["paid"].Events[1]

// outbox is a mailer whose mails are counted by their ids.
type outbox struct {
	mailer
	mails map[string]int // by their ids
	sent  []mail
	now   time.Time
	fails error // of the next mail
}

func newOutbox() *outbox {
	o := &outbox{mails: map[string]int{}, now: noon.Add(time.Minute)}
	o.mailer = mailer{
		language: func(context.Context, string) (string, error) { return "de", nil }, zone: time.UTC,
		db: dynamotest.New(dynamotest.Table{Name: "Mails", PK: "id"}), table: "Mails", now: func() time.Time { return o.now },
		send: func(_ context.Context, m mail) error {
			if err := o.fails; err != nil {
				o.fails = nil
				return err
			}
			o.mails[m.ID]++
			o.sent = append(o.sent, m)
			return nil
		},
	}
	return o
}

func TestTheLastMailSaysHowAnOrderStandsInWhicheverOrderItsEventsCome(t *testing.T) {
	for name, l := range lives.All() {
		for _, all := range lives.InEveryOrder(l.Events) {
			o := newOutbox()
			for _, e := range slices.Concat(lives.Others(), all) {
				o.now = o.now.Add(time.Minute)
				if err := o.handle(t.Context(), lives.Delivered(e)); err != nil {
					t.Fatal(err)
				}
			}
			var states []string
			refunds := 0
			for _, m := range o.sent {
				if m.Template == "refund-due" {
					refunds++
				} else {
					states = append(states, m.Template)
				}
				if o.mails[m.ID] != 1 || m.User != "=1+1;alice" || m.Amount != "899.00 CNY" && (m.Template == "thank-you" || m.Template == "refund-due") {
					t.Fatalf("%s, in the order %v: mailed %+v", name, all, o.sent)
				}
			}
			want := templates[l.State]
			if l.Held == "unpaid" {
				want = "please-pay"
			}
			if len(states) == 0 || states[len(states)-1] != want || refunds != l.Refunds {
				t.Fatalf("%s, in the order %v: mailed %v and %d refunds, want at last %s and %d", name, all, states, refunds, want, l.Refunds)
			}
		}
	}
}

// unnoted is a table in which it cannot be noted that a mail is sent.
type unnoted struct{ table }

func (unnoted) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, errors.New("crash")
}

func TestAMailIsRatherSentTwiceThanNever(t *testing.T) {
	e := lives.Delivered(paid)
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
		before := o.mails[paid.ID]
		o.db = whole
		o.now = o.now.Add(lease)
		if o.handle(t.Context(), e) == nil || o.mails[paid.ID] != before {
			t.Errorf("%s: a repetition did not wait for the lease", name)
		}
		for range 2 {
			o.now = o.now.Add(time.Second)
			if err := o.handle(t.Context(), e); err != nil || o.mails[paid.ID] != tt.mails {
				t.Errorf("%s: %v, %d mails", name, err, o.mails[paid.ID])
			}
		}
	}
}

func TestAnEventThatIsPublishedAgainLongAfterIsNotMailedAgain(t *testing.T) {
	o := newOutbox()
	if err := o.handle(t.Context(), lives.Delivered(paid)); err != nil {
		t.Fatal(err)
	}
	items := o.db.(*dynamotest.DB).Items("Mails")
	expires, err := strconv.ParseInt(items[0]["expiresAt"].(*types.AttributeValueMemberN).Value, 10, 64)
	forgetful := newOutbox() // the item has expired
	forgetful.now = time.Unix(expires, 0)
	if again := forgetful.handle(t.Context(), lives.Delivered(paid)); err != nil || again != nil || len(items) != 1 || len(forgetful.sent) > 0 {
		t.Errorf("the table has %v (%v); after that %v, mails %v", items, err, again, forgetful.sent)
	}
}

// After an outage, or by `flashsale event republish`, an event comes late.
func TestNobodyIsAskedToPayWhenTheTimeToPayIsOver(t *testing.T) {
	unpaid := lives.All()["not paid yet"].Events[0]
	for late, want := range map[time.Duration]int{-time.Second: 1, 0: 0, time.Hour: 0} {
		o := newOutbox()
		o.now = unpaid.PayBy.Add(late)
		if err := o.handle(t.Context(), lives.Delivered(unpaid)); err != nil || len(o.sent) != want {
			t.Errorf("%v after payBy: %v, mails %+v, want %d", late, err, o.sent, want)
		}
	}
}

func TestWhatCannotBeReadOrNotedIsRepeated(t *testing.T) {
	o := newOutbox()
	for _, detail := range []string{`{"schemaVersion":3,"id":"x"}`, `{"schemaVersion":1}`, `{"schemaVersion":1,"id":`} {
		if err := o.handle(t.Context(), events.EventBridgeEvent{DetailType: "OrderPaid", Detail: []byte(detail)}); err == nil {
			t.Errorf("%s was dropped", detail)
		}
	}
	o.table = "none"
	if err := o.handle(t.Context(), lives.Delivered(paid)); err == nil || len(o.mails) > 0 {
		t.Errorf("%v, mails %v", err, o.mails)
	}
}
