package books

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

const tableName = "Ledger"

func newDB() *dynamotest.DB {
	return dynamotest.New(dynamotest.Table{Name: tableName, PK: "pk", SK: "sk"})
}

// world is a table that the real ledger writes.
type world struct {
	*ledgertest.World
	db *dynamotest.DB
}

func newWorld(t *testing.T) *world {
	db := newDB()
	return &world{World: ledgertest.NewWorld(t, ledgertest.Engine{API: db, Table: tableName}), db: db}
}

// buy buys for that many users, from user-<from> on; refused users have bought nothing.
func (w *world) buy(from, n int) (refs []ledger.ClaimRef) {
	w.T.Helper()
	for i := from; i < from+n; i++ {
		p, err := w.BuyWith(fmt.Sprintf("user-%d", i), "key")
		if sale.CodeOf(err) == sale.SoldOut {
			continue
		}
		c := w.Accepted(p, err).Claim
		refs = append(refs, ledger.ClaimRef{SaleID: c.SaleID, User: c.User, ClaimID: c.ID})
	}
	return refs
}

// pays reports a payment of a user's order.
func (w *world) pays(user, reference string) { w.T.Helper(); w.Settles(w.payment(user, reference)) }

func (w *world) payment(user, reference string) sale.Payment {
	w.T.Helper()
	claim, err := w.Ledger.Claim(w.Ctx, "moutai", user)
	w.Succeeds(nil, err)
	return ledgertest.PaymentOf(claim.OrderID, reference)
}

// refunds marks a payment as gone back.
func (w *world) refunds(payment string) {
	w.T.Helper()
	err := w.Ledger.MarkRefunds(w.Ctx, "moutai", []string{payment}, "")[0].Err
	w.Succeeds(nil, err)
}

func (w *world) withdraw(seedID string, units int64) {
	w.T.Helper()
	w.Succeeds(w.Ledger.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: seedID, Stock: units}))
}

func (w *world) edit(e sale.Edit) {
	w.T.Helper()
	w.Pass(time.Second)
	e.SaleID, e.At = "moutai", w.Now()
	w.Succeeds(w.Environment().Edit(w.Ctx, e))
}

func (w *world) pause(paused bool) { w.T.Helper(); w.edit(sale.Edit{Paused: &paused}) }

// items are copies of all items, by pk and sk.
func (w *world) items() items {
	all := items{}
	for _, it := range w.db.Items(tableName) {
		all[keyOf(it)] = it
	}
	return all
}

// items are a table that a test may tamper with.
type items map[key]item

func (all items) recount(t *testing.T, now time.Time) *Receipt {
	t.Helper()
	r, err := Of(slices.Collect(maps.Values(all))).Recount(t.Context(), "moutai", at(now))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// balanced recounts the sale from the table in every possible way, and expects no
// findings.
func (w *world) balanced() *Receipt {
	w.T.Helper()
	r := w.items().recount(w.T, w.Now())
	if !r.Balanced || len(r.Findings) > 0 {
		w.T.Errorf("read at once: %v", r.Findings)
	}
	w.db.PageBytes = 400 // a few items
	remote, err := Recount(w.Ctx, w.db, tableName, "moutai", Options{Now: w.Now, Sleep: noSleep, Full: true})
	w.db.PageBytes = 0
	if err != nil || remote.ReadUnits == 0 {
		w.T.Fatalf("read by calls: %+v (%v)", remote, err)
	}
	remote.ReadUnits = 0
	if diff := cmp.Diff(r, remote); diff != "" {
		w.T.Errorf("read by calls (-at once +by calls):\n%s", diff)
	}
	return r
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// has expects that a receipt has a finding of a promise which holds that text.
func has(t *testing.T, r *Receipt, promise, part string) {
	t.Helper()
	if r.Balanced || !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Promise == promise && strings.Contains(f.Text, part)
	}) {
		t.Errorf("%s with %q is not among %q", promise, part, r.Findings)
	}
}

