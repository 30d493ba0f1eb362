package handler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
)

func TestAFullQueueDelaysAReSendForAMinute(t *testing.T) {
	unknown := errors.New("access denied")
	for name, tt := range map[string]struct {
		age      time.Duration // of three claims
		waiting  int           // in the queue
		depthErr error
		sent     int
	}{
		"as many messages wait as orders are unfinished": {45 * time.Second, 3, nil, 0},
		"fewer wait":                            {45 * time.Second, 2, nil, 3},
		"a millisecond too early":               {time.Minute - time.Millisecond, 1_000, nil, 0},
		"a minute old":                          {time.Minute, 1_000, nil, 3},
		"nobody knows how many wait":            {45 * time.Second, 0, unknown, 0},
		"nobody knows how many wait, and later": {105 * time.Second, 0, unknown, 3},
	} {
		in(t, func(w *world) {
			w.open("moutai", 10, 2)
			w.Crowd("moutai", 0, 3)
			time.Sleep(tt.age)
			w.queue.waiting, w.queue.depthErr = tt.waiting, tt.depthErr
			r, err := w.reconcile(`{}`, time.Minute)
			if len(w.queue.sent) != tt.sent || (err != nil) != (tt.depthErr != nil) {
				t.Errorf("%s: sent %v (%v), want %d messages", name, w.queue.sent, err, tt.sent)
			}
			if err == nil && (r[0].Resent != int64(tt.sent) || r[0].OldestPendingSeconds != int64(tt.age/time.Second)) {
				t.Errorf("%s: receipt %+v", name, r)
			}
		})
	}
}

// losesOrders confirms claims whose order items are not written.
func (w *world) losesOrders(refs []ledger.ClaimRef) {
	w.T.Helper()
	w.DB.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("", "ORDER#")
	for _, c := range w.Ledger().Confirm(w.T.Context(), refs) {
		if c.Err == nil {
			w.T.Fatal("an order item was written")
		}
	}
	w.DB.Fault = nil
}

func TestAnOrderWhoseItemIsMissingIsUnfinished(t *testing.T) {
	for name, page := range map[string]time.Duration{"in a whole pass": 0, "in a pass that is cut off": 900 * time.Millisecond} {
		in(t, func(w *world) {
			w.open("moutai", 300, 280) // 70 buckets, of which 16 are read at once
			w.losesOrders(w.Crowd("moutai", 0, 60))
			time.Sleep(40 * time.Second)
			w.DB.Fault = dynamotest.Fault{Delay: page}.On("Query", "")
			if _, err := w.reconcile(`{}`, 8*time.Second); err != nil || len(w.queue.sent) == 0 {
				w.T.Errorf("%s: sent %d messages (%v) while the queue is empty", name, len(w.queue.sent), err)
			}
		})
	}
}

// A message that fails and comes back endlessly and the crowd of another sale look alike:
// the queue is never empty. Whenever a claim is accepted between two runs, its message
// must be resent within the bound, even if that one is lost, too.
func TestAMessageLostTwiceIsSentAgainWithinTheBoundHoweverFullTheQueue(t *testing.T) {
	for phase := time.Second; phase <= time.Minute; phase += 7 * time.Second {
		in(t, func(w *world) {
			sales := []string{"jeans", "moutai", "phone"}
			for _, saleID := range sales {
				w.open(saleID, 10, 2)
				w.Crowd(saleID, 0, 2)
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
						w.T.Errorf("%v after a run: %s user-%d was sent again after %v", phase, saleID, i, at)
					}
				}
			}
		})
	}
}

func TestAnUnreachableQueueIsTriedAFewTimesOnly(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 100, 2)
		w.Crowd("moutai", 0, 20)
		time.Sleep(time.Hour)
		w.queue.err = errors.New("no route")
		marks := 0
		w.DB.Fault = dynamotest.On("UpdateItem", "CLAIM#", func(dynamotest.Call) dynamotest.Fault {
			marks++
			return dynamotest.Fault{}
		})
		if _, err := w.reconcile(`{}`, time.Minute); err == nil {
			w.T.Error("no error")
		}
		if marks != 2*maxFailures {
			w.T.Errorf("%d marks were written or put back, want %d: none was sent", marks, 2*maxFailures)
		}
		w.queue.err = nil
		if r := w.receipts(`{}`); r[0].Resent != 20 {
			w.T.Errorf("%d of 20 messages were sent as soon as the queue could be reached", r[0].Resent)
		}
	})
}

// A failed call may have sent its message. So a queue that often loses its answers must not
// be sent the same messages every minute.
func TestOfManyMessagesThatCannotBeSentAFewAreTriedAgainAtOnce(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 100, 2)
		w.Crowd("moutai", 0, 40)
		time.Sleep(time.Hour)
		sends := 0
		w.queue.lost = func() bool { sends++; return sends%2 == 0 }
		if _, err := w.reconcile(`{}`, time.Minute); err == nil || sends != 40 {
			w.T.Errorf("%d sends (%v)", sends, err)
		}
		time.Sleep(time.Minute)
		w.queue.lost = nil
		if r := w.receipts(`{}`); r[0].Resent != maxUnmarked {
			w.T.Errorf("%d were sent again, want %d", r[0].Resent, maxUnmarked)
		}
	})
}

func TestAnOperatorInAHurryDoesNotWaitUntilMessagesAreDue(t *testing.T) {
	in(t, func(w *world) {
		for _, saleID := range []string{"jeans", "moutai"} {
			w.open(saleID, 100, 2)
			w.Crowd(saleID, 0, 35)
		}
		time.Sleep(30 * time.Minute)
		w.receipts(`{}`)
		w.most = 20
		time.Sleep(time.Minute)
		for _, want := range []int64{20, 15, 0} {
			w.queue.sent = nil
			if r := w.receipts(string(httpapitest.Event(w.T, "reconcile-resend.json"))); r[0].Resent != want || len(w.queue.sent) != int(want) {
				w.T.Errorf("%d messages, %d of them sent: want %d", r[0].Resent, len(w.queue.sent), want)
			}
			for _, m := range w.queue.sent {
				if m.SaleID != "moutai" {
					w.T.Errorf("sent %+v", m)
				}
			}
		}
		if r := w.receipts(`{}`); r[0].Resent+r[1].Resent != 0 {
			w.T.Errorf("receipts %+v: the schedule's runs are in no hurry", r)
		}
	})
}

func TestOfMoreThanOnePassCanSendEachGetsItsTurn(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 100, 2)
		w.Crowd("moutai", 0, 35)
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
				w.T.Errorf("run %d sends %d, %d of 35 have had a turn, want %d", run, len(w.queue.sent), len(turns), want)
			}
		}
	})
}

func TestWhatACutOffPassHasFoundIsSentAgain(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 300, 280) // 70 buckets, of which 16 are read at once
		w.Crowd("moutai", 0, 60)
		time.Sleep(time.Minute)
		w.DB.Fault = dynamotest.Fault{Delay: 900 * time.Millisecond}.On("Query", "")
		sent := map[string]bool{}
		for range 10 {
			w.queue.sent = nil
			if _, err := w.reconcile(`{}`, 8*time.Second); err != nil || w.answer.Resent != int64(len(w.queue.sent)) {
				w.T.Fatalf("%d messages, answered %+v (%v)", len(w.queue.sent), w.answer, err)
			}
			for _, m := range w.queue.sent {
				sent[m.User] = true
			}
		}
		if len(sent) != 60 {
			w.T.Errorf("%d of 60 messages were sent again", len(sent))
		}
	})
}
