package jsonwrite

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestAnObjectSaysWhatWasAddedInThatOrder(t *testing.T) {
	var o Object
	if got := string(Object(nil).Close()); got != "{}" || o.Members() != nil {
		t.Errorf("without members it is %s, and has %q", got, o.Members())
	}
	o.Text("text", `a "quoted" <word>`)
	o.TextIf("nothing", "")
	o.TextIf("something", "x")
	o.Int("int", -42)
	o.Bool("bool", true)
	o.Texts("none", nil)
	o.Texts("texts", []string{`"a"`, "b"})
	o.Name("inner")
	o = append(o, "[1,2]"...)
	o.Open("object")
	o.Text("a", "{")
	o.Digits("b", math.MaxUint64)
	o.End()
	o.Open("empty")
	o.End()
	text := string(o.Close())
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	want := map[string]any{"text": `a "quoted" <word>`, "something": "x", "int": -42.0, "bool": true, "none": []any{}, "texts": []any{`"a"`, "b"}, "inner": []any{1.0, 2.0},
		"object": map[string]any{"a": "{", "b": "18446744073709551615"}, "empty": map[string]any{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	last := 0
	for _, name := range []string{"text", "something", "int", "bool", "none", "texts", "inner", "object", "empty"} {
		at := strings.Index(text, `"`+name+`":`)
		if at < last {
			t.Errorf("%s is not where it was added: %s", name, text)
		}
		last = at
	}
}

func TestQuotingPrintableASCIITakesNoMemory(t *testing.T) {
	to := make([]byte, 0, 64)
	for _, text := range []string{" ", "~", "auth0|a \"quoted\" back\\slash"} {
		if n := testing.AllocsPerRun(100, func() { Quote(to, text) }); n != 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
	}
}

func FuzzQuoteAgainstTheStandardLibrary(f *testing.F) {
	for _, text := range []string{"", "plain", "茅台 & <b>", "a\"b\\c", "\x00\x1f\x7f", "\u2028\u2029", "a\xffb", "\xed\xa0\x80"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Quote([]byte("x"), text)
		var back string
		if err := json.Unmarshal(got[1:], &back); err != nil || got[0] != 'x' {
			t.Fatalf("%q is quoted as %s: %v", text, got, err)
		}
		if want := strings.ToValidUTF8(text, "\ufffd"); utf8.ValidString(text) && back != want {
			t.Errorf("%q comes back as %q", text, back)
		}
		if line := string(got); !utf8.ValidString(line) || strings.ContainsAny(line, "\x00\n\r\u2028\u2029") {
			t.Errorf("%q is not a piece of one line", line)
		}
	})
}