// shown is what buyers see of a sale.
var shown = sale.Presentation{Image: "https://images.example/a.jpg", About: "53 % vol.\nNumbered.", Link: "https://shop.example/"}

// sold is a sale that was never edited: 8 units on 5 shards, 3 more, 9 claims, of which one is pending and
// one was sent again; at least one shard is marked empty.
func sold(t *testing.T) *world {
	w := newWorld(t)
	c := w.Sale(8, 5)
	c.Presentation = shown
	w.Create(c)
	w.Add("second-batch", 3)
	refs := w.buy(0, 9)
	last, err := w.Ledger.Claim(w.Ctx, "moutai", refs[8].User)
	w.Succeeds(nil, err)
	w.Pass(time.Minute)
	if mark, err := w.Ledger.MarkResent(w.Ctx, last, false); mark.IsZero() || err != nil {
		t.Fatalf("not sent again: %v", err)
	}
	w.Confirmed(refs[:8])
	w.Pass(2 * time.Minute)
	return w
}

// withdrawn is a sale of 12 units on 5 shards, 20 at most, from which 5 units were taken and then all that
// was left, and to which 2 were added afterwards; its text was corrected.
func withdrawn(t *testing.T) *world {
	w := newWorld(t)
	c := w.Sale(12, 5)
	c.MaxStock = 20
	c.About = shown.About
	w.Create(c)
	about := "54 % vol."
	w.Succeeds(w.Environment().Describe(w.Ctx, sale.Description{SaleID: "moutai", About: &about}))
	refs := w.buy(0, 3)
	w.withdraw("typo", 5)
	w.withdraw("rest", 9)
	w.Add("again", 2)
	w.Confirmed(append(refs, w.buy(3, 1)...))
	w.Pass(2 * time.Minute)
	return w
}

// grouped is a sale of 9 units on 5 shards in a group: one order is cancelled, one pending.
func grouped(t *testing.T) *world {
	w := newWorld(t)
	c := w.Sale(9, 5)
	c.LimitGroup, c.PayWithin = "shoe", 30*time.Minute
	w.Create(c)
	refs := w.buy(0, 4)
	w.Confirmed(refs[:3])
	w.Cancels("user-1")
	w.Pass(2 * time.Minute)
	return w
}

// settled is a sale of 14 units on 5 shards that asks for payment: user-0 and user-2 have paid, user-1 and
// user-9 have cancelled, user-8 has not paid, user-10 is pending, the others have expired. All units are back
// but that of user-9, some are sold again, and there are refunds for each reason.
func settled(t *testing.T) *world {
	w := newWorld(t)
	c := w.Sale(14, 5)
	c.PayWithin, c.Price, c.Currency, c.Labels = 30*time.Minute, 199900, "CNY", "sku=A-38,erp=4711"
	w.Create(c)
	w.Confirmed(w.buy(0, 8))
	w.pays("user-0", "pi_1")
	w.Cancels("user-1")
	w.Pass(32 * time.Minute)
	w.pays("user-2", "pi_2")
	w.ReleasesBy(w.Ledger)
	w.Confirmed(w.buy(8, 2))
	w.buy(10, 1)
	w.Cancels("user-9")
	w.pays("user-0", "pi_3")
	w.pays("user-3", "pi_4")
	less := w.payment("user-8", "pi_5")
	less.Amount--
	w.Settles(less)
	w.Settles(ledgertest.PaymentOf(0, "pi_6"))
	unknown := w.payment("user-0", "pi_7")
	unknown.SaleID = "maotai"
	w.Settles(unknown)
	w.refunds("stripe#pi_4")
	w.sends()
	w.Pass(2 * time.Minute)
	return w
}

