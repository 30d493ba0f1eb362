package handler

import (
	"context"
	"errors"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

func TestNothingIsEverDueInASaleThatAsksForNoPayment(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.open("moutai", 5, 2, 0)
		w.order("moutai", 0, 5)
		if p := w.passes(string(httpapitest.Event(t, "release-one.json"))); len(p) != 1 || !p[0].Complete || p[0].NextDue != "" {
			t.Errorf("got %+v", p)
		}
	})
}

func TestARecalledSaleGetsItsPassWhateverItAsksFor(t *testing.T) {
	for name, within := range map[string]time.Duration{"no payment": 0, "payment": payWithin} {
		in(t, func(t *testing.T, w *world) {
			w.open("moutai", 9, 2, within)
			w.open("other", 9, 2, payWithin)
			w.order("moutai", 0, 3)
			w.Pay("user-0", "pi_1", 100)
			w.Recall()
			time.Sleep(2 * time.Minute)
			w.Lines("message", "saleId")
			p := w.passes(`{}`)
			if len(p) != 2 || p[1].SaleID != "moutai" || !p[1].Complete || p[1].Released != 2 || p[1].PutBack != 2 || p[1].Refunded != 1 || p[1].OverdueSeconds != 120 {
				t.Errorf("%s: got %+v, want the recalled sale last, and all of it finished", name, p)
			}
			if line := w.Lines("message", "saleId")["pass moutai"]; line.Fields["refunded"] != 1.0 {
				t.Errorf("%s: got %+v", name, line)
			}
			if got := w.states("moutai", 3); got[sale.Paid] != 1 || got[sale.Cancelled] != 2 {
				t.Errorf("%s: got %v", name, got)
			}
			w.balanced()
			if p := w.passes(`{}`); len(p) > 1 && (p[0].SaleID != "moutai" || p[0].Released+p[0].Refunded > 0) || within == 0 && len(p) != 1 {
				t.Errorf("%s: then %+v, want nothing left", name, p)
			}
		})
	}
}

func TestTheGraceIsReadFromTheEnvironment(t *testing.T) {
	for text, want := range map[string]time.Duration{"": ledger.DefaultGrace, "0": 0, "5": 5 * time.Second, "86400": ledger.MaxGrace} {
		t.Setenv("RELEASE_GRACE_SECONDS", text)
		if got, err := GraceFromEnv(); err != nil || got != want {
			t.Errorf("%q: %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"-1", "86401", "2m", "1.5", " 5", "99999999999999999999"} {
		t.Setenv("RELEASE_GRACE_SECONDS", text)
		if got, err := GraceFromEnv(); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestADrainedSaleIsLeftAlone(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.open("moutai", 1, 1, payWithin)
		w.order("moutai", 0, 1)
		w.Pay("user-0", "pi_1", 100)
		time.Sleep(24*time.Hour + ledger.DrainAfter + time.Second)
		r := w.Receipt()
		if drained, err := w.Ledger().Drain(t.Context(), r); err != nil || !drained {
			t.Fatalf("drained: %t (%v), %+v", drained, err, r)
		}
		again := sale.Payment{Provider: "stripe", Reference: "pi_2", OrderID: w.Claim("user-0").OrderID, Currency: "EUR"}
		if done, err := w.Ledger().Pay(t.Context(), again); err != nil || done.Refund == nil { // it is listed again
			t.Fatalf("got %+v (%v)", done, err)
		}
		if p := w.passes(`{}`); len(p) != 0 {
			t.Errorf("got %+v", p)
		}
	})
}

func TestARunWhoseTimeEndsDuringACallIsNoFailure(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.open("moutai", 4, 1, payWithin)
		w.order("moutai", 0, 4)
		time.Sleep(payWithin + grace + time.Second)
		w.DB.Fault = dynamotest.Fault{Delay: time.Hour}.On("TransactWriteItems", "")
		if p, err := w.release(`{}`, 8*time.Second); err != nil || len(p) != 1 || p[0].Complete {
			t.Errorf("got %+v (%v), want a pass that is cut off", p, err)
		}
		w.DB.Fault = nil
		if p := w.passes(`{}`); !p[0].Complete || w.states("moutai", 4)[sale.Expired] != 4 || w.Receipt().Stock != 4 {
			t.Errorf("got %+v, %d in stock", p, w.Receipt().Stock)
		}
		w.balanced()
	})
}

func TestAPassIsALineWithTheFiguresThatAlarmsWatch(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.open("moutai", 5, 2, payWithin)
		w.order("moutai", 0, 5)
		w.Pay("user-0", "pi_1", 100)
		time.Sleep(payWithin + grace + 90*time.Second)
		w.passes(string(httpapitest.Event(t, "release-all.json")))
		lines := w.Lines("message", "saleId")
		w.IsLine(lines["pass moutai"], "release", "pass", map[string]any{
			"saleId": "moutai", "released": 4.0, "putBack": 4.0, "overdueSeconds": 90.0, "readUnits": lines["pass moutai"].Fields["readUnits"],
			"nextDue": "2026-01-01T01:05:30.000Z",
		}, map[string]string{
			"released": "Count by service", "putBack": "Count by service", "overdueSeconds": "Seconds by service", "readUnits": "Count by service",
		})
		w.IsLine(lines["release"], "release", "release", map[string]any{"result": "ok", "releases": 1.0, "sales": 1.0}, map[string]string{"releases": "Count by service, result"})
	})
}

// slow is a ledger whose sales are busy when that much of their time is left.
type slow struct {
	Ledger
	left time.Duration
}

func (s slow) ReleaseDue(ctx context.Context, _ ledger.Listing, _ time.Duration) (ledger.ReleaseResult, error) {
	end, _ := ctx.Deadline()
	time.Sleep(time.Until(end) - s.left)
	return ledger.ReleaseResult{}, sale.Fail(sale.Busy, errors.New("no time for another try"))
}

func TestABusyTableIsAFailureUnlessTheTimeIsNearlyUp(t *testing.T) {
	for left, fails := range map[time.Duration]bool{300 * time.Millisecond: false, 301 * time.Millisecond: true} {
		in(t, func(t *testing.T, w *world) {
			w.open("moutai", 1, 1, payWithin)
			h := New(slow{w.Ledger(), left}, grace, telemetry.New(&w.Log, "release", clock.Wall))
			if _, err := testledger.Invoke(&w.Scheduled, h.Handle, `{}`, time.Minute); (err != nil) != fails {
				t.Errorf("with %v left: %v", left, err)
			}
		})
	}
}
