package books

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/shared/eventbus"
	"flashsale/shared/sale"
)

// envelope is an event as it is in a file.
func envelope(e sale.Event) string {
	return fmt.Sprintf(`{"version":"0","source":"flashsale","detail-type":%q,"time":"2026-11-11T20:00:00Z","detail":%s}`+"\n", e.Type, eventbus.Detail(e))
}

// published are the events of sales as the ledger and the event bus make them.
func (w *world) published(sales ...string) (lines []string) {
	w.T.Helper()
	for _, saleID := range sales {
		w.Succeeds(nil, w.Ledger.Events(w.Ctx, saleID, func(events []sale.Event) error {
			for _, e := range events {
				lines = append(lines, envelope(e))
			}
			return nil
		}))
	}
	return lines
}

// checkEvents compares these lines with the table; saleID is "" for all of it.
func (w *world) checkEvents(saleID string, o Options, lines ...string) *EventReport {
	w.T.Helper()
	path := filepath.Join(w.T.TempDir(), "events.jsonl")
	w.Succeeds(nil, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
	o.Now, o.Sleep = w.Now, noSleep
	r, err := CheckEvents(w.Ctx, w.db, tableName, path, saleID, o)
	w.Succeeds(nil, err)
	if r.Complete != (len(r.Findings) == 0) {
		w.T.Errorf("complete is %t with %v", r.Complete, r.Findings)
	}
	return r
}

func TestWhatTheFunctionsPublishIsWhatTheTableStandsFor(t *testing.T) {
	w := settled(t)
	lines := append(w.published("moutai", ""), `{"source":"somebody","detail-type":"OrderPaid","detail":{"saleId":"moutai"}}`+"\n")
	whole := w.checkEvents("", Options{Overdue: AtOnce}, append(lines, lines[0], lines[0], lines[1], `{"source":"flashs`)...)
	if whole.Expected != 22+2 || whole.Published != whole.Expected || whole.Repeated != 3 || !whole.Complete || whole.Waiting != 0 || whole.ReadUnits == 0 {
		t.Errorf("the whole table: %+v", whole)
	}
	one := w.checkEvents("moutai", Options{Overdue: AtOnce}, lines...)
	if one.Expected != 22 || one.Published != 22 || one.Repeated != 0 || !one.Complete {
		t.Errorf("one sale: %+v", one)
	}
	report := func(reference string, r sale.MoneyReport) {
		r.Provider, r.Reference, r.Currency = "stripe", reference, "CNY"
		w.Reports(r)
	}
	total := func(amount int64) {
		report("pi_1", sale.MoneyReport{Total: &sale.TotalReport{Amount: amount, Grows: true}})
	}
	total(5)
	report("pi_4", sale.MoneyReport{Refund: &sale.RefundReport{ID: "re_1", State: sale.RefundDone, Whole: true}})
	report("pi_4", sale.MoneyReport{Refund: &sale.RefundReport{ID: "re_1", State: sale.RefundFailed, Amount: 7}})
	report("pi_6", sale.MoneyReport{Dispute: &sale.DisputeReport{ID: "dp_1", State: sale.DisputeOpen}})
	lines = w.published("moutai", "")
	total(9)
	money := w.checkEvents("", Options{Overdue: AtOnce}, append(lines, w.published("moutai", "")...)...)
	if money.Expected != 22+2+1+2+1 || money.NotKept != 1 || !money.Complete {
		t.Errorf("with money, of which a total has grown: %+v", money)
	}
}

// While two releases run, and when a table is restored by a later one than has published its orders, the claim says what
// the event could not.
func TestAnEarlierReleaseHasPublishedLessOfAConfirmedOrder(t *testing.T) {
	w := settled(t)
	terms := regexp.MustCompile(`("state":"CONFIRMED"),"asksForPayment":\w+(,"payBy":"[^"]+")?(,"amount":\d+,"currency":"CNY")?`)
	lines, earlier := w.published("moutai", ""), []string{}
	for i, l := range lines {
		less := terms.ReplaceAllString(l, "$1")
		if earlier = append(earlier, less); less != l && i%2 == 0 {
			earlier = append(earlier, l) // it was published again
		}
	}
	if r := w.checkEvents("", Options{Overdue: AtOnce}, earlier...); slices.Equal(lines, earlier) || !r.Complete {
		t.Errorf("of an earlier release: %+v", r)
	}
	half := slices.Clone(lines)
	for i, l := range half {
		half[i] = strings.Replace(l, `"asksForPayment":true,`, "", 1)
	}
	if r := w.checkEvents("", Options{Overdue: AtOnce}, half...); slices.Equal(lines, half) || r.Complete {
		t.Errorf("with a part of the terms: %+v", r)
	}
}

func TestEachKindOfWrongPublicationIsNamed(t *testing.T) {
	edited := func(from, to string) func([]string) []string {
		return func(lines []string) []string {
			for i, l := range lines {
				if strings.Contains(l, from) {
					lines[i] = strings.Replace(l, from, to, 1)
					return lines
				}
			}
			t.Fatalf("no line has %s", from)
			return nil
		}
	}
	added := func(line string) func([]string) []string {
		return func(lines []string) []string { return append(lines, line+"\n") }
	}
	for name, tt := range map[string]struct {
		publish func([]string) []string
		wants   []string
	}{
		"one is missing": {func(lines []string) []string { return lines[1:] }, []string{"was not published"}},
		"all are missing": {func([]string) []string { return nil }, []string{"event OrderPaid:", "event RefundDue:moutai:stripe#pi_3 was not published",
			"event RefundDue::stripe#pi_6 was not published"}},
		"another user":            {edited(`"user":"user-0"`, `"user":"user-00"`), []string{"does not say what is in the table", `"user":"user-00"`}},
		"another state":           {edited(`"state":"EXPIRED"`, `"state":"CANCELLED"`), []string{"does not say what is in the table"}},
		"another amount":          {edited(`"amount":199900`, `"amount":1999000`), []string{"does not say what is in the table"}},
		"another instant":         {edited(`"occurredAt":"2026`, `"occurredAt":"2025`), []string{"does not say what is in the table"}},
		"a member too few":        {edited(`"releasedBy":"expiry"`, `"note":""`), []string{"does not say what is in the table"}},
		"a member too many":       {edited(`"schemaVersion":1`, `"schemaVersion":1,"shard":0`), []string{"does not say what is in the table"}},
		"another type":            {edited(`"detail-type":"OrderPaid"`, `"detail-type":"OrderReleased"`), []string{"does not say what is in the table"}},
		"another id":              {edited(`"id":"OrderPaid:`, `"id":"OrderPaid:1`), []string{"is not in the table", "was not published"}},
		"another sale":            {edited(`"saleId":"moutai"`, `"saleId":"maotai"`), []string{`"saleId":"maotai"`}},
		"an order of nobody":      {added(`{"source":"flashsale","detail-type":"OrderConfirmed","detail":{"id":"OrderConfirmed:1","saleId":"moutai"}}`), []string{"line 25: event OrderConfirmed:1 is not in the table"}},
		"cut off":                 {added(`{"source":"flashsale","detail-type":"Ord`), []string{`line 25 is no event: invalid character '\n' in string literal: "{\"source`}},
		"two in a line":           {added(`{"source":"flashsale"}{}`), []string{"line 25 is no event: there is more than one value"}},
		"drained, but it is not":  {added(envelope(sale.Event{Type: sale.EventDrained, ID: "SaleDrained:moutai:0", SaleID: "moutai", OccurredAt: time.UnixMilli(1)})), []string{"event SaleDrained:moutai:0 is not in the table"}},
		"sold out, of no version": {added(envelope(sale.Event{Type: sale.EventSoldOut, ID: "SaleSoldOut:moutai:99", SaleID: "moutai", OccurredAt: time.UnixMilli(1)})), []string{"event SaleSoldOut:moutai:99 is not in the table"}},
		"sold out, of no sale":    {added(envelope(sale.Event{Type: sale.EventSoldOut, ID: "SaleSoldOut:none:1", SaleID: "none", OccurredAt: time.UnixMilli(1)})), []string{"event SaleSoldOut:none:1 is not in the table"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t)
			r := w.checkEvents("", Options{Overdue: AtOnce}, tt.publish(w.published("moutai", ""))...)
			for _, want := range tt.wants {
				if r.Complete || !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Promise == "P26" && strings.Contains(f.Text, want) }) {
					t.Errorf("no %q among %q", want, r.Findings)
				}
			}
		})
	}
}

