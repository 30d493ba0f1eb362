package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	publishhandler "flashsale/functions/publish/handler"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/harness"
	"flashsale/shared/eventbus"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

const (
	// streamKeeps is how long DynamoDB keeps the records of a stream.
	streamKeeps = 24 * time.Hour
	// longestPause is the longest one between two tries of a batch. AWS does not document it.
	longestPause = 10 * time.Minute

	price = 129900
)

// brokenBus is an event bus that fails until an instant.
type brokenBus struct {
	*harness.Bus
	until time.Time
}

func (b *brokenBus) PutEvents(_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	if time.Now().Before(b.until) {
		return nil, harness.ErrDown
	}
	return b.Put(in, func(int) string { return "" })
}

func (b *brokenBus) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	return b.Store(in)
}

// deliver is Lambda's event source without a limit of retries or of the records' age, as
// template.yaml has it: a batch that fails is tried again until the stream drops its records.
// It returns when none are left, with the number of the dropped ones.
func deliver(t *testing.T, h *publishhandler.Handler, left []*harness.PendingRecord) (dropped int) {
	t.Helper()
	for pause := time.Second; ; pause = min(2*pause, longestPause) {
		n := slices.IndexFunc(left, func(r *harness.PendingRecord) bool { return time.Since(r.Since) < streamKeeps })
		if n < 0 {
			return dropped + len(left)
		}
		dropped, left = dropped+n, left[n:]
		batch := publishhandler.Batch{}
		for _, r := range left {
			batch.Records = append(batch.Records, r.Record.JSON())
		}
		answer, err := h.Handle(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		left = left[harness.CountHandled(left, answer):]
		time.Sleep(pause)
	}
}

func TestWhatTheStreamDropsDuringAnOutageIsRepublished(t *testing.T) {
	for outage, drops := range map[time.Duration]bool{23 * time.Hour: false, 25 * time.Hour: true} {
		t.Run(outage.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(noon))
				bus := &brokenBus{harness.NewBus(), noon.Add(outage)}
				judge := harness.NewEventJudge()
				var records []*harness.PendingRecord
				db := dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
				db.Stream = func(r dynamotest.Record) {
					if harness.IsDelivered(r) {
						judge.Observe(r)
						records = append(records, &harness.PendingRecord{Record: r, Sequence: r.SequenceNumber(), Since: time.Now()})
					}
				}
				book := ledger.New(db, "T", ledger.Options{})
				late := sellOut(t, book)
				time.Sleep(12 * time.Hour)
				pay(t, book, "late", late, price)

				dropped := deliver(t, harness.NewPublisher(&harness.Environment{Function: harness.Publishing}, bus, func() float64 { return 0 }, 0), records)
				missing := func() string {
					_, found := judge.Judge(db.Items("T"), bus.Bus, io.Discard)
					return strings.Join(found, "\n")
				}
				if !drops {
					if found := missing(); dropped > 0 || found != "" {
						t.Errorf("%d of %d records were dropped: %s", dropped, len(records), found)
					}
					return
				}
				if found := missing(); dropped == 0 || strings.Count(found, "\n") != 7 || strings.Count(found, " is not published") != 8 {
					t.Errorf("%d of %d records were dropped: %s", dropped, len(records), found)
				}
				for _, saleID := range []string{"moutai", ""} {
					r := republishing{bus: eventbus.New(bus, "orders", func() float64 { return 0 }), out: io.Discard, show: func(int64, int64) {}}
					if err := r.end(saleID, "orders", book.Events(t.Context(), saleID, func(events []sale.Event) error { return r.publish(t.Context(), events) })); err != nil {
						t.Error(err)
					}
				}
				if found := missing(); strings.Contains(found, "\n") || !strings.HasPrefix(found, "P26: SaleSoldOut:moutai:") || !strings.HasSuffix(found, " is not published") {
					t.Errorf("after republishing: %s", found)
				}
			})
		})
	}
}

// sellOut makes a sale and sells its three units: one is paid twice, one cancelled. It returns
// the order of the third. A payment of an unknown order comes, too.
func sellOut(t *testing.T, book *ledger.Ledger) (unpaid uint64) {
	t.Helper()
	now := time.Now()
	if _, err := book.Create(t.Context(), sale.Creation{
		SaleID: "moutai", Name: "m", OpensAt: now, ClosesAt: now.Add(72 * time.Hour), Stock: 3, Shards: 1, PayWithin: 48 * time.Hour, Price: price, Currency: "CNY",
	}); err != nil {
		t.Fatal(err)
	}
	orders := map[string]uint64{}
	for _, user := range []string{"alice", "bob", "carol"} {
		orders[user] = ordered(t, book, user)
	}
	if _, err := book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: "dave"}); sale.CodeOf(err) != sale.SoldOut {
		t.Fatalf("dave: %v", err)
	}
	pay(t, book, "first", orders["alice"], price)
	pay(t, book, "second", orders["alice"], price)
	pay(t, book, "none", 0, price)
	if _, err := book.Cancel(t.Context(), "moutai", "bob"); err != nil {
		t.Fatal(err)
	}
	return orders["carol"]
}
