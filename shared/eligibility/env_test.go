package eligibility

import (
	"fmt"
	"strings"
	"testing"

	"flashsale/shared/clock"
)

func TestTheEnvironmentSaysWhomToAskAndWithHowMuchPatience(t *testing.T) {
	const url = "https://check.example.com"
	for _, tt := range []struct {
		name                           string
		url, timeout, concurrency, how string
		want                           string // the checker's URL, timeout, calls at once and whether it fails open; "" for no checker
		missing                        string // the variable that the error names
	}{
		{"nobody to ask", "", "", "", "", "", ""},
		{"nobody to ask, with the template's defaults", "", "300", "8", "false", "", ""},
		{"the defaults", url, "", "", "", url + " 300ms 8 false", ""},
		{"all said", url, "900", "2", "true", url + " 900ms 2 true", ""},
		{"closed by name", url, "1", "1000", "false", url + " 1ms 1000 false", ""},
		{"no time", url, "0", "", "", "", "ELIGIBILITY_TIMEOUT_MS"},
		{"too much time", url, "1001", "", "", "", "ELIGIBILITY_TIMEOUT_MS is \"1001\", want 1 to 1000\n"},
		{"a time that is none", url, "300ms", "", "", "", "ELIGIBILITY_TIMEOUT_MS"},
		{"nobody at once", url, "", "0", "", "", "ELIGIBILITY_CONCURRENCY"},
		{"too many at once", url, "", "1001", "", "", "ELIGIBILITY_CONCURRENCY"},
		{"a number that is none", url, "", "eight", "", "", "ELIGIBILITY_CONCURRENCY"},
		{"neither open nor closed", url, "", "", "yes", "", "ELIGIBILITY_FAIL_OPEN"},
		{"a mistake beside nobody to ask", "", "", "", "TRUE", "", "ELIGIBILITY_FAIL_OPEN"},
		{"a URL that is none", "check.example.com", "", "", "", "", "eligibility URL"},
		{"a URL in the clear", "http://check.example.com", "", "", "", "", "ELIGIBILITY_URL: read eligibility URL: it must begin with https:// outside of loopback"},
	} {
		t.Setenv("ELIGIBILITY_URL", tt.url)
		t.Setenv("ELIGIBILITY_TIMEOUT_MS", tt.timeout)
		t.Setenv("ELIGIBILITY_CONCURRENCY", tt.concurrency)
		t.Setenv("ELIGIBILITY_FAIL_OPEN", tt.how)
		c, err := FromEnv(clock.Wall)
		if (err != nil) != (tt.missing != "") || err != nil && !strings.Contains(err.Error()+"\n", tt.missing) {
			t.Errorf("%s: %v, want an error about %q", tt.name, err, tt.missing)
		}
		got := ""
		if c != nil {
			got = fmt.Sprint(c.service.url, " ", c.timeout, " ", cap(c.turns), " ", c.failOpen)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
