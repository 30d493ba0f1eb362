package ledgertest

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

const (
	settle  = 15 * time.Minute
	dice    = time.Hour
	gap     = time.Minute
	keepFor = 4 * time.Hour
)

var leafKey = bytes.Repeat([]byte{7}, 32)

// secret is the leaf key of every draw.
func secret(b []byte) (int, error) { return copy(b, leafKey), nil }

// leafOf is the leaf of a user in any draw.
func leafOf(user string) draw.Leaf { return draw.LeafOf(user, draw.NonceOf(leafKey, user)) }

// seed is the seed of each draw whose order is known.
var seed = draw.Digest{1, 2, 3}

// Drawn is a sale with a draw whose entering begins in a minute and lasts an hour; the sale
// begins two hours and a half after that, and ends two days later.
func (w *World) Drawn(stock int64, shards int) sale.Creation {
	c := w.Sale(stock, shards)
	c.EnterFrom, c.EnterUntil, c.KeepFor = w.Now().Add(time.Minute), w.Now().Add(time.Hour+time.Minute), keepFor
	c.OpensAt, c.ClosesAt = c.EnterUntil.Add(150*time.Minute), c.EnterUntil.Add(48*time.Hour)
	return c
}

// OpenDraw creates such a sale.
func (w *World) OpenDraw(stock int64, shards int) sale.Creation {
	w.T.Helper()
	c := w.Drawn(stock, shards)
	w.Create(c)
	return c
}

// enters enters a user in a new environment.
func (w *World) enters(user string) (ledger.Entry, error) {
	return w.Environment().Enter(w.Ctx, "moutai", user, settle, nil)
}

// entered enters the users, or ends the test.
func (w *World) entered(users ...string) {
	w.T.Helper()
	for _, user := range users {
		w.Succeeds(w.enters(user))
	}
}

// round is the round of a beacon of seconds.
func round(at time.Time) uint64 { return uint64(at.Unix()) }

// closes closes the roll in that environment.
func (w *World) closes(l *ledger.Ledger) (draw.Head, error) {
	s := w.Current()
	return l.CloseRoll(w.Ctx, s, round, dice)
}

// rolled is Rolled without a change.
func (w *World) rolled(stock int64, shards, users int) (sale.Creation, []string, []draw.Rank) {
	w.T.Helper()
	return w.Rolled(func(*sale.Creation) {}, stock, shards, users)
}

// Rolled creates a sale with a draw that begins now, with so many users on the roll and a known
// order, and returns the users in that order and their ranks. If units must be paid for, change
// says so. The roll is placed: to store 1,024 parts takes an engine long.
func (w *World) Rolled(change func(*sale.Creation), stock int64, shards, users int) (c sale.Creation, called []string, ranks []draw.Rank) {
	w.T.Helper()
	c = w.Drawn(stock, shards)
	change(&c)
	w.Create(c)
	w.moment(c.OpensAt)
	called = people(users)
	slices.SortFunc(called, func(a, b string) int { return draw.RankOf(seed, leafOf(a)).Compare(draw.RankOf(seed, leafOf(b))) })
	pages := map[byte][][]draw.Leaf{leafOf("nobody").Page(): make([][]draw.Leaf, 4)}
	for _, user := range called {
		leaf := leafOf(user)
		if pages[leaf.Page()] == nil {
			pages[leaf.Page()] = make([][]draw.Leaf, 4)
		}
		part := &pages[leaf.Page()][leaf[1]>>6]
		*part = append(*part, leaf)
		ranks = append(ranks, draw.RankOf(seed, leaf))
	}
	for page, parts := range pages {
		for p, leaves := range parts {
			slices.SortFunc(leaves, draw.Leaf.Compare)
			w.place(map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "ROLL#moutai"}, "sk": &types.AttributeValueMemberS{Value: fmt.Sprintf("%02x#%d", page, p)},
				"leaves": &types.AttributeValueMemberB{Value: draw.Join(leaves)},
			})
		}
	}
	w.place(attributes(map[string]any{
		"pk": "DRAW#moutai", "sk": "HEAD", "roll": draw.Digest{9}.String(), "entrants": users, "round": 12, "closedAt": c.EnterUntil.Add(settle),
		"seed": seed.String(), "signature": "abcd",
	}))
	return c, called, ranks
}

