package handler

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/clock"
	"flashsale/shared/telemetry"
)

func quiet() *telemetry.Log { return telemetry.New(io.Discard, "draw", clock.Wall) }

func TestATurnIsALineWithTheFiguresThatAlarmsWatch(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.create("shoes", 2)
		time.Sleep(time.Until(enterEnd.Add(times.Settle)))
		w.run()
		lines := w.lines()
		turn := map[string]any{
			"level": "INFO", "message": "course", "service": "draw", "coldStart": true, "outcome": "ok", "saleId": "shoes",
			"steps": "roll", "call": 0.0, "nextStep": "2026-11-11T10:15:01.000Z", "diceLateSeconds": 0.0, "callLateSeconds": 0.0,
		}
		if diff := cmp.Diff(turn, lines["course shoes"].Fields); diff != "" {
			t.Errorf("turn (-want +got):\n%s", diff)
		}
		metrics := map[string]string{"diceLateSeconds": "Seconds by service", "callLateSeconds": "Seconds by service"}
		if diff := cmp.Diff(metrics, lines["course shoes"].Metrics); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		whole := map[string]any{
			"level": "INFO", "message": "draw", "service": "draw", "coldStart": true, "outcome": "ok", "result": "ok", "draws": 1.0, "sales": 1.0,
		}
		if diff := cmp.Diff(whole, lines["draw"].Fields); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]string{"draws": "Count by service, result"}, lines["draw"].Metrics); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

func TestAFailureLeavesItsLine(t *testing.T) {
	for _, tt := range []struct {
		name, payload, level, outcome string
		fault                         dynamotest.Fault
	}{
		{"no request", `[]`, "INFO", "invalid-request", dynamotest.Fault{}},
		{"no such sale", `{"saleId":"nowhere"}`, "INFO", "sale-not-found", dynamotest.Fault{}},
		{"a throttled table", `{}`, "WARN", "busy", dynamotest.Fault{Kind: dynamotest.Throttle}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.create("shoes", 3)
				w.db.Fault = func(dynamotest.Call) dynamotest.Fault { return tt.fault }
				if draws, err := w.draw(tt.payload, time.Minute); err == nil {
					t.Errorf("no error, but %v", draws)
				}
				lines := w.lines()
				fields := lines["draw"].Fields
				if len(lines) != 1 || fields["level"] != tt.level || fields["outcome"] != tt.outcome || fields["result"] != tt.outcome || fields["error"] == nil {
					t.Errorf("lines %v", lines)
				}
			})
		})
	}
}
