package mutants

import (
	"cmp"
	"context"
	_ "embed"
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

// equivalentList are the changes that no test can detect, with the reasons.
//
//go:embed equivalent.txt
var equivalentList string

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
	equivalent := reasonsIn(equivalentList)
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
// whether one of them failed. Any other failure ends t.
func underChange(t *testing.T, change string, behaviours []string) (noticed bool, out []byte) {
	if len(behaviours) == 0 {
		return false, nil
	}
	names := strings.ReplaceAll(regexp.QuoteMeta(strings.Join(behaviours, "\n")), "\n", "|")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a change that makes them endless is noticed, too
	defer cancel()
	// An endless loop that appends would use up the machine's memory.
	command := exec.CommandContext(ctx, "sh", "-c", `ulimit -v 6000000 2>/dev/null; exec "$0" "$@"`, os.Args[0],
		"-test.failfast", "-test.run", "^TestEveryTermOfTheLedgerIsNeeded$/^suite$/^("+names+")$")
	command.Env = append(os.Environ(), changeVariable+"="+change)
	out, err := command.CombinedOutput()
	if err != nil && ctx.Err() == nil && !testFailure.Match(out) {
		t.Fatalf("the test failed for another reason: %v\n%s", err, out)
	}
	return err != nil, out
}

// testFailure matches the output of tests that failed or were ended by a crash.
var testFailure = regexp.MustCompile(`--- FAIL|panic:|fatal error:`)

// reasonsIn reads a list of changes that no test can detect, each with the reason on a line that is indented.
func reasonsIn(list string) map[string]string {
	reasons, name := map[string]string{}, ""
	for line := range strings.Lines(list) {
		if reason, indented := strings.CutPrefix(line, "\t"); indented {
			reasons[name] = strings.TrimSpace(reason)
		} else {
			name = strings.TrimSpace(line)
		}
	}
	return reasons
}