// state is the draw as the table has it.
func (w *World) state() ledger.DrawState {
	w.T.Helper()
	d, err := w.Environment().DrawState(w.Ctx, "moutai", gap)
	w.Succeeds(nil, err)
	return d
}

// begins begins a call in a new environment.
func (w *World) begins(ranks []draw.Rank) bool {
	w.T.Helper()
	begun, err := w.Environment().BeginCall(w.Ctx, w.state(), ranks, gap)
	w.Succeeds(nil, err)
	return begun
}

// begun begins a call, or ends the test.
func (w *World) begun(ranks []draw.Rank) {
	w.T.Helper()
	if !w.begins(ranks) {
		w.T.Fatalf("no call begins: %+v", w.state())
	}
}

// finishes completes the newest call in a new environment.
func (w *World) completes(ranks []draw.Rank) draw.Call {
	w.T.Helper()
	call, err := w.Environment().FinishCall(w.Ctx, "moutai", ranks, gap)
	w.Succeeds(nil, err)
	return call
}

// calls makes a call, which is open when calls returns.
func (w *World) calls(ranks []draw.Rank) draw.Call {
	w.T.Helper()
	w.begun(ranks)
	call := w.completes(ranks)
	if !call.Complete {
		w.T.Fatalf("got %+v, want a complete call", call)
	}
	w.moment(call.From)
	return call
}

// next makes the call after one that is over.
func (w *World) next(ranks []draw.Rank) draw.Call {
	w.T.Helper()
	d := w.state()
	w.moment(d.NextCallAt(gap))
	return w.calls(ranks)
}