// sends has a sending of two refunds, which ends, send pi_3, which is accepted, and pi_6, which is unknown.
func (w *world) sends() {
	w.T.Helper()
	s, _, err := w.Ledger.BeginSending(w.Ctx, sale.Sending{
		ID: sale.SendingID(w.Now(), "press"), AsOf: w.Now(), Count: 2, Sums: map[string]int64{"CNY": 2 * 199900},
		Scope:  sale.SendingScope{Payments: []sale.SalePayment{{SaleID: "moutai", Payment: "stripe#pi_3"}, {Payment: "stripe#pi_6"}}},
		Author: sale.Author{Actor: "kim", Note: "twice"},
	})
	w.Succeeds(nil, err)
	page, err := w.Ledger.SendingPage(w.Ctx, &s, 9)
	w.Succeeds(nil, err)
	for _, r := range page.Refunds {
		taken, _, err := w.Ledger.TakeRefund(w.Ctx, r, &s, "live")
		w.Succeeds(nil, err)
		if r.SaleID != "" {
			w.Succeeds(w.Ledger.NoteSent(w.Ctx, taken, taken.Sent.Accepted("re_1"), nil))
		}
	}
	ended := s
	ended.SendingProgress = sale.SendingProgress{Round: 1, Taken: 2, Amounts: s.Sums}
	ended.EndedAt = w.Now()
	w.Succeeds(w.Ledger.SaveSending(w.Ctx, s, ended))
}

