package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// Start is where the clock of a World stands first.
var Start = time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)

// World is a table, a clock and the verbs of the tests.
type World struct {
	T      *testing.T
	Engine Engine
	Ctx    context.Context
	// Ledger is one execution environment; Environment makes another.
	Ledger *ledger.Ledger

	mu  sync.Mutex
	now time.Time
	ids int
	// overtakes counts the sales of overtake and pairs, and interleavings those that leavesOut was asked about.
	overtakes, interleavings int
}

// NewWorld is a world over an engine, with its clock at Start.
func NewWorld(t *testing.T, e Engine) *World {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	w := &World{T: t, Engine: e, Ctx: ctx, now: Start}
	w.Ledger = w.Environment()
	return w
}

// Environment is a ledger with an empty memory, as a new execution environment
// has it.
func (w *World) Environment() *ledger.Ledger { return w.EnvironmentOver(w.Engine.API) }

// EnvironmentOver is the same over another view of the table.
func (w *World) EnvironmentOver(api ledger.API) *ledger.Ledger {
	if w.Engine.Between != nil {
		api = w.Engine.Between(api)
	}
	return ledger.New(api, w.Engine.Table, ledger.Options{Now: w.Now, NewID: w.newID, Secret: secret})
}

// leavesOut reports whether the next interleaving is one that is not tried over this engine.
func (w *World) leavesOut() bool {
	w.interleavings++
	return w.Engine.OneIn > 1 && w.interleavings%w.Engine.OneIn != 1
}

// Now is the instant that every ledger of this world sees.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Pass lets time pass.
func (w *World) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// moment sets the clock.
func (w *World) moment(at time.Time) { w.Pass(at.Sub(w.Now())) }

func (w *World) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return "claim-" + strconv.Itoa(w.ids)
}

// Sale is a creation of a sale that opened a minute ago and closes in an hour.
func (w *World) Sale(stock int64, shards int) sale.Creation {
	return sale.Creation{
		SaleID: "moutai", Name: "Feitian Moutai", Stock: stock, Shards: shards,
		OpensAt: w.Now().Add(-time.Minute), ClosesAt: w.Now().Add(time.Hour),
	}
}

// Open creates a sale of that stock and shards, or ends the test.
func (w *World) Open(stock int64, shards int) sale.Creation {
	w.T.Helper()
	c := w.Sale(stock, shards)
	if s := w.Create(c); !s.Applied {
		w.T.Fatalf("create: not applied: %+v", s)
	}
	return c
}

// Create creates a sale, or ends the test.
func (w *World) Create(c sale.Creation) ledger.Seeding {
	w.T.Helper()
	w.Succeeds(nil, c.Check())
	s, err := w.Ledger.Create(w.Ctx, c)
	w.Succeeds(nil, err)
	return s
}

const (
	payWithin = 30 * time.Minute
	grace     = 2 * time.Minute
)

// OpenUnpaid creates a sale that asks for payment within half an hour.
func (w *World) OpenUnpaid(stock int64, shards int) sale.Creation {
	w.T.Helper()
	c := w.Sale(stock, shards)
	c.PayWithin = payWithin
	w.Create(c)
	return c
}

// OpenPriced creates one that asks for 1,999.00.
func (w *World) OpenPriced(stock int64, shards int) sale.Creation {
	w.T.Helper()
	c := w.Sale(stock, shards)
	c.PayWithin, c.Price, c.Currency = payWithin, 199900, "CNY"
	w.Create(c)
	return c
}

// limited opens a sale with a maxStock.
func (w *World) limited(stock int64, shards int, maxStock int64) sale.Creation {
	w.T.Helper()
	c := w.Sale(stock, shards)
	c.MaxStock = maxStock
	w.Create(c)
	return c
}

// openIn creates a sale of 9 units in a group.
func (w *World) openIn(group, saleID string, shards int) sale.Creation {
	w.T.Helper()
	c := w.Sale(9, shards)
	c.SaleID, c.LimitGroup = saleID, group
	w.Create(c)
	return c
}

// Buy buys for a user, in the world's own environment.
func (w *World) Buy(user string) (ledger.PurchaseResult, error) {
	return w.Ledger.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user})
}

// BuyWith buys with an Idempotency-Key.
func (w *World) BuyWith(user, key string) (ledger.PurchaseResult, error) {
	return w.Ledger.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user, Key: key})
}

// Accepted expects that a purchase is accepted.
func (w *World) Accepted(p ledger.PurchaseResult, err error) ledger.PurchaseResult {
	w.T.Helper()
	w.Succeeds(nil, err)
	return p
}

// Refused expects a code.
func (w *World) Refused(want sale.Code, err error) *sale.Error {
	w.T.Helper()
	if got := sale.CodeOf(err); got != want {
		w.T.Fatalf("got %q (%v), want %q", got, err, want)
	}
	e, _ := errors.AsType[*sale.Error](err)
	return e
}

