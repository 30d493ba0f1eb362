package system

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// slow adds the accidents that wait for real timeouts: messages that fail five times, and
// reconcile's schedule.
var slow = flag.Bool("slow", false, "the accidents that take minutes, too")

// A drill is a test's use of the stack, the runbook, and what was seen so far.
type drill struct {
	visit
	*record
}

// record is what all accidents share.
type record struct {
	rows map[string]row

	mu       sync.Mutex
	promised map[string]map[string]string // claim ids by sale and user, as buyers were told
	results  []result
}

// result is a line of the table at the end.
type result struct {
	accident, first, command, line string
	seen, recovered                time.Duration // from the accident; from the first command
}

// The accidents of the runbook (infra/docs/RUNBOOK.md, "When something looks wrong") happen, and the
// runbook is followed: the test looks where the runbook says, runs the runbook's commands as they stand
// there, and holds what they print against the lines that are quoted there. At the end it recounts every
// sale: nothing that was answered may be lost.
func TestEveryAccidentIsSeenAndCuredAsTheRunbookSays(t *testing.T) {
	shown := &record{rows: runbook(t), promised: map[string]map[string]string{}}
	happens := func(t *testing.T, accident func(drill)) { accident(drill{shared(t), shown}) }

	// Each has a sale of its own. Those that look at all sales come after the wrong books,
	// which are counted twice.
	for _, group := range []map[string]func(drill){
		{
			"stock": stockWrittenByHand, "empty": unitsBehindAMark,
			"restock": complaintOfASoldOut, "size": complaintOfASecondSize, "unknown": complaintOfAnUnknown, "pending": complaintOfAPending,
		},
		{"too many units": tooManyUnits, "pause": pauseThatMustHold, "seeding": lateSeeding},
	} {
		t.Run("sales", func(t *testing.T) {
			for name, accident := range group {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					happens(t, accident)
				})
			}
		})
	}
	onLinux := runtime.GOOS == "linux" // its /proc shows the processes of engine and functions
	for _, one := range []struct {
		name     string
		accident func(drill)
		runs     bool
	}{
		{"crowd", stopDuringACrowd, true}, {"recall", goodsAreDefective, true}, {"draw", drawIsInTrouble, true},
		{"eligibility", eligibilityIsDead, true}, {"secret", secretIsAnothers, true}, {"silent", releaseIsSilent, true},
		{"late", paidTooLate, true}, {"undelivered", paidAndNotDelivered, true}, {"unreported", paidAndNotReported, true},
		{"end", stackIsKilled, true}, {"copy", dataGoesElsewhere, true}, {"engine", engineIsKilled, onLinux},
		{"finalize", poisonAndABrokenFinalize, onLinux && *slow}, {"messages", messageIsLost, *slow},
	} {
		if one.runs {
			t.Run(one.name, func(t *testing.T) { happens(t, one.accident) })
		}
	}
	happens(t, drill.audit)
	shown.print()
	if want := len(shown.rows); *slow && onLinux && len(shown.results) != want {
		t.Errorf("%d accidents were drilled, the runbook has %d", len(shown.results), want)
	}
}

// print writes the table, in the order of the runbook.
func (d *record) print() {
	slices.SortFunc(d.results, func(a, b result) int { return d.rows[a.accident].order - d.rows[b.accident].order })
	lines := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "ACCIDENT\tSEEN FIRST BY\tAFTER\tRECOVERED AFTER\tCOMMAND\tLINE")
	for _, r := range d.results {
		recovered := "-"
		if r.recovered > 0 {
			recovered = fmt.Sprintf("%.1f s", r.recovered.Seconds())
		}
		fmt.Fprintf(lines, "%s\t%s\t%.1f s\t%s\t%s\t%s\n", r.accident, r.first, r.seen.Seconds(), recovered, r.command, r.line)
	}
	_ = lines.Flush()
}

