package handler

import (
	"os"
	"testing"
	"time"
)

func TestEveryEventOfThisFunctionLeadsItsDraws(t *testing.T) {
	for file, want := range map[string]int{"draw-all.json": 2, "draw-one.json": 1} {
		payload, err := os.ReadFile("../../../events/" + file)
		if err != nil {
			t.Fatal(err)
		}
		in(t, func(t *testing.T, w *world) {
			w.create("moutai")
			w.create("other")
			w.Until(enterEnd.Add(times.Settle))
			draws, err := w.draw(string(payload), time.Minute)
			if err != nil || len(draws) != want || draws[0].SaleID != "moutai" || len(draws[0].Steps) != 1 || draws[0].Steps[0] != "roll" {
				t.Errorf("%s: got %+v (%v)", file, draws, err)
			}
		})
	}
}
