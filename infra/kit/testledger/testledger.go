// Package testledger is the real ledger over the in-process table, in virtual time, for the
// tests of its users: it opens sales and plays the buyers whom a test needs.
package testledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// The sale and the buyers that the requests in the folder events/ are about.
const (
	SaleID       = "moutai"
	Alice, Bob   = "alice", "bob"
	AlicesClaim  = "5LJQBKBVNQ2XRCM7KD3V4HTYWA"
	BobsClaim    = "QZ6WPOE3T2NFGA7JXUHV5RMDCI"
	AlicesNumber = "406709376884146177" // of her order, if it is confirmed first, 6 seconds after Began
)

// Began is when each world begins.
var Began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// table has a name that no answer may quote.
const table = "ledger-7"

// World is one table. Its calls fail the test if the ledger refuses them.
type World struct {
	T  *testing.T
	DB *dynamotest.DB
}

// Run runs a test in a new world.
func Run(t *testing.T, test func(w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(Began))
		test(&World{T: t, DB: dynamotest.New(dynamotest.Table{Name: table, PK: "pk", SK: "sk"})})
	})
}

// must fails the test if a step failed.
func (w *World) must(_ any, err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// Ledger returns the ledger of a new environment, which remembers nothing.
func (w *World) Ledger() *ledger.Ledger { return w.LedgerWith(ledger.Options{}) }

// LedgerWith returns the ledger of a new environment with these options.
func (w *World) LedgerWith(o ledger.Options) *ledger.Ledger { return ledger.New(w.DB, table, o) }

// Nowhere returns a ledger over a table that does not exist: each of its calls fails in a way
// that has no code of its own.
func (w *World) Nowhere() *ledger.Ledger { return ledger.New(w.DB, "ledger-8", ledger.Options{}) }

// Open creates the sale of the events, with 2 units in one shard unless changed.
func (w *World) Open(changes ...func(*sale.Creation)) {
	w.T.Helper()
	c := sale.Creation{
		SaleID: SaleID, Name: "Feitian Moutai", Stock: 2, Shards: 1,
		OpensAt: Began, ClosesAt: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for _, change := range changes {
		if change != nil {
			change(&c)
		}
	}
	if err := c.Check(); err != nil {
		w.T.Fatal(err)
	}
	w.must(w.Ledger().Create(w.T.Context(), c))
}

// Draft leaves a sale of that id whose creation is cut off. It lasts an hour from now unless
// changed.
func (w *World) Draft(saleID string, changes ...func(*sale.Creation)) {
	w.T.Helper()
	w.DB.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("PutItem", "STOCK#"+saleID+"#0|STOCK")
	c := sale.Creation{SaleID: saleID, Stock: 4, Shards: 2, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour)}
	for _, change := range changes {
		change(&c)
	}
	if _, err := w.Ledger().Create(w.T.Context(), c); err == nil {
		w.T.Fatal("created")
	}
	w.DB.Fault = nil
}

// Edit changes the sale's window or pauses it, or another sale of that id.
func (w *World) Edit(e sale.Edit) {
	w.T.Helper()
	e.SaleID = cmp.Or(e.SaleID, SaleID)
	w.must(w.Ledger().Edit(w.T.Context(), e))
}

// Pause pauses the sale.
func (w *World) Pause() {
	w.T.Helper()
	paused := true
	w.Edit(sale.Edit{Paused: &paused})
}

// Recall recalls the sale.
func (w *World) Recall() {
	w.T.Helper()
	w.must(w.Ledger().Recall(w.T.Context(), sale.Recall{SaleID: "moutai", Author: sale.Author{Note: "a batch is defective"}}))
}

// Sells opens the sale, of 100 units in 5 shards unless changed, of which alice claims one five seconds later.
func (w *World) Sells(changes ...func(*sale.Creation)) {
	w.T.Helper()
	w.Open(append([]func(*sale.Creation){func(c *sale.Creation) { c.Stock, c.Shards = 100, 5 }}, changes...)...)
	time.Sleep(5 * time.Second)
	w.Buy(Alice, AlicesClaim, "k")
}

// Confirms gives alice's claim its order id, a second later.
func (w *World) Confirms() {
	w.T.Helper()
	time.Sleep(time.Second)
	w.Confirm(ledger.ClaimRef{SaleID: SaleID, User: Alice, ClaimID: AlicesClaim})
}

// Buy makes a user's claim of that id, by a request with that key.
func (w *World) Buy(user, claimID, requestKey string) ledger.ClaimRef {
	w.T.Helper()
	return w.BuyIn(SaleID, user, claimID, requestKey)
}

// BuyIn makes a claim in another sale.
func (w *World) BuyIn(saleID, user, claimID, requestKey string) ledger.ClaimRef {
	w.T.Helper()
	l := w.LedgerWith(ledger.Options{NewID: func() string { return claimID }})
	w.must(l.Purchase(w.T.Context(), ledger.Request{SaleID: saleID, User: user, Key: requestKey}))
	return ledger.ClaimRef{SaleID: saleID, User: user, ClaimID: claimID}
}

// Crowd makes a claim for each of that many users, called "user-" with the numbers from first on.
func (w *World) Crowd(saleID string, first, users int) []ledger.ClaimRef {
	w.T.Helper()
	l := w.Ledger()
	refs := make([]ledger.ClaimRef, users)
	for i := range refs {
		p, err := l.Purchase(w.T.Context(), ledger.Request{SaleID: saleID, User: fmt.Sprint("user-", first+i)})
		w.must(p, err)
		refs[i] = ledger.ClaimRef{SaleID: saleID, User: p.Claim.User, ClaimID: p.Claim.ID}
	}
	return refs
}

// SellOut sells every unit that is left, to users called "quicker-0" and on.
func (w *World) SellOut() {
	w.T.Helper()
	for i := 0; ; i++ {
		_, err := w.Ledger().Purchase(w.T.Context(), ledger.Request{SaleID: SaleID, User: fmt.Sprint("quicker-", i)})
		if sale.CodeOf(err) == sale.SoldOut {
			return
		}
		if err != nil {
			w.T.Fatal(err)
		}
	}
}

// Confirm gives claims their order ids.
func (w *World) Confirm(refs ...ledger.ClaimRef) {
	w.T.Helper()
	for _, c := range w.Ledger().Confirm(w.T.Context(), refs) {
		if c.Err != nil {
			w.T.Fatal(c.Err)
		}
	}
}

// Pay reports a payment by stripe of that reference and amount, in CNY, of a user's order.
func (w *World) Pay(user, reference string, amount int64) ledger.Settlement {
	w.T.Helper()
	return w.PayIn(SaleID, user, reference, amount)
}

// PayIn reports a payment of an order of another sale; without a user, of an order that nobody knows.
func (w *World) PayIn(saleID, user, reference string, amount int64) ledger.Settlement {
	w.T.Helper()
	p := sale.Payment{Provider: "stripe", Reference: reference, SaleID: saleID, Amount: amount, Currency: "CNY"}
	if user != "" {
		p.OrderID = w.ClaimIn(saleID, user).OrderID
	}
	done, err := w.Ledger().Pay(w.T.Context(), p)
	if err != nil {
		w.T.Fatal(err)
	}
	return done
}

// Cancel cancels a user's order.
func (w *World) Cancel(user string) {
	w.T.Helper()
	w.must(w.Ledger().Cancel(w.T.Context(), SaleID, user))
}

// Release releases what is due, without a grace.
func (w *World) Release() {
	w.T.Helper()
	l := w.Ledger()
	listing, err := l.Listing(w.T.Context(), SaleID)
	w.must(listing, err)
	w.must(l.ReleaseDue(w.T.Context(), listing, 0))
}

// Claim returns a user's claim as it is stored; the zero claim for none.
func (w *World) Claim(user string) sale.Claim {
	w.T.Helper()
	return w.ClaimIn(SaleID, user)
}

// ClaimIn returns a user's claim in another sale.
func (w *World) ClaimIn(saleID, user string) sale.Claim {
	w.T.Helper()
	c, err := w.Ledger().Claim(w.T.Context(), saleID, user)
	if err != nil && sale.CodeOf(err) != sale.OrderNotFound {
		w.T.Fatal(err)
	}
	return c
}

// Receipt returns the sale's books according to the table.
func (w *World) Receipt() *ledger.Receipt {
	w.T.Helper()
	r, err := w.Ledger().Step(w.T.Context(), &ledger.Audit{SaleID: SaleID}, func(sale.Claim) {})
	if err != nil || r == nil {
		w.T.Fatalf("receipt %v, %v", r, err)
	}
	return r
}

// Calls runs what calls the table and returns how often it did.
func (w *World) Calls(run func()) (n int) {
	w.T.Helper()
	w.DB.ResetUsage()
	run()
	for calls := range maps.Values(w.DB.Calls()) {
		n += calls
	}
	return n
}

// Throttles makes the table refuse every call.
func (w *World) Throttles() {
	w.DB.Fault = func(dynamotest.Call) dynamotest.Fault { return dynamotest.Fault{Kind: dynamotest.Throttle} }
}

// Newer makes an item say that only a newer version may read it.
func (w *World) Newer(pk, sk string) { w.Tamper(pk, sk, "minReader", 99) }

// Tamper adds n to a number of an item behind the ledger's back.
func (w *World) Tamper(pk, sk, attribute string, n int64) {
	w.T.Helper()
	w.must(nil, w.DB.Tamper(w.T.Context(), table, pk, sk, attribute, n))
}

// Within calls f with a context that ends after that time.
func (w *World) Within(timeout time.Duration, f func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(w.T.Context(), timeout)
	defer cancel()
	f(ctx)
}