// An incident is one accident on its way through the runbook.
type incident struct {
	*testing.T
	d      drill
	on     visit // where the commands go
	row    row
	sale   string // takes the place of moutai in commands and lines
	caused time.Time
	begun  time.Time // the first command
	mark   int       // the length of the log when it was caused
	result result
}

// meet begins an accident of the runbook that happens to a sale: call it when it is caused.
func (d drill) meet(accident, saleID string) *incident {
	d.t.Helper()
	r, ok := d.rows[accident]
	if !ok {
		d.t.Fatalf("the runbook has no accident %q", accident)
	}
	return &incident{T: d.t, d: d, on: d.visit, row: r, sale: saleID, caused: time.Now(), mark: len(d.log()), result: result{accident: accident}}
}

// own puts values in the place of the runbook's examples, in every step.
func (i *incident) own(oldnew ...string) {
	replace := strings.NewReplacer(oldnew...).Replace
	for _, steps := range []*[]step{&i.row.see, &i.row.do, &i.row.then} {
		*steps = slices.Clone(*steps)
		for n := range *steps {
			s := &(*steps)[n]
			s.command, s.lines = replace(s.command), slices.Clone(s.lines)
			for l := range s.lines {
				s.lines[l] = replace(s.lines[l])
			}
		}
	}
}

// see looks where the runbook says, until it shows what the runbook says.
func (i *incident) see() {
	i.Helper()
	for n, s := range i.row.see {
		line := i.await(s)
		if n == 0 {
			i.result.first, i.result.line, i.result.seen = i.named(s), line, time.Since(i.caused)
		}
	}
}

// do runs one command of the runbook, once.
func (i *incident) do(n int) {
	i.Helper()
	if n >= len(i.row.do) {
		i.Fatalf("the runbook has %d commands for %q", len(i.row.do), i.row.name)
	}
	s := i.row.do[n]
	if i.begun.IsZero() {
		i.begun = time.Now()
	}
	i.result.command = strings.TrimPrefix(i.result.command+"; "+i.named(s), "; ")
	out, ok := i.run(s)
	if line, found := s.in(out, i.sale); !ok || !found {
		i.Errorf("%s: succeeded: %t; %q is not in what it said:\n%s", i.named(s), ok, line, out)
	}
}

// doAll runs all commands of the runbook.
func (i *incident) doAll() {
	i.Helper()
	for n := range i.row.do {
		i.do(n)
	}
}

// then looks until the runbook's last lines show, and ends the accident.
func (i *incident) then() {
	i.Helper()
	for _, s := range i.row.then {
		i.await(s)
	}
	if i.begun.IsZero() {
		i.begun = i.caused
	}
	i.result.recovered = time.Since(i.begun)
	i.end()
}

func (i *incident) end() {
	i.d.mu.Lock()
	defer i.d.mu.Unlock()
	i.d.results = append(i.d.results, i.result)
}

// await repeats a look until it shows all the lines, and returns the first of them.
func (i *incident) await(s step) string {
	i.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		out, _ := i.run(s)
		line, found := s.in(out, i.sale)
		if found {
			return line
		}
		if time.Now().After(end) {
			i.Fatalf("%s: after %v %q is still not in what it says:\n%s", i.named(s), patience, line, out)
		}
	}
}

// named is the step with this incident's sale, for people.
func (i *incident) named(s step) string {
	if s.what == ofTheDocument {
		return fmt.Sprintf("update %d", s.update+1)
	}
	return s.text(i.sale)
}

// run does a step and returns what it says, and whether it succeeded.
func (i *incident) run(s step) (string, bool) {
	i.Helper()
	switch {
	case s.what == ofTheTerminal:
		return i.on.Output.String(), true
	case s.what == ofTheLog:
		return string(i.on.log()[i.mark:]), true
	case s.what == ofTheDocument:
		return i.on.update(s.text(i.sale))
	case strings.HasPrefix(s.command, "make run"):
		i.on.start()
		return "", true
	}
	return i.on.shell(s.text(i.sale))
}
