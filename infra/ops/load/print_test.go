package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

func TestTheReceiptIsTheLastThingPrintedAndFitsEightyColumns(t *testing.T) {
	e := good()
	e.findings = []books.Finding{{Promise: "P8", Text: "1 claims are pending"}}
	lines := audit(e)
	for i := range 2 * examples {
		lines[0].breaks("finding %d", i)
	}
	var out bytes.Buffer
	printReceipt(&out, "demo-x", lines)
	findings, table, ok := strings.Cut(out.String(), "\nreceipt of sale demo-x: the README's promises and the counts\n")
	if !ok {
		t.Fatalf("no receipt in:\n%s", out.String())
	}
	if !strings.Contains(findings, "P8: 1 claims are pending") || !strings.Contains(findings, "P1: and 5 more") {
		t.Errorf("findings are:\n%s", findings)
	}
	rows := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	if len(rows) != len(lines) {
		t.Errorf("%d rows for %d promises", len(rows), len(lines))
	}
	for i, row := range rows {
		if n := utf8.RuneCountInString(row); n > 80 {
			t.Errorf("%d columns: %s", n, row)
		}
		want := "ok"
		if len(lines[i].broken) > 0 {
			want = "BROKEN"
		}
		if !strings.HasSuffix(row, "  "+want) {
			t.Errorf("row %q does not end with %s", row, want)
		}
	}
}

func TestEveryFigureOfTheRushIsLabelled(t *testing.T) {
	var out bytes.Buffer
	tally := newTally()
	for _, o := range []client.Outcome{client.Accepted, client.Accepted, acceptedAgain, client.SoldOut, client.AlreadyOrdered} {
		tally.answered(client.Busy, 0)
		tally.answered(o, 0)
		tally.final(o, time.Second)
	}
	tally.answered(client.Busy, 0)
	printRush(&out, []visit{{clicks: 2}, {clicks: 4}}, tally)
	for _, want := range []string{
		"answers to 6 clicks\n", " 2  accepted: the buyer has a bottle\n", " 1  accepted again: ", " 1  already ordered: ", " 1  sold out\n",
		" 1  no answer, or ", "(5 requests were retried",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
