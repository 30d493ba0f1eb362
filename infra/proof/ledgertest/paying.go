package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// aReport is a way to report one and the same payment. Each case has orders of its own: one
// that is not paid, another such one, one that is released and one that is paid.
type aReport struct {
	name string
	of   func(*fates) sale.Payment
	// fate is what becomes of a payment that is reported so first: "paid", the reason of a
	// refund, or "" if it must be reported again.
	fate string
}

// reports are the ways in which reports of a payment may contradict each other.
var reports = []aReport{
	{"right", func(f *fates) sale.Payment { return PaymentOf(f.next("unpaid"), "") }, "paid"},
	{"no sale named", func(f *fates) sale.Payment { p := PaymentOf(f.next("unpaid"), ""); p.SaleID = ""; return p }, "paid"},
	{"wrong amount", func(f *fates) sale.Payment { p := PaymentOf(f.next("unpaid"), ""); p.Amount--; return p }, "amount"},
	{"wrong currency", func(f *fates) sale.Payment { p := PaymentOf(f.next("unpaid"), ""); p.Currency = "USD"; return p }, "amount"},
	{"other sale", func(f *fates) sale.Payment { p := PaymentOf(f.next("unpaid"), ""); p.SaleID = "maotai"; return p }, "unknown-order"},
	{"other order", func(f *fates) sale.Payment { return PaymentOf(f.next("other"), "") }, "paid"},
	{"released order", func(f *fates) sale.Payment { return PaymentOf(f.next("released"), "") }, "released"},
	{"order paid by another", func(f *fates) sale.Payment { return PaymentOf(f.next("paid"), "") }, "other-payment"},
	{"no order", func(*fates) sale.Payment { return PaymentOf(0, "") }, "unknown-order"},
	{"order that never was", func(f *fates) sale.Payment { return PaymentOf(f.old, "") }, "unknown-order"},
	{"order of the far future", func(f *fates) sale.Payment { return PaymentOf(f.future, "") }, "unknown-order"},
	{"order that may be late", func(f *fates) sale.Payment { return PaymentOf(f.young, "") }, ""},
}

// fates is a sale with fresh orders for each case.
type fates struct {
	*World
	orders             map[string][]uint64
	old, young, future uint64 // ids without an order
	cases              int
}

// next returns the order of that kind that belongs to the current case.
func (f *fates) next(kind string) uint64 { return f.orders[kind][f.cases] }

func newFates(w *World, cases int) *fates {
	w.T.Helper()
	w.OpenPriced(int64(4*cases), 4)
	f := &fates{World: w, orders: map[string][]uint64{}}
	for _, kind := range []string{"unpaid", "other", "released", "paid"} {
		var users []string
		for i := range cases {
			users = append(users, fmt.Sprint(kind, "-", i))
		}
		f.orders[kind] = w.Ordered(users...)
		for i, user := range users {
			switch kind {
			case "released":
				w.Cancels(user)
			case "paid":
				w.Settles(PaymentOf(f.orders[kind][i], fmt.Sprint("before-", i)))
			}
		}
	}
	var err error
	f.old, err = orderid.New(w.Now().Add(-ledger.LateOrderWait-time.Hour), 1)
	w.Succeeds(nil, err)
	f.young, err = orderid.New(w.Now(), 1<<31)
	w.Succeeds(nil, err)
	f.future, err = orderid.New(w.Now().Add(100*ledger.LateOrderWait), 1)
	w.Succeeds(nil, err)
	return f
}

// payment returns the report's payment in the current case.
func (f *fates) payment(r aReport) sale.Payment {
	p := r.of(f)
	p.Reference = fmt.Sprint("case-", f.cases)
	return p
}

// reported makes the reports, one after the other, and then all of them again: each gets the
// fate of the first one that was recorded.
func (f *fates) reported(all ...aReport) {
	f.T.Helper()
	name, first := "", aReport{}
	for i, r := range append(all[:len(all):len(all)], all...) {
		if i < len(all) {
			name += " > " + r.name
		}
		if first.fate == "" {
			first = r
		}
		done, err := f.Environment().Pay(f.Ctx, f.payment(r))
		f.answered(fmt.Sprintf("%s, report %d", name, i), first, r, done, err)
	}
	f.cases++
}

// answered compares the answer to a report with the fate of the first one.
func (f *fates) answered(name string, first, r aReport, done ledger.Settlement, err error) {
	f.T.Helper()
	p, was := f.payment(r), f.payment(first)
	got := "paid"
	if done.Refund != nil {
		got = string(done.Refund.Reason)
	}
	contradicts := p.OrderID != was.OrderID || p.Amount != was.Amount || p.Currency != was.Currency
	switch {
	case first.fate == "":
		if sale.CodeOf(err) != sale.Busy {
			f.T.Errorf("%s: got %+v (%v), want busy", name, done, err)
		}
	case err != nil || got != first.fate || done.Contradicts != contradicts:
		f.T.Errorf("%s: got %s, %+v (%v), want %s, contradicting: %t", name, got, done, err, first.fate, contradicts)
	}
}

