package ledger_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/sale"
)

// finalizing is the time that FinalizeFunction has for a batch.
const finalizing = 4500 * time.Millisecond

func TestAStatementContendedToTheEndIsBusyAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for at := range 2 {
			w, db, refs := claimed(t, 25)
			n := 0
			db.Fault = func(c dynamotest.Call) dynamotest.Fault {
				switch {
				case c.Op != "BatchExecuteStatement":
					return dynamotest.Fault{}
				case n == at, len(c.Keys) == 1:
					n++
					return dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{7 % len(c.Keys)}}
				}
				n++
				return dynamotest.Fault{}
			}
			began := time.Now()
			ctx, cancel := context.WithTimeout(w.Ctx, finalizing)
			defer cancel()
			got := w.Ledger.Confirm(ctx, refs)
			for i, c := range got {
				if want := map[bool]sale.Code{true: sale.Busy}[i == 7]; sale.CodeOf(c.Err) != want {
					t.Errorf("batch %d, claim %d: %v, want %q", at, i, c.Err, want)
				}
			}
			if took := time.Since(began); took < finalizing-time.Second || took > finalizing {
				t.Errorf("batch %d: given up after %v of %v (P16)", at, took, finalizing)
			}
			db.Fault = nil
			inOrder(t, w, w.Environment().Confirm(w.Ctx, refs), refs)
		}
	})
}

// Each kind of call of a confirmation is throttled for most of its time, or longer: a
// message that failed would come back only after its visibility timeout.
func TestAConfirmationWaitsForAnExhaustedTableUntilItsTimeIsUp(t *testing.T) {
	for name, throttled := range map[string]func(dynamotest.Call) bool{
		"the sale":     func(c dynamotest.Call) bool { return c.Op == "GetItem" },
		"the claims":   func(c dynamotest.Call) bool { return c.Op == "BatchGetItem" },
		"the sequence": func(c dynamotest.Call) bool { return c.Op == "UpdateItem" },
		"the writes":   func(c dynamotest.Call) bool { return c.Op == "BatchExecuteStatement" },
		"the orders": func(c dynamotest.Call) bool {
			return c.Op == "BatchExecuteStatement" && strings.HasPrefix(c.Keys[0], "ORDER#")
		},
	} {
		for _, exhausted := range []time.Duration{finalizing - 500*time.Millisecond, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				w, db, refs := claimed(t, 10)
				began := time.Now()
				db.Fault = func(c dynamotest.Call) dynamotest.Fault {
					if !throttled(c) || time.Since(began) > exhausted {
						return dynamotest.Fault{}
					}
					return dynamotest.Fault{Kind: dynamotest.Throttle}
				}
				ctx, cancel := context.WithTimeout(w.Ctx, finalizing)
				defer cancel()
				got := w.Environment().Confirm(ctx, refs)
				if took := time.Since(began); took > finalizing {
					t.Errorf("%s throttled: it took %v of %v (P16)", name, took, finalizing)
				}
				if exhausted < finalizing {
					if inOrder(t, w, got, refs); fresh(got) != len(refs) {
						t.Errorf("%s throttled: %d of %d are new", name, fresh(got), len(refs))
					}
					return
				}
				for _, c := range got {
					if sale.CodeOf(c.Err) != sale.Busy {
						t.Errorf("%s throttled to the end: %v, want busy", name, c.Err)
					}
				}
			})
		}
	}
}
