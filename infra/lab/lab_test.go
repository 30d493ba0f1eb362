package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"flashsale/infra/lab/catalogue"
	"flashsale/infra/lab/engines"
	"flashsale/infra/lab/fleet"
	"flashsale/infra/lab/tally"
	"flashsale/infra/lab/trial"
	"flashsale/infra/local/engine/enginetest"
)

// required runs the strategies on Redis, MariaDB and PostgreSQL, and makes a missing one a
// failure. Otherwise their rows say "not run", installed or not: beside other tests
// the slow ones among them would stall, which is a verdict, too.
var required = os.Getenv("LAB_ENGINES") == "required"

func TestMain(m *testing.M) {
	fleet.HostIfAsked(catalogue.Find)
	os.Exit(m.Run())
}

// laboratory is a lab whose application servers are this test's program.
func laboratory(t *testing.T) *trial.Lab {
	t.Helper()
	dir := t.TempDir()
	o := engines.Options{Dir: dir, Root: enginetest.Root(t)}
	if !required {
		o.Path = t.TempDir()
	}
	pool := engines.NewPool(o)
	t.Cleanup(pool.Stop)
	return &trial.Lab{Program: os.Args[0], Dir: dir, Engines: pool}
}

// verdicts runs some strategies in some scenarios, "strategy scenario,scenario", or in all,
// and holds the verdicts against what is expected.
func verdicts(t *testing.T, seed int, some ...string) {
	t.Helper()
	lab := laboratory(t)
	for _, line := range some {
		name, scenarios, _ := strings.Cut(line, " ")
		o, err := parse([]string{"-strategy", name, "-scenario", scenarios, "-seed", strconv.Itoa(seed)}, os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range o.cells() {
			row, err := lab.Run(t.Context(), c.spec, c.scenario, c.seed)
			if err != nil {
				t.Fatal(err)
			}
			if row.Verdict == tally.NotRun && !required {
				continue
			}
			if !catalogue.Meets(name, row.Scenario, row.Verdict) {
				t.Errorf("%s in %s: %s, want %v: %s", name, row.Scenario, row.Verdict, catalogue.Expected(name, row.Scenario), row.Why)
			}
		}
	}
}

func TestOneProcessProtectsItselfAndNoOther(t *testing.T) {
	t.Parallel()
	verdicts(t, 1,
		"channel-owner calm,server-killed,server-added,fifteen-clicks",
		"mutex-x3 calm",
	)
}

// TestOnRealEngines is what `make lab-check` runs: each strategy in the accident
// that it is known for, and beside it the one that differs in nothing but what is missing there.
func TestOnRealEngines(t *testing.T) {
	t.Parallel()
	for _, group := range []struct {
		name string
		seed int
		some []string
	}{
		{"a database decides right only what it is asked", 2, []string{
			"sql-read-then-write calm",
			"sql-for-update slow-check",
			"sql-conditional engine-killed,fifteen-clicks",
			"sql-version-once slow-check",
			"sql-version answers-lost",
			"sql-unique engine-killed,fifteen-clicks,winner-asks-again",
			"sql-row-per-unit calm,server-killed",
			"sql-batch answers-lost,fifteen-clicks",
			"sql-lock-in-transaction calm",
			"postgres-unique engine-killed,fifteen-clicks-scarce",
			"postgres-batch answers-lost,fifteen-clicks",
			"sql-two-above-zero two-each",
			"sql-two two-each",
		}},
		{"a lock is worth as much as its expiry", 1, []string{
			"redis-set-nx-ex last-units",
			"redis-set-nx-ex-set slow-check",
			"redis-token-unlock calm",
			"redis-token-decides frozen-at-the-end",
			"redis-watchdog frozen-at-the-end",
			"redis-fenced-set frozen-at-the-end",
		}},
		{"a lock outlives its owner or its server", 1, []string{
			"redis-redlock engine-killed",
			"redis-failover engine-killed",
		}},
		{"a counter knows units and a script knows buyers", 2, []string{
			"redis-decr fifteen-clicks",
			"redis-lua-queue server-killed",
			"redis-lua-stream engine-killed,server-killed",
			"redis-lua-always engine-killed,answers-lost,fifteen-clicks-scarce",
			"redis-lua-alone engine-killed,fifteen-clicks-scarce",
			"redis-pop-two two-each",
			"redis-lua-two two-each",
			"split-shares calm,server-killed,winner-asks-again",
		}},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			verdicts(t, group.seed, group.some...)
		})
	}
}