func TestAnEventThatIsNotOverdueMayStillCome(t *testing.T) {
	w := newWorld(t)
	w.Open(8, 2)
	w.Confirmed(w.buy(0, 3))
	w.Pass(time.Minute)
	if r := w.checkEvents("moutai", Options{}); r.Waiting != 3 || !r.Complete {
		t.Errorf("after a minute: %+v", r)
	}
	if r := w.checkEvents("moutai", Options{Overdue: time.Minute}); r.Waiting != 0 || len(r.Findings) != 3 {
		t.Errorf("after its bound: %+v", r)
	}
}

func TestEventsOfWhatCannotBeReadAreAnError(t *testing.T) {
	w := sold(t)
	path := filepath.Join(t.TempDir(), "events.jsonl")
	check := func(db DynamoDB, saleID string) error {
		_, err := CheckEvents(w.Ctx, db, tableName, path, saleID, Options{Now: w.Now, Sleep: noSleep})
		return err
	}
	if err := check(w.db, "moutai"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	w.Succeeds(nil, os.WriteFile(path, nil, 0o600))
	for _, saleID := range []string{"none", "no id"} {
		if err := check(w.db, saleID); !errors.Is(err, ErrNoSale) {
			t.Errorf("%s: %v", saleID, err)
		}
	}
	for _, at := range []key{{salePK, "SALE"}, {"SALES", "moutai"}} {
		all := w.items()
		all.set(at, "minReader", number("99"))
		if err := check(load(t, all), ""); !errors.Is(err, ErrNewerVersion) {
			t.Errorf("%v for a newer version: %v", at, err)
		}
	}
}
