package eligibility

import (
	"strings"
	"testing"
	"time"

	"flashsale/shared/clock"
)

func TestTheEnvironmentSaysWhomToAskAndWithHowMuchPatience(t *testing.T) {
	const url = "https://check.example.com"
	for _, tt := range []struct {
		name                           string
		url, timeout, concurrency, how string
		want                           *Checker // only its options; nil for no checker
		missing                        string   // the variable that the error names
	}{
		{"nobody to ask", "", "", "", "", nil, ""},
		{"nobody to ask, with the template's defaults", "", "300", "8", "false", nil, ""},
		{"the defaults", url, "", "", "", &Checker{timeout: 300 * time.Millisecond, turns: make(chan struct{}, 8)}, ""},
		{"all said", url, "900", "2", "true", &Checker{timeout: 900 * time.Millisecond, turns: make(chan struct{}, 2), failOpen: true}, ""},
		{"closed by name", url, "1", "1000", "false", &Checker{timeout: time.Millisecond, turns: make(chan struct{}, 1000)}, ""},
		{"no time", url, "0", "", "", nil, "ELIGIBILITY_TIMEOUT_MS"},
		{"too much time", url, "1001", "", "", nil, "ELIGIBILITY_TIMEOUT_MS is \"1001\", want 1 to 1000\n"},
		{"a time that is none", url, "300ms", "", "", nil, "ELIGIBILITY_TIMEOUT_MS"},
		{"nobody at once", url, "", "0", "", nil, "ELIGIBILITY_CONCURRENCY"},
		{"too many at once", url, "", "1001", "", nil, "ELIGIBILITY_CONCURRENCY"},
		{"a number that is none", url, "", "eight", "", nil, "ELIGIBILITY_CONCURRENCY"},
		{"neither open nor closed", url, "", "", "yes", nil, "ELIGIBILITY_FAIL_OPEN"},
		{"a mistake beside nobody to ask", "", "", "", "TRUE", nil, "ELIGIBILITY_FAIL_OPEN"},
		{"a URL that is none", "check.example.com", "", "", "", nil, "eligibility URL"},
		{"a URL in the clear", "http://check.example.com", "", "", "", nil, "ELIGIBILITY_URL: read eligibility URL: it must begin with https:// outside of loopback"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("ELIGIBILITY_URL", tt.url)
			t.Setenv("ELIGIBILITY_TIMEOUT_MS", tt.timeout)
			t.Setenv("ELIGIBILITY_CONCURRENCY", tt.concurrency)
			t.Setenv("ELIGIBILITY_FAIL_OPEN", tt.how)
			got, err := FromEnv(clock.Wall)
			if tt.missing != "" {
				if err == nil || !strings.Contains(err.Error()+"\n", tt.missing) || got != nil {
					t.Errorf("%v, %v; want an error about %s", got, err, tt.missing)
				}
				return
			}
			if err != nil || (got == nil) != (tt.want == nil) {
				t.Fatalf("%v, %v; want %v", got, err, tt.want)
			}
			if got == nil {
				return
			}
			if got.timeout != tt.want.timeout || cap(got.turns) != cap(tt.want.turns) || got.failOpen != tt.want.failOpen {
				t.Errorf("timeout %s, %d at once, fail open %t; want %s, %d, %t", got.timeout, cap(got.turns), got.failOpen,
					tt.want.timeout, cap(tt.want.turns), tt.want.failOpen)
			}
			if got.service.url != url {
				t.Errorf("asks %s", got.service.url)
			}
		})
	}
}
