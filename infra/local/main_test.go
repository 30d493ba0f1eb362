package main

import "testing"

func TestWhatIsSuggestedReachesTheStackThatRuns(t *testing.T) {
	for api, want := range map[string]string{"http://127.0.0.1:3000": "make demo", "http://127.0.0.1:3100": "make demo API_PORT=3100"} {
		if got := made("demo", api); got != want {
			t.Errorf("%s: %s, want %s", api, got, want)
		}
	}
}
