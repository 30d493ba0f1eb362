package handler

import (
	"testing"
	"time"
)

func TestATableThatIsBusyForTwoSecondsIsNoFailure(t *testing.T) {
	for name, call := range map[string][2]string{
		"storing the end": {"UpdateItem", "SALES"}, "reading the claims": {"Query", "CLAIM#"}, "reading the sale": {"GetItem", "SALE#"},
		"listing the sales": {"Query", "SALES"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.random = func() float64 { return 0.999 }
				w.open("moutai", 2, 1, payWithin)
				w.order("moutai", 0, 1)
				time.Sleep(payWithin + grace + time.Second)
				w.BusyFor(2*time.Second, call[0], call[1])
				if p := w.passes(`{}`); len(p) != 1 || !p[0].Complete || p[0].Released != 1 || p[0].PutBack != 1 {
					t.Errorf("got %+v", p)
				}
			})
		})
	}
}
