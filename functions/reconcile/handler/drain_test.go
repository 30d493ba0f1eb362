package handler

import (
	"fmt"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestAPassThatBeganBeforeTheLastPurchasesDrainsNothing(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 300, 280) // 70 buckets, of which 16 are read at once
		w.Confirm(w.Crowd("moutai", 0, 20)...)
		time.Sleep(time.Hour - time.Minute)
		w.DB.Fault = dynamotest.Fault{Delay: 900 * time.Millisecond}.On("Query", "")
		if r, err := w.reconcile(`{}`, 8*time.Second); err != nil || len(r) != 0 {
			w.T.Fatalf("got %+v (%v), want a pass that is cut off", r, err)
		}
		w.DB.Fault = nil
		late := 0
		for i := range 200 {
			user := fmt.Sprint("late-", i)
			if sale.BucketOf(user, 70) >= 16 { // the pass may not have read that bucket yet
				continue
			}
			if _, err := w.Ledger().Purchase(w.T.Context(), ledger.Request{SaleID: "moutai", User: user}); err != nil {
				w.T.Fatal(err)
			}
			late++
		}
		time.Sleep(time.Minute + ledger.DrainAfter + time.Minute)
		w.receipts(`{}`) // the old pass ends
		r := w.receipts(`{}`)
		if len(r) != 1 || r[0].Pending != int64(late) {
			w.T.Fatalf("got %+v, want a receipt with %d pending orders", r, late)
		}
		sent := map[string]bool{}
		for _, m := range w.queue.sent {
			sent[m.User] = true
		}
		if late == 0 || len(sent) != late {
			w.T.Errorf("the messages of %d lost orders were sent again, want %d", len(sent), late)
		}
	})
}

func TestABalancedSaleIsDrainedAQuarterOfAnHourAfterItsEnd(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 2)
		refs := w.Crowd("moutai", 0, 5)
		time.Sleep(time.Hour + 14*time.Minute)
		w.Confirm(refs[:4]...)
		w.receipts(`{}`)
		time.Sleep(2 * time.Minute)
		if r := w.receipts(`{}`); len(r) != 1 || r[0].Pending != 1 {
			t.Fatalf("got %+v", r)
		}
		if r := w.receipts(`{}`); len(r) != 1 {
			t.Fatal("a sale with a pending claim was drained")
		}
		w.Confirm(refs...)
		if r := w.receipts(`{}`); len(r) != 1 || !r[0].Balanced {
			t.Fatalf("got %+v", r)
		}
		if r := w.receipts(`{}`); len(r) != 0 {
			t.Errorf("a drained sale was audited again: %+v", r)
		}
		if r := w.receipts(`{"saleId":"moutai"}`); len(r) != 1 || r[0].Confirmed != 5 {
			t.Errorf("a drained sale has no receipt by hand: %+v", r)
		}
	})
}

func TestASaleThatChangesWhileItsLastPassRunsIsLookedAtAgain(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"a restock": func(w *world) {
			if _, err := w.Ledger().Add(w.T.Context(), sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 4}); err != nil {
				w.T.Error(err)
			}
		},
		"another end and back to the old": func(w *world) {
			for _, end := range []time.Duration{2 * time.Hour, time.Hour} {
				time.Sleep(time.Millisecond)
				e := sale.Edit{SaleID: "moutai", At: time.Now(), ClosesAt: testledger.Began.Add(end)}
				if _, err := w.Ledger().Edit(w.T.Context(), e); err != nil {
					w.T.Error(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.open("moutai", 10, 4)
				w.Confirm(w.Crowd("moutai", 0, 5)...)
				time.Sleep(time.Hour + ledger.DrainAfter)
				w.DB.Fault = dynamotest.Fault{Delay: 900 * time.Millisecond}.On("Query", "")
				go func() {
					time.Sleep(1500 * time.Millisecond) // after the list of sales and the refunds, before the end of the page
					change(w)
				}()
				if r := w.receipts(`{}`); len(r) != 1 || !r[0].Balanced {
					w.T.Fatalf("got %+v", r)
				}
				if r := w.receipts(`{}`); len(r) != 1 || !r[0].Balanced {
					w.T.Fatalf("got %+v: it was drained by what was seen before", r)
				}
				if r := w.receipts(`{}`); len(r) != 0 {
					w.T.Errorf("got %+v, want it drained by a whole new pass", r)
				}
			})
		})
	}
}
