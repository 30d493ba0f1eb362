package ledgertest

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// turn is a moment of a draw of 3 units, whose first three people are called first, and the next
// two, who are the last, after that; and what each of some people is told then. The second of them
// buys in the first call.
type turn struct {
	name string
	at   func(w *World, c sale.Creation, ranks []draw.Rank)
	// want are the codes of the first, the third, the fourth, somebody who is not on the roll, and
	// the second, who has bought, if they have. retry is how long the fourth is told to wait.
	want  [5]sale.Code
	retry time.Duration
	phase sale.Phase
}

const (
	soon   = sale.NotOpen
	notYet = sale.NotYourTurn
	over   = sale.TurnOver
	has    = sale.AlreadyOrdered
)

var turns = []turn{
	{"before the first call", func(w *World, c sale.Creation, _ []draw.Rank) { w.Pass(-time.Hour) },
		[5]sale.Code{soon, soon, soon, soon, soon}, time.Hour, sale.PhaseNotOpen},
	{"when the first call is due", func(*World, sale.Creation, []draw.Rank) {},
		[5]sale.Code{soon, soon, soon, soon, soon}, time.Minute, sale.PhaseNotOpen},
	{"before the first call's window", func(w *World, c sale.Creation, ranks []draw.Rank) {
		w.calls(ranks)
		w.Pass(-time.Second)
	}, [5]sale.Code{soon, soon, soon, soon, soon}, time.Second, sale.PhaseNotOpen},
	{"when the first call is not complete", func(w *World, c sale.Creation, ranks []draw.Rank) {
		w.begins(ranks)
		w.Pass(gap / 4)
	}, [5]sale.Code{sale.Busy, sale.Busy, sale.Busy, sale.Busy, sale.Busy}, 0, sale.PhaseOpen},
	{"in the first call", func(w *World, c sale.Creation, ranks []draw.Rank) { w.firstCall(ranks) },
		[5]sale.Code{"", "", notYet, notYet, has}, keepFor + gap, sale.PhaseOpen},
	{"at the last instant of the first call", func(w *World, c sale.Creation, ranks []draw.Rank) {
		w.moment(w.firstCall(ranks).Until.Add(-time.Millisecond))
	}, [5]sale.Code{"", "", notYet, notYet, has}, gap + time.Millisecond, sale.PhaseOpen},
	{"in a pause of the first call", func(w *World, c sale.Creation, ranks []draw.Rank) {
		w.firstCall(ranks)
		w.edit(sale.Edit{SaleID: "moutai", Paused: new(true)})
	}, [5]sale.Code{sale.Paused, sale.Paused, sale.Paused, sale.Paused, has}, 0, sale.PhasePaused},
	{"at the end of the first call", func(w *World, c sale.Creation, ranks []draw.Rank) { w.moment(w.firstCall(ranks).Until) },
		[5]sale.Code{notYet, notYet, notYet, notYet, has}, gap, sale.PhaseWaiting},
	{"after the gap", func(w *World, c sale.Creation, ranks []draw.Rank) { w.moment(w.firstCall(ranks).Until.Add(gap)) },
		[5]sale.Code{notYet, notYet, notYet, notYet, has}, time.Minute, sale.PhaseWaiting},
	{"before the second call's window", func(w *World, c sale.Creation, ranks []draw.Rank) {
		w.firstCall(ranks)
		w.next(ranks)
		w.Pass(-time.Second)
	}, [5]sale.Code{notYet, notYet, notYet, notYet, has}, time.Second, sale.PhaseWaiting},
	{"in the second call", func(w *World, c sale.Creation, ranks []draw.Rank) {
		w.firstCall(ranks)
		w.next(ranks)
	}, [5]sale.Code{over, over, "", notYet, has}, 0, sale.PhaseOpen},
	{"in the open call", func(w *World, c sale.Creation, ranks []draw.Rank) {
		w.firstCall(ranks)
		w.next(ranks)
		w.next(ranks)
	}, [5]sale.Code{"", "", "soldOut", "soldOut", has}, 0, sale.PhaseOpen},
	{"at the end of the sale", func(w *World, c sale.Creation, ranks []draw.Rank) {
		w.firstCall(ranks)
		w.moment(c.ClosesAt)
	}, [5]sale.Code{sale.Closed, sale.Closed, sale.Closed, sale.Closed, has}, 0, sale.PhaseClosed},
	{"after a recall", func(w *World, c sale.Creation, ranks []draw.Rank) {
		w.firstCall(ranks)
		w.recalls("", true)
	}, [5]sale.Code{sale.Recalled, sale.Recalled, sale.Recalled, sale.Recalled, has}, 0, sale.PhaseRecalled},
}

// firstCall makes the first call, in which the second one buys.
func (w *World) firstCall(ranks []draw.Rank) draw.Call {
	w.T.Helper()
	call := w.calls(ranks)
	for _, user := range people(5) {
		if draw.RankOf(seed, leafOf(user)) == ranks[1] {
			w.allBuy(user)
		}
	}
	return call
}

