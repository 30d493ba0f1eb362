package mutants

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
)

// equivalent are the changes that no test can detect, with the reasons.
var equivalent = map[string]string{
	"Create > announce: Put DRAWKEY condition without attribute_not_exists(pk)":                                                   "a draw's key is put in the transaction that requires that there is no such sale yet",
	"Add > addToShard: Update STOCK condition without attribute_exists(pk)":                                                       "without the shard its sums have nothing to add to, which is an error as well",
	"Add > addToShard: Update SALE/SALE condition without #state = :open":                                                         "Add has read that the sale is open, and an open sale never becomes a draft again",
	"EditShards > editShard: UpdateItem condition with #changedAt <= :at":                                                         "edits of one instant bring the same window and the same pause flag",
	"Add > QueryPages: Query key condition without begins_with(#sk, :head)":                                                       "receipts are looked up by their whole key: more than them costs only read units",
	"ReleaseDue > putBackShard: Update SALE/SALE condition without #state = :open":                                                "ReleaseDue has read that the sale is open, and an open sale never becomes a draft again",
	"Pay > putRefund: Update SALES condition without attribute_exists(pk)":                                                        "a listing is never deleted, and Pay has read its sale",
	"Pay > payClaim: Update CLAIM condition without #orderId = :orderId":                                                          "Pay has read the order, which is written after its claim has the id, and neither that nor a claim ever goes away",
	"Pay > putRefund: Update CLAIM condition without #orderId = :orderId":                                                         "Pay has read the order, which is written after its claim has the id, and neither that nor a claim ever goes away",
	"ReleaseDue > setListing: UpdateItem condition without attribute_exists(pk)":                                                  "a listing is never deleted, and ReleaseDue has read that its sale is open",
	"ReleaseDue > saveCursors: UpdateItem condition without attribute_exists(pk)":                                                 "a listing is never deleted, and ReleaseDue has read that its sale is open",
	"Pay > refundRecalled: Update CLAIM condition without #payment = :payment":                                                    "Pay has read that the payment has paid the claim, which is final",
	"Pay > refundRecalled: Update SALES condition without attribute_exists(pk)":                                                   "a listing is never deleted, and Pay has read its sale",
	"Trail > QueryPages: Query key condition without begins_with(#sk, :head)":                                                     "what is no addition or withdrawal is left out",
	"Events > QueryPages: Query key condition without begins_with(#sk, :head)":                                                    "what is no addition or withdrawal is left out",
	"BeginCall > edit: ConditionCheck SALE/SEED condition without attribute_not_exists(pk)":                                       "the ledger makes the id of a call, so no addition has it",
	"Withdraw > announceSeeding: Update SALE/SALE condition without attribute_not_exists(#edits) AND attribute_not_exists(#call)": "each step of the withdrawal requires that nobody was called, and sales without a draw need the other term",
	"Recall > edit: Update SALES condition without attribute_exists(pk)":                                                          "a listing is never deleted, and Recall has read that its sale is open",
	"refundPaid > refundRecalled: Update CLAIM condition without #payment = :payment":                                             "the pass has read that the payment has paid the claim, which is final",
	"refundPaid > refundRecalled: Update SALES condition without attribute_exists(pk)":                                            "a listing is never deleted, and ReleaseDue has read that its sale is open",
	"Cancel > release: Update CLAIM condition without #orderId = :orderId":                                                        "Cancel has read the order id, and neither that nor a claim ever goes away",
	"part > release: Update CLAIM condition without #orderId = :orderId":                                                          "the pass has read the order id, and neither that nor a claim ever goes away",
	"Withdraw > QueryPages: Query key condition without begins_with(#sk, :head)":                                                  "steps are looked up by their whole key: more than them costs only read units",
	"Replay > Update: UpdateItem condition without attribute_exists(pk)":                                                          "neither a listing nor a claim goes away while something may write to it, and the replay has read it",
	"BeginCall > edit: Put CHANGES condition without attribute_not_exists(pk)":                                                    "the sale's count of edits is compared in the same transaction",
	"DeleteArchived > Update: UpdateItem condition without attribute_exists(#user)":                                               "a refund that a claim notes is there, and one without a user stays as it is",
}

// changeVariable names the change that a child process makes.
const changeVariable = "FLASHSALE_LEDGER_CHANGE"

// TestEveryTermOfTheLedgerIsNeeded runs the ledger's suite once over the fake and
// records which expressions and consistent reads each behaviour uses. Then, for every
// term that can be left out, every bound that can be moved by one and every read that
// can be made eventually consistent, it runs those behaviours again in a separate
// process: some behaviour must fail. The fake's eventually consistent reads see none of
// the test's writes.
func TestEveryTermOfTheLedgerIsNeeded(t *testing.T) {
	change := os.Getenv(changeVariable)
	behaviours := map[string]map[string]bool{} // by change
	requests := map[string]int{}               // by behaviour
	var mu sync.Mutex                          // of both
	suite := t.Run("suite", func(t *testing.T) {
		ledgertest.RunInVirtualTime(t, func(t *testing.T) ledgertest.Engine {
			db := dynamotest.New(dynamotest.Table{Name: "Ledger", PK: "pk", SK: "sk"})
			db.Lag = 10000 * time.Hour
			var made atomic.Int64
			behaviour := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
			return ledgertest.Engine{API: db, Table: "Ledger", Between: func(api ledger.API) ledger.API {
				return newSeam(api, change, &made, func(change string) {
					mu.Lock()
					defer mu.Unlock()
					if behaviours[change] == nil {
						behaviours[change] = map[string]bool{}
					}
					behaviours[change][behaviour] = true
					requests[behaviour]++
				})
			}}
		})
	})
	if change != "" || !suite {
		return // the child's part, or nothing to compare with
	}
	if len(behaviours) < 400 {
		t.Errorf("only %d changes", len(behaviours))
	}
	for name := range equivalent {
		if behaviours[name] == nil {
			t.Errorf("a listed change that nothing makes any more: %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(behaviours)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The shorter half of them notices most changes.
			all := slices.SortedFunc(maps.Keys(behaviours[name]), func(a, b string) int { return cmp.Compare(requests[a], requests[b]) })
			noticed, out := underChange(t, name, all[:len(all)/2])
			if !noticed {
				noticed, out = underChange(t, name, all[len(all)/2:])
			}
			reason, listed := equivalent[name]
			switch {
			case !noticed && !listed:
				t.Errorf("none of %d behaviours notices", len(all))
			case noticed && listed:
				t.Errorf("listed as unnoticeable (%s), but a behaviour fails:\n%s", reason, out)
			}
		})
	}
}

// underChange runs behaviours in a child that makes the change, and reports
// whether one of them failed.
func underChange(t *testing.T, change string, behaviours []string) (noticed bool, out []byte) {
	if len(behaviours) == 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.failfast", "-test.timeout", "60s",
		"-test.run", "^TestEveryTermOfTheLedgerIsNeeded$/^suite$/^("+strings.ReplaceAll(regexp.QuoteMeta(strings.Join(behaviours, "\n")), "\n", "|")+")$")
	child.Env = append(os.Environ(), changeVariable+"="+change)
	out, err := child.CombinedOutput()
	if err != nil && !bytes.Contains(out, []byte("--- FAIL")) && !bytes.Contains(out, []byte("panic:")) {
		t.Fatalf("the child failed for another reason: %v\n%s", err, out)
	}
	return err != nil, out
}
