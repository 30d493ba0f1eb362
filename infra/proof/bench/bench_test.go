package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func allCases(tb testing.TB) []*benchCase {
	tb.Helper()
	tb.Setenv("TABLE_NAME", table)
	tb.Setenv("ORDER_QUEUE_URL", queueURL)
	tb.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	tb.Setenv("AWS_CONFIG_FILE", os.DevNull)
	tb.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	tb.Setenv("AWS_CA_BUNDLE", "")
	log, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = log.Close() })
	all, clean, err := cases(tb.Context(), filepath.Join("..", "..", ".."), log)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(clean)
	return all
}

// Benchmark is what make bench runs in turns, one side at a time, for go test's
// profiles.
func Benchmark(b *testing.B) {
	for _, c := range allCases(b) {
		b.Run(c.name+"/handler", benchmark(c.handler))
		if c.bare != nil {
			b.Run(c.name+"/bare", benchmark(c.bare))
		}
	}
}

func TestEachCaseMakesTheCallsOfItsOutcomeAndNoOther(t *testing.T) {
	want := map[string]string{
		"purchase-accepted":        "TransactWriteItems SendMessage",
		"purchase-accepted-socket": "TransactWriteItems SendMessage",
		"purchase-duplicate":       "TransactWriteItems",
		"purchase-sold-out":        "GetItem",
		"query-claim":              "GetItem",
	}
	for _, c := range allCases(t) {
		t.Run(c.name, func(t *testing.T) {
			if err := c.handler(); err != nil {
				t.Error(err)
			}
			if c.bare != nil {
				if err := c.bare(); err != nil {
					t.Error(err)
				}
			}
			var names []string
			for _, input := range c.calls {
				name := reflect.TypeOf(input).Elem().Name()
				names = append(names, strings.TrimSuffix(name, "Input"))
			}
			calls, known := want[c.name]
			if got := strings.Join(names, " "); known && got != calls {
				t.Errorf("the handler calls %q, want %q", got, calls)
			}
			if !known && (len(names) == 0 || len(names) > 4) {
				t.Errorf("finalize calls %q, want at most 4 calls for 25 messages", names)
			}
		})
	}
}

func TestTheClosingLineIsTheMedianOfTheRoundsOwnRatios(t *testing.T) {
	f := figures{
		handler: []sample{{110, 10}, {300, 10}, {240, 10}},
		bare:    []sample{{100, 10}, {100, 10}, {200, 8}},
	}
	if got, want := f.line("x"), "ratio x cpu=1.20 allocs=1.00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f = figures{handler: []sample{{9_000, 40}, {11_000, 42}}}
	if got, want := f.line("y"), "absolute y cpu=10.0µs allocs=41"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestACrowdsUsersAreMoreThanAnEnvironmentRemembers(t *testing.T) {
	c, err := newCrowd([]byte(`{"sub":"alice"}`))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range crowdSize {
		seen[string(c.next())] = true
	}
	if len(seen) != crowdSize || !seen[`{"sub":"user-00042"}`] {
		t.Errorf("%d different events", len(seen))
	}
}

func TestAProgramThatAnswersNothingIsNoColdStart(t *testing.T) {
	if _, err := coldStart(t.Context(), filepath.Join(t.TempDir(), "none"), "", nil); err == nil {
		t.Error("a program that does not exist has started")
	}
	for _, body := range []string{`{"statusCode":500}`, `{`} {
		answered := make(chan error, 1)
		r := httptest.NewRequest("POST", "/2018-06-01/runtime/invocation/x/response", strings.NewReader(body))
		runtimeAPI(nil, answered).ServeHTTP(httptest.NewRecorder(), r)
		if err := <-answered; err == nil {
			t.Errorf("%s is taken for an accepted purchase", body)
		}
	}
}