func TestOursHoldsInEveryAccident(t *testing.T) {
	t.Parallel()
	verdicts(t, 3, "ours-ledger", "ours-ledger-no-key winner-asks-again", "ours-ledger-two")
}

func TestTheRowsAreJSONWithTheirOwnCommand(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-json", "-strategy", "channel-owner", "-scenario", "fifteen-clicks-scarce,calm,engine-killed", "-seed", "5", "-seeds", "2"}, &stdout, &stderr)
	if code != exitFine {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	var rows []map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 { // it has no engine to lose
		t.Fatalf("%d rows, want 4", len(rows))
	}
	want := map[string]any{
		"strategy": "channel-owner", "scenario": "calm", "seed": 5.0, "sold": 20.0, "oversold": 0.0, "unsold": 0.0, "doubles": 0.0,
		"lost": 0.0, "verdict": "holds", "run": "make lab STRATEGY=channel-owner SCENARIO=calm SEED=5",
	}
	for field, value := range want {
		if rows[0][field] != value {
			t.Errorf("%s is %v, want %v", field, rows[0][field], value)
		}
	}
	for _, field := range []string{"perSecond", "p50Ms", "p99Ms"} {
		if n, ok := rows[0][field].(float64); !ok || n <= 0 {
			t.Errorf("%s is %v", field, rows[0][field])
		}
	}
	if progress := stderr.String(); !strings.Contains(progress, "fifteen-clicks-scarce seed 6   holds\n") || !strings.Contains(progress, "4 rows in ") {
		t.Errorf("the progress was:\n%s", progress)
	}
}

func TestWhatIsMissingIsInTheTableAndNotRun(t *testing.T) {
	t.Parallel()
	nowhere := t.TempDir()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-engines", nowhere, "-root", nowhere, "-strategy", "sql-unique,postgres-unique,redis-lua-queue,redis-redlock,ours", "-scenario", "calm"}, &stdout, &stderr)
	if code != exitFine {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	for _, want := range []string{"redis-server is not installed: apt-get install -y redis-server", "mariadbd is not installed: apt-get install -y mariadb-server", "postgres is not installed: apt-get install -y postgresql", "dynoxide is not installed: make engine"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, &stdout)
		}
	}
	if n := strings.Count(stdout.String(), "not run"); n != 6 {
		t.Errorf("%d rows were not run, want 6:\n%s", n, &stdout)
	}
}

func TestWhatIsNotThereIsRefusedWithWhatIs(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-strategy abacus", `there is no strategy "abacus"; there are channel-owner, `},
		{"-scenario rain", `there is no scenario "rain"; there are calm, `},
		{"-seeds 0", "-seeds is 0; it must be 1 to 100"},
		{"calm", `unexpected argument "calm"`},
		{"-no-such-flag", "flag provided but not defined: -no-such-flag"},
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.args), &stderr, &stderr); code != exitNotRun || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit %d, %q, want %q", c.args, code, &stderr, c.want)
		}
	}
	if code := run(t.Context(), []string{"-help"}, &bytes.Buffer{}, &bytes.Buffer{}); code != exitFine {
		t.Errorf("-help: exit %d", code)
	}
}

func TestEveryRowOfTheSpeedSellsAsManyAsItSays(t *testing.T) {
	args := []string{"-speed", "200ms", "-clients", "8", "-strategy", "postgres-unique,redis-lua-alone"}
	if !required {
		args = append(args, "-engines", t.TempDir())
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), args, &stdout, &stderr); code != exitFine {
		t.Fatalf("exit %d: %s%s", code, &stdout, &stderr)
	}
	held := map[bool]int{true: 6, false: 2}[required]
	if holds, not := strings.Count(stdout.String(), "  holds"), strings.Count(stdout.String(), "  not run"); holds != held || not != 6-held {
		t.Errorf("%d rows hold and %d were not run, want %d of 6:\n%s", holds, not, held, &stdout)
	}
}
