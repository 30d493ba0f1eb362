package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/eventbus"
	"flashsale/shared/sale"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// eventsOf are the events of an order that ended in that state, and its line in the export.
func eventsOf(order uint64, final sale.ClaimState) (all []sale.Event, line string) {
	e := sale.Event{OrderID: order, SaleID: "moutai", ClaimID: "C", User: fmt.Sprint("user,", order)}
	add := func(kind sale.EventType, state sale.ClaimState, minutes int, payment string) {
		e.Type, e.ID, e.State, e.Payment = kind, string(kind)+":"+strconv.FormatUint(order, 10), state, payment
		e.OccurredAt = noon.Add(time.Duration(minutes) * time.Minute)
		all = append(all, e)
	}
	add(sale.EventConfirmed, sale.Confirmed, 0, "")
	switch final {
	case sale.Paid:
		add(sale.EventPaid, final, 5, "stripe#pi_1")
	case sale.Expired, sale.Cancelled:
		add(sale.EventReleased, final, 31, "")
	}
	last := all[len(all)-1]
	return all, fmt.Sprintf("%d,moutai,\"user,%d\",%s,%s,%s", order, order, final, last.OccurredAt.Format(time.RFC3339), last.Payment)
}

func TestTheExportShowsEachOrderOnceInItsHighestState(t *testing.T) {
	states := []sale.ClaimState{sale.Confirmed, sale.Paid, sale.Expired, sale.Cancelled}
	for seed := range uint64(20) {
		chance := rand.New(rand.NewPCG(seed, 1))
		var all []sale.Event
		var want []string
		for order := range uint64(9) {
			of, line := eventsOf(order+1, states[chance.IntN(len(states))])
			want = append(want, line)
			for _, e := range of {
				all = append(all, slices.Repeat([]sale.Event{e}, 1+chance.IntN(3))...)
			}
		}
		all = append(all, sale.Event{Type: sale.EventSoldOut, ID: "SaleSoldOut:moutai:1", SaleID: "moutai"},
			sale.Event{Type: sale.EventRefundDue, ID: "RefundDue:moutai:stripe#pi_2", SaleID: "moutai", OrderID: 1, Payment: "stripe#pi_2"})
		chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		db := dynamotest.New(dynamotest.Table{Name: "Orders", PK: "orderId"})
		db.PageBytes = 300 // the export has several pages
		w := &warehouse{db: db, table: "Orders"}
		for _, e := range all {
			if err := w.handle(t.Context(), events.EventBridgeEvent{ID: "1", DetailType: string(e.Type), Detail: eventbus.Detail(e)}); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if err := w.export(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if lines[0] != "orderId,saleId,user,state,since,payment" {
			t.Errorf("the heading is %s", lines[0])
		}
		slices.Sort(lines[1:])
		if diff := cmp.Diff(want, lines[1:]); diff != "" {
			t.Fatalf("seed %d: orders (-want +got):\n%s", seed, diff)
		}
	}
}

func TestWhatCannotBeReadOrKeptIsAnError(t *testing.T) {
	w := &warehouse{db: dynamotest.New(dynamotest.Table{Name: "Orders", PK: "orderId"}), table: "none"}
	of, _ := eventsOf(1, sale.Paid)
	for _, detail := range []string{`{"schemaVersion":2,"id":"x"}`, string(eventbus.Detail(of[0]))} {
		if err := w.handle(t.Context(), events.EventBridgeEvent{DetailType: "OrderConfirmed", Detail: []byte(detail)}); err == nil {
			t.Errorf("%s was dropped", detail)
		}
	}
	if err := w.export(t.Context(), &bytes.Buffer{}); err == nil {
		t.Error("a table that is not there was exported")
	}
}
