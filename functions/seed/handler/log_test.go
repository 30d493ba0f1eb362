package handler

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/sale"
	"flashsale/shared/telemetry/telemetrytest"
)

func TestEveryOutcomeLeavesItsLine(t *testing.T) {
	created := func(t *testing.T, f *function) { f.invoke(t, t.Context(), event(t, "seed-create.json")) }
	action := func(name string, more map[string]any) map[string]any {
		want := map[string]any{"action": name, "saleId": "moutai"}
		maps.Copy(want, more)
		return want
	}
	tests := []struct {
		name    string
		before  func(*testing.T, *function)
		raw     []byte
		outcome sale.Code
		want    map[string]any // in addition to what every line has
	}{
		{"a creation", nil, event(t, "seed-create.json"), "ok", action("create", map[string]any{"seeded": 100.0})},
		{"an addition", created, event(t, "seed-add.json"), "ok", action("add", map[string]any{"seeded": 150.0, "coldStart": false})},
		{"a pause", created, event(t, "seed-pause.json"), "ok", action("pause", map[string]any{"seeded": 100.0, "coldStart": false})},
		{"an addition to no sale", nil, event(t, "seed-add.json"), sale.SaleNotFound,
			action("add", map[string]any{"error": "sale-not-found: no such sale"})},
		{"an id used before", created, []byte(`{"action":"create","saleId":"moutai","opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z","stock":7}`),
			sale.Conflicting, action("create", map[string]any{"level": "WARN", "coldStart": false,
				"error": "conflicting-request: the sale was created with other contents"})},
		{"a request that is none", nil, []byte(`{"action":"\u001b[31m\nsell everything"}`), sale.InvalidRequest,
			map[string]any{"error": "invalid-request: action must be create, add, withdraw, pause, resume or reschedule"}},
		{"a busy table", func(_ *testing.T, f *function) { f.fault = sale.Fail(sale.Busy, errForeign) }, event(t, "seed-create.json"), sale.Busy,
			action("create", map[string]any{"level": "WARN", "error": "busy: " + errForeign.Error()})},
		{"a foreign error", func(_ *testing.T, f *function) { f.fault = errForeign }, event(t, "seed-create.json"), sale.Internal,
			action("create", map[string]any{"level": "ERROR", "error": errForeign.Error()})},
		{"a panic", func(_ *testing.T, f *function) { f.panics = true }, event(t, "seed-create.json"), sale.Internal,
			action("create", map[string]any{"level": "ERROR", "error": "panic: the table is on fire"})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction(t)
			if tt.before != nil {
				tt.before(t, f)
			}
			f.invoke(t, t.Context(), tt.raw)
			line, err := telemetrytest.Parse(f.Log.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{
				"level": "INFO", "message": "seed", "service": "seed", "coldStart": true,
				"outcome": string(tt.outcome), "result": string(tt.outcome), "seedings": 1.0,
			}
			metrics := map[string]string{"seedings": "Count by service, result"}
			maps.Copy(want, tt.want)
			if want["seeded"] != nil {
				metrics["seeded"] = "Count by service"
			}
			if diff := cmp.Diff(want, line.Fields); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(metrics, line.Metrics); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}
