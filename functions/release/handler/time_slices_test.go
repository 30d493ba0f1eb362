package handler

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/sale"
)

func TestTheSaleThatWasDueFirstComesLastAndGetsWhatTheOthersLeave(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		for i, saleID := range []string{"a", "b", "c"} {
			w.open(saleID, 1, 1, payWithin-time.Duration(i)*time.Minute)
		}
		order := func() (ids []string) {
			for _, p := range w.passes(`{}`) {
				ids = append(ids, p.SaleID)
			}
			return ids
		}
		order()
		w.open("d", 1, 1, payWithin) // never looked at
		if got := order(); !reflect.DeepEqual(got, []string{"d", "a", "b", "c"}) {
			t.Errorf("got %v", got)
		}
	})
}

// A pass over one of ten sales takes most of a run, and the others need next to nothing. What
// they leave over is for that one sale, whichever was due first (P22).
func TestALargePassEndsWithinARunBesideNineSalesThatAreIdle(t *testing.T) {
	little := func(payWithin time.Duration, paused bool) func(*world, string) {
		return func(w *world, saleID string) {
			w.open(saleID, 1, 1, payWithin)
			w.order(saleID, 0, 1)
			w.pause(saleID, paused)
		}
	}
	for name, others := range map[string]func(w *world, saleID string){
		"nothing is due":                little(2*payWithin, false),
		"little is due, before the one": little(payWithin-time.Second, false),
		"little is due, after the one":  little(payWithin+time.Second, false),
		"paused, due before the one":    little(payWithin-time.Second, true),
		"paused, due after the one":     little(payWithin+time.Second, true),
		"drafts":                        (*world).draft,
	} {
		in(t, func(t *testing.T, w *world) {
			w.open("moutai", 72, 72, payWithin)
			w.order("moutai", 0, 72)
			for i := range 9 {
				others(w, fmt.Sprint("other-", i))
			}
			w.passes(`{}`)
			time.Sleep(payWithin + grace + 2*time.Second)
			w.DB.Fault = func(c dynamotest.Call) dynamotest.Fault {
				if strings.Contains(c.Keys[0], "#moutai#") {
					return dynamotest.Fault{Delay: 900 * time.Millisecond}
				}
				return dynamotest.Fault{Delay: 10 * time.Millisecond}
			}
			passes, err := w.release(`{}`, 2*time.Minute)
			i := slices.IndexFunc(passes, func(p Pass) bool { return p.SaleID == "moutai" })
			if err != nil || i < 0 || !passes[i].Complete || passes[i].Released != 72 || passes[i].PutBack != 72 {
				t.Errorf("%s: got %+v (%v)", name, passes, err)
			}
			w.DB.Fault = nil
			if got := w.states("moutai", 72); got[sale.Expired] != 72 || w.Receipt().Stock != 72 {
				t.Errorf("%s: %v, %d in stock", name, got, w.Receipt().Stock)
			}
		})
	}
}

func TestAPausedSaleHasOneTurnInARun(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.open("moutai", 2, 1, payWithin)
		w.order("moutai", 0, 2)
		w.pause("moutai", true)
		time.Sleep(payWithin + grace + time.Second)
		reads := 0
		w.DB.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "BatchGetItem" {
				reads++
			}
			return dynamotest.Fault{Delay: 10 * time.Millisecond}
		}
		if p := w.passes(`{}`); len(p) != 1 || p[0].Complete || p[0].OverdueSeconds != 0 || reads != 1 {
			t.Errorf("got %+v, and its shards were read %d times", p, reads)
		}
	})
}

// The first turn of a large sale is cut off, and its second one continues where that came.
func TestASaleThatIsCutOffGoesOnInItsNextTurn(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.open("idle", 1, 1, payWithin)
		w.open("a-large", 600, 600, payWithin) // 150 buckets, of which a pass reads 16 at once
		w.order("a-large", 0, 600)
		if _, err := w.Ledger().Cancel(t.Context(), "a-large", "user-0"); err != nil { // the first turn puts it back
			t.Fatal(err)
		}
		time.Sleep(payWithin + grace + time.Second)
		var mu sync.Mutex // buckets are read side by side
		read := map[string]int{}
		w.DB.Fault = dynamotest.On("Query", "CLAIM#a-large#", func(c dynamotest.Call) dynamotest.Fault {
			mu.Lock()
			defer mu.Unlock()
			read[c.Keys[0]]++
			return dynamotest.Fault{Delay: 900 * time.Millisecond}
		})
		passes, err := w.release(`{}`, 16*time.Second)
		i := slices.IndexFunc(passes, func(p Pass) bool { return p.SaleID == "a-large" })
		if err != nil || i < 0 || !passes[i].Complete || passes[i].Released != 599 || passes[i].PutBack != 600 || passes[i].ReadUnits < 150 || passes[i].OverdueSeconds < 8 {
			t.Fatalf("got %+v (%v), want all in one run", passes, err)
		}
		for bucket, n := range read {
			if n > 2 { // a page whose claims were not released yet is read again
				t.Errorf("%s was read %d times: the cursor is lost", bucket, n)
			}
		}
		if w.DB.Fault = nil; strings.Count(w.Log.String(), `"saleId":"a-large"`) < 2 {
			t.Errorf("the pass was not cut off: %s", w.Log.String())
		}
	})
}
