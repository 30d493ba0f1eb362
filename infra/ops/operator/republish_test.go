package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/dynamotest"
	localbus "flashsale/infra/local/eventbus"
	"flashsale/shared/eventbus"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// busOf is an event bus that refuses what refuse returns an error for. It has no more than
// publishers calls of publishAtOnce events at a time.
type busOf struct {
	t       *testing.T
	mu      sync.Mutex
	calls   int
	taken   map[string]int
	refuse  func(e sale.Event, try int) error
	tries   map[string]int
	tooMany bool
}

func (b *busOf) Publish(_ context.Context, events []sale.Event) []error {
	b.mu.Lock()
	b.calls++
	b.tooMany = b.tooMany || b.calls > publishers || len(events) > publishAtOnce
	b.mu.Unlock()
	time.Sleep(time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls--
	errs := make([]error, len(events))
	for i, e := range events {
		b.tries[e.ID]++
		if errs[i] = b.refuse(e, b.tries[e.ID]); errs[i] == nil {
			b.taken[e.ID]++
		}
	}
	return errs
}

func TestEveryEventIsPublishedOrListed(t *testing.T) {
	poison, busy := sale.Fail(sale.Poison, errors.New("put event: MalformedDetail: no")), sale.Fail(sale.Busy, errors.New("put event: ThrottlingException:\nslow"))
	never := func(sale.Event, int) error { return nil }
	of := func(id string, err error) func(sale.Event, int) error {
		return func(e sale.Event, _ int) error {
			if e.ID == id {
				return err
			}
			return nil
		}
	}
	events := make([]sale.Event, 3000)
	for i := range events {
		events[i] = sale.Event{Type: sale.EventConfirmed, ID: fmt.Sprintf("OrderConfirmed:%d", i), SaleID: "moutai"}
	}
	for name, tt := range map[string]struct {
		refuse func(sale.Event, int) error
		want   string
		err    error
		taken  int
		tried  int // how many events are tried
	}{
		"all": {never, "3000 of 3000 events of sale moutai were published to orders\nSaleSoldOut is not among them, because the table does not keep it\n", nil, 3000, 3000},
		"throttled for a while": {func(e sale.Event, try int) error {
			if try < rounds {
				return busy
			}
			return nil
		}, "; what the bus does not take is tried up to 5 times\n3000 of 3000 events", nil, 3000, 3000},
		"one that it never takes": {of("OrderConfirmed:1500", poison), "  OrderConfirmed:1500: poison-message: put event: MalformedDetail: no\n" +
			"2999 of 3000 events of sale moutai were published to orders\nNOT PUBLISHED: the bus refused 1 events\n", errNotPublished, 2999, 3000},
		"one that is always throttled": {of("OrderConfirmed:7", busy), "  OrderConfirmed:7: busy: put event: ThrottlingException: slow\n2999 of 3000", errNotPublished, 2999, 3000},
		"none": {func(sale.Event, int) error { return busy }, "  and 150 more\n0 of 200 events of sale moutai were published to orders\n" +
			"NOT PUBLISHED: the bus refused 200 events, so the others were not tried", errNotPublished, 0, 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus := &busOf{t: t, taken: map[string]int{}, tries: map[string]int{}, refuse: tt.refuse}
				var out bytes.Buffer
				r := republishing{bus: bus, out: &out, show: func(int64, int64) {}}
				err := r.end("moutai", "orders", r.publish(t.Context(), events))
				if !errors.Is(err, tt.err) || !strings.Contains(out.String(), tt.want) || len(bus.taken) != tt.taken || len(bus.tries) != tt.tried || bus.tooMany {
					t.Errorf("%v, %d published of %d tried, too many at once: %t, said\n%s", err, len(bus.taken), len(bus.tries), bus.tooMany, &out)
				}
			})
		})
	}
}

func TestWhatIsRepublishedIsWhatTheTableStandsFor(t *testing.T) {
	db := dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
	book := ledger.New(db, "T", ledger.Options{})
	sellOut(t, book)
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op != "Query" && c.Op != "GetItem" && c.Op != "BatchGetItem" {
			t.Errorf("%s of the table", c.Op)
		}
		return dynamotest.Fault{}
	}
	path := filepath.Join(t.TempDir(), "events.jsonl")
	bus, err := localbus.Open(localbus.Options{Path: path, Buses: []string{"orders"}, AccountID: "000000000000", Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	bus.SetTrouble(localbus.Trouble{Share: 0.3})
	server := httptest.NewServer(bus)
	defer server.Close()
	client := eventbridge.New(eventbridge.Options{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), Retryer: aws.NopRetryer{}})
	publish := func(saleID string) {
		t.Helper()
		r := republishing{bus: eventbus.New(client, "orders", rand.Float64), out: io.Discard, show: func(int64, int64) {}}
		if err := r.end(saleID, "orders", book.Events(t.Context(), saleID, func(events []sale.Event) error { return r.publish(t.Context(), events) })); err != nil {
			t.Fatal(err)
		}
	}
	check := func(saleID string, want ...string) error {
		t.Helper()
		var out bytes.Buffer
		err := checkEvents(t.Context(), table{db}, "T", path, saleID, books.Options{Overdue: books.AtOnce,
			Sleep: func(context.Context, time.Duration) error { return nil }}, false, &out)
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("no %q in\n%s", text, &out)
			}
		}
		return err
	}
	if err := check("moutai", "NOT COMPLETE:\n  - event ", " was not published (P26)"); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	publish("moutai")
	publish("moutai")
	if err := check("moutai", "events of moutai in "+path+"\n", "  expected                  6\n  published                 6\n  repeated  ", "  under the same id", "complete: "); err != nil {
		t.Error(err)
	}
	if err := check("", "events of all sales and unknown orders in", "NOT COMPLETE:\n  - event RefundDue::stripe#none was not published (P26)\n"); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	publish("")
	if err := check("", "  expected                  7\n"); err != nil {
		t.Error(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = checkEvents(t.Context(), table{db}, "T", path, "moutai", books.Options{}, true, &out)
	var r books.EventReport
	if json.Unmarshal(out.Bytes(), &r) != nil || r.Expected != 6 || r.Waiting != 6 || !r.Complete || err != nil {
		t.Errorf("%v, %s", err, &out)
	}
	if err := checkEvents(t.Context(), table{db}, "T", path+"x", "moutai", books.Options{}, true, &out); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("no such file: %v", err)
	}
}

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
