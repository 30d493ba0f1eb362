package main

import (
	"reflect"

	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/eventbus"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// busOf is an event bus that refuses what refuse returns an error for.
type busOf struct {
	mu            sync.Mutex
	calls, most   int // at a time
	tried, taken  int
	tooManyAtOnce bool
	refuse        func(e sale.Event) error
}

func (b *busOf) Publish(_ context.Context, events []sale.Event) []error {
	b.mu.Lock()
	b.calls++
	b.most = max(b.most, b.calls)
	b.tooManyAtOnce = b.tooManyAtOnce || len(events) > publishAtOnce
	b.mu.Unlock()
	time.Sleep(time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls--
	errs := make([]error, len(events))
	for i, e := range events {
		b.tried++
		if errs[i] = b.refuse(e); errs[i] == nil {
			b.taken++
		}
	}
	return errs
}

func TestEveryEventIsPublishedOrListed(t *testing.T) {
	events := make([]sale.Event, 3000)
	for i := range events {
		events[i] = sale.Event{Type: sale.EventConfirmed, ID: fmt.Sprintf("OrderConfirmed:%d", i), SaleID: "moutai"}
	}
	busy := sale.Fail(sale.Busy, errors.New("put event: ThrottlingException:\nslow"))
	for name, tt := range map[string]struct {
		refuse       func(id string) error
		want         string
		err          error
		taken, tried int
	}{
		"all": {func(string) error { return nil }, "3000 of 3000 events of sale moutai were published to orders\nSaleSoldOut is not among them, because the table does not keep it\n", nil, 3000, 3000},
		"but one": {func(id string) error {
			if id == "OrderConfirmed:1500" {
				return busy
			}
			return nil
		}, "  OrderConfirmed:1500: busy: put event: ThrottlingException: slow\n2999 of 3000 events of sale moutai were published to orders\nNOT PUBLISHED: the bus refused 1 events\n", errNotPublished, 2999, 3000},
		"none": {func(string) error { return busy }, "  and 150 more\n0 of 200 events of sale moutai were published to orders\n" +
			"NOT PUBLISHED: the bus refused 200 events, so the others were not tried", errNotPublished, 0, 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus := &busOf{refuse: func(e sale.Event) error { return tt.refuse(e.ID) }}
				var out bytes.Buffer
				r := republishing{bus: bus, out: &out, show: func(int64, int64) {}}
				err := r.end("moutai", "orders", r.publish(t.Context(), events))
				if !errors.Is(err, tt.err) || !strings.Contains(out.String(), tt.want) || bus.taken != tt.taken || bus.tried != tt.tried || bus.most > publishers || bus.tooManyAtOnce {
					t.Errorf("%v, %d published of %d tried, %d calls at a time; said\n%s", err, bus.taken, bus.tried, bus.most, &out)
				}
			})
		})
	}
}

// busFile is a file of what was published, as the local stack's bus writes it.
type busFile struct{ *os.File }

func (f busFile) Publish(_ context.Context, events []sale.Event) []error {
	errs := make([]error, len(events))
	for i, e := range events {
		_, errs[i] = fmt.Fprintf(f, `{"source":%q,"detail-type":%q,"detail":%s}`+"\n", eventbus.Source, e.Type, eventbus.Detail(e))
	}
	return errs
}

func TestWhatIsRepublishedIsWhatTheTableStandsFor(t *testing.T) {
	db := dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
	book := ledger.New(db, "T", ledger.Options{})
	sellOut(t, book)
	before := db.Items("T")
	path := filepath.Join(t.TempDir(), "events.jsonl")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	publish := func(saleID string) {
		t.Helper()
		r := republishing{bus: busFile{file}, out: io.Discard, show: func(int64, int64) {}}
		if err := r.end(saleID, "orders", book.Events(t.Context(), saleID, func(events []sale.Event) error { return r.publish(t.Context(), events) })); err != nil {
			t.Fatal(err)
		}
	}
	check := func(saleID string, fails error, want ...string) {
		t.Helper()
		var out bytes.Buffer
		if err := checkEvents(t.Context(), table{db}, "T", path, saleID, books.Options{Overdue: books.AtOnce, Sleep: noPause}, false, &out); !errors.Is(err, fails) {
			t.Errorf("got %v, want %v", err, fails)
		}
		contains(t, out.String(), want...)
	}
	check("moutai", errBroken, "NOT COMPLETE:\n  - event ", " was not published (P26)")
	publish("moutai")
	publish("moutai")
	check("moutai", nil, "events of moutai in "+path+"\n", "  expected                  6\n  published                 6\n  repeated                  6  under the same id", "complete: ")
	check("", errBroken, "events of all sales and unknown orders in", "NOT COMPLETE:\n  - event RefundDue::stripe#none was not published (P26)\n")
	publish("")
	check("", nil, "  expected                  7\n")
	if after := db.Items("T"); !reflect.DeepEqual(after, before) {
		t.Errorf("republishing has written: %v, before %v", after, before)
	}
	var out bytes.Buffer
	err = checkEvents(t.Context(), table{db}, "T", os.DevNull, "moutai", books.Options{}, true, &out)
	var r books.EventReport
	if json.Unmarshal(out.Bytes(), &r) != nil || r.Expected != 6 || r.Waiting != 6 || !r.Complete || err != nil {
		t.Errorf("%v, %s", err, &out)
	}
	if err := checkEvents(t.Context(), table{db}, "T", path+"x", "moutai", books.Options{}, true, &out); err == nil || !strings.Contains(err.Error(), "read events: open ") {
		t.Errorf("no such file: %v", err)
	}
}

