package settings

import (
	"strings"
	"testing"
)

func TestWhatIsNoTextOfASettingIsSaidAndNotQuoted(t *testing.T) {
	const blank, quoted, printable = "it has a blank or a line break", "it has a quotation mark, a backslash or a comma", "it has a character that is not printable ASCII"
	for text, want := range map[string]string{
		"": "it is empty", " ": blank, "a b": blank, "a\r\nb": blank, "\ufeffa": "it begins with a byte order mark", `"a"`: quoted, "'a'": quoted, `a\b`: quoted, "a,b": quoted,
		"a\u200b": printable, "ｗ": printable, "a\x7f": printable, "a_": "it is not of letters", "ab": "",
	} {
		if err := Form(Letters, "of letters")(text); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestWhichElementOfAListIsWrongIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"a": "", "a, b ,c": "", "1": "keys: it is not of letters", "a,1": "keys, number 2 of 2: it is not of letters", "a,": "keys, number 2 of 2: it is empty", ",a": "keys, number 1 of 2: it is empty",
		strings.Repeat("a,", 9) + "a": "", strings.Repeat("a,", 10) + "a": "keys has more than 10",
	} {
		if err := CheckKeys("keys", Listed(text), Form(Letters, "of letters")); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if err := Check("keys", nil, IsText); err == nil || err.Error() != "keys has none" {
		t.Errorf("no keys: %v", err)
	}
}

func TestSettingsHaveExactlyTheirMembers(t *testing.T) {
	type set struct {
		Keys []string `json:"keys"`
		Live *bool    `json:"live"`
	}
	const form = `it is not JSON of the form {"keys":[],"live":null}, which HTTP.md describes`
	for text, want := range map[string]string{
		` {"keys":["a"],"live":false} `: "", `{"keys":["a"]}`: "", `a`: form, `{"keys":[],"Live":true}`: form, `{"keys":[],"x":1}`: form, `{"live":true,"live":true}`: form,
		`{"live":"true"}`: form, `["a"]`: form, "\ufeff{}": "it begins with a byte order mark",
	} {
		if _, err := Read[set](text); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
