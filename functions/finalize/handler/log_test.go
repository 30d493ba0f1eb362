package handler

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry/telemetrytest"
)

func TestEveryOutcomeLeavesItsLine(t *testing.T) {
	abroad := ledger.ClaimRef{SaleID: "cognac", User: "carol", ClaimID: "C3"}
	const counted, plain = "Count by service, result", "Count by service"
	tests := []struct {
		name    string
		prepare func(*function)
		event   func() []byte
		outcome sale.Code
		want    map[string]any // in addition to what every line has
	}{
		{"a batch of one sale", nil, func() []byte { return batch(t, order(alice), order(bob), order(alice)) }, "",
			map[string]any{"messages": 3.0, "confirmed": 2.0, "failed": 0.0, "saleId": "moutai"}},
		{"a batch of two sales", func(f *function) { f.orders[abroad] = 0 }, func() []byte { return batch(t, order(alice), order(abroad)) }, "",
			map[string]any{"messages": 2.0, "confirmed": 2.0, "failed": 0.0}},
		{"a repeat", func(f *function) { f.orders[alice] = 7 }, func() []byte { return batch(t, order(alice)) }, "",
			map[string]any{"messages": 1.0, "confirmed": 0.0, "failed": 0.0, "saleId": "moutai"}},
		{"nothing", nil, func() []byte { return batch(t) }, "", map[string]any{"messages": 0.0, "failed": 0.0}},
		{"poison among others", nil, func() []byte { return batch(t, "alice@example.com\n\x1b[31m", order(alice)) }, sale.Poison,
			map[string]any{"messages": 2.0, "confirmed": 1.0, "failed": 1.0, "saleId": "moutai", "level": "WARN", "error": `message "m0": poison-message: `}},
		{"only poison", nil, func() []byte { return batch(t, `{"v":1,"user":"alice@example.com"}`) }, sale.Poison,
			map[string]any{"messages": 1.0, "failed": 1.0, "level": "WARN", "error": `message "m0": poison-message: invalid saleId`}},
		{"a busy table", func(f *function) { f.faults[alice] = sale.Fail(sale.Busy, errors.New("throttled")) },
			func() []byte { return batch(t, order(alice), order(bob)) }, sale.Busy,
			map[string]any{"messages": 2.0, "confirmed": 1.0, "failed": 1.0, "saleId": "moutai", "level": "WARN", "error": `message "m0": busy: throttled`}},
		{"a foreign error", func(f *function) { f.faults[bob] = errors.New("strange") },
			func() []byte { return batch(t, "poison", order(bob)) }, sale.Internal,
			map[string]any{"messages": 2.0, "confirmed": 0.0, "failed": 2.0, "saleId": "moutai", "level": "ERROR", "error": `message "m1": strange`}},
		{"a panic", func(f *function) { f.panics = true }, func() []byte { return batch(t, order(alice), order(bob)) }, sale.Internal,
			map[string]any{"messages": 2.0, "failed": 2.0, "saleId": "moutai", "level": "ERROR", "error": "panic: the ledger is on fire"}},
		{"an event that is no batch", nil, func() []byte { return []byte(`["alice@example.com"]`) }, sale.Internal,
			map[string]any{"messages": 0.0, "failed": 0.0, "level": "ERROR", "error": "decode batch: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction(t)
			if tt.prepare != nil {
				tt.prepare(f)
			}
			f.invoke(t, t.Context(), tt.event())
			line, err := telemetrytest.Parse(f.Log.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			result := "ok"
			if tt.outcome != "" {
				result = string(tt.outcome)
			}
			want := map[string]any{
				"level": "INFO", "message": "finalize", "service": "finalize", "coldStart": true,
				"outcome": result, "result": result, "batches": 1.0,
			}
			metrics := map[string]string{"batches": counted, "failed": plain}
			maps.Copy(want, tt.want)
			if want["confirmed"] != nil {
				metrics["confirmed"] = plain
			}
			if n, _ := want["confirmed"].(float64); n > 0 {
				metrics["acceptToConfirmMs"] = "Milliseconds by service"
				if ms, _ := line.Fields["acceptToConfirmMs"].(float64); ms < 1000 {
					t.Errorf("acceptToConfirmMs = %v, want at least 1,000", line.Fields["acceptToConfirmMs"])
				}
				delete(line.Fields, "acceptToConfirmMs")
			}
			// The end of a decoder's error text may change.
			if start, _ := want["error"].(string); strings.HasSuffix(start, ": ") && strings.HasPrefix(line.Fields["error"].(string), start) {
				want["error"] = line.Fields["error"]
			}
			if diff := cmp.Diff(want, line.Fields); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(metrics, line.Metrics); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			if told := telemetrytest.Told(f.Log.Bytes()); told != nil {
				t.Errorf("the log tells %q", told)
			}
		})
	}
}
