package jsonread

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// whole reads any value, and returns it as encoding/json would.
func whole(r *Reader) (any, error) {
	switch r.tokens.PeekKind() {
	case '{':
		all := map[string]any{}
		err := r.Object(func(name []byte) (err error) {
			key := string(name)
			all[key], err = whole(r)
			return err
		})
		return all, err
	case '[':
		all := []any{}
		err := r.Array(func() error {
			one, err := whole(r)
			all = append(all, one)
			return err
		})
		return all, err
	case '"':
		text, _, err := r.Text()
		return text, err
	case 't', 'f':
		return r.Bool()
	}
	return nil, r.Skip()
}

func FuzzReadAgainstTheStandardLibrary(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,{"b":null}],"c":"\u0041\n","t":true,"f":false}`, `null`, `[]`, `[[],{}]`, ` "x" `, `{"\u0061":"1"}`,
		``, `{`, `{}{}`, `[1,]`, `{"a"}`, `{"a":1,}`, `[1 2]`, `{"a":1 "b":2}`, `]`, `{"a":"\ud800"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got any
		err := Read(text, func(r *Reader) (err error) {
			got, err = whole(r)
			return err
		})
		if json.Valid(text) != (err == nil) {
			t.Fatalf("%q: %v, for the standard library it is valid: %t", text, err, json.Valid(text))
		}
		var want any
		numbers := json.NewDecoder(bytes.NewReader(text))
		numbers.UseNumber() // of any size
		if wrong := numbers.Decode(&want); wrong != nil && err == nil {
			t.Fatal(wrong)
		}
		// A name that is invalid UTF-8 is passed unchanged.
		if err == nil && utf8.Valid(text) && cmp.Diff(numberless(want), got) != "" {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	})
}

// numberless returns the value with null for numbers, which are only skipped.
func numberless(v any) any {
	switch v := v.(type) {
	case json.Number:
		return nil
	case map[string]any:
		for name, inner := range v {
			v[name] = numberless(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = numberless(inner)
		}
	}
	return v
}

func TestAValueOfAnotherKindIsRefusedAndNullIsEmpty(t *testing.T) {
	takes := map[string]func(*Reader) error{
		`{}`:   func(r *Reader) error { return r.Object(func([]byte) error { return r.Skip() }) },
		`[]`:   func(r *Reader) error { return r.Array(r.Skip) },
		`"x"`:  func(r *Reader) error { _, _, err := r.Text(); return err },
		`true`: func(r *Reader) error { _, err := r.Bool(); return err },
	}
	for own, take := range takes {
		for _, text := range []string{`{}`, `[]`, `"x"`, `true`, `7`, `null`} {
			if err := Read([]byte(text), take); (err == nil) != (text == own || text == "null") {
				t.Errorf("%s taken for %s: %v", text, own, err)
			}
		}
	}
	if err := Read([]byte(`null`), func(r *Reader) error {
		text, given, err := r.Text()
		if text != "" || given {
			t.Errorf("null is %q, given %t", text, given)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func TestAReaderKeepsNothingOfItsText(t *testing.T) {
	if err := Read([]byte(`{"a":`), (*Reader).Skip); err == nil {
		t.Error("half a text is one")
	}
	if err := Read([]byte(`7`), (*Reader).Skip); err != nil {
		t.Errorf("the next text: %v", err)
	}
}

func TestAFlatObjectIsReadStrictly(t *testing.T) {
	for _, tt := range []struct {
		text, names string
		ok          bool
	}{
		{`{}`, "", true},
		{" \n{\"s\":\"x\",\"n\":7}\t", "s n", true},
		{`{"S":"x"}`, "S", true}, // for the caller to refuse
		{`{"unknown":7}`, "unknown", true},
		{`{"\u0073":"x"}`, "s", true},
		{`{"l":["x","y"],"s":"x"}`, "l s", true},
		{`{"l":[]}`, "l", true},

		{``, "", false},
		{`null`, "", false},
		{`[]`, "", false},
		{`{`, "", false},
		{`{"s"`, "", false},
		{`{"s":`, "", false},
		{`{"s":"x"`, "", false},
		{`{"s":"x",}`, "", false},
		{`{} {}`, "", false},
		{`{} x`, "", false},
		{`{"s":"x","s":"y"}`, "", false},
		{`{"s":"x","\u0073":"y"}`, "", false},
		{`{"s":null}`, "", false},
		{`{"s":true}`, "", false},
		{`{"s":{"s":"x"}}`, "", false},
		{`{"s":7}`, "", false},
		{`{"s":["x"]}`, "", false},
		{`{"l":["x",null]}`, "", false},
		{`{"l":["x",["y"]]}`, "", false},
		{`{"l":["x",{"y":[]}]}`, "", false},
		{`{"l":[7]}`, "", false},
		{`{"l":["x"`, "", false},
		{`{"unknown":{"l":[]}}`, "", false},
		{`{"n":"7"}`, "", false},
		{`{"n":1.5}`, "", false},
		{"{\"s\":\"\xff\"}", "", false},
		{"{\"\xff\":\"x\"}", "", false},
		{"{\"s\":\"\x00\"}", "", false},
		{`{"s":"\ud800"}`, "", false},
	} {
		var into struct {
			S string   `json:"s"`
			N int      `json:"n"`
			L []string `json:"l"`
		}
		names, err := Flat([]byte(tt.text), &into)
		if (err == nil) != tt.ok || strings.Join(names, " ") != tt.names {
			t.Errorf("%q: names %q (%v), want %q, success %t", tt.text, names, err, tt.names, tt.ok)
		}
		if tt.text == `{"\u0073":"x"}` && into.S != "x" {
			t.Errorf("%q: read %+v", tt.text, into)
		}
	}
}

func TestTheTextsOfAnEventStayWhatTheyAreWhenOthersAreRead(t *testing.T) {
	want := []string{"", "plain", `with "quotes"`, "茅台", strings.Repeat("long ", 100), "\x7f", strings.Repeat("a\n", 60)}
	read := func(texts []string) (got []string) {
		event, err := json.Marshal(texts)
		if err != nil {
			t.Fatal(err)
		}
		err = Read(event, func(r *Reader) error {
			return r.Array(func() error {
				text, _, err := r.Text()
				got = append(got, text)
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		clear(event)
		return got
	}
	got := read(want)
	for range 10 {
		read(slices.Repeat([]string{"another", "\\"}, 100))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}