var entering = map[string]func(*testing.T, *World){
	"an entry is made once, and its repeat gets the same receipt": func(t *testing.T, w *World) {
		c := w.OpenDraw(3, 1)
		w.moment(c.EnterFrom)
		leaf := leafOf("alice")
		want := ledger.Entry{Nonce: draw.NonceOf(leafKey, "alice"), Leaf: leaf, At: c.EnterFrom}
		hasCode(t, sale.EntryNotFound, errOf(w.Environment().Entry(w.Ctx, "moutai", "alice", settle)))
		for range 2 {
			gives(t, want)(w.enters("alice"))
			gives(t, want)(w.Environment().Entry(w.Ctx, "moutai", "alice", settle))
			w.Pass(time.Second)
		}
		pk := fmt.Sprintf("ENTRY#moutai#%02x", leaf.Page())
		all := w.Partition(pk)
		check(t, len(all) == 1 && w.Number(pk, "alice", "at") == c.EnterFrom.UnixMilli(), "the partition has %v", all)
		w.Succeeds(w.enters("bob"))
		bob, err := w.Environment().Entry(w.Ctx, "moutai", "bob", settle)
		check(t, err == nil && bob.Leaf == leafOf("bob") && bob.Nonce != want.Nonce, "bob has %+v (%v)", bob, err)
	},
	"people enter from the first instant on and before the last one": func(t *testing.T, w *World) {
		c := w.OpenDraw(3, 1)
		for i, step := range []struct {
			at   time.Time
			want sale.Code
			wait time.Duration
		}{
			{c.EnterFrom.Add(-time.Millisecond), sale.EnteringNotOpen, time.Millisecond},
			{c.EnterFrom, "", 0},
			{c.EnterUntil.Add(-time.Millisecond), "", 0},
			{c.EnterUntil, sale.EnteringClosed, 0},
			{c.EnterUntil.Add(time.Hour), sale.EnteringClosed, 0},
		} {
			w.moment(step.at)
			_, err := w.enters(fmt.Sprint("user-", i))
			if got := sale.CodeOf(err); got != step.want {
				t.Errorf("%v: got %v, want %q", step.at, err, step.want)
			} else if err != nil && w.Refused(step.want, err).RetryAfter != step.wait {
				t.Errorf("%v: retry after %v, want %v", step.at, w.Refused(step.want, err).RetryAfter, step.wait)
			}
		}
		w.moment(c.EnterUntil)
		again, err := w.enters("user-1")
		check(t, err == nil && again.At.Equal(c.EnterFrom), "who has entered gets %+v (%v), want the receipt", again, err)
		same(t, w.entries(), 2)
	},
	"who may not enter leaves nothing": func(t *testing.T, w *World) {
		c := w.OpenDraw(3, 1)
		w.moment(c.EnterFrom)
		refusal := sale.Refuse(sale.NotEligible, "no")
		_, err := w.Ledger.Enter(w.Ctx, "moutai", "alice", settle, func(_ context.Context, until time.Time) error {
			check(t, until.Equal(c.ClosesAt), "asked until %v, want %v", until, c.ClosesAt)
			return refusal
		})
		w.Refused(sale.NotEligible, err)
		_, err = w.Ledger.Enter(w.Ctx, "moutai", "alice", settle, func(context.Context, time.Time) error {
			w.moment(c.EnterUntil)
			return nil
		})
		w.Refused(sale.EnteringClosed, err)
		same(t, w.entries(), 0)
	},
	"an answer that comes when the roll may have been read is busy": func(t *testing.T, w *World) {
		for i, tt := range []struct {
			answered time.Duration // after the end of entering
			settle   time.Duration
			want     sale.Code
		}{
			{settle/2 - time.Millisecond, settle, ""}, {settle / 2, settle, sale.Busy},
			{settle / 2, 2 * settle, sale.Busy}, {time.Second, 2 * time.Second, sale.Busy},
		} {
			c := w.Drawn(3, 1)
			c.SaleID = fmt.Sprint("sale-", i)
			w.Create(c)
			w.moment(c.EnterUntil.Add(-time.Millisecond))
			// The second time it is there already.
			for range 2 {
				slow := w.Hooked(dynamotest.After("PutItem", func() { w.moment(c.EnterUntil.Add(tt.answered)) }))
				hasCode(t, tt.want, errOf(slow.Enter(w.Ctx, c.SaleID, "alice", tt.settle, nil)), "%+v", tt)
				w.moment(c.EnterUntil.Add(-time.Millisecond))
			}
			slow := w.Hooked(func(op string, in any, call func() (any, error)) (any, error) {
				get, isGet := in.(*dynamodb.GetItemInput)
				out, err := call()
				if isGet && value(get.Key["sk"]) == "alice" {
					w.moment(c.EnterUntil.Add(tt.answered))
				}
				return out, err
			})
			hasCode(t, tt.want, errOf(slow.Entry(w.Ctx, c.SaleID, "alice", tt.settle)), "%+v", tt)
			w.moment(Start.Add(time.Duration(i+1) * 24 * time.Hour))
		}
	},
	"nobody enters a sale without a draw, a recalled one or none": func(t *testing.T, w *World) {
		w.Open(3, 1)
		w.Refused(sale.DrawNotFound, errOf(w.enters("alice")))
		w.Refused(sale.DrawNotFound, errOf(w.Ledger.Entry(w.Ctx, "moutai", "alice", settle)))
		w.Refused(sale.DrawNotFound, errOf(w.Ledger.DrawState(w.Ctx, "moutai", gap)))
		w.Refused(sale.DrawNotFound, errOf(w.Ledger.Draw(w.Ctx, w.Current())))
		w.hasNoItem("DRAWKEY#moutai", "KEY")
		w.Refused(sale.SaleNotFound, errOf(w.Ledger.Enter(w.Ctx, "unknown", "alice", settle, nil)))
		c := w.Drawn(3, 1)
		c.SaleID = "recalled"
		w.Create(c)
		w.Succeeds(w.Ledger.Recall(w.Ctx, sale.Recall{SaleID: "recalled"}))
		w.moment(c.EnterFrom)
		w.Refused(sale.Recalled, errOf(w.Environment().Enter(w.Ctx, "recalled", "alice", settle, nil)))
	},
}

