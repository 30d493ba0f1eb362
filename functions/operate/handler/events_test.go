package handler

import (
	"testing"
)

func TestEveryEventOfThisFunctionIsAnswered(t *testing.T) {
	tests := []string{
		"operate-sales.json", "operate-sale.json", "operate-trail.json", "operate-buyer.json", "operate-pause.json", "operate-cancel.json", "operate-refunds.json", "operate-list.json", "operate-mark.json",
		"operate-health.json", "operate-purchases.json", "operate-count.json", "operate-create.json",
		"operate-resume-as-told.json", // by the Invoke API
	}
	selling(t, func(t *testing.T, f *function) {
		for _, name := range tests {
			f.answered(t, event(t, name))
		}
	})
}
