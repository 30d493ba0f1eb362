package page

import (
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
	over.Sold, over.Oversold, over.Expected = 14, 4, false
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
	var html strings.Builder
	r := report()
	if err := r.html(&html); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<td class="oversells unexpected"><a href="#bold-in-calm">oversells &#43;4</a></td>`, `id="bold-in-calm"`,
		`<td class="not-run"><a href="#careful-in-storm">not run</a></td>`,
		"because of bold<br><code>make lab STRATEGY=bold</code>", "takes &amp; runs. Known flaw: it runs.",
		"<li>redis-server is not installed: apt-get install -y redis-server</li>",
		"<td>14/10</td>", "1 January 1970, 00:00 UTC", "<b>Not what is expected: 1,</b>",
	} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	for _, no := range []string{"http://", "https://", "src=", "<script", "ZgotmplZ"} {
		if strings.Contains(html.String(), no) {
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
		{[]trial.Row{row("a", "calm", 1, tally.Holds), odd, row("a", "calm", 2, tally.Holds)}, cell{"x", tally.Doubles, "doubles 1/3", true}},
	} {
		if got := cellOf("x", c.rows); got != c.want {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
	}
}
