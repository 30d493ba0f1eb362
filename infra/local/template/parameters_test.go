package template

import (
	"strings"
	"testing"
)

const parameters = `
Parameters:
  Url: {Type: String, AllowedPattern: "https?://[^ ]+", ConstraintDescription: must be a URL}
  Safe: {Type: String, Default: "", AllowedPattern: "(https://.+)?"}
  Who: {Type: String, MinLength: 1, MaxLength: 3}
  Seconds: {Type: Number, Default: 35, MinValue: 1, MaxValue: 43200}
  Level: {Type: String, Default: INFO, AllowedValues: [DEBUG, INFO]}
  Days: {Type: Number, Default: 30, AllowedValues: [1, 30]}
  Secret: {Type: String, Default: aaaa, NoEcho: true, MinLength: 4}
Resources: {A: {Type: Custom::A}}
`

func TestParametersTakeOverridesBeforeDefaults(t *testing.T) {
	s := parse(t, parameters, Options{Parameters: map[string]string{"Url": "http://x", "Who": "me", "Seconds": "40"}})
	for name, want := range map[string]string{"Url": "http://x", "Who": "me", "Seconds": "40", "Level": "INFO", "Days": "30"} {
		if got := s.Parameters[name]; got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestParametersAreCheckedAsCloudFormationDoes(t *testing.T) {
	for _, c := range []struct{ name, value, reason string }{
		{"Url", "ftp://x", "must be a URL"},
		{"Url", "xhttp://x", "does not match"},
		{"Safe", "http://x/", "does not match"},
		{"Safe", "http://127.0.0.1.example/", "does not match"},
		{"Safe", "http://127.0.0.1@x/", "does not match"},
		{"Safe", "ftp://127.0.0.1/", "does not match"},
		{"Who", "", "is shorter than 1"},
		{"Who", "four", "is longer than 3"},
		{"Seconds", "0", "is below 1"},
		{"Seconds", "43201", "is above 43200"},
		{"Seconds", "soon", "is not a number"},
		{"Seconds", "NaN", "is not a number"},
		{"Level", "TRACE", "is not one of DEBUG, INFO"},
		{"Days", "2", "is not one of 1, 30"},
		{"Unheard", "x", "no parameter Unheard"},
	} {
		t.Run(c.name+" as "+c.value, func(t *testing.T) {
			given := map[string]string{"Url": "http://x", "Who": "me"}
			given[c.name] = c.value
			e := refused(t, parameters, Options{Parameters: given})
			if !strings.Contains(e.Reason, c.reason) {
				t.Errorf("reason %q, want %q in it", e.Reason, c.reason)
			}
		})
	}
}

func TestWhatMustBeHTTPSMayBeHTTPOnThisMachine(t *testing.T) {
	for _, url := range []string{"https://x/", "http://127.0.0.1:80/check?a=b", "http://localhost/", "http://[::1]:1/"} {
		s := parse(t, parameters, Options{Parameters: map[string]string{"Url": "http://x", "Who": "me", "Safe": url}})
		if got := s.Parameters["Safe"]; got != url {
			t.Errorf("%s became %s", url, got)
		}
	}
	given := Options{Parameters: map[string]string{"Url": "http://x", "Who": "me", "Safe": "http://127.0.0.1/"}, Strict: []string{"Safe"}}
	if e := refused(t, parameters, given); !strings.Contains(e.Reason, `"http://127.0.0.1/" does not match`) {
		t.Errorf("a strict parameter: %v", e)
	}
}

func TestEveryParameterWithoutAValueIsNamedAtOnce(t *testing.T) {
	e := refused(t, parameters, Options{})
	if !strings.Contains(e.Reason, "Url, Who") || e.Line != 3 {
		t.Errorf("got %v, want both names and the first one's line", e)
	}
}

func TestASecretIsNotRepeatedInTheError(t *testing.T) {
	given := map[string]string{"Url": "http://x", "Who": "me", "Secret": "xyz"}
	if e := refused(t, parameters, Options{Parameters: given}); strings.Contains(e.Error(), "xyz") {
		t.Errorf("error %q shows the secret", e)
	}
}
