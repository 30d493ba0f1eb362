package handler

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

func TestAPassIsALineWithTheFiguresThatAlarmsWatch(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.open("moutai", 5, 2, payWithin)
		w.order("moutai", 0, 5)
		w.pay("moutai", 0)
		time.Sleep(payWithin + grace + 90*time.Second)
		w.passes(`{}`)
		lines := w.lines()
		pass := map[string]any{
			"level": "INFO", "message": "pass", "service": "release", "coldStart": true, "outcome": "ok", "saleId": "moutai",
			"released": 4.0, "putBack": 4.0, "overdueSeconds": 90.0, "readUnits": lines["pass moutai"].Fields["readUnits"],
			"nextDue": "2026-01-01T01:05:30.000Z",
		}
		metrics := map[string]string{
			"released": "Count by service", "putBack": "Count by service", "overdueSeconds": "Seconds by service", "readUnits": "Count by service",
		}
		if diff := lines["pass moutai"].Diff(pass, metrics); diff != "" {
			t.Errorf("pass (-want +got):\n%s", diff)
		}
		whole := map[string]any{
			"level": "INFO", "message": "release", "service": "release", "coldStart": true,
			"outcome": "ok", "result": "ok", "releases": 1.0, "sales": 1.0,
		}
		if diff := lines["release"].Diff(whole, map[string]string{"releases": "Count by service, result"}); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	})
}

func TestAFailureLeavesItsLine(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.EachFailureLeavesItsLine("release", func(payload string) error {
			_, err := w.release(payload, time.Minute)
			return err
		})
	})
}

// slow is a book whose sale is busy when that much of its time is left.
type slow struct{ left time.Duration }

func (slow) Listings(context.Context) ([]ledger.Listing, error) {
	return []ledger.Listing{{SaleID: "moutai", PayWithin: payWithin}}, nil
}

func (slow) Listing(context.Context, string) (ledger.Listing, error) { panic("not named") }

func (s slow) ReleaseDue(ctx context.Context, _ ledger.Listing, _ time.Duration) (ledger.ReleaseResult, error) {
	end, _ := ctx.Deadline()
	time.Sleep(time.Until(end) - s.left)
	return ledger.ReleaseResult{}, sale.Fail(sale.Busy, errors.New("no time for another try"))
}

func TestABusyTableIsAFailureUnlessTheTimeIsNearlyUp(t *testing.T) {
	for left, fails := range map[time.Duration]bool{300 * time.Millisecond: false, 301 * time.Millisecond: true} {
		in(t, func(t *testing.T, w *world) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := New(slow{left}, grace, telemetry.New(&w.Log, "release", clock.Wall)).Handle(ctx, json.RawMessage(`{}`))
			if (err != nil) != fails {
				t.Errorf("with %v left: %v", left, err)
			}
		})
	}
}
