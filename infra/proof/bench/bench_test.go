package main

import (
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestEachCaseMakesTheCallsOfItsOutcomeAndNoOther(t *testing.T) {
	want := map[string]string{
		"purchase-accepted":        "TransactWriteItems SendMessage",
		"purchase-accepted-socket": "TransactWriteItems SendMessage",
		"purchase-duplicate":       "TransactWriteItems",
		"purchase-sold-out":        "GetItem",
		"query-claim":              "GetItem",
	}
	if err := environment(); err != nil {
		t.Fatal(err)
	}
	all, clean, err := cases(t.Context(), filepath.Join("..", "..", ".."), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer clean()
	for _, c := range all {
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
