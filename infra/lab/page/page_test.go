package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/tally"
	"flashsale/infra/lab/trial"
)

func row(strategy, sc string, seed uint64, v tally.Verdict) trial.Row {
	return trial.Row{
		Strategy: strategy, Scenario: sc, Seed: seed, Count: tally.Count{Stock: 10, Sold: 10, PerSecond: 50, P99Ms: 7}, Verdict: v,
		Why: "because of " + strategy, Expected: true, Run: "make lab STRATEGY=" + strategy,
	}
}

func report() Report {
	over := row("bold", "calm", 1, tally.Oversells)
	over.Sold, over.Oversold = 14, 4
	missing := row("careful", "storm", 1, tally.NotRun)
	missing.Why = "redis-server is not installed: apt-get install -y redis-server"
	return Report{
		Rows:       []trial.Row{over, row("careful", "calm", 1, tally.Holds), missing},
		Strategies: []shop.Spec{{Name: "bold", Family: "a", Does: "takes & runs", Flaw: "it runs"}, {Name: "careful", Family: "b"}},
		Scenarios:  []scenario.Scenario{{Name: "calm"}, {Name: "storm"}},
		Made:       time.Unix(0, 0), Took: time.Minute, Machine: "2 CPUs",
	}
}

func TestThePageHasEveryVerdictWithItsReasonAndItsCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "lab.html")
	if err := Write(path, report()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	html := string(data)
	for _, want := range []string{
		`<td class="oversells"><a href="#bold-in-calm">oversells &#43;4</a></td>`, `id="bold-in-calm"`,
		`<td class="not-run"><a href="#careful-in-storm">not run</a></td>`,
		"because of bold<br><code>make lab STRATEGY=bold</code>", "takes &amp; runs. Known flaw: it runs.",
		"<li>redis-server is not installed: apt-get install -y redis-server</li>",
		"<td>14/10</td>", "1 January 1970, 00:00 UTC", "Every verdict is what is expected.",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	for _, no := range []string{"http://", "https://", "src=", "<script", "ZgotmplZ"} {
		if strings.Contains(html, no) {
			t.Errorf("the page has %q", no)
		}
	}
}

func TestACellShowsTheWorstOfItsSeedsAndHowOften(t *testing.T) {
	odd := row("a", "calm", 3, tally.Doubles)
	odd.Doubles, odd.Expected = 2, false
	for _, c := range []struct {
		rows []trial.Row
		want cell
	}{
		{nil, cell{Anchor: "x"}},
		{[]trial.Row{odd}, cell{"x", tally.Doubles, "doubles 2", true}},
		{[]trial.Row{row("a", "calm", 1, tally.Holds), row("a", "calm", 2, tally.Holds)}, cell{"x", tally.Holds, "holds 2/2", false}},
		{[]trial.Row{row("a", "calm", 1, tally.Holds), odd, row("a", "calm", 2, tally.Holds)}, cell{"x", tally.Doubles, "doubles 1/3", true}},
	} {
		if got := cellOf("x", c.rows); got != c.want {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
	}
}

func TestAVerdictThatNobodyExpectedIsAtTheTop(t *testing.T) {
	r := report()
	r.Rows[1].Expected = false
	var out strings.Builder
	if err := r.html(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "<b>Not what is expected: 1,</b>") {
		t.Error("the page does not say so")
	}
}
