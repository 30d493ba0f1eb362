package ledgertest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// records calls change and returns the events of all items, by their keys' order. Items that it left as they
// were are records, too, as some engines have them.
func (w *World) records(change func()) []sale.Event {
	w.T.Helper()
	before := w.table()
	change()
	after := w.table()
	var events []sale.Event
	for _, key := range slices.Sorted(maps.Keys(after)) {
		changes, err := ledger.Changes(before[key], after[key], w.Now())
		if err != nil {
			w.T.Fatalf("changes of %v: %v", after[key], err)
		}
		events = append(events, changes...)
	}
	return events
}

// published expects exactly these events of a change.
func (w *World) published(change func(), want ...sale.Event) {
	w.T.Helper()
	noDiff(w.T, want, w.records(change))
}

const labels = "sku=A-38,campaign=1111"

// of is an event of an order of a sale with labels.
func of(t sale.EventType, c sale.Claim, state sale.ClaimState, at time.Time) sale.Event {
	return sale.Event{
		Type: t, ID: string(t) + ":" + orderid.String(c.OrderID), OccurredAt: at,
		SaleID: "moutai", OrderID: c.OrderID, ClaimID: c.ID, User: c.User, State: state, Labels: labels,
	}
}

var publishing = map[string]func(*testing.T, *World){
	"each change of an order is one event, and the table still has it": func(t *testing.T, w *World) {
		var refs []ledger.ClaimRef
		c := w.Sale(6, 2)
		c.PayWithin, c.Price, c.Currency, c.Labels = payWithin, 199900, "CNY", labels
		w.published(func() { w.Create(c); refs = w.bought("alice", "bob", "carol") })
		w.Pass(time.Second)
		confirmedAt := w.Now()
		var ids []uint64
		events := w.records(func() { ids = w.Confirmed(refs) })
		claims := make([]sale.Claim, len(refs))
		var all []sale.Event
		for i, r := range refs {
			claims[i] = sale.Claim{OrderID: ids[i], ID: r.ClaimID, User: r.User}
			confirmed := of(sale.EventConfirmed, claims[i], sale.Confirmed, confirmedAt)
			asks := true
			confirmed.AsksForPayment, confirmed.PayBy, confirmed.Amount, confirmed.Currency = &asks, confirmedAt.Add(payWithin), 199900, "CNY"
			all = append(all, confirmed)
		}
		noDiff(t, all, events)
		w.published(func() { w.Confirmed(refs) })

		w.Pass(time.Minute)
		paid := of(sale.EventPaid, claims[0], sale.Paid, w.Now())
		paid.Payment, paid.Amount, paid.Currency = "stripe#pi_1", 199900, "CNY"
		pay := func() { w.Settles(PaymentOf(ids[0], "pi_1")) }
		w.published(pay, paid)
		w.published(pay)

		w.Pass(time.Minute)
		cancelled := of(sale.EventReleased, claims[1], sale.Cancelled, w.Now())
		cancelled.ReleasedBy = sale.ByBuyer
		cancel := func() {
			w.Cancels("bob")
		}
		w.published(cancel, cancelled)
		w.published(cancel)

		w.Pass(payWithin + grace)
		expired := of(sale.EventReleased, claims[2], sale.Expired, w.Now())
		expired.ReleasedBy = sale.ByExpiry
		w.published(func() { w.ReleasesBy(w.Environment()) }, expired)
		w.published(func() { w.ReleasesBy(w.Environment()) })

		w.Pass(time.Minute)
		late := sale.Event{
			Type: sale.EventRefundDue, ID: "RefundDue:moutai:stripe#pi_3", OccurredAt: w.Now(), SaleID: "moutai", OrderID: ids[2], User: "carol",
			Payment: "stripe#pi_3", Reason: sale.RefundReleased, Amount: 199900, Currency: "CNY", Labels: labels,
		}
		w.published(func() { w.Settles(PaymentOf(ids[2], "pi_3")) }, late)
		w.published(func() {
			if m := w.Ledger.MarkRefunds(w.Ctx, "moutai", []string{"stripe#pi_3"}, "")[0]; m.Err != nil || !m.Marked {
				t.Fatalf("got %+v, want it marked", m)
			}
		})
		unknown := sale.Event{
			Type: sale.EventRefundDue, ID: "RefundDue::stripe#pi_4", OccurredAt: w.Now(),
			Payment: "stripe#pi_4", Reason: sale.RefundUnknownOrder, Amount: 199900, Currency: "CNY",
		}
		w.published(func() { w.Settles(PaymentOf(0, "pi_4")) }, unknown)

		w.has("moutai", append(all, paid, cancelled, expired, late)...)
		w.has("", unknown)
	},
	"what is heard of a payment's money is an event, once its order is known": func(t *testing.T, w *World) {
		w.OpenUnpaid(6, 2)
		ids := w.Ordered("alice")
		money := sale.Event{
			Type: sale.EventRefundDone, ID: "RefundDone:stripe#pi_1:re_pi_1", OccurredAt: w.Now(), SaleID: "moutai", OrderID: ids[0],
			Payment: "stripe#pi_1", RefundID: "re_pi_1", Amount: 199900, Currency: "CNY",
		}
		report := func() { w.Reports(BackOf("pi_1")) }
		w.published(report)
		w.Pass(time.Minute)
		events := w.records(func() { w.Settles(PaymentOf(ids[0], "pi_1")) })
		check(t, len(events) == 2 && slices.Contains(events, money), "got %+v, want that it is paid, and %+v", events, money)
		w.published(report)
		failed := money
		failed.Type, failed.ID, failed.OccurredAt = sale.EventRefundFailed, "RefundFailed:stripe#pi_1:re_pi_1", w.Now()
		w.published(func() {
			w.Reports(MoneyOf("pi_1", sale.RefundReport{ID: "re_pi_1", State: sale.RefundFailed, Amount: 199900}))
		}, failed)
		all := w.eventsIn("moutai")
		check(t, len(all) == 4 && slices.Contains(all, money) && slices.Contains(all, failed), "the table has %+v", all)
	},
	"a sale that is sold out again says so again": func(t *testing.T, w *World) {
		c := w.Sale(2, 1)
		c.Labels = labels
		w.Create(c)
		soldOut := func(version string) sale.Event {
			return sale.Event{Type: sale.EventSoldOut, ID: "SaleSoldOut:moutai:" + version, OccurredAt: w.Now(), SaleID: "moutai", Labels: labels}
		}
		w.published(func() { w.bought("alice", "bob") })
		refuse := func(user string) func() {
			return func() {
				w.Refused(sale.SoldOut, w.buys(user))
			}
		}
		w.published(refuse("carol"), soldOut("1"))
		w.published(refuse("dave"))
		w.Pass(time.Second)
		w.edit(sale.Edit{SaleID: "moutai", Paused: new(true), At: w.Now()})
		w.edit(sale.Edit{SaleID: "moutai", Paused: new(false), At: w.Now().Add(time.Millisecond)})
		w.Add("more", 1)
		w.Pass(time.Minute)
		w.published(func() { w.bought("erin") })
		w.published(refuse("frank"), soldOut("4"))
	},
	"an addition is an event": func(_ *testing.T, w *World) {
		w.Open(2, 1)
		added := sale.Event{
			Type: sale.EventChanged, ID: "SaleChanged:moutai:seed:more", OccurredAt: w.Now(), SaleID: "moutai",
			Change: sale.Change{ID: "more", Action: sale.ActionAdd, At: w.Now(), Units: 1},
		}
		w.published(func() { w.Add("more", 1) }, added)
		w.has("moutai", added)
	},
	"the end of a sale is an event, once": func(t *testing.T, w *World) {
		c := w.Sale(2, 1)
		c.Labels = labels
		w.Create(c)
		w.Ordered("alice")
		w.Pass(2 * time.Hour)
		end := sale.Event{
			Type: sale.EventDrained, ID: "SaleDrained:moutai:" + strconv.FormatInt(c.ClosesAt.UnixMilli(), 10), OccurredAt: c.ClosesAt, SaleID: "moutai",
			Labels: labels,
		}
		var r ledger.Receipt
		w.published(func() { r, _ = w.audit() })
		drain := func() {
			if !w.drained(r) {
				t.Fatalf("not drained by %+v", r)
			}
		}
		w.published(drain, end)
		w.published(drain)
		got := w.eventsIn("moutai")
		check(t, len(got) == 2 && got[1] == end, "the table has %+v", got)
	},
	"the closing of a roll is an event, and its dice are not": func(t *testing.T, w *World) {
		c := w.Drawn(2, 1)
		w.Create(c)
		w.moment(c.EnterUntil.Add(settle))
		closed := sale.Event{
			Type: sale.EventRollClosed, ID: "RollClosed:moutai", OccurredAt: w.Now(), SaleID: "moutai",
			Roll: sale.Roll{Entrants: 3, Digest: draw.Digest{9}.String(), Round: 12},
		}
		w.published(func() { // as CloseRoll does it
			w.place(attributes(map[string]any{
				"pk": "DRAW#moutai", "sk": "HEAD", "roll": draw.Digest{9}.String(), "entrants": 3, "round": 12, "closedAt": w.Now(),
			}))
		}, closed)
		w.published(func() {
			w.Succeeds(nil, w.Environment().SetSeed(w.Ctx, w.state().Sale, seed, []byte("signature")))
		})
		if !slices.Contains(w.eventsIn("moutai"), closed) {
			t.Errorf("the table has %+v", w.eventsIn("moutai"))
		}
	},
	"an item for a newer version is no event": func(t *testing.T, w *World) {
		w.Open(2, 1)
		w.Ordered("alice")
		before := w.Partition("CLAIM#moutai#0")[0]
		for _, version := range []any{sale.Reads + 1, "2"} {
			w.needs("CLAIM#moutai#0", "alice", version)
			newer := w.Partition("CLAIM#moutai#0")[0]
			want := sale.NewerVersion
			if version == "2" {
				want = sale.Internal
			}
			for _, images := range [][2]ledger.Image{{nil, newer}, {before, newer}, {newer, before}} {
				events, err := ledger.Changes(images[0], images[1], w.Now())
				check(t, sale.CodeOf(err) == want && events == nil, "got %+v (%v), want %s", events, err, want)
			}
			w.Refused(want, w.Ledger.Events(w.Ctx, "moutai", func([]sale.Event) error { return nil }))
		}
	},
	"an item that cannot be read hides no other's events, and is an error in the end": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 8) // two buckets
		users := append(usersOf(0, 2, 2), usersOf(1, 2, 1)...)
		ids := w.Ordered(users...)
		w.Settles(PaymentOf(ids[2], "pi_1"))
		for _, reference := range []string{"pi_2", "pi_3"} {
			w.Settles(PaymentOf(ids[2], reference))
		}
		if all := w.eventsIn("moutai"); len(all) != 6 {
			t.Fatalf("got %+v, want three orders, a payment and two refunds", all)
		}
		w.tamper("CLAIM#moutai#0", users[0], "REMOVE acceptedAt", nil)
		w.tamper("REFUND#moutai", "stripe#pi_2", "REMOVE reason", nil)
		var listed []string
		err := w.Ledger.Claims(w.Ctx, "moutai", func(_ sale.Sale, claims []sale.Claim) error {
			for _, c := range claims {
				listed = append(listed, c.User)
			}
			return nil
		})
		diff := cmp.Diff(users[1:], listed)
		check(t, diff == "" && sale.CodeOf(err) == sale.Internal, "claims (-want +got):\n%s%v", diff, err)
		n := 0
		err = w.Ledger.Events(w.Ctx, "moutai", func(page []sale.Event) error {
			n += len(page)
			return nil
		})
		check(t, n == 4 && sale.CodeOf(err) == sale.Internal, "%d events, %v; want those of the other orders, of the payment and of the other refund", n, err)
	},
}

// eventsIn are the events that the table has of a sale.
func (w *World) eventsIn(saleID string) (all []sale.Event) {
	w.T.Helper()
	err := w.Environment().Events(w.Ctx, saleID, func(page []sale.Event) error {
		all = append(all, page...)
		return nil
	})
	w.Succeeds(nil, err)
	return all
}

// has expects the table to have exactly these events of a sale.
func (w *World) has(saleID string, want ...sale.Event) {
	w.T.Helper()
	got := w.eventsIn(saleID)
	for _, list := range [][]sale.Event{got, want} {
		slices.SortFunc(list, func(a, b sale.Event) int { return strings.Compare(a.ID, b.ID) })
	}
	noDiff(w.T, want, got)
}
