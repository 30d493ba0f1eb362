package handler

import (
	"os"
	"testing"
	"time"
)

func TestEverySaleThatAsksForPaymentGetsItsPass(t *testing.T) {
	for file, want := range map[string]int{"release-all.json": 2, "release-one.json": 1} {
		payload, err := os.ReadFile("../../../events/" + file)
		if err != nil {
			t.Fatal(err)
		}
		in(t, func(t *testing.T, w *world) {
			for _, saleID := range []string{"moutai", "other"} {
				w.open(saleID, 4, 2, payWithin)
				w.order(saleID, 0, 3)
			}
			w.open("unpaid", 4, 2, 0)
			w.order("unpaid", 0, 3)
			time.Sleep(payWithin + grace + time.Second)
			passes := w.passes(string(payload))
			if len(passes) != want || passes[0].SaleID != "moutai" || passes[0].Released != 3 || passes[0].PutBack != 3 || !passes[0].Complete {
				t.Errorf("%s: got %+v", file, passes)
			}
		})
	}
}
