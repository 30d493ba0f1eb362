package handler

import (
	"io"
	"testing"
	"time"

	"flashsale/shared/clock"
	"flashsale/shared/telemetry"
)

func quiet() *telemetry.Log { return telemetry.New(io.Discard, "draw", clock.Wall) }

func TestATurnIsALineWithTheFiguresThatAlarmsWatch(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.draws(0)
		w.Until(enterEnd.Add(times.Settle))
		w.run()
		lines := w.lines()
		turn := map[string]any{
			"level": "INFO", "message": "course", "service": "draw", "coldStart": true, "outcome": "ok", "saleId": "moutai",
			"steps": "roll", "call": 0.0, "nextStep": "2026-01-01T02:15:01.000Z", "diceLateSeconds": 0.0, "callLateSeconds": 0.0,
		}
		metrics := map[string]string{"diceLateSeconds": "Seconds by service", "callLateSeconds": "Seconds by service"}
		if diff := lines["course moutai"].Diff(turn, metrics); diff != "" {
			t.Errorf("turn (-want +got):\n%s", diff)
		}
		whole := map[string]any{
			"level": "INFO", "message": "draw", "service": "draw", "coldStart": true, "outcome": "ok", "result": "ok", "draws": 1.0, "sales": 1.0,
		}
		if diff := lines["draw"].Diff(whole, map[string]string{"draws": "Count by service, result"}); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	})
}

func TestAFailureLeavesItsLine(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.EachFailureLeavesItsLine("draw", func(payload string) error {
			_, err := w.draw(payload, time.Minute)
			return err
		})
	})
}