// entries counts the entries of the draw.
func (w *World) entries() (n int) {
	w.T.Helper()
	for page := range draw.Pages {
		n += len(w.Partition(fmt.Sprintf("ENTRY#moutai#%02x", page)))
	}
	return n
}

var rolling = map[string]func(*testing.T, *World){
	"a roll that takes long to store is closed at the end, and its round lies ahead of that": func(t *testing.T, w *World) {
		c := w.OpenDraw(9, 2)
		w.moment(c.EnterUntil.Add(settle))
		head, err := w.closes(w.overtaken("PutItem", func() { w.Pass(2 * dice) }))
		if now := w.Now(); err != nil || !head.ClosedAt.Equal(now) || head.Round != round(now.Add(dice)) {
			t.Errorf("closed at %s, by round %d (%v), want %s and %d", head.ClosedAt, head.Round, err, now, round(now.Add(dice)))
		}
	},
	"the roll has everybody who has entered, and never changes": func(t *testing.T, w *World) {
		c := w.OpenDraw(3, 1)
		w.moment(c.EnterFrom)
		users := people(30)
		w.entered(users...)
		s := w.Current()
		w.Refused(sale.RollNotFound, errOf(w.Environment().RollPage(w.Ctx, s, 0)))
		w.Refused(sale.Internal, errOf(w.closes(w.Environment()))) // people may still enter
		w.Refused(sale.Internal, w.Environment().SetSeed(w.Ctx, s, seed, []byte{1}))
		w.hasNoItem("DRAW#moutai", "HEAD")
		w.moment(c.EnterUntil.Add(settle))
		w.Refused(sale.Busy, errOf(w.Environment().Entry(w.Ctx, "moutai", users[0], settle))) // before the roll is closed
		leaves := make([]draw.Leaf, len(users))
		for i, user := range users {
			leaves[i] = leafOf(user)
		}
		slices.SortFunc(leaves, draw.Leaf.Compare)
		want := draw.Head{Roll: rollOf(leaves), Entrants: 30, Round: round(w.Now().Add(dice)), ClosedAt: w.Now()}
		head, err := w.closes(w.Environment())
		if err != nil || fmt.Sprint(head) != fmt.Sprint(want) {
			t.Fatalf("got %+v (%v), want %+v", head, err, want)
		}
		// One that is applied late is not on it, and whoever asks hears that.
		late := leafOf("late")
		w.place(attributes(map[string]any{"pk": fmt.Sprintf("ENTRY#moutai#%02x", late.Page()), "sk": "late", "at": c.EnterFrom}))
		w.Pass(time.Minute)
		if head, err = w.closes(w.Environment()); err != nil || fmt.Sprint(head) != fmt.Sprint(want) {
			t.Errorf("again: got %+v (%v), want %+v", head, err, want)
		}
		for user, code := range map[string]sale.Code{"late": sale.EntryNotFound, "nobody": sale.EntryNotFound, users[3]: ""} {
			hasCode(t, code, errOf(w.Environment().Entry(w.Ctx, "moutai", user, settle)), "%s", user)
		}
		w.Refused(sale.EnteringClosed, errOf(w.enters("late")))
		l := w.Environment()
		got, err := l.Ranks(w.Ctx, s, head)
		slices.SortFunc(got, draw.Rank.Compare)
		ranks := slices.SortedFunc(slices.Values(draw.Ranks(head.Seed, leaves)), draw.Rank.Compare)
		check(t, err == nil && slices.Equal(got, ranks), "got %d ranks (%v), want those of the %d leaves", len(got), err, len(leaves))
		w.Refused(sale.Internal, errOf(l.Ranks(w.Ctx, s, draw.Head{Entrants: head.Entrants})))
		pages := w.roll()
		for _, leaf := range leaves {
			part := w.Item("ROLL#moutai", fmt.Sprintf("%02x#%d", leaf[0], leaf[1]/64))["leaves"].(*types.AttributeValueMemberB).Value
			check(t, bytes.Contains(part, leaf[:]), "leaf %s is not in the part that its second byte says", leaf)
		}
		check(t, slices.Equal(pages, leaves), "the pages have %d leaves, want the %d in order", len(pages), len(leaves))
		w.seeded(head)
	},
	"a roll that was cut off is completed by the next run, whatever was applied between": func(t *testing.T, w *World) {
		c := w.OpenDraw(3, 1)
		w.moment(c.EnterFrom)
		w.entered(people(20)...)
		w.moment(c.EnterUntil.Add(settle))
		s := w.state().Sale
		ctx, dying := w.cutAfter(400)
		w.Refused(sale.Busy, errOf(dying.CloseRoll(ctx, s, round, dice)))
		// Another run closes it when this one has read what is different by then.
		var other draw.Head
		var err error
		slow := w.overtaken("PutItem", func() {
			// One for each page, in the part of it that is stored last.
			late := map[byte]bool{}
			for i := 0; len(late) < draw.Pages; i++ {
				user := fmt.Sprint("late-", i)
				leaf := leafOf(user)
				if leaf[1]/64 != 3 || late[leaf.Page()] {
					continue
				}
				late[leaf.Page()] = true
				w.place(attributes(map[string]any{"pk": fmt.Sprintf("ENTRY#moutai#%02x", leaf.Page()), "sk": user, "at": c.EnterFrom}))
			}
			other, err = w.closes(w.Environment())
		})
		head, slowErr := slow.CloseRoll(w.Ctx, s, func(time.Time) uint64 { return 1 }, dice)
		if err != nil || slowErr != nil || fmt.Sprint(head) != fmt.Sprint(other) || head.Round == 1 {
			t.Fatalf("got %+v (%v), the other run %+v (%v)", head, slowErr, other, err)
		}
		leaves := w.roll()
		if int64(len(leaves)) != head.Entrants || head.Entrants <= 20 || head.Entrants == 20+draw.Pages {
			t.Errorf("%d leaves of %d entrants, want the 20 and some late ones", len(leaves), head.Entrants)
		}
		for _, user := range people(20) {
			check(t, slices.Contains(leaves, leafOf(user)), "%s is not on the roll", user)
		}
	},
}