// buyIn buys in a new environment.
func (w *World) buyIn(saleID, user string) (ledger.PurchaseResult, error) {
	return w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: saleID, User: user})
}

func (w *World) bought(users ...string) []ledger.ClaimRef {
	w.T.Helper()
	refs := make([]ledger.ClaimRef, len(users))
	for i, user := range users {
		c := w.Accepted(w.Buy(user)).Claim
		refs[i] = ledger.ClaimRef{SaleID: c.SaleID, User: c.User, ClaimID: c.ID}
	}
	return refs
}

func (w *World) Confirmed(refs []ledger.ClaimRef) []uint64 {
	w.T.Helper()
	ids := make([]uint64, len(refs))
	for i, c := range w.Ledger.Confirm(w.Ctx, refs) {
		if c.Err != nil {
			w.T.Fatalf("confirm %v: %v", refs[i], c.Err)
		}
		ids[i] = c.Order.ID
	}
	return ids
}

func people(n int) []string {
	users := make([]string, n)
	for i := range users {
		users[i] = fmt.Sprintf("user-%02d", i)
	}
	return users
}

// usersOf are n users of one bucket of a sale with that many.
func usersOf(bucket, buckets, n int) []string {
	var users []string
	for i := 0; len(users) < n; i++ {
		if user := fmt.Sprint("user-", i); sale.BucketOf(user, buckets) == bucket {
			users = append(users, user)
		}
	}
	return users
}

// Ordered buys for the users and confirms their claims.
func (w *World) Ordered(users ...string) []uint64 {
	w.T.Helper()
	return w.Confirmed(w.bought(users...))
}

// PaymentOf is a payment of an order.
func PaymentOf(orderID uint64, reference string) sale.Payment {
	return sale.Payment{Provider: "stripe", Reference: reference, SaleID: "moutai", OrderID: orderID, Amount: 199900, Currency: "CNY"}
}

// BackOf is the report of its provider that it has paid a payment back, as a whole and in one refund.
func BackOf(reference string) sale.MoneyReport {
	return MoneyOf(reference, sale.RefundReport{ID: "re_" + reference, State: sale.RefundDone, Amount: 199900})
}

// MoneyOf is a report of a refund of a payment.
func MoneyOf(reference string, r sale.RefundReport) sale.MoneyReport {
	return sale.MoneyReport{Provider: "stripe", Reference: reference, Currency: "CNY", MayBeOurs: true, Refund: &r}
}

// Reports records a report of money, or ends the test.
func (w *World) Reports(r sale.MoneyReport) ledger.MoneyTaken {
	w.T.Helper()
	w.Succeeds(nil, r.Check(w.Now()))
	done, err := w.Environment().ReportMoney(w.Ctx, r)
	w.Succeeds(nil, err)
	return done
}

// Settles records a payment, or ends the test.
func (w *World) Settles(p sale.Payment) ledger.Settlement {
	w.T.Helper()
	w.Succeeds(nil, p.Check())
	done, err := w.Environment().Pay(w.Ctx, p)
	w.Succeeds(nil, err)
	return done
}

// refunded expects that a payment is to be refunded for that reason, at its first report
// and at its repeat.
func (w *World) refunded(p sale.Payment, saleID, user string, reason sale.RefundReason) {
	w.T.Helper()
	at := w.Now()
	for _, isNew := range []bool{true, false} {
		got := w.Settles(p)
		want := sale.Refund{
			SaleID: saleID, Payment: p.ID(), OrderID: p.OrderID, User: user, Reason: reason, Amount: p.Amount, Currency: p.Currency, At: at,
		}
		check(w.T, got.Refund != nil && *got.Refund == want && got.New == isNew, "got %+v, refund %+v, want %+v, new: %t", got, got.Refund, want, isNew)
		w.Pass(time.Second)
	}
}

// ReleasesBy makes a pass in that environment.
func (w *World) ReleasesBy(l *ledger.Ledger) ledger.ReleaseResult {
	w.T.Helper()
	listing, err := l.Listing(w.Ctx, "moutai")
	w.Succeeds(nil, err)
	done, err := l.ReleaseDue(w.Ctx, listing, grace)
	w.Succeeds(nil, err)
	return done
}

// releases makes a complete pass that releases and puts back so many.
func (w *World) releases(released int, putBack int64) ledger.ReleaseResult {
	w.T.Helper()
	done := w.ReleasesBy(w.Environment())
	check(w.T, done.Complete && done.Released == released && done.PutBack == putBack, "got %+v, want %d released and %d put back", done, released, putBack)
	return done
}

// releasesNothing makes a pass that is not complete, and releases nothing and puts nothing back.
func (w *World) releasesNothing(l *ledger.Ledger) {
	w.T.Helper()
	done := w.ReleasesBy(l)
	check(w.T, !done.Complete && done.Released == 0 && done.PutBack == 0, "got %+v, want nothing released", done)
}

