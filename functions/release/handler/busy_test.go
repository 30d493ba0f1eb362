package handler

import (
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
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

func TestARunThatCannotStoreHowFarItCameIsNoFailure(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.random = func() float64 { return 0.1 } // the tries are over before the time
		w.open("moutai", 40, 40, payWithin)      // ten buckets
		time.Sleep(payWithin + grace + time.Second)
		w.DB.Fault = func(c dynamotest.Call) dynamotest.Fault {
			switch {
			case c.Op == "Query" && strings.HasPrefix(c.Keys[0], "CLAIM#"):
				return dynamotest.Fault{Delay: 900 * time.Millisecond}
			case c.Op == "UpdateItem" && strings.HasPrefix(c.Keys[0], "SALES"):
				return dynamotest.Fault{Kind: dynamotest.Throttle}
			}
			return dynamotest.Fault{}
		}
		if p, err := w.release(`{}`, 8*time.Second); err != nil || len(p) != 1 || p[0].Complete {
			t.Errorf("got %+v (%v), want a pass that is cut off", p, err)
		}
	})
}