// settledOnce expects that every payment of the cases is exactly one claim's or one refund's.
func (f *fates) settledOnce(cases int) {
	f.T.Helper()
	times := map[string]int{}
	for bucket := range sale.BucketsFor(4) {
		for _, it := range f.Partition(fmt.Sprintf("CLAIM#moutai#%d", bucket)) {
			if p, ok := it["payment"].(*types.AttributeValueMemberS); ok {
				times[p.Value]++
			}
		}
	}
	for _, of := range []string{"moutai", "", "maotai"} {
		for _, it := range f.Partition("REFUND#" + of) {
			times[it["sk"].(*types.AttributeValueMemberS).Value]++
		}
	}
	recorded := 0
	for payment, n := range times {
		recorded++
		if n != 1 || f.Item("PAYMENT#"+payment, "PAYMENT") == nil {
			f.T.Errorf("%s is recorded %d times (P24)", payment, n)
		}
	}
	same(f.T, recorded, cases)
	f.Settled(4)
}

var paying = map[string]func(*testing.T, *World){
	"a payment whose order item is late waits for it, for a day": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		refs := w.bought("alice")
		id := w.confirmedWithoutOrder(refs[0])
		early, late := PaymentOf(id, "pi_1"), PaymentOf(id, "pi_2")
		w.moment(orderid.Time(id).Add(ledger.LateOrderWait - time.Millisecond))
		w.Refused(sale.Busy, errOf(w.Ledger.Pay(w.Ctx, early)))
		w.Pass(time.Millisecond)
		w.refunded(late, "", "", sale.RefundUnknownOrder)
		w.Confirmed(refs) // reconciliation had its message sent again
		w.Pass(time.Hour)
		done := w.Settles(late)
		check(t, done.Refund != nil && done.Refund.Reason == sale.RefundUnknownOrder, "got %+v: a payment became a refund due and its order's (P24)", done)
		done = w.Settles(early)
		check(t, done.Refund == nil && w.claimOf("alice").Payment == early.ID(), "got %+v (%+v), want it paid", done, done.Refund)
		hasLen(t, w.refunds(""), 1)
	},
	"a payment whose order appears while it is looked for is not refunded": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		refs := w.bought("alice")
		id := w.Ordered("bob")[0] + 1 // what alice is going to get
		w.Pass(ledger.LateOrderWait + time.Second)
		appears := w.overtaken("TransactWriteItems", func() {
			// Its id was reserved a day ago.
			past := ledger.New(w.Engine.API, w.Engine.Table, ledger.Options{Now: func() time.Time { return Start }})
			if c := past.Confirm(w.Ctx, refs)[0]; c.Err != nil || c.Order.ID != id {
				t.Fatalf("got %+v, want order %d", c, id)
			}
		})
		w.Refused(sale.Busy, errOf(appears.Pay(w.Ctx, PaymentOf(id, "pi_1"))))
		done := w.Settles(PaymentOf(id, "pi_1"))
		check(t, done.Refund == nil, "got %+v, want it paid", done.Refund)
		w.hasNoItem("REFUND#", "stripe#pi_1")
	},
	"a payment has one fate, in whatever order two reports of it come": func(t *testing.T, w *World) {
		f := newFates(w, len(reports)*len(reports))
		for _, a := range reports {
			for _, b := range reports {
				f.reported(a, b)
			}
		}
		f.settledOnce(2*f.cases - 1) // each case's payment but one that nobody could record; and what had paid before
	},
	"a payment has one fate, also if a report is written while another one is": func(t *testing.T, w *World) {
		f := newFates(w, len(reports)*len(reports))
		for _, a := range reports {
			for _, b := range reports {
				first := b
				if b.fate == "" {
					first = a
				}
				slow := w.overtaken("BatchGetItem", func() { _, _ = f.Environment().Pay(f.Ctx, f.payment(b)) })
				if done, err := slow.Pay(f.Ctx, f.payment(a)); a.fate != "" {
					f.answered(a.name+" while "+b.name, first, a, done, err)
				}
				f.cases++
			}
		}
		f.settledOnce(2*f.cases - 1)
	},
	"what is recorded is known to be, and nothing else": func(t *testing.T, w *World) {
		f := newFates(w, 1)
		late := PaymentOf(f.next("released"), "pi_2")
		w.Settles(late)
		for name, tt := range map[string]struct {
			payment sale.Payment
			want    bool
		}{
			"paid":                      {PaymentOf(f.next("paid"), "before-0"), true},
			"paid, of another order":    {PaymentOf(f.young, "before-0"), true},
			"of an order that is there": {PaymentOf(f.next("other"), "before-0"), true},
			"to be refunded":            {late, true},
			"another of a paid order":   {PaymentOf(f.next("paid"), "pi_3"), false},
			"of an order that is late":  {PaymentOf(f.young, "pi_3"), false},
			"of no order":               {PaymentOf(0, "pi_3"), false},
			"of another, unpaid, order": {PaymentOf(f.next("other"), "pi_3"), false},
		} {
			gives(t, tt.want, "%s", name)(w.Ledger.Recorded(w.Ctx, tt.payment))
		}
	},
}
