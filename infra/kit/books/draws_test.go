package books

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

const (
	settle, dice, gap = 15 * time.Minute, time.Hour, time.Minute
)

// enters creates a sale with a draw, which that many people enter; entering is over.
func (w *world) enters(units int64, shards, people int) sale.Creation {
	w.T.Helper()
	c := w.Sale(units, shards)
	c.EnterFrom, c.EnterUntil, c.KeepFor = w.Now(), w.Now().Add(time.Hour), time.Hour
	c.OpensAt, c.ClosesAt = c.EnterUntil.Add(settle+dice+10*time.Minute), c.EnterUntil.Add(48*time.Hour)
	w.Succeeds(w.Environment().Create(w.Ctx, c))
	l := w.Environment()
	for i := range people {
		w.Pass(time.Second)
		w.Succeeds(l.Enter(w.Ctx, "moutai", fmt.Sprint("user-", i), settle, nil))
	}
	w.Pass(c.EnterUntil.Sub(w.Now()))
	return c
}

// rolls closes the roll and throws the dice; the sale begins.
func (w *world) rolls(c sale.Creation) {
	w.T.Helper()
	w.Pass(settle)
	s := w.Current()
	head, err := w.Environment().CloseRoll(w.Ctx, s, func(at time.Time) uint64 { return uint64(at.Unix() / 3) }, dice)
	w.Succeeds(nil, err)
	w.Pass(dice)
	signature := bytes.Repeat([]byte{5}, 48)
	w.Succeeds(nil, w.Environment().SetSeed(w.Ctx, s, draw.SeedOf("moutai", head.Roll, sha256.Sum256(signature)), signature))
	w.Pass(c.OpensAt.Sub(w.Now()))
}

// begins begins a call that is due, and returns the ranks of the roll.
func (w *world) begins() []draw.Rank {
	w.T.Helper()
	l := w.Environment()
	d, err := l.DrawState(w.Ctx, "moutai", gap)
	w.Succeeds(nil, err)
	w.Pass(max(0, d.NextCallAt(gap).Sub(w.Now())))
	ranks, err := l.Ranks(w.Ctx, d.Sale, d.Head)
	w.Succeeds(nil, err)
	if begun, err := l.BeginCall(w.Ctx, d, ranks, gap); !begun || err != nil {
		w.T.Fatalf("begun %t (%v)", begun, err)
	}
	return ranks
}

// calls makes the next call, which is then open.
func (w *world) calls() draw.Call {
	w.T.Helper()
	call, err := w.Environment().FinishCall(w.Ctx, "moutai", w.begins(), gap)
	if err != nil || !call.Complete {
		w.T.Fatalf("not complete: %+v (%v)", call, err)
	}
	w.Pass(gap / 4)
	return call
}

// turns has users try to buy until that many have, and returns their claims.
func (w *world) turns(people, buyers int) (refs []ledger.ClaimRef) {
	w.T.Helper()
	l := w.Environment()
	for i := range people {
		if len(refs) == buyers {
			return refs
		}
		p, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: fmt.Sprint("user-", i), Key: "key"})
		switch {
		case err == nil && p.New:
			refs = append(refs, ledger.ClaimRef{SaleID: "moutai", User: p.Claim.User, ClaimID: p.Claim.ID})
		case err != nil && !slices.Contains([]sale.Code{sale.NotYourTurn, sale.TurnOver}, sale.CodeOf(err)):
			w.T.Fatal(err)
		}
	}
	if len(refs) < buyers {
		w.T.Fatalf("%d have bought, want %d", len(refs), buyers)
	}
	return refs
}

// drawnSale is a sale of 4 units on 2 shards, 2 more later, with a draw of 9 people: the first call of 4
// was interrupted and made longer, the second called 3, the third calls 1, and nobody has called the ninth.
func drawnSale(t *testing.T) *world {
	w := newWorld(t)
	w.rolls(w.enters(4, 2, 9))
	w.calls()
	refs := w.turns(9, 2)
	w.pause(true)
	w.pause(false)
	s := w.Current()
	w.edit(sale.Edit{OpensAt: s.BeginsAt, ClosesAt: s.EndsAt, Until: s.ClosesAt.Add(time.Hour)})
	refs = append(refs, w.turns(9, 1)...)
	w.Add("more", 2)
	w.calls()
	w.Confirmed(append(refs, w.turns(9, 2)...))
	w.calls()
	w.Pass(6 * time.Minute)
	return w
}