// states expects the state of each user's claim.
func (w *World) states(want map[string]sale.ClaimState) {
	w.T.Helper()
	for user, state := range want {
		c, err := w.Environment().Claim(w.Ctx, "moutai", user)
		check(w.T, err == nil && c.State() == state, "%s: got %+v (%v), want %s", user, c, err, state)
	}
}

// Cancels cancels the orders of users, or ends the test.
func (w *World) Cancels(users ...string) {
	w.T.Helper()
	for _, user := range users {
		w.Succeeds(w.Ledger.Cancel(w.Ctx, "moutai", user))
	}
}

// Current is the sale as a new environment reads it.
func (w *World) Current() sale.Sale {
	w.T.Helper()
	s, err := w.Environment().Sale(w.Ctx, "moutai")
	w.Succeeds(nil, err)
	return s
}

// Listing is the sale in the list of sales.
func (w *World) Listing() ledger.Listing {
	w.T.Helper()
	listing, err := w.Ledger.Listing(w.Ctx, "moutai")
	w.Succeeds(nil, err)
	return listing
}

func (w *World) claimOf(user string) sale.Claim {
	w.T.Helper()
	c, err := w.Environment().Claim(w.Ctx, "moutai", user)
	w.Succeeds(nil, err)
	return c
}

// Add adds units, or ends the test.
func (w *World) Add(seedID string, units int64) ledger.Seeding {
	w.T.Helper()
	s, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: seedID, Stock: units})
	w.Succeeds(nil, err)
	return s
}

func (w *World) edit(e sale.Edit) ledger.Edited {
	w.T.Helper()
	s, err := w.Ledger.Edit(w.Ctx, e)
	w.Succeeds(nil, err)
	return s
}

// marksRefunded marks a refund of a sale as done.
func (w *World) marksRefunded(saleID, payment string) {
	w.T.Helper()
	if m := w.Environment().MarkRefunds(w.Ctx, saleID, []string{payment}, "")[0]; m.Err != nil || !m.Marked {
		w.T.Fatalf("mark %s refunded: got %+v", payment, m)
	}
}

// refunds are the refunds of a sale, due and done.
func (w *World) refunds(saleID string) []sale.Refund {
	w.T.Helper()
	all, err := w.Environment().Refunds(w.Ctx, saleID)
	w.Succeeds(nil, err)
	return all
}

// orderedIn buys for a user in a sale and confirms the claim.
func (w *World) orderedIn(saleID, user string) uint64 {
	w.T.Helper()
	c := w.Accepted(w.buyIn(saleID, user)).Claim
	return w.Confirmed([]ledger.ClaimRef{{SaleID: saleID, User: user, ClaimID: c.ID}})[0]
}

// drafts leaves a draft: the creation of the sale is cut off.
func (w *World) drafts(c sale.Creation) {
	w.T.Helper()
	ctx, cut := w.cutAfter(1)
	w.Refused(sale.Busy, errOf(cut.Create(ctx, c)))
}

// buys buys in an environment that remembers nothing.
func (w *World) buys(user string) error { return w.buysWith(user, "") }

// buysWith buys with an Idempotency-Key. Whoever has one hears for certain of a claim.
func (w *World) buysWith(user, key string) error {
	_, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user, Key: key, CallGap: gap})
	return err
}

// allBuy expects that each of the users may buy.
func (w *World) allBuy(users ...string) {
	w.T.Helper()
	for _, user := range users {
		err := w.buys(user)
		check(w.T, err == nil, "%s: %v", user, err)
	}
}

// changes makes a change of a sale, or ends the test.
func (w *World) changes(saleID string, action sale.Action, id string, by sale.Author) {
	w.T.Helper()
	if _, err := w.changeIn(saleID, w.Environment(), action, id, by); err != nil {
		w.T.Fatalf("%s: %v", action, err)
	}
}

// confirmedWithoutOrder gives a claim its order id, and dies before it writes the order item.
func (w *World) confirmedWithoutOrder(ref ledger.ClaimRef) uint64 {
	w.T.Helper()
	ctx, dying := w.cutAfter(2) // the sequence, the claim; no order
	c := dying.Confirm(ctx, []ledger.ClaimRef{ref})[0]
	if c.Err == nil {
		w.T.Fatal("an order item was written")
	}
	return c.Order.ID
}

// errOf is the error of a call with another result.
func errOf(_ any, err error) error { return err }

// Succeeds expects that a call has no error, or ends the test.
func (w *World) Succeeds(_ any, err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// refusedBecause expects a code, and a detail that says why.
func (w *World) refusedBecause(why string, want sale.Code, err error) {
	w.T.Helper()
	e := w.Refused(want, err)
	check(w.T, strings.Contains(e.Detail, why), "refused with %v, want %q", e, why)
}
