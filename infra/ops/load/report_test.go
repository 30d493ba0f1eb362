package main

import (
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

func page1(t *testing.T, r result) string {
	t.Helper()
	var b strings.Builder
	if err := r.html(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheReportShowsWhatWasMeasured(t *testing.T) {
	tally := newTally()
	for i := range 100 {
		at := time.Duration(i) * 50 * time.Millisecond
		tally.first(honest, client.Accepted, at, time.Duration(i+1)*time.Millisecond)
		tally.answered(client.Accepted, at)
		tally.queued(at, time.Microsecond)
	}
	tally.answered("sold-out", 7*time.Second)
	tally.confirmed(2*time.Second, time.Second)
	r := tally.result(5 * time.Second)
	r.title, r.receipt, r.receiptMade = "100 buyers", "the books of the sale", true
	r.settings = [][2]string{{"seed", "7"}}
	text := page1(t, r)
	for _, want := range []string{
		"100 buyers", "the books of the sale", "and the books balance", "seed", "sold-out", "99.0 %", "honest buyers",
		"<svg", "p99.9", "50ms", "99ms", "click to first answer", "queueing in the generator", "at most 20 in a second",
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
	tally := newTally()
	tally.first(honest, evil, 0, time.Second)
	tally.answered(evil, 0)
	tally.polled(evil, 0)
	r := tally.result(time.Second)
	r.title, r.receipt, r.findings, r.broken, r.settings = evil, evil, []books.Finding{{Promise: "P1", Text: evil}}, true, [][2]string{{evil, evil}}
	text := page1(t, r)
	if strings.Contains(text, "<script") {
		t.Error("a script got into the report")
	}
	if got := strings.Count(text, "&lt;script&gt;"); got < 8 {
		t.Errorf("%d places show the text, want at least 8", got)
	}
	if !strings.Contains(text, "<b>Broken.</b>") {
		t.Error("the report does not say that something is broken")
	}
}