// openedSale is a sale of 3 units on 2 shards with a draw of 2 people, for which everybody has been called:
// the first call was cut off, in the second one person bought, and the third is for anybody.
func openedSale(t *testing.T) *world {
	w := newWorld(t)
	w.rolls(w.enters(3, 2, 2))
	w.begins()
	w.calls()
	refs := w.turns(2, 1)
	w.calls()
	w.Confirmed(append(refs, w.turns(3, 1)...))
	w.Pass(6 * time.Minute)
	return w
}

// notable leaves out most parts of the roll that are empty.
func notable(all items) items {
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(k key, it item) bool {
		leaves, ok := it["leaves"].(*types.AttributeValueMemberB)
		return ok && len(leaves.Value) == 0 && !strings.HasPrefix(k.sk, "00#")
	})
	return all
}

func TestADrawThatWasTamperedWithIsFound(t *testing.T) {
	w := drawnSale(t)
	r := w.balanced()
	if r.Claims != 5 || r.Stock != 1 || len(r.Unfinished) > 0 {
		t.Fatalf("got %+v", r)
	}
	breakages{
		{"a unit that is gone", func(all items) { all.set(shardKey(0), "stock", number("0")).set(shardKey(1), "stock", number("0")) }, "P30", "1 people of call 3 have not bought, but only 0 units are left for them"},
		{"a draw in a sale that has none", func(all items) {
			all.drop(saleKey, "enterFrom", "enterUntil", "keepHours", "beginsAt", "endsAt", "call", "openCall", "operatedAt")
		}, "P13", "is of a draw, and the sale has none"},
	}.areFound(w)
}

func TestACallThatIsNotMadeInTimeIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		play  func(*world)
		finds string // eight minutes and a bit after it was due; "" for nothing
	}{
		"units are left when a call is over": {func(w *world) {
			w.rolls(w.enters(4, 2, 9))
			w.calls()
			w.turns(9, 1)
			w.Pass(time.Hour + gap)
		}, "3 units are left and call 2 was due at"},
		"nobody was called when the sale began": {func(w *world) { w.rolls(w.enters(4, 2, 9)) }, "4 units are left and call 1 was due at"},
		"nothing is left": {func(w *world) {
			w.rolls(w.enters(4, 2, 9))
			w.calls()
			w.turns(9, 4)
			w.Pass(time.Hour + gap)
		}, ""},
		"the roll is not closed": {func(w *world) {
			c := w.enters(4, 2, 9)
			w.Pass(c.OpensAt.Sub(w.Now()))
		}, "the roll is not closed at"},
		"the sale is paused": {func(w *world) { w.rolls(w.enters(4, 2, 9)); w.pause(true) }, ""},
		"a call was cut off": {func(w *world) {
			w.rolls(w.enters(4, 2, 9))
			w.begins()
			w.Pass(gap)
		}, "4 units are left and call 2 was due at"},
		"the call for anybody was cut off": {func(w *world) {
			w.rolls(w.enters(4, 2, 1))
			w.calls()
			w.begins()
		}, "is for anybody, but was cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.play(w)
			found := func() bool {
				return strings.Contains(fmt.Sprint(w.items().recount(t, w.Now()).Findings), "(P31)")
			}
			w.Pass(callTime + 4*time.Minute)
			if found() {
				t.Error("it is found too early")
			}
			w.Pass(2 * time.Minute)
			if c.finds != "" {
				has(t, w.items().recount(t, w.Now()), "P31", c.finds)
			} else if found() {
				t.Error("it is found, and nothing is late")
			}
		})
	}
}

func TestADrawInEachOfItsStatesBalances(t *testing.T) {
	histories{
		"the roll is being closed": {func(w *world) {
			w.enters(4, 2, 9)
			w.Pass(settle)
			s := w.Current()
			ctx, l := w.dying(20)
			w.dies(l.CloseRoll(ctx, s, func(time.Time) uint64 { return 7 }, dice))
		}, "the roll is being closed: 20 of 1024 parts are stored"},
		"an entry was applied too late": {func(w *world) {
			c := w.enters(4, 2, 9)
			w.rolls(c)
			l, name := leafOf(bytes.Repeat([]byte{7}, 32), "late"), tableName
			w.Succeeds(w.db.PutItem(w.Ctx, &dynamodb.PutItemInput{TableName: &name, Item: item{
				"pk": text(entryPK("moutai", int(l[0]))), "sk": text("late"), "at": number(fmt.Sprint(c.EnterUntil.UnixMilli() - 1)),
			}}))
			w.calls()
		}, ""},
	}.balance(t)
}
