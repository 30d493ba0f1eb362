package handler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"flashsale/shared/ledger"
)

func TestALostMessageIsSentAgainEverRarer(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 2)
		w.buy("moutai", 3)
		var sent []int
		for range 20 { // minutes
			time.Sleep(time.Minute)
			before := len(w.queue.sent)
			w.receipts(`{}`)
			sent = append(sent, len(w.queue.sent)-before)
		}
		if got, want := fmt.Sprint(sent), "[3 0 3 0 0 0 3 0 0 0 0 0 0 0 3 0 0 0 0 0]"; got != want {
			t.Errorf("sent per minute %s, want %s", got, want)
		}
	})
}

func TestAFullQueueDelaysAReSendForAMinute(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 2)
		w.buy("moutai", 3)
		time.Sleep(45 * time.Second)
		w.queue.waiting = 3
		if w.receipts(`{}`); len(w.queue.sent) != 0 {
			w.t.Errorf("sent %v while the queue holds as many messages as there are unfinished orders", w.queue.sent)
		}
		w.queue.waiting = 2
		if r := w.receipts(`{}`); len(w.queue.sent) != 3 || r[0].Resent != 3 || r[0].OldestPendingSeconds != 45 {
			w.t.Errorf("sent %v, receipt %+v", w.queue.sent, r)
		}
	})
}

// A message that fails and comes back for ever and the crowd of another sale look
// alike: the queue is never empty. Whenever a claim is accepted between two runs, its
// message must be sent again within the bound, also if that one is lost, too.
func TestAMessageLostTwiceIsSentAgainWithinTheBoundHoweverFullTheQueue(t *testing.T) {
	for phase := time.Second; phase <= time.Minute; phase += 7 * time.Second {
		in(t, func(w *world) {
			sales := []string{"jeans", "moutai", "phone"}
			for _, saleID := range sales {
				w.open(saleID, 10, 2)
				w.buy(saleID, 2)
			}
			accepted := time.Now()
			w.queue.waiting = 1_000_000
			sentAt := map[string][]time.Duration{}
			time.Sleep(phase)
			for time.Since(accepted) <= ledger.ResendBound+time.Minute {
				w.queue.sent = nil
				w.receipts(`{}`)
				for _, m := range w.queue.sent {
					key := m.SaleID + " " + m.User
					sentAt[key] = append(sentAt[key], time.Since(accepted))
				}
				time.Sleep(time.Minute)
			}
			for _, saleID := range sales {
				for i := range 2 {
					at := sentAt[fmt.Sprintf("%s user-%d", saleID, i)]
					if len(at) < 2 || at[0] >= 2*time.Minute+time.Second || at[1] > ledger.ResendBound {
						w.t.Errorf("%v after a run: %s user-%d was sent again after %v", phase, saleID, i, at)
					}
				}
			}
		})
	}
}

func TestAQueueThatDoesNotTellItsDepthDelaysNoOldClaim(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 2)
		w.buy("moutai", 3)
		w.queue.depthErr = errors.New("access denied")
		time.Sleep(45 * time.Second)
		if _, err := w.reconcile(`{}`, time.Minute); err == nil || len(w.queue.sent) != 0 {
			w.t.Errorf("sent %v (%v) for young claims", w.queue.sent, err)
		}
		time.Sleep(time.Minute)
		if r, err := w.reconcile(`{}`, time.Minute); err == nil || len(w.queue.sent) != 3 {
			w.t.Errorf("sent %v, answered %v (%v): want 3 messages and a failed invocation", w.queue.sent, r, err)
		}
	})
}

func TestAnUnreachableQueueIsTriedAFewTimesOnly(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 100, 2)
		w.buy("moutai", 20)
		time.Sleep(time.Hour)
		w.queue.err = errors.New("no route")
		if _, err := w.reconcile(`{}`, time.Minute); err == nil {
			w.t.Error("no error")
		}
		if marks := w.db.Calls()["UpdateItem"]; marks > 10 {
			w.t.Errorf("%d claims were marked, none was sent", marks)
		}
	})
}

func TestOfMoreThanOnePassCanSendEachGetsItsTurn(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 100, 2)
		w.buy("moutai", 35)
		w.most = 10
		turns := map[string]int{}
		for run := 1; run <= 4; run++ {
			time.Sleep(time.Minute)
			w.queue.sent = nil
			w.receipts(`{}`)
			for _, m := range w.queue.sent {
				turns[m.User]++
			}
			if want := min(10*run, 35); len(turns) != want || len(w.queue.sent) > 10 {
				w.t.Errorf("run %d sends %d, %d of 35 have had a turn, want %d", run, len(w.queue.sent), len(turns), want)
			}
		}
	})
}

func TestWhatACutOffPassHasFoundIsSentAgain(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 100, 40) // ten buckets
		w.buy("moutai", 60)
		time.Sleep(time.Minute)
		w.slowly(900 * time.Millisecond)
		sent := map[string]bool{}
		for range 10 {
			if _, err := w.reconcile(`{}`, 8*time.Second); err != nil {
				w.t.Fatal(err)
			}
			for _, m := range w.queue.sent {
				sent[m.User] = true
			}
		}
		if len(sent) != 60 {
			w.t.Errorf("%d of 60 messages were sent again", len(sent))
		}
	})
}
