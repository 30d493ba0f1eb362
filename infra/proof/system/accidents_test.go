package system

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
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

	mu      sync.Mutex
	drilled map[string]bool
}

// The accidents of the runbook (infra/docs/RUNBOOK.md, "When something looks wrong") happen, and the
// runbook is followed: the test looks where the runbook says, runs the runbook's commands as they stand
// there, and holds what they print against the lines that are quoted there. At the end it recounts every
// sale: nothing that was answered may be lost.
func TestEveryAccidentIsSeenAndCuredAsTheRunbookSays(t *testing.T) {
	all := &record{rows: runbook(t), drilled: map[string]bool{}}
	happens := func(t *testing.T, accident func(drill)) { accident(drill{shared(t), all}) }

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
	if want := len(all.rows); *slow && onLinux && len(all.drilled) != want {
		t.Errorf("%d accidents were drilled, the runbook has %d", len(all.drilled), want)
	}
}

// An incident is one accident on its way through the runbook.
type incident struct {
	*testing.T
	d    drill
	on   visit // where the commands go
	row  row
	sale string // takes the place of moutai in commands and lines
	mark int    // the length of the log when it was caused
}

// meet begins an accident of the runbook that happens to a sale: call it when it is caused.
func (d drill) meet(accident, saleID string) *incident {
	d.t.Helper()
	r, ok := d.rows[accident]
	if !ok {
		d.t.Fatalf("the runbook has no accident %q", accident)
	}
	return &incident{T: d.t, d: d, on: d.visit, row: r, sale: saleID, mark: len(d.log())}
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
	for _, s := range i.row.see {
		i.await(s)
	}
}

// do runs one command of the runbook, once.
func (i *incident) do(n int) {
	i.Helper()
	if n >= len(i.row.do) {
		i.Fatalf("the runbook has %d commands for %q", len(i.row.do), i.row.name)
	}
	s := i.row.do[n]
	out, ok := i.run(s)
	if missing := s.missing(out, i.sale); !ok || missing != "" {
		i.Errorf("%s: succeeded: %t; %q is not in what it said:\n%s", s.text(i.sale), ok, missing, out)
	}
}

// follow goes through the whole row.
func (i *incident) follow() {
	i.Helper()
	i.see()
	for n := range i.row.do {
		i.do(n)
	}
	i.then()
}

// then looks until the runbook's last lines show, and ends the accident.
func (i *incident) then() {
	i.Helper()
	for _, s := range i.row.then {
		i.await(s)
	}
	i.end()
}

func (i *incident) end() {
	i.d.record.mu.Lock()
	defer i.d.record.mu.Unlock()
	i.d.drilled[i.row.name] = true
}

// await repeats a look until it shows all the lines.
func (i *incident) await(s step) {
	i.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		out, _ := i.run(s)
		missing := s.missing(out, i.sale)
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			i.Fatalf("%s: after %v %q is still not in what it says:\n%s", s.text(i.sale), patience, missing, out)
		}
	}
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

// usersOf are users who are sold from that shard first.
func usersOf(shard, shards, n int, prefix string) (users []string) {
	for i := 0; len(users) < n; i++ {
		if user := fmt.Sprint(prefix, i); sale.ShardFor(user, 0, &sale.Set{}, shards) == shard {
			users = append(users, user)
		}
	}
	return users
}

// strand makes a claim as a purchase does that dies before it sends its message, that long
// ago.
func (d drill) strand(saleID, user string, ago time.Duration) {
	d.t.Helper()
	p, err := d.ledgerAgo(ago).Purchase(d.t.Context(), ledger.Request{SaleID: saleID, User: user})
	if err != nil {
		d.t.Fatal(err)
	}
	d.promise(saleID, user, p.Claim.ID)
}

// audit recounts every sale: it balances, and every claim that somebody was promised is
// there and has its order.
func (d drill) audit() {
	d.t.Helper()
	all := d.items()
	for saleID, promised := range d.promised {
		d.balances(all, saleID)
		for user, claimID := range promised {
			if got := all.Sale(saleID).Claim(user).ClaimID; got != claimID {
				d.t.Errorf("%s was promised claim %s of %s, the table has %q", user, claimID, saleID, got)
			}
		}
	}
}