var turning = func() map[string]func(*testing.T, *World) {
	all := map[string]func(*testing.T, *World){}
	for _, tt := range turns {
		all["the turn "+tt.name] = func(t *testing.T, w *World) {
			c, users, ranks := w.rolled(3, 1, 5)
			tt.at(w, c, ranks)
			if s, err := w.Environment().Sale(w.Ctx, "moutai"); err != nil || s.Phase(w.Now()) != tt.phase {
				t.Errorf("the phase is %s (%v), want %s", s.Phase(w.Now()), err, tt.phase)
			}
			for i, user := range []string{users[0], users[2], users[3], "nobody", users[1]} {
				want := tt.want[i]
				if want == "soldOut" {
					want = sale.SoldOut
				}
				if i < 3 {
					w.isTold(user, want, tt.retry)
				}
				err := w.buysWith(user, map[bool]string{true: "another"}[user == users[1]])
				if got := sale.CodeOf(err); got != want {
					t.Errorf("%s: got %v, want %q", user, err, want)
				} else if i == 2 && tt.retry != 0 && w.Refused(want, err).RetryAfter != tt.retry {
					t.Errorf("%s: retry after %v, want %v", user, w.Refused(want, err).RetryAfter, tt.retry)
				}
			}
			w.Settled(1)
		}
	}
	maps.Copy(all, turningMore)
	return all
}()

// isTold checks that an entry of the roll says it is its owner's turn where a purchase is answered that, and else when the
// next call may be.
func (w *World) isTold(user string, answered sale.Code, retry time.Duration) {
	w.T.Helper()
	entry := ledger.Entry{Nonce: draw.NonceOf(leafKey, user), Leaf: leafOf(user)}
	turn, err := w.Environment().Turn(w.Ctx, "moutai", entry, draw.Times{Settle: settle, Dice: time.Hour, Gap: gap})
	w.Succeeds(nil, err)
	now := w.Now()
	isTurn := turn.Call.Number != 0 && !now.Before(turn.Call.From) && now.Before(turn.Call.Until)
	if buys := answered == "" || answered == sale.SoldOut; isTurn != buys && answered != sale.Paused {
		w.T.Errorf("%s: the entry says %+v, a purchase %q", user, turn, answered)
	}
	if answered == notYet && retry > time.Second && turn.Next.Sub(now) != retry && turn.Next.After(now) {
		w.T.Errorf("%s: the next call may be in %v, want %v", user, turn.Next.Sub(now), retry)
	}
}

var turningMore = map[string]func(*testing.T, *World){
	"an admission to one call does not buy in the next one, whatever this environment reads meanwhile": func(t *testing.T, w *World) {
		_, users, ranks := w.rolled(2, 1, 8)
		w.calls(ranks)
		var slow *ledger.Ledger
		done := false
		slow = w.Hooked(func(op string, in any, call func() (any, error)) (any, error) {
			out, err := call()
			get, isGet := in.(*dynamodb.GetItemInput)
			if isGet && value(get.Key["pk"]) == "ROLL#moutai" && !done { // the user is on the roll
				done = true
				w.next(ranks)
				w.Pass(10 * time.Second)
				s, err := slow.Sale(w.Ctx, "moutai")
				check(t, err == nil && s.Call == 2, "got %+v (%v)", s, err)
			}
			return out, err
		})
		w.Refused(sale.Busy, errOf(slow.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: users[0]})))
		left := w.Stock(1)
		check(t, left[0] == 2 && done, "%v units are left", left)
		w.Refused(sale.TurnOver, errOf(slow.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: users[0]})))
	},
	"nobody is checked whose turn it is not": func(t *testing.T, w *World) {
		_, users, ranks := w.rolled(2, 1, 8)
		w.calls(ranks)
		for user, want := range map[string]sale.Code{users[7]: sale.NotYourTurn, "nobody": sale.NotYourTurn, users[0]: sale.NotEligible} {
			_, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user, CheckUser: func(context.Context, time.Time) error {
				return sale.Refuse(sale.NotEligible, "no")
			}})
			hasCode(t, want, err, "%s", user)
		}
		w.left(2)
	},
	"a claim that was accepted in no call is found": func(t *testing.T, w *World) {
		c, users, ranks := w.rolled(2, 1, 8)
		call := w.calls(ranks)
		w.orderedIn("moutai", users[0])
		if r, _ := w.audit(); !r.Balanced || r.Available != 0 {
			t.Errorf("got %+v, want balanced books and nothing for anybody", r)
		}
		pass := &ledger.Audit{SaleID: "moutai"}
		cut := w.Hooked(func(_ string, in any, call func() (any, error)) (any, error) {
			if query, is := in.(*dynamodb.QueryInput); is && strings.HasPrefix(value(query.ExpressionAttributeValues[":pk"]), "CLAIM#") {
				return nil, &types.ResourceNotFoundException{}
			}
			return call()
		})
		w.Refused(sale.Internal, errOf(cut.Step(w.Ctx, pass, func(sale.Claim) {})))
		w.Succeeds(nil, w.Ledger.SaveCursor(w.Ctx, pass, nil))
		if r, err := w.Environment().Step(w.Ctx, w.Listing().Cursor, func(sale.Claim) {}); err != nil || r == nil || !r.Balanced || r.Confirmed != 1 {
			t.Errorf("another process ends the pass with %+v (%v), want balanced books", r, err)
		}
		w.moment(call.Until.Add(ledger.DrainAfter))
		if r, _ := w.audit(); !r.Balanced || r.Finished {
			t.Errorf("after a call: got %+v", r)
		}
		w.moment(c.ClosesAt.Add(ledger.DrainAfter))
		r, _ := w.audit()
		check(t, r.Balanced && r.Finished && w.drained(r), "after the end: got %+v", r)
		w.tamper("CLAIM#moutai#0", users[0], "SET acceptedAt = :at", attributes(map[string]any{":at": call.From.Add(-time.Millisecond)}))
		w.finds(fmt.Sprintf("user %q: the claim is of %s, in no call (P29)", users[0], call.From.Add(-time.Millisecond).Format(time.RFC3339)))
	},
}
