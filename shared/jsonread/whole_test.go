package jsonread

import (
	"encoding/json"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
)

func TestAWholeNumberIsReadInAnyFormAndWithoutRounding(t *testing.T) {
	for text, want := range map[string]int64{
		`89900`: 89900, `89900.0`: 89900, `8.99e4`: 89900, `8.99E+4`: 89900, `8990000e-2`: 89900, `89900.000000000000000000000`: 89900, `1e3`: 1000,
		`0`: 0, `0.0`: 0, `0e999999999`: 0, `-0`: 0, `-7.0`: -7, `9007199254740992`: 1 << 53, `-9007199254740992`: -1 << 53, `9.007199254740992e15`: 1 << 53,
	} {
		for by, read := range map[string]func([]byte, any) error{
			"encoding/json": json.Unmarshal, "its second version": func(text []byte, into any) error { return jsonv2.Unmarshal(text, into) },
		} {
			var got struct{ N *Whole }
			if err := read([]byte(`{"N":`+text+`}`), &got); err != nil || got.N == nil || int64(*got.N) != want {
				t.Errorf("%s by %s: %v (%v), want %d", text, by, got.N, err, want)
			}
		}
	}
	for _, text := range []string{
		`899.5`, `0.99999999999999999`, `1e-1`, `89900.00000000000000000001`, `9007199254740993`, `-9007199254740993`, `9007199254740992.5`, `1e16`,
		`1e99999999999999999999`, `1e999999999`, `"89900"`, `true`, `[]`, `{}`,
	} {
		var got struct{ N *Whole }
		if err := json.Unmarshal([]byte(`{"N":`+text+`}`), &got); err == nil {
			t.Errorf("%s is read as %d", text, *got.N)
		}
	}
}
