package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/ops/cli"
	"flashsale/shared/eventbus"
	"flashsale/shared/sale"
)

// busOf publishes events by one.
func busOf(one func(e sale.Event) error) func(context.Context, []sale.Event) []error {
	return func(_ context.Context, events []sale.Event) (errs []error) {
		for _, e := range events {
			errs = append(errs, one(e))
		}
		return errs
	}
}

func TestEveryEventIsPublishedOrListed(t *testing.T) {
	events := make([]sale.Event, 3000)
	for i := range events {
		events[i] = sale.Event{Type: sale.EventConfirmed, ID: fmt.Sprintf("OrderConfirmed:%d", i), SaleID: "moutai"}
	}
	busy := sale.Fail(sale.Busy, errors.New("put event: ThrottlingException:\nslow"))
	for want, tt := range map[string]struct {
		refuses func(id string) bool
		err     string
	}{
		"3000 of 3000 events of sale moutai were published to orders\nSaleSoldOut is not among them, because the table does not keep it\n": {func(string) bool { return false }, ""},
		"  OrderConfirmed:1500: busy: put event: ThrottlingException: slow\n2999 of 3000 events of sale moutai were published to orders\n": {
			func(id string) bool { return id == "OrderConfirmed:1500" }, "NOT PUBLISHED: the bus refused 1 events"},
		"  and 150 more\n0 of 200 events of sale moutai were published to orders\n": {
			func(string) bool { return true }, "NOT PUBLISHED: the bus refused 200 events, so the others were not tried; repeat the command when it takes them"},
	} {
		var out bytes.Buffer
		r := republishing{out: &out, show: func(int64, int64) {}, bus: busOf(func(e sale.Event) error {
			if tt.refuses(e.ID) {
				return busy
			}
			return nil
		})}
		err := r.end("moutai", "orders", r.publish(t.Context(), events))
		if err == nil != (tt.err == "") || err != nil && (err.Error() != tt.err || cli.Code(err) != cli.ExitBad) || !strings.Contains(out.String(), want) {
			t.Errorf("%v; said\n%s\nwant\n%s", err, &out, want)
		}
	}
}

func TestWhatIsRepublishedIsWhatTheTableStandsFor(t *testing.T) {
	selling(t, sale.Creation{Stock: 3}, func(t *testing.T, w *world) {
		// Of three units one is paid twice, one cancelled. A payment of an unknown order comes, too.
		alice := w.ordered("alice")
		w.ordered("bob")
		w.ordered("carol")
		w.pay("first", alice, 89900)
		w.pay("second", alice, 89900)
		w.pay("none", "", 89900)
		w.ok(w.book.Cancel(t.Context(), "moutai", "bob"))
		time.Sleep(time.Hour) // every event is overdue
		path := file(t, "")
		events, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		w.ok(events, err)
		defer events.Close()
		publish := func(saleID string) {
			t.Helper()
			r := republishing{out: io.Discard, show: func(int64, int64) {}, bus: busOf(func(e sale.Event) error {
				_, err := fmt.Fprintf(events, `{"source":%q,"detail-type":%q,"detail":%s}`+"\n", eventbus.Source, e.Type, eventbus.Detail(e))
				return err
			})}
			w.ok(nil, r.end(saleID, "orders", w.book.Events(t.Context(), saleID, func(events []sale.Event) error { return r.publish(t.Context(), events) })))
		}
		one, all := "books receipt moutai --events "+path, "books receipt --all --events "+path
		w.says(one, cli.ExitBad, "NOT COMPLETE:\n  - event ", " was not published (P26)")
		publish("moutai")
		publish("moutai")
		w.says(one, cli.ExitFine, "events of moutai in "+path+"\n", "  expected                  6\n  published                 6\n  repeated                  6  under the same id", "complete: ")
		w.says(all, cli.ExitBad, "events of all sales and unknown orders in", "NOT COMPLETE:\n  - event RefundDue::stripe#none was not published (P26)\n")
		publish("")
		w.says(all, cli.ExitFine, "  expected                  7\n")
		w.says(one+" -o json", cli.ExitFine, `"expected": 6`, `"complete": true`)
	})
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
		"its own is gone":             {"", gone, takes, "flashsale: find the bus shop-orders: ", ""},
		"another is gone":             {"orderz", gone, takes, "flashsale: find the bus orderz: ", ""},
		"its own cannot be looked at": {"shop-orders", denied, takes, done + "shop-orders\n", "shop-orders"},
		"another cannot be looked at": {"another", denied, takes, "flashsale: find the bus another: ", ""},
	} {
		config, calls := account(t, map[string]string{
			"AWSEvents.DescribeEventBus": tt.there, "DynamoDB_20120810.Query": `{"Items":[` + refund + `],"Count":1}`, "AWSEvents.PutEvents": tt.answer,
		})
		code := cli.ExitUnknown
		if name == "it refuses" {
			code = cli.ExitBad
		} else if strings.HasPrefix(tt.want, done) {
			code = cli.ExitFine
		}
		if said, got := inDev(t, config, "event", "republish", "--unknown", "--bus", tt.bus); !strings.HasPrefix(said, tt.want) || got != code {
			t.Errorf("%s: exit %d, %q, want %q", name, got, said, tt.want)
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
