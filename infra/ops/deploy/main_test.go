package main

import (
	"io"
	"testing"
)

// root is the repository's top folder.
const root = "../../.."

func TestAnInvalidCommandLineIsRefused(t *testing.T) {
	for _, args := range [][]string{
		nil, {"dance"}, {"smoke", "now"}, {"smoke", "-loud"}, {"preflight", "-x"}, {"parameters", "-x"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
