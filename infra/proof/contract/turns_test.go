package contract

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/drawcheck/rules"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/sale"
)

// entry is what GET entries/me says of a turn.
type entry struct {
	Leaf   rules.Leaf
	OnRoll bool
	Rank   string
	Turn   *turn
	Next   *time.Time
}

type turn struct {
	Call        int64
	From, Until time.Time
}

// fromPublic computes what an entry's turn is from what is public of the draw alone, by rules that share no code with the
// functions, and the times that HTTP.md gives.
func fromPublic(t *testing.T, page []byte, e entry) entry {
	t.Helper()
	var public struct {
		OpensAt, ClosesAt, Now time.Time
		Draw                   struct {
			rules.Draw
			Seed  rules.Digest
			Calls []rules.Call
		}
	}
	if err := json.Unmarshal(page, &public); err != nil {
		t.Fatal(err)
	}
	calls, rank := public.Draw.Calls, rules.RankOf(public.Draw.Seed, e.Leaf)
	want := entry{Leaf: e.Leaf, OnRoll: true, Rank: rank.String()}
	next := public.OpensAt
	for _, c := range calls {
		if c.Open || c.Calls(rank) {
			want.Turn = &turn{c.Number, c.From, c.Until}
		}
		next = c.Until.Add(testledger.DrawTimes.Gap)
	}
	isOver := want.Turn == nil || !public.Now.Before(want.Turn.Until)
	if isOver && next.Before(public.ClosesAt) {
		want.Next = &next
	}
	return want
}

// The buyers of one draw of two units and five people: two are called, then two, then one and, in the end, anybody.
func TestAnEntrySaysTheTurnThatFollowsFromWhatIsPublic(t *testing.T) {
	inWorld(t, func(w *world) {
		users := []string{"ann", "ben", "cat", "dan", "eve"}
		api := w.front(door{api: Buyers}) // it remembers calls
		check := func(when string) {
			t.Helper()
			time.Sleep(2 * time.Second) // until nothing of before is remembered
			ask := func(path, user string) Answer {
				s := &scene{world: w, api: Buyers, path: "/sales/" + drawn + path, user: user}
				s.operation.Method = http.MethodGet
				return s.at(api)
			}
			page := ask("", "").Body
			for _, user := range users {
				a := ask("/entries/me", user)
				var got entry
				if err := json.Unmarshal(a.Body, &got); a.Status != http.StatusOK || err != nil {
					t.Fatalf("%s: %s: %d %s", when, user, a.Status, a.Body)
				}
				if diff := cmp.Diff(fromPublic(t, page, got), got); diff != "" {
					t.Errorf("%s: %s (-public +got):\n%s", when, user, diff)
				}
			}
		}
		w.Drawn(2, users...)
		check("in the first call")
		running := w.Draw().Sale
		w.Edit(sale.Edit{OpensAt: running.BeginsAt, ClosesAt: running.EndsAt, Until: running.ClosesAt.Add(time.Hour)})
		check("when it is longer")
		for _, when := range []string{"second", "third", "last"} {
			w.Until(w.Draw().Sale.ClosesAt)
			check("before the " + when)
			w.Call()
			check("in the " + when)
		}
	})
}
