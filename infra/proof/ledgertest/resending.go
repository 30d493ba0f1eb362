package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var resending = map[string]func(*testing.T, *World){
	"a pending claim may be resent after the grace, ever rarer, by one of many": func(t *testing.T, w *World) {
		w.Open(10, 1)
		w.Accepted(w.Buy("alice"))
		resend := func() bool {
			t.Helper()
			c := w.claimOf("alice")
			sent := 0
			for range 3 { // three who read the same claim
				mark, err := w.Ledger.MarkResent(w.Ctx, c, false)
				w.Succeeds(nil, err)
				if !mark.IsZero() {
					sent++
				}
			}
			check(t, sent <= 1, "%d of three may resend", sent)
			return sent == 1
		}
		var at []int
		for second := range 600 {
			if resend() {
				at = append(at, second)
			}
			w.Pass(time.Second)
		}
		same(t, fmt.Sprint(at), "[31 63 127 255 511]")
		c := w.claimOf("alice")
		w.Confirmed([]ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: c.ID}})
		w.Pass(time.Hour)
		mark, err := w.Ledger.MarkResent(w.Ctx, c, false)
		check(t, mark.IsZero() && err == nil, "a claim that was confirmed meanwhile may be resent: %v (%v)", mark, err)
	},
	"a claim whose message could not be sent gets its old mark back, and no other": func(t *testing.T, w *World) {
		w.Open(10, 1)
		w.Accepted(w.Buy("alice"))
		marks := func(hurry bool) time.Time {
			t.Helper()
			mark, err := w.Ledger.MarkResent(w.Ctx, w.claimOf("alice"), hurry)
			w.Succeeds(nil, err)
			return mark
		}
		var old time.Time
		for _, hurry := range []bool{false, true} { // without an old mark, and with one
			w.Pass(time.Minute)
			c, mark := w.claimOf("alice"), marks(hurry)
			for _, other := range []time.Time{mark.Add(time.Millisecond), mark, mark} { // somebody else's; its own; again
				w.Succeeds(nil, w.Ledger.Unmark(w.Ctx, c, other))
				want := old
				if other.After(mark) {
					want = mark.Truncate(time.Millisecond)
				}
				got := w.claimOf("alice").ResentAt
				check(t, !mark.IsZero() && got.Equal(want), "the claim was sent again at %v, want %v", got, want)
			}
			old = marks(hurry).Truncate(time.Millisecond)
		}
		mark := marks(false)
		check(t, mark.IsZero(), "marked at %v, before half of its age has passed", mark)
		w.Pass(ledger.ResendGrace)
		mark = marks(true)
		check(t, mark.IsZero(), "marked at %v, in a hurry, within the grace", mark)
	},
	"a claim whose order item is missing may be resent by one of many, and not for another claim": func(t *testing.T, w *World) {
		w.Open(2, 1)
		w.Confirmed(w.bought("alice"))
		c := w.claimOf("alice")
		w.Pass(time.Minute)
		other := c
		other.ID = "another"
		for i, step := range []struct {
			claim sale.Claim
			want  bool
		}{{other, false}, {c, true}, {c, false}} {
			mark, err := w.Ledger.MarkResent(w.Ctx, step.claim, false)
			check(t, err == nil && !mark.IsZero() == step.want, "step %d: got %v (%v), want %v", i, mark, err, step.want)
		}
		// Two minutes old, marked one minute ago: half its age is not more than that.
		w.Pass(time.Minute)
		mark, err := w.Ledger.MarkResent(w.Ctx, c, false)
		check(t, err == nil && mark.IsZero(), "got %v (%v) at exactly half its age, want none", mark, err)
	},
}
