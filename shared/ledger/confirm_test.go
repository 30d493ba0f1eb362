package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// claimed returns a world with the claims of n buyers.
func claimed(t *testing.T, n int) (*ledgertest.World, *dynamotest.DB, []ledger.ClaimRef) {
	t.Helper()
	w, db, _ := faulty(t)
	w.Open(int64(n), 1)
	refs := make([]ledger.ClaimRef, n)
	for i := range refs {
		c := w.Accepted(w.Buy(fmt.Sprintf("user-%02d", i))).Claim
		refs[i] = ledger.ClaimRef{SaleID: c.SaleID, User: c.User, ClaimID: c.ID}
	}
	return w, db, refs
}

// batches gives the n-th batch of statements, counted from 0, a fault, and records how
// many statements each batch had.
func batches(db *dynamotest.DB, faults map[int]dynamotest.Fault) *[]int {
	var mu sync.Mutex
	sizes := &[]int{}
	db.Fault = dynamotest.On("BatchExecuteStatement", "", func(c dynamotest.Call) dynamotest.Fault {
		mu.Lock()
		defer mu.Unlock()
		*sizes = append(*sizes, len(c.Keys))
		return faults[len(*sizes)-1]
	})
	return sizes
}

// inOrder checks that every claim has its own order: one id, recorded on the
// claim and on the order item.
func inOrder(t *testing.T, w *ledgertest.World, got []ledger.Confirmation, refs []ledger.ClaimRef) {
	t.Helper()
	seen := map[uint64]bool{}
	for i, c := range got {
		if c.Err != nil {
			t.Errorf("%v: %v", refs[i], c.Err)
			continue
		}
		held, err := w.Ledger.Claim(w.Ctx, refs[i].SaleID, refs[i].User)
		if err != nil || held.OrderID != c.Order.ID || seen[c.Order.ID] {
			t.Errorf("%v: order %d, on the claim %d (%v), issued before: %v", refs[i], c.Order.ID, held.OrderID, err, seen[c.Order.ID])
		}
		seen[c.Order.ID] = true
		want := sale.Order{ID: c.Order.ID, SaleID: refs[i].SaleID, User: refs[i].User, ClaimID: refs[i].ClaimID}
		if o, err := w.Ledger.Order(w.Ctx, c.Order.ID); err != nil || o != want || c.Order != want {
			t.Errorf("got order %+v and %+v (%v), want %+v", c.Order, o, err, want)
		}
	}
}

func fresh(got []ledger.Confirmation) (n int) {
	for _, c := range got {
		if c.New {
			n++
		}
	}
	return n
}

func TestABatchOfConfirmationsCostsTheSameCallsHoweverLarge(t *testing.T) {
	for n, chunks := range map[int]int{1: 1, 10: 1, 25: 1, 26: 2, 60: 3} {
		w, db, refs := claimed(t, n)
		var got []ledger.Confirmation
		calls(t, db, fmt.Sprint(n, " claims"), map[string]int{"BatchGetItem": chunks, "UpdateItem": chunks, "BatchExecuteStatement": 2 * chunks},
			func() { got = w.Ledger.Confirm(w.Ctx, refs) })
		if fresh(got) != n {
			t.Errorf("%d of %d are new", fresh(got), n)
		}
		inOrder(t, w, got, refs)

		calls(t, db, fmt.Sprint(n, " claims again"), map[string]int{"BatchGetItem": 2 * chunks, "BatchExecuteStatement": chunks},
			func() { w.Ledger.Confirm(w.Ctx, refs) })
	}
}

func TestTheStatementThatMeetsContentionIsTriedAgainAlone(t *testing.T) {
	for name, fault := range map[string]dynamotest.Fault{
		"a conflict":      {Kind: dynamotest.Conflict, Items: []int{7}},
		"throttled":       {Kind: dynamotest.Throttle, Items: []int{7}},
		"a hot partition": {Kind: dynamotest.Throttle, Items: []int{7}, Code: "ProvisionedThroughputExceeded"},
	} {
		for at, want := range [][]int{{25, 1, 25}, {25, 25, 1}} {
			w, db, refs := claimed(t, 25)
			sizes := batches(db, map[int]dynamotest.Fault{at: fault})
			got := w.Ledger.Confirm(w.Ctx, refs)
			if diff := cmp.Diff(want, *sizes); diff != "" {
				t.Errorf("%s in batch %d: batches (-want +got):\n%s", name, at, diff)
			}
			if fresh(got) != 25 {
				t.Errorf("%s: %d of 25 are new", name, fresh(got))
			}
			inOrder(t, w, got, refs)
		}
	}
}