// roll is the whole roll, page by page.
func (w *World) roll() (leaves []draw.Leaf) {
	w.T.Helper()
	l, s := w.Environment(), w.state().Sale
	for page := range draw.Pages {
		got, err := l.RollPage(w.Ctx, s, byte(page))
		w.Succeeds(nil, err)
		leaves = append(leaves, got...)
	}
	return leaves
}

// rollOf is the digest of a roll, from its definition.
func rollOf(leaves []draw.Leaf) draw.Digest {
	var pages [draw.Pages]draw.Digest
	for p := range pages {
		pages[p] = draw.PageDigest(slices.DeleteFunc(slices.Clone(leaves), func(l draw.Leaf) bool { return int(l.Page()) != p }))
	}
	return draw.RollDigest(&pages)
}

// seeded sets the seed of a draw whose roll is closed, once.
func (w *World) seeded(head draw.Head) {
	w.T.Helper()
	s := w.state().Sale
	signature := []byte{0xab, 0xcd}
	early := w.Environment() // has seen the head without a seed
	if d, err := early.DrawState(w.Ctx, "moutai", gap); err != nil || d.Head.HasSeed() {
		w.T.Errorf("got %+v (%v), want no seed", d, err)
	}
	for range 2 {
		if err := w.Environment().SetSeed(w.Ctx, s, seed, signature); err != nil {
			w.T.Error(err)
		}
	}
	w.Refused(sale.Internal, w.Environment().SetSeed(w.Ctx, s, draw.Digest{1}, signature))
	head.Seed, head.Signature = seed, signature
	d, err := w.Environment().Draw(w.Ctx, s)
	if err != nil || fmt.Sprint(d) != fmt.Sprint(ledger.Draw{Head: head}) || hex.EncodeToString(d.Signature) != "abcd" {
		w.T.Errorf("got %+v (%v), want %+v", d, err, head)
	}
	state, err := early.DrawState(w.Ctx, "moutai", gap)
	check(w.T, err == nil && state.Head.Seed == seed, "got %+v (%v), want the seed", state, err)
}
