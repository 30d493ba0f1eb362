package handler

import (
	"fmt"
	"os"
	"testing"
)

func TestEverySaleGetsAReceipt(t *testing.T) {
	for file, want := range map[string]int{"reconcile-all.json": 2, "reconcile-one.json": 1, "reconcile-resend.json": 1} {
		payload, err := os.ReadFile("../../../events/" + file)
		if err != nil {
			t.Fatal(err)
		}
		in(t, func(w *world) {
			w.open("moutai", 10, 2)
			w.open("other", 5, 1)
			w.Confirm(w.Crowd("moutai", 0, 4)[:3]...)
			r := w.receipts(string(payload))
			if len(r) != want {
				t.Fatalf("%s: %d receipts, want %d", file, len(r), want)
			}
			r[0].AsOf, r[0].ReadUnits = "", 0
			if got, want := fmt.Sprintf("%+v", r[0]), fmt.Sprintf("%+v", Receipt{
				SaleID: "moutai", Seeded: 10, Stock: 6, Claims: 4, Pending: 1, Confirmed: 3, Balanced: true, Findings: []string{},
			}); got != want {
				t.Errorf("%s: got  %s\nwant %s", file, got, want)
			}
		})
	}
}
