package handler

import (
	"path/filepath"
	"testing"

	"flashsale/shared/sale"
)

func TestEveryEventOfThisFunctionDoesItsPart(t *testing.T) {
	// In this order they are the life of one sale.
	tests := []struct {
		name   string
		answer string
		code   sale.Code
	}{
		{"seed-create.json", `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`, ""},
		{"seed-pause-scheduled.json", `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`, ""},
		{"seed-pause.json", `{"saleId":"moutai","seeded":100,"shards":5,"applied":true}`, ""},
		{"seed-add.json", `{"saleId":"moutai","seeded":150,"shards":5,"applied":true}`, ""},
		{"seed-resume.json", `{"saleId":"moutai","seeded":150,"shards":5,"applied":false}`, ""}, // the clock stands still
		{"seed-reschedule.json", `{"saleId":"moutai","seeded":150,"shards":5,"applied":false}`, ""},
		{"seed-invalid.json", "", sale.InvalidRequest},
	}
	files, err := filepath.Glob("../../../events/seed*.json")
	if err != nil || len(files) != len(tests) {
		t.Errorf("%d events in events/ and %d here (%v): each needs its test", len(files), len(tests), err)
	}
	f := newFunction(t)
	for _, tt := range tests {
		if tt.code != "" {
			f.refuse(t, event(t, tt.name), tt.code)
			continue
		}
		f.succeed(t, event(t, tt.name), tt.answer)
	}
}
