package handler

import (
	"testing"
	"time"

	"flashsale/shared/ledger"
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
	for name, tt := range map[string]struct {
		sold   int
		tamper int64 // added to the stock behind the ledger's back
		want   float64
	}{
		"all is well":                  {10, 0, 0},
		"units are missing":            {5, -2, 0},
		"units too many, not sold yet": {5, 2, 0},
		"the stock is below zero":      {10, -3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.open("moutai", 10, 1)
				w.Crowd("moutai", 0, tt.sold)
				if tt.tamper != 0 {
					w.Tamper("STOCK#moutai#0", "STOCK", "stock", tt.tamper)
				}
				w.receipts(`{"saleId":"moutai"}`)
				fields := w.Lines("message")["receipt"].Fields
				if fields["oversold"] != tt.want {
					t.Errorf("oversold %v, want %v", fields["oversold"], tt.want)
				}
				if wrong := tt.tamper != 0; (fields["unbalanced"] == 1.0) != wrong || (fields["level"] == "ERROR") != wrong || (fields["error"] != nil) != wrong {
					t.Errorf("line %v", fields)
				}
			})
		})
	}
}

func TestUnitsSoldTwiceAreAnOversell(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 2, 1)
		w.Crowd("moutai", 0, 2)
		w.Tamper("STOCK#moutai#0", "STOCK", "stock", 1) // a reset of the stock, as it must never happen (P15)
		if _, err := w.Ledger().Purchase(w.T.Context(), ledger.Request{SaleID: "moutai", User: "late"}); err != nil {
			t.Fatal(err)
		}
		w.receipts(`{"saleId":"moutai"}`)
		if fields := w.Lines("message")["receipt"].Fields; fields["oversold"] != 1.0 || fields["unbalanced"] != 1.0 {
			t.Errorf("line %v, want one unit oversold", fields)
		}
	})
}

// A unit that is back in stock may be sold again; its first buyer's claim stays.
func TestAReleasedUnitThatIsSoldAgainIsNoOversell(t *testing.T) {
	in(t, func(w *world) {
		w.openUnpaid("moutai", 1)
		w.Confirm(w.Crowd("moutai", 0, 1)...)
		time.Sleep(31 * time.Minute)
		w.Release()
		if _, err := w.Ledger().Purchase(w.T.Context(), ledger.Request{SaleID: "moutai", User: "second"}); err != nil {
			t.Fatal(err)
		}
		r := w.receipts(`{"saleId":"moutai"}`)
		if fields := w.Lines("message")["receipt"].Fields; fields["oversold"] != 0.0 || fields["unbalanced"] != 0.0 || r[0].Released != 1 {
			t.Errorf("line %v, receipt %+v", fields, r[0])
		}
	})
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