// extendedSale is a sale of 9 units on 3 shards that asks for payment: three orders have expired, then all others were given
// two hours, two of which have expired after them; user-5 has paid late in that time.
func extendedSale(t *testing.T) *world {
	w := newWorld(t)
	c := w.Sale(9, 3)
	c.PayWithin, c.ClosesAt = 30*time.Minute, c.ClosesAt.Add(9*time.Hour)
	w.Create(c)
	w.Confirmed(w.buy(0, 3))
	w.Pass(32 * time.Minute)
	w.ReleasesBy(w.Ledger)
	w.Confirmed(w.buy(3, 3))
	w.Succeeds(w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", PayUntil: w.Now().Add(2 * time.Hour)}))
	w.Pass(time.Hour)
	w.ReleasesBy(w.Ledger)
	w.pays("user-5", "pi_1")
	w.Pass(time.Hour + 2*time.Minute)
	w.ReleasesBy(w.Ledger)
	w.Pass(2 * time.Minute)
	return w
}

// lateSale is a sale of 4 units on 2 shards with lateDays and extras that is over: user-0 expired when the last unit was sold, user-1 to
// user-3 have paid late, the last of them after the end; user-4 has expired a day after that.
func lateSale(t *testing.T) *world {
	w := newWorld(t)
	c := w.Sale(4, 2)
	c.PayWithin, c.LateFor, c.ClosesAt = 30*time.Minute, 24*time.Hour, c.ClosesAt.Add(9*time.Hour)
	c.Price, c.Currency, c.Extras = 199900, "CNY", true
	w.Create(c)
	w.Confirmed(w.buy(0, 3))
	w.Pass(8 * time.Hour)
	w.ReleasesBy(w.Ledger)
	taxed := w.payment("user-1", "pi_1")
	taxed.Goods, taxed.GoodsCurrency, taxed.Amount = taxed.Amount, taxed.Currency, 219900
	w.Settles(taxed)
	w.pays("user-2", "pi_2")
	w.Confirmed(w.buy(3, 1))
	w.ReleasesBy(w.Ledger)
	w.Pass(90 * time.Minute)
	w.Confirmed(w.buy(4, 1))
	w.Pass(12 * time.Hour)
	w.ReleasesBy(w.Ledger)
	w.pays("user-3", "pi_3")
	w.Pass(14 * time.Hour)
	w.ReleasesBy(w.Ledger)
	w.Pass(2 * time.Minute)
	return w
}

// recalledSale is a sale of 14 units on 5 shards that asks for no payment and was recalled: user-0 has paid all the
// same, and the orders of user-1 to user-5 are released.
func recalledSale(t *testing.T) *world {
	w := newWorld(t)
	w.Open(14, 5)
	w.Confirmed(w.buy(0, 6))
	w.pays("user-0", "pi_1")
	w.Pass(time.Minute)
	w.Succeeds(w.Ledger.Recall(w.Ctx, sale.Recall{SaleID: "moutai", Author: sale.Author{Note: "soles come off"}}))
	w.Pass(2 * time.Minute) // an earlier pass does not complete the recall
	w.ReleasesBy(w.Ledger)
	w.Pass(4 * time.Minute)
	return w
}

// cancelledSale is a sale of 9 units on 2 shards that asks for payment, whose operators have cancelled the orders of user-0 to
// user-3: the first two were paid, the units of user-0 and user-2 are back, and one that a buyer has cancelled. The payment of user-5 was
// paid back, and the order stands.
func cancelledSale(t *testing.T) *world {
	w := newWorld(t)
	w.OpenPriced(9, 2)
	w.Confirmed(w.buy(0, 6))
	w.pays("user-0", "pi_0")
	w.pays("user-1", "pi_1")
	w.Cancels("user-4")
	for i, saw := range []sale.ClaimState{sale.Paid, sale.Paid, sale.Confirmed, sale.Confirmed} {
		user := fmt.Sprint("user-", i)
		claim, err := w.Ledger.Claim(w.Ctx, "moutai", user)
		w.Succeeds(nil, err)
		w.Pass(time.Second)
		w.Succeeds(w.Ledger.CancelOrder(w.Ctx, sale.Cancellation{
			SaleID: "moutai", OrderID: claim.OrderID, ChangeID: user, Expected: saw, Unit: []sale.Unit{sale.UnitBack, sale.UnitKept}[i%2], Author: sale.Author{Actor: "ana", Note: "moved"},
		}))
	}
	w.ReleasesBy(w.Ledger)
	w.pays("user-5", "pi_5")
	w.Reports(ledgertest.BackOf("pi_5"))
	for _, id := range []string{"re_1", "re_2"} { // the mark comes between them
		w.Pass(time.Minute)
		w.Reports(ledgertest.MoneyOf("pi_0", sale.RefundReport{ID: id, State: sale.RefundFailed, Amount: 1}))
		w.Succeeds(nil, w.Ledger.MarkRefunds(w.Ctx, "moutai", []string{"stripe#pi_0"}, "kim")[0].Err)
		w.Reports(ledgertest.MoneyOf("pi_0", sale.RefundReport{ID: id, State: sale.RefundDone, Amount: 1}))
	}
	w.Reports(ledgertest.MoneyOf("pi_0", sale.RefundReport{ID: "re_3", State: sale.RefundFailed, Amount: 1}))
	w.Reports(ledgertest.MoneyOf("pi_0", sale.RefundReport{ID: "re_4", State: sale.RefundStuck, Amount: 1}))
	w.Confirmed(w.buy(6, 2))
	w.Pass(2 * time.Minute)
	return w
}

// drained is a sale that was paused, resumed and rescheduled, is over and drained.
func drained(t *testing.T) *world {
	w := newWorld(t)
	c := w.Open(12, 5)
	refs := w.buy(0, 3)
	w.pause(true)
	w.pause(false)
	w.edit(sale.Edit{OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour)})
	w.Confirmed(append(refs, w.buy(3, 3)...))
	w.Pass(3 * time.Hour)
	w.drain()
	return w
}

// drain has reconcile look at the sale for the last time.
func (w *world) drain() {
	w.T.Helper()
	r, err := w.Ledger.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
	w.Succeeds(nil, err)
	if done, err := w.Ledger.Drain(w.Ctx, r); !done || err != nil {
		w.T.Fatalf("not drained: %+v (%v)", r, err)
	}
}

// at are the options of a recount at that instant.
func at(now time.Time) Options { return Options{Now: func() time.Time { return now }, Sleep: noSleep} }
