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

func TestRepublishingEndsWithItsContextAndWithTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		bus := &busOf{t: t, taken: map[string]int{}, tries: map[string]int{}, refuse: func(sale.Event, int) error { return sale.Fail(sale.Busy, errors.New("later")) }}
		var out bytes.Buffer
		r := republishing{bus: bus, out: &out, show: func(int64, int64) {}}
		err := r.publish(ctx, []sale.Event{{ID: "a"}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := r.end("moutai", "orders", err); err == nil || errors.Is(err, errNotPublished) || !strings.Contains(err.Error(), "repeat the command") || !strings.Contains(out.String(), "\n0 of 1 events") {
			t.Errorf("%v, said\n%s", err, &out)
		}
	})
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

const refund = `{"pk":{"S":"REFUND#"},"sk":{"S":"stripe#pi_1"},"reason":{"S":"unknown-order"},"amount":{"N":"5"},"currency":{"S":"CNY"},"at":{"N":"1799668800000"}}`

func TestAReceiptComparesEventsOnRequest(t *testing.T) {
	for _, flags := range [][]string{{"receipt", "-sale", "moutai"}, {"receipt", "-all"}} {
		err := stackOver(t, answers("moutai")).does(t, io.Discard, append(flags, "-bound", "1ns", "-events", "none.jsonl")...)
		if err == nil || !strings.Contains(err.Error(), "read events: open none.jsonl") {
			t.Errorf("%v: %v", flags, err)
		}
	}
	if err := (&place{apiPort: 1}).does(t, io.Discard, "receipt", "-events", "none.jsonl"); err == nil || !strings.Contains(err.Error(), "name the sale") {
		t.Errorf("of no sale: %v", err)
	}
}

func TestAnEnvironmentsEventsArePublishedToItsBus(t *testing.T) {
	for name, tt := range map[string]struct {
		flags       []string
		answer, bus string
		want        string
		err         error
	}{
		"its own":    {nil, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`, "shop-orders", "1 of 1 events of unknown orders were published to shop-orders\n", nil},
		"another":    {[]string{"-bus", "$(x) y"}, `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`, "$(x) y", "1 of 1 events of unknown orders were published to $(x) y\n", nil},
		"it refuses": {nil, `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"MalformedDetail","ErrorMessage":"no"}]}`, "shop-orders", "  RefundDue::stripe#pi_1: ", errNotPublished},
	} {
		t.Run(name, func(t *testing.T) {
			config, calls := account(t, map[string]string{"DynamoDB_20120810.Query": `{"Items":[` + refund + `],"Count":1}`, "AWSEvents.PutEvents": tt.answer})
			var out bytes.Buffer
			err := run(t.Context(), append([]string{"-env", "dev", "-config", config, "republish", "-unknown"}, tt.flags...), &out)
			if !errors.Is(err, tt.err) || !strings.HasPrefix(out.String(), tt.want) {
				t.Errorf("%v, %q, want %q", err, &out, tt.want)
			}
			want := []string{"eu-west-1 AWSEvents.DescribeEventBus", "eu-west-1 DynamoDB_20120810.Query", "eu-west-1 AWSEvents.PutEvents"}
			var got []string
			for _, c := range *calls {
				got = append(got, c.Region+" "+c.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("asked (-want +got):\n%s", diff)
			}
			entry := (*calls)[len(got)-1].Body["Entries"].([]any)[0].(map[string]any)
			if entry["EventBusName"] != tt.bus || entry["DetailType"] != "RefundDue" || !strings.Contains(fmt.Sprint(entry["Detail"]), `"id":"RefundDue::stripe#pi_1"`) {
				t.Errorf("published %v", entry)
			}
		})
	}
}

func TestABusMustBeThereAndOneThatIsNotTheSystemsOwnMustBeSeen(t *testing.T) {
	const gone = `{"__type":"ResourceNotFoundException","message":"Event bus does not exist."}`
	const denied = `{"__type":"AccessDeniedException","message":"no"}`
	for _, tt := range []struct {
		answer  string
		flags   []string
		missing string // the bus, if nothing is published
	}{
		{gone, nil, "shop-orders"}, {gone, []string{"-bus", "orderz"}, "orderz"},
		{denied, nil, ""}, {denied, []string{"-bus", "shop-orders"}, ""}, {denied, []string{"-bus", "another"}, "another"},
	} {
		config, calls := account(t, map[string]string{
			"AWSEvents.DescribeEventBus": tt.answer, "DynamoDB_20120810.Query": `{"Items":[` + refund + `],"Count":1}`,
			"AWSEvents.PutEvents": `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`,
		})
		err := run(t.Context(), append([]string{"-env", "dev", "-config", config, "republish", "-unknown"}, tt.flags...), io.Discard)
		if tt.missing == "" && (err != nil || len(*calls) != 3) ||
			tt.missing != "" && (err == nil || !strings.Contains(err.Error(), "find the bus "+tt.missing+": ") || len(*calls) != 1) {
			t.Errorf("%v, %s: %v, asked %+v", tt.flags, tt.answer, err, *calls)
		}
	}
}

func TestNothingIsPublishedWithoutASaleOrABus(t *testing.T) {
	config, calls := account(t, nil)
	for says, args := range map[string][]string{
		`"" is not a sale id; name the sale: make republish SALE=moutai`: {"-env", "dev", "-config", config, "republish"},
		"give only one of SALE and UNKNOWN=1":                            {"-env", "dev", "-config", config, "republish", "-sale", "moutai", "-unknown"},
		"the system publishes no events":                                 {"-table", "T", "republish", "-sale", "moutai"},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), args, &out); err == nil || !strings.Contains(err.Error(), says) || out.Len() > 0 {
			t.Errorf("%v: %v, said %q, want %q", args, err, &out, says)
		}
	}
	if len(*calls) > 0 {
		t.Errorf("asked: %+v", *calls)
	}
}
