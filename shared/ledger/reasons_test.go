package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// cancellations are the ways in which contention cancels a transaction of n actions:
// each kind of contention in each place, with "None", the item's own reason or other
// contention in the others.
func cancellations(n int) (all [][]string) {
	said := []string{"None", "", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
	total := 1
	for range n {
		total *= len(said)
	}
	for number := range total {
		codes, contended := make([]string, n), false
		for i, rest := 0, number; i < n; i, rest = i+1, rest/len(said) {
			codes[i] = said[rest%len(said)]
			contended = contended || rest%len(said) > 1
		}
		if contended {
			all = append(all, codes)
		}
	}
	return all
}

// transactions are the ledger's, with the number of their actions. Each wants a
// sale "moutai" of two units, except for the creation.
var transactions = []struct {
	name    string
	actions int
	run     func(*ledgertest.World) error
}{
	{"purchase", 2, func(w *ledgertest.World) error {
		_, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: "k"})
		return err
	}},
	{"create", 3, func(w *ledgertest.World) error {
		_, err := w.Environment().Create(w.Ctx, sale.Creation{
			SaleID: "other", Name: "other", Stock: 1, Shards: 1,
			OpensAt: ledgertest.Start, ClosesAt: ledgertest.Start.Add(time.Hour),
		})
		return err
	}},
	{"add", 4, func(w *ledgertest.World) error {
		_, err := w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1})
		return err
	}},
	{"pause", 1, func(w *ledgertest.World) error {
		yes := true
		_, err := w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: ledgertest.Start, Paused: &yes})
		return err
	}},
	{"reschedule", 2, func(w *ledgertest.World) error {
		_, err := w.Environment().Edit(w.Ctx, sale.Edit{
			SaleID: "moutai", At: ledgertest.Start, OpensAt: ledgertest.Start, ClosesAt: ledgertest.Start.Add(2 * time.Hour),
		})
		return err
	}},
}

func TestContentionInAnyPlaceOfACancellationMeansTryAgain(t *testing.T) {
	for _, tx := range transactions {
		cancelEach(t, tx.actions, func(w *ledgertest.World, cancel func()) error {
			cancel()
			return tx.run(w)
		}, tx.name)
	}
}

// cancelEach runs act over new sales; in each, one transaction of that many actions is
// cancelled in a different way after act has called cancel.
func cancelEach(t *testing.T, actions int, act func(w *ledgertest.World, cancel func()) error, name string) {
	t.Helper()
	for _, codes := range cancellations(actions) {
		synctest.Test(t, func(t *testing.T) { // the pauses between the tries take no time
			w, db, _ := faulty(t)
			w.Open(2, 1)
			left := 0
			db.Fault = func(c dynamotest.Call) dynamotest.Fault {
				if c.Op != "TransactWriteItems" || len(c.Keys) != actions || left == 0 {
					return dynamotest.Fault{}
				}
				left--
				return dynamotest.Fault{Kind: dynamotest.Cancel, Codes: codes}
			}
			err := act(w, func() { left = 1 })
			if left != 0 {
				err = errors.Join(err, errors.New("no transaction was cancelled"))
			}
			if err != nil {
				t.Errorf("%s, cancelled because of %s: %v", name, fmt.Sprintf("%q", codes), err)
			}
			w.Balanced(1)
		})
	}
}
