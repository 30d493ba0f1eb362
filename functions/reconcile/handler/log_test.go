package handler

import (
	"flashsale/shared/ledger"
	"testing"
	"time"
)

func TestAReceiptIsALineWithTheFiguresThatAlarmsWatch(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 2)
		w.Confirm(w.Crowd("moutai", 0, 5)[:2]...)
		time.Sleep(time.Hour / 2)
		w.receipts(`{}`)
		lines := w.Lines("message")
		receipt := map[string]any{
			"level": "INFO", "message": "receipt", "service": "reconcile", "coldStart": true, "outcome": "ok", "saleId": "moutai",
			"oversold": 0.0, "unbalanced": 0.0, "pending": 3.0, "resent": 3.0, "oldestPendingSeconds": 1800.0,
			"available": 5.0, "readUnits": lines["receipt"].Fields["readUnits"],
		}
		if units, _ := lines["receipt"].Fields["readUnits"].(float64); units < 5 {
			t.Errorf("it cost %v read units", units)
		}
		metrics := map[string]string{
			"oversold": "Count by service", "unbalanced": "Count by service", "pending": "Count by service", "resent": "Count by service",
			"oldestPendingSeconds": "Seconds by service", "readUnits": "Count by service", "available": "Count by service",
		}
		if diff := lines["receipt"].Diff(receipt, metrics); diff != "" {
			t.Errorf("receipt (-want +got):\n%s", diff)
		}
		whole := map[string]any{
			"level": "INFO", "message": "reconcile", "service": "reconcile", "coldStart": true,
			"outcome": "ok", "result": "ok", "reconciliations": 1.0, "sales": 1.0,
		}
		if diff := lines["reconcile"].Diff(whole, map[string]string{"reconciliations": "Count by service, result"}); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	})
}

func TestAnOversellIsCountedInUnits(t *testing.T) {
	// sells takes units out of a sale of ten, and then changes the stock behind the ledger's back.
	sells := func(sold int, tamper int64) func(*world) {
		return func(w *world) {
			w.open("moutai", 10, 1)
			w.Crowd("moutai", 0, sold)
			if tamper != 0 {
				w.Tamper("STOCK#moutai#0", "STOCK", "stock", tamper)
			}
		}
	}
	buysLate := func(w *world) {
		if _, err := w.Ledger().Purchase(w.T.Context(), ledger.Request{SaleID: "moutai", User: "late"}); err != nil {
			w.T.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		happens func(*world)
		want    float64
		wrong   bool
	}{
		"all is well":                  {sells(10, 0), 0, false},
		"units are missing":            {sells(5, -2), 0, true},
		"units too many, not sold yet": {sells(5, 2), 0, true},
		"the stock is below zero":      {sells(10, -3), 3, true},
		"a unit is sold twice":         {func(w *world) { sells(10, 1)(w); buysLate(w) }, 1, true},
		"a unit that was released is sold again": {func(w *world) {
			w.openUnpaid("moutai", 1)
			w.Confirm(w.Crowd("moutai", 0, 1)...)
			time.Sleep(31 * time.Minute)
			w.Release()
			buysLate(w)
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				tt.happens(w)
				w.receipts(`{"saleId":"moutai"}`)
				fields := w.Lines("message")["receipt"].Fields
				if fields["oversold"] != tt.want {
					t.Errorf("oversold %v, want %v", fields["oversold"], tt.want)
				}
				if (fields["unbalanced"] == 1.0) != tt.wrong || (fields["level"] == "ERROR") != tt.wrong || (fields["error"] != nil) != tt.wrong {
					t.Errorf("line %v", fields)
				}
			})
		})
	}
}

// An alarm watches the metric, so one settled order must not outweigh one that is unpaid.
func TestAnUnpaidOrderIsCountedBesideOneThatIsSettled(t *testing.T) {
	for name, settle := range map[string]func(*world){
		"paid":      func(w *world) { w.pays("moutai", w.orderOf("moutai", 0), "pi_1") },
		"cancelled": func(w *world) { w.Cancel("user-0") },
	} {
		in(t, func(w *world) {
			w.openUnpaid("moutai", 2)
			w.Confirm(w.Crowd("moutai", 0, 2)...)
			settle(w)
			w.receipts(`{}`)
			if line := w.Lines("message")["receipt"]; line.Fields["unpaid"] != 1.0 || line.Metrics["unpaid"] != "Count by service" {
				t.Errorf("%s: line %v, metrics %v", name, line.Fields, line.Metrics)
			}
		})
	}
}

func TestAFailureLeavesItsLine(t *testing.T) {
	in(t, func(w *world) {
		w.EachFailureLeavesItsLine("reconcile", func(payload string) error {
			_, err := w.reconcile(payload, time.Minute)
			return err
		})
	})
}
