package handler

import (
	"testing"
)

func TestEveryEventOfThisFunctionIsAnswered(t *testing.T) {
	tests := map[string]int{
		"query-sale.json":           200,
		"query-group.json":          200,
		"query-claim.json":          200,
		"query-order.json":          200,
		"query-order-not-mine.json": 404,
		"query-roll.json":           404, // the sale has no draw, see drawing_test.go
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			selling(t, func(t *testing.T, f *function) {
				if r := f.Ask(t, t.Context(), event(t, name)); r.StatusCode != want {
					t.Errorf("%d %s, want %d", r.StatusCode, r.Body, want)
				}
			}, inGroup)
		})
	}
}
