package handler

import (
	"path/filepath"
	"testing"
)

func TestEveryEventOfThisFunctionIsAnswered(t *testing.T) {
	tests := []string{
		"operate-sales.json", "operate-sale.json", "operate-trail.json", "operate-buyer.json", "operate-pause.json",
		"operate-resume-as-told.json", // by the Invoke API
	}
	files, err := filepath.Glob("../../../events/operate*.json")
	if err != nil || len(files) != len(tests) {
		t.Errorf("%d events in events/ and %d here (%v): each needs its test", len(files), len(tests), err)
	}
	selling(t, func(t *testing.T, f *function) {
		for _, name := range tests {
			f.answered(t, event(t, name))
		}
	})
}
