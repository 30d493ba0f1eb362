package jsonread

import (
	"strings"
	"testing"
)

func TestAFlatObjectIsReadStrictly(t *testing.T) {
	for _, tt := range []struct {
		text, names string
		ok          bool
	}{
		{`{}`, "", true},
		{" \n{\"s\":\"x\",\"n\":7}\t", "n s", true},
		{`{"S":"x"}`, "S", true}, // for the caller to refuse
		{`{"unknown":7}`, "unknown", true},
		{`{"\u0073":"x"}`, "s", true},
		{`{"l":["x","y"],"s":"x"}`, "l s", true},
		{`{"l":[]}`, "l", true},

		{``, "", false},
		{`null`, "", false},
		{`[]`, "", false},
		{`{"s":"x"`, "", false},
		{`{} {}`, "", false},
		{`{"s":"x","s":"y"}`, "", false},
		{`{"s":"x","\u0073":"y"}`, "", false},
		{`{"s":null}`, "", false},
		{`{"s":true}`, "", false},
		{`{"s":{"s":"x"}}`, "", false},
		{`{"s":7}`, "", false},
		{`{"s":["x"]}`, "", false},
		{`{"l":["x",null]}`, "", false},
		{`{"l":["x",["y"]]}`, "", false},
		{`{"l":[7]}`, "", false},
		{`{"unknown":{"l":[]}}`, "", false},
		{`{"n":"7"}`, "", false},
		{`{"n":1.5}`, "", false},
		{"{\"s\":\"\xff\"}", "", false},
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
