package mutants

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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

// resultsVariable names, for a child process, the file of what comes of the changes that it reads.
const resultsVariable = "FLASHSALE_LEDGER_CHANGES"

// changed is a change, and the behaviours that use what it changes, those with the fewest requests first.
type changed struct {
	Change     string
	Behaviours []string
}

// TestEveryTermOfTheLedgerIsNeeded runs the ledger's suite once over the fake and
// records which expressions and consistent reads each behaviour uses. Then, for every
// term that can be left out, every bound that can be moved by one and every read that
// can be made eventually consistent, it runs those behaviours again in a child
// process: some behaviour must fail. The fake's eventually consistent reads see none of
// the test's writes.
func TestEveryTermOfTheLedgerIsNeeded(t *testing.T) {
	change, behaviour := "", ""                // that is made, and that runs
	behaviours := map[string]map[string]bool{} // by change
	requests := map[string]int{}               // by behaviour
	var mu sync.Mutex                          // of both
	all := ledgertest.InVirtualTime(func(*testing.T) ledgertest.Engine {
		db := dynamotest.New(dynamotest.Table{Name: "Ledger", PK: "pk", SK: "sk"})
		db.Lag = 10000 * time.Hour
		var made atomic.Int64
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
	if results := os.Getenv(resultsVariable); results != "" {
		makeChanges(t, results, func(c changed) bool {
			change = c.Change
			return slices.ContainsFunc(c.Behaviours, func(name string) bool {
				defer time.AfterFunc(time.Minute, func() { panic("the behaviour does not end") }).Stop()
				return !t.Run(name, all[name])
			})
		})
		return
	}
	if !t.Run("suite", func(t *testing.T) {
		for behaviour = range all {
			t.Run(behaviour, all[behaviour])
		}
	}) {
		return // there is nothing to compare with
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
	shares := make([][]changed, runtime.GOMAXPROCS(0))
	for i, name := range slices.Sorted(maps.Keys(behaviours)) {
		by := slices.SortedFunc(maps.Keys(behaviours[name]), func(a, b string) int {
			return cmp.Or(cmp.Compare(requests[a], requests[b]), cmp.Compare(a, b))
		})
		shares[i%len(shares)] = append(shares[i%len(shares)], changed{name, by})
	}
	for i, share := range shares {
		t.Run(fmt.Sprint("child ", i), func(t *testing.T) {
			t.Parallel()
			for name, noticed := range inChildren(t, share) {
				reason, listed := equivalent[name]
				switch {
				case !noticed && !listed:
					t.Errorf("none of %d behaviours notices: %s", len(behaviours[name]), name)
				case noticed && listed:
					t.Errorf("listed as unnoticeable (%s), but a behaviour fails: %s", reason, name)
				}
			}
		})
	}
}

// makeChanges is a child's part: it makes the changes that it reads, and writes whether each was noticed.
func makeChanges(t *testing.T, results string, notices func(changed) bool) {
	out, err := os.Create(results)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for in := json.NewDecoder(os.Stdin); in.More(); {
		var c changed
		if err := in.Decode(&c); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(out, notices(c))
	}
}

// inChildren makes the changes in child processes, one after the other: a behaviour that ends its process, or does not
// end, has noticed. Any other failure ends t.
func inChildren(t *testing.T, all []changed) (noticed map[string]bool) {
	noticed = map[string]bool{}
	results := filepath.Join(t.TempDir(), "results")
	for len(all) > 0 {
		var in bytes.Buffer
		for _, c := range all {
			_ = json.NewEncoder(&in).Encode(c) // texts
		}
		// An endless loop that appends would use up the machine's memory.
		command := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -v 6000000 2>/dev/null; exec "$0" "$@"`, os.Args[0],
			"-test.run", "^TestEveryTermOfTheLedgerIsNeeded$")
		command.Stdin, command.Env = &in, append(os.Environ(), resultsVariable+"="+results)
		out, err := command.CombinedOutput()
		text, unread := os.ReadFile(results)
		if err != nil && !testFailure.Match(out) || unread != nil {
			t.Fatalf("the test failed for another reason: %v, %v\n%s", err, unread, out)
		}
		for line := range strings.Lines(string(text)) {
			noticed[all[0].Change] = line == "true\n"
			all = all[1:]
		}
		if len(all) > 0 { // it has ended the process
			noticed[all[0].Change] = true
			all = all[1:]
		}
	}
	return noticed
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
