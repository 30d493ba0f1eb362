package load

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
)

// reported is the page of a report.
func reported(t *testing.T, r report) string {
	t.Helper()
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, &r); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestTheReportShowsWhatWasMeasured(t *testing.T) {
	tally := newTally(make([]visit, 1))
	at := tally.start
	for i := range 100 {
		came := at.Add(time.Duration(i) * 49 * time.Millisecond)
		tally.seen(rush.Try{Intended: came, Due: came, Sent: came.Add(time.Microsecond), Answered: came.Add(time.Duration(i+1) * time.Millisecond), Outcome: client.Accepted, Final: true})
	}
	tally.seen(rush.Try{N: 1, Answered: at.Add(7 * time.Second), Outcome: "sold-out"})
	tally.seen(rush.Try{Poll: true, Intended: at.Add(time.Second), Answered: at.Add(2 * time.Second), Outcome: client.Confirmed})
	r := tally.report("100 buyers", [][2]string{{"seed", "7"}}, nil)
	r.Receipt, r.ReceiptMade = "the books of the sale", true
	text := reported(t, r)
	for _, want := range []string{
		"100 buyers", "the books of the sale", "and the books balance", "seed", "sold-out", "99.0 %", "honest buyers",
		"<svg", "p99.9", "50ms", "99ms", "click to first answer", "queueing in the generator", "at most 20 in a second", "1 order ids seen",
		"seconds since the opening", "milliseconds", "orders a second", "first &#34;sold out&#34; answer", ".chart .grid { stroke: #ddd }",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if got := strings.Count(text, "<svg"); got != 4 {
		t.Errorf("%d plots, want 4", got)
	}
	for _, foreign := range []string{"<script", "http://", "https://", "<link", "@import"} {
		if strings.Contains(text, foreign) {
			t.Errorf("the report is not self-contained: %s", foreign)
		}
	}
}

func TestTheReportEscapesForeignText(t *testing.T) {
	const evil = `<script>alert("x")</script>`
	tally := newTally(make([]visit, 1))
	tally.seen(rush.Try{Outcome: evil})
	tally.seen(rush.Try{Poll: true, Outcome: evil})
	r := tally.report(evil, [][2]string{{evil, evil}}, []books.Finding{{Promise: "P1", Text: evil}})
	r.Receipt, r.Broken = evil, true
	text := reported(t, r)
	if n := strings.Count(text, "&lt;script&gt;"); strings.Contains(text, "<script") || n < 8 || !strings.Contains(text, "<b>Broken.</b>") {
		t.Errorf("%d places show the text escaped, want at least 8 and none unescaped:\n%s", n, text)
	}
}

func TestTheReportHasTheFirstFindings(t *testing.T) {
	var out bytes.Buffer
	r := newTally(nil).report("", nil, make([]books.Finding, mostFindings+7))
	r.print(&out)
	if n := strings.Count(out.String(), "\n  - "); n != mostFindings+1 || !strings.HasSuffix(out.String(), fmt.Sprintf("\n  - and %d more\n", 7)) {
		t.Errorf("%d lines in\n%s", n, &out)
	}
}