func TestABatchThatIsAppliedLateChangesNoOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := dynamotest.Fault{Kind: dynamotest.ApplyLate}
		for at := range 2 { // retried in the same invocation
			w, db, refs := claimed(t, 25)
			batches(db, map[int]dynamotest.Fault{at: late})
			got := w.Ledger.Confirm(w.Ctx, refs)
			before := db.Dump()
			if db.ApplyPending() != 1 || db.Dump() != before {
				t.Errorf("the late batch %d changed something", at)
			}
			inOrder(t, w, got, refs)
		}
		for _, first := range []bool{true, false} { // redelivered after the late batch, or before it
			w, db, refs := claimed(t, 25)
			db.Fault = late.On("BatchExecuteStatement", "")
			ctx, cancel := context.WithTimeout(w.Ctx, finalizing)
			defer cancel()
			for _, c := range w.Ledger.Confirm(ctx, refs) {
				if sale.CodeOf(c.Err) != sale.Busy {
					t.Fatalf("got %+v, want busy", c)
				}
			}
			db.Fault = nil
			if first {
				db.ApplyPending()
			}
			got := w.Environment().Confirm(w.Ctx, refs)
			db.ApplyPending()
			inOrder(t, w, got, refs)
			if sequence := orderid.Sequence(got[0].Order.ID); (sequence <= 25) != first {
				t.Errorf("applied before the redelivery %v: the claim has number %d", first, sequence)
			}
			if got[0].New == first {
				t.Errorf("applied before the redelivery %v: new is %v", first, got[0].New)
			}
		}
	})
}

func TestBrokenBooksCostOnlyTheClaimThatIsBroken(t *testing.T) {
	w, db, refs := claimed(t, 3)
	first := w.Ledger.Confirm(w.Ctx, refs[:2])
	// Claim 1 has the id of claim 0's order.
	less := int64(first[0].Order.ID) - int64(first[1].Order.ID)
	if err := db.Tamper(w.Ctx, table, "CLAIM#moutai#0", refs[1].User, "orderId", less); err != nil {
		t.Fatal(err)
	}
	got := w.Ledger.Confirm(w.Ctx, refs)
	if got[0].Err != nil || sale.CodeOf(got[1].Err) != sale.Internal || got[2].Err != nil {
		t.Errorf("got %+v", got)
	}
	if o, err := w.Ledger.Order(w.Ctx, first[0].Order.ID); err != nil || o != first[0].Order {
		t.Errorf("the order of claim 0 is %+v (%v), want %+v", o, err, first[0].Order)
	}
}

func TestAnAnswerNobodyKnowsIsInternalNeverAGuess(t *testing.T) {
	for name, responses := range map[string][]types.BatchStatementResponse{
		"none":         {},
		"too few":      {{}},
		"unknown code": {{Error: &types.BatchStatementError{Code: "SomethingNew"}}, {Error: &types.BatchStatementError{Code: "SomethingNew"}}},
		"no code":      {{Error: &types.BatchStatementError{}}, {Error: &types.BatchStatementError{}}},
		"denied":       {{Error: &types.BatchStatementError{Code: "AccessDenied"}}, {Error: &types.BatchStatementError{Code: "ValidationError"}}},
	} {
		w, db, refs := claimed(t, 2)
		answering := w.Hooked(dynamotest.Instead("BatchExecuteStatement", func() (*dynamodb.BatchExecuteStatementOutput, error) {
			return &dynamodb.BatchExecuteStatementOutput{Responses: responses}, nil
		}))
		for i, c := range answering.Confirm(w.Ctx, refs) {
			if sale.CodeOf(c.Err) != sale.Internal {
				t.Errorf("%s: claim %d: got %v, want internal", name, i, c.Err)
			}
		}
		if strings.Contains(db.Dump(), "ORDER#") {
			t.Errorf("%s: an order was written", name)
		}
	}
}
