package spreadsheet

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// texts are what a spreadsheet would calculate, shorten or divide.
var texts = []string{
	"523415642750058497", "0042", "1e3", "TRUE", "1/2", "2026-11-11T12:04:31.207Z", "=1+1", "x;=1+1", "x;=1+1;y", "+", "-500", "@a", "\t=1", "x\n=1", "'a", "none",
	"＝1", `a"b`, `a","=1+1`, `=HYPERLINK("x";"y")`, strings.Repeat(`";`, 60), "sku=A-38,erp=4711", "茅台",
}

// exact is the text of a cell as a program gets it back.
func exact(cell string) string {
	text := strings.TrimPrefix(cell, "'")
	for _, separator := range []string{";", "\t", "\n"} {
		text = strings.ReplaceAll(text, separator+"'", separator)
	}
	return text
}

func TestEveryTextIsWholeAndNeverAFormulaWhateverSeparates(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, "sale", "text", "state")
	for _, text := range texts {
		if err := w.Line(Text("moutai"), Text(text), Word("PAID")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	body, marked := strings.CutPrefix(out.String(), "\ufeff")
	lines, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || !marked || len(lines) != len(texts)+1 {
		t.Fatalf("%v, %d lines, byte order mark %t", err, len(lines), marked)
	}
	var got []string
	for _, line := range lines[1:] {
		got = append(got, exact(line[1]))
	}
	if diff := cmp.Diff(texts, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	// Whoever separates there does not see that the text is quoted.
	for _, part := range strings.FieldsFunc(body, func(r rune) bool { return strings.ContainsRune(";\t\n", r) }) {
		if part = strings.TrimLeft(part, `"`); strings.IndexAny(part, "=+-@＝") == 0 {
			t.Errorf("a part is %q", part)
		}
	}
}

func TestAnAmountIsADecimalNumberThatNoLanguageTakesForAnother(t *testing.T) {
	for want, of := range map[string]struct {
		minor int64
		code  string
	}{
		"899.00": {89900, "CNY"}, "0.05": {5, "EUR"}, "899": {899, "JPY"}, "89.9000": {89900, "BHD"}, "1.2345": {12345, "CLF"}, `"'89900 minor units"`: {89900, "ZZZ"},
	} {
		if got := Amount(of.minor, of.code).csv; got != want {
			t.Errorf("%d %s is %s, want %s", of.minor, of.code, got, want)
		}
	}
}
