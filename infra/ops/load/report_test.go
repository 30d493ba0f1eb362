package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
)

func TestTheReportHasWhatWasMeasured(t *testing.T) {
	tally := newTally()
	at := tally.start
	for i := range 100 {
		came := at.Add(time.Duration(i) * 49 * time.Millisecond)
		tally.seen(rush.Try{
			Intended: came, Due: came, Sent: came.Add(time.Microsecond), Answered: came.Add(time.Duration(i+1) * time.Millisecond), Outcome: client.Accepted, Final: true,
		})
	}
	tally.seen(rush.Try{N: 1, Answered: at.Add(7 * time.Second), Outcome: "sold-out"})
	tally.seen(rush.Try{Poll: true, Intended: at.Add(time.Second), Answered: at.Add(2 * time.Second), Outcome: client.Confirmed})
	r := tally.report("100 buyers", settings{Seed: 7}, make([]books.Finding, mostFindings+7))
	path := filepath.Join(t.TempDir(), "report.json")
	err := r.write(path)
	text, failed := os.ReadFile(path)
	if err != nil || failed != nil || !json.Valid(text) {
		t.Fatalf("%v, %v in %s", err, failed, text)
	}
	click := r.Latencies[firstAnswer]
	if click.Name != "click to first answer" || click.Count != 100 || click.P50 < 50 || click.P50 > 51 || click.P99 < 99 || click.P99 > 100 {
		t.Errorf("clicks took %+v", click)
	}
	if r.Most != 20 || r.Confirmed != 1 || r.Polls[client.Confirmed] != 1 {
		t.Errorf("got %+v", r)
	}
	if s := r.Seconds; len(s) != 8 || s[0].Click.Count != 21 || s[7].Answers["sold-out"] != 1 {
		t.Errorf("the seconds are %+v", s)
	}
	var out bytes.Buffer
	r.print(&out)
	for _, want := range []string{"most in a second: 20", fmt.Sprintf("  %-20s %9d  %5.1f %%\n", "accepted", 100, 99.0), "\n  - and 7 more\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