func noPause(context.Context, time.Duration) error { return nil }

// A bus that is not the system's own must be seen to exist, because EventBridge loses what is sent to
// none. Whoever may publish to the system's own need not be allowed to look at it.
func TestAnEnvironmentsEventsArePublishedToABusThatIsThere(t *testing.T) {
	const (
		refund = `{"pk":{"S":"REFUND#"},"sk":{"S":"stripe#pi_1"},"reason":{"S":"unknown-order"},"amount":{"N":"5"},"currency":{"S":"CNY"},"at":{"N":"1799668800000"}}`
		takes  = `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`
		gone   = `{"__type":"ResourceNotFoundException","message":"Event bus does not exist."}`
		denied = `{"__type":"AccessDeniedException","message":"no"}`
		done   = "1 of 1 events of unknown orders were published to "
	)
	for name, tt := range map[string]struct {
		bus, there, answer string
		want               string
		published          string // to this bus
	}{
		"its own":                     {"", "{}", takes, done + "shop-orders\n", "shop-orders"},
		"another":                     {"$(x) y", "{}", takes, done + "$(x) y\n", "$(x) y"},
		"it refuses":                  {"", "{}", `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"MalformedDetail","ErrorMessage":"no"}]}`, "  RefundDue::stripe#pi_1: ", "shop-orders"},
		"its own is gone":             {"", gone, takes, "find the bus shop-orders: ", ""},
		"another is gone":             {"orderz", gone, takes, "find the bus orderz: ", ""},
		"its own cannot be looked at": {"shop-orders", denied, takes, done + "shop-orders\n", "shop-orders"},
		"another cannot be looked at": {"another", denied, takes, "find the bus another: ", ""},
	} {
		config, calls := account(t, map[string]string{
			"AWSEvents.DescribeEventBus": tt.there, "DynamoDB_20120810.Query": `{"Items":[` + refund + `],"Count":1}`, "AWSEvents.PutEvents": tt.answer,
		})
		var out bytes.Buffer
		err := run(t.Context(), []string{"-env", "dev", "-config", config, "republish", "-unknown", "-bus", tt.bus}, &out)
		if fmt.Fprint(&out, err); !strings.HasPrefix(out.String(), tt.want) || errors.Is(err, errNotPublished) != (name == "it refuses") || (err == nil) != strings.HasPrefix(tt.want, done) {
			t.Errorf("%s: %v, %q, want %q", name, err, &out, tt.want)
		}
		want := []string{"eu-west-1 AWSEvents.DescribeEventBus", "eu-west-1 DynamoDB_20120810.Query", "eu-west-1 AWSEvents.PutEvents"}
		if tt.published == "" {
			want = want[:1]
		}
		var got []string
		for _, c := range *calls {
			got = append(got, c.Region+" "+c.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", name, diff)
			continue
		}
		if tt.published == "" {
			continue
		}
		entry := (*calls)[2].Body["Entries"].([]any)[0].(map[string]any)
		if entry["EventBusName"] != tt.published || entry["DetailType"] != "RefundDue" || !strings.Contains(fmt.Sprint(entry["Detail"]), `"id":"RefundDue::stripe#pi_1"`) {
			t.Errorf("%s: published %v", name, entry)
		}
	}
}

const price = 129900

// sellOut makes a sale and sells its three units: one is paid twice, one cancelled. A payment of an unknown
// order comes, too.
func sellOut(t *testing.T, book *ledger.Ledger) {
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
	pay(t, book, "first", orders["alice"], price)
	pay(t, book, "second", orders["alice"], price)
	pay(t, book, "none", 0, price)
	if _, err := book.Cancel(t.Context(), "moutai", "bob"); err != nil {
		t.Fatal(err)
	}
}
