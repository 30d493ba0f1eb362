package ledgertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// says is a change in one line, as far as it is given.
func says(c sale.Change) string {
	line := fmt.Sprintf("%d %s %s by %q", c.Number, c.ID, c.Action, c.Actor)
	if c.Verified {
		line += " verified"
	}
	if c.Note != "" {
		line += " because " + c.Note
	}
	if !c.OpensAt.IsZero() {
		line += fmt.Sprintf(" %t %s-%s", c.Paused, c.OpensAt.UTC().Format("15:04"), c.ClosesAt.UTC().Format("15:04"))
	}
	if c.Units != 0 {
		line += fmt.Sprint(" ", c.Units)
	}
	for _, text := range []*string{c.Name, c.Image, c.About, c.Link} {
		if text != nil {
			line += fmt.Sprintf(" %q", *text)
		}
	}
	return line
}

// trail expects the newest changes of the sale, all of them if they are fewer than most.
func (w *World) trail(most int, more bool, want ...string) {
	w.T.Helper()
	got, hasMore, err := w.Environment().Trail(w.Ctx, "moutai", most)
	check(w.T, err == nil && hasMore == more && len(got) == len(want), "%d changes, more: %t (%v), want %d, %t", len(got), hasMore, err, len(want), more)
	for i := range min(len(got), len(want)) {
		same(w.T, says(got[i]), want[i], "change %d", i)
	}
}

// change makes a change of that kind by a new environment.
func (w *World) change(action sale.Action, id string, by sale.Author) (applied bool, err error) {
	return w.changeIn("moutai", w.Environment(), action, id, by)
}

func (w *World) changeIn(saleID string, l *ledger.Ledger, action sale.Action, id string, by sale.Author) (applied bool, err error) {
	var seen *sale.ReadVersion
	if action == sale.ActionResume {
		seen = w.seen(saleID)
	}
	_, applied, err = w.changeAfter(seen, saleID, l, action, id, by)
	return applied, err
}

// changeAfter is a change of who had seen that, and what its author has seen with it.
func (w *World) changeAfter(seen *sale.ReadVersion, saleID string, l *ledger.Ledger, action sale.Action, id string, by sale.Author) (sale.ReadVersion, bool, error) {
	switch action {
	case sale.ActionAdd:
		done, err := l.Add(w.Ctx, sale.Addition{SaleID: saleID, SeedID: id, Stock: 3, Author: by, ReadVersion: seen})
		return done.ReadVersion, done.Applied, err
	case sale.ActionWithdraw:
		done, err := l.Withdraw(w.Ctx, sale.Withdrawal{SaleID: saleID, SeedID: id, Stock: 2, Author: by, ReadVersion: seen})
		return done.ReadVersion, done.Applied, err
	case sale.ActionDescribe:
		done, err := l.Describe(w.Ctx, sale.Description{SaleID: saleID, ChangeID: id, About: new("of " + id), Link: new(""), Author: by, ReadVersion: seen})
		return done.ReadVersion, done.Applied, err
	case sale.ActionRecall:
		done, err := l.Recall(w.Ctx, sale.Recall{SaleID: saleID, ChangeID: id, Author: by})
		return sale.ReadVersion{}, done.Applied, err
	}
	e := sale.Edit{SaleID: saleID, ChangeID: id, Author: by, ReadVersion: seen}
	switch action {
	case sale.ActionReschedule:
		e.OpensAt, e.ClosesAt = Start.Add(time.Hour), Start.Add(3*time.Hour)
	case sale.ActionExtend:
		e.PayUntil = Start.Add(24 * time.Hour)
	default:
		e.Paused = new(action == sale.ActionPause)
	}
	done, err := l.Edit(w.Ctx, e)
	return done.ReadVersion, done.Applied, err
}

var actions = []sale.Action{
	sale.ActionPause, sale.ActionAdd, sale.ActionResume, sale.ActionReschedule, sale.ActionDescribe, sale.ActionWithdraw, sale.ActionRecall,
}

// overtake lets meanwhile happen before the write of each kind of edit, in a sale that was never
// edited and in one that was, and checks what becomes of it.
func (w *World) overtake(meanwhile func(saleID string, newer time.Time), check func(action sale.Action, saleID string, before int64, newer time.Time, err error)) {
	w.T.Helper()
	for _, action := range []sale.Action{sale.ActionPause, sale.ActionDescribe, sale.ActionRecall} {
		for before := range int64(2) {
			c := w.Sale(10, 2)
			w.overtakes++
			c.SaleID = fmt.Sprint("overtaken-", w.overtakes)
			w.Create(c)
			if before > 0 {
				w.changes(c.SaleID, sale.ActionResume, "first", sale.Author{})
			}
			newer := w.Now().Add(time.Second)
			slow := w.overtaken("TransactWriteItems", func() { meanwhile(c.SaleID, newer) })
			_, err := w.changeIn(c.SaleID, slow, action, "mine", sale.Author{})
			check(action, c.SaleID, before, newer, err)
		}
	}
}

// pairs calls try with an edit and an addition or a withdrawal, in either order, in sales with and
// without a maxStock, edited before and not. want is what refuses the second one under the id of
// the first.
func (w *World) pairs(try func(saleID, what string, first, second sale.Action, want sale.Code)) {
	w.T.Helper()
	for _, edit := range []sale.Action{sale.ActionPause, sale.ActionReschedule, sale.ActionDescribe, sale.ActionRecall} {
		for _, seeding := range []sale.Action{sale.ActionAdd, sale.ActionWithdraw} {
			for i := range 8 {
				isLimited, wasEdited := i&1 > 0, i&2 > 0
				c := w.Sale(10, 2)
				w.overtakes++
				c.SaleID = fmt.Sprint("pair-", w.overtakes)
				if isLimited {
					c.MaxStock = 20
				}
				w.Create(c)
				if wasEdited {
					w.changes(c.SaleID, sale.ActionResume, "before", sale.Author{})
				}
				first, second, want := edit, seeding, sale.Conflicting
				if i&4 > 0 {
					first, second = seeding, edit
				}
				if first == sale.ActionRecall && second == sale.ActionAdd {
					want = sale.Recalled
				}
				try(c.SaleID, fmt.Sprintf("%s, then %s, limited %t, edited %t", first, second, isLimited, wasEdited), first, second, want)
			}
		}
	}
}

var trailing = map[string]func(*testing.T, *World){
	"a change that its repeat and another one overtake, once it has read the trail, is made once": func(t *testing.T, w *World) {
		w.Open(1, 1)
		l := w.overtaken("Query", func() {
			for _, c := range []sale.Change{{ID: "first", Action: sale.ActionPause}, {ID: "second", Action: sale.ActionResume}} {
				applied, err := w.changeIn("moutai", w.Environment(), c.Action, c.ID, sale.Author{})
				check(t, err == nil && applied, "%s: applied is %t (%v)", c.ID, applied, err)
			}
		})
		w.Refused(sale.Conflicting, errOf(w.changeIn("moutai", l, sale.ActionPause, "first", sale.Author{}))) // the resumption stands
		if n := w.Number("SALE#moutai", "SALE", "edits"); n != 2 || w.Current().Paused {
			t.Errorf("after a pause and a resumption it has %d edits, paused is %t", n, w.Current().Paused)
		}
	},
	"every change is in the trail once, newest first, with its first author": func(t *testing.T, w *World) {
		w.Open(10, 2)
		w.trail(9, false)
		for _, action := range actions {
			w.Pass(time.Second)
			id := "my-" + string(action)
			for i, by := range []sale.Author{{Actor: "ana", Verified: true, Note: "hot"}, {Actor: "ben"}} {
				gives(t, i == 0, "%s by %s", action, by.Actor)(w.change(action, id, by))
			}
		}
		want := []string{
			`5 my-recall recall by "ana" verified because hot true 21:00-23:00`,
			`0 my-withdraw withdraw by "ana" verified because hot 2`,
			`4 my-describe describe by "ana" verified because hot "of my-describe" ""`,
			`3 my-reschedule reschedule by "ana" verified because hot false 21:00-23:00`,
			`2 my-resume resume by "ana" verified because hot false 19:59-21:00`,
			`0 my-add add by "ana" verified because hot 3`,
			`1 my-pause pause by "ana" verified because hot true 19:59-21:00`,
		}
		w.trail(9, false, want...)
		w.trail(7, false, want...)
		w.trail(3, true, want[:3]...)
		changes, _, err := w.Ledger.Trail(w.Ctx, "moutai", 9)
		for i, c := range changes {
			at := Start.Add(time.Duration(len(changes)-i) * time.Second)
			check(t, err == nil && c.At.Equal(at), "%s is of %v, want %v", c.Action, c.At, at)
		}
		edits, described := w.Number("SALE#moutai", "SALE", "edits"), w.Number("SALE#moutai", "SALE", "described")
		check(t, edits == 5 && described == 1, "%d edits, described %d times", edits, described)
	},
	"the id of one change is not another's": func(t *testing.T, w *World) {
		w.Open(10, 2)
		for i, action := range []sale.Action{sale.ActionReschedule, sale.ActionPause, sale.ActionDescribe} {
			w.Pass(time.Second)
			w.Succeeds(w.change(action, fmt.Sprint("id-", i), sale.Author{}))
		}
		before := w.everything()
		at := w.Now().Add(time.Second)
		for name, change := range map[string]func() error{
			"another action": func() error { _, err := w.change(sale.ActionResume, "id-1", sale.Author{}); return err },
			"a recall":       func() error { _, err := w.change(sale.ActionRecall, "id-1", sale.Author{}); return err },
			"another window": func() error {
				_, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "id-0", OpensAt: Start.Add(time.Hour), ClosesAt: Start.Add(4 * time.Hour)})
				return err
			},

			"another instant": func() error {
				_, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "id-1", At: at, Paused: new(true)})
				return err
			},
			"another text": func() error {
				_, err := w.Ledger.Describe(w.Ctx, sale.Description{SaleID: "moutai", ChangeID: "id-2", About: new("other"), Link: new("")})
				return err
			},
		} {
			e := w.Refused(sale.Conflicting, change())
			check(t, strings.Contains(e.Detail, "used for another change") && w.everything() == before, "%s: %v", name, e)
		}
	},
	"of an edit and an addition or a withdrawal at once, the later one is refused under the same id and made under another": func(t *testing.T, w *World) {
		for _, id := range []string{"same", "another"} {
			w.pairs(func(saleID, what string, first, second sale.Action, want sale.Code) {
				if id != "same" && want == sale.Conflicting {
					want = ""
				}
				slow := w.overtaken("TransactWriteItems", func() {
					applied, err := w.changeIn(saleID, w.Environment(), first, "same", sale.Author{})
					check(t, err == nil && applied, "%s: applied %t (%v)", what, applied, err)
				})
				if applied, err := w.changeIn(saleID, slow, second, id, sale.Author{}); sale.CodeOf(err) != want || applied != (want == "") {
					t.Errorf("%s, overtaken under the %s id: applied %t (%v), want %q", what, id, applied, err, want)
				}
				made := map[sale.Action]bool{}
				changes, _, err := w.Environment().Trail(w.Ctx, saleID, 9)
				for _, c := range changes {
					made[c.Action] = true
				}
				check(t, err == nil && made[first] && made[second] == (want == ""), "%s, overtaken under the %s id: the trail has %v (%v)", what, id, made, err)
			})
		}
	},
	"what changes nothing is not in the trail": func(t *testing.T, w *World) {
		w.Open(10, 2)
		w.edit(sale.Edit{SaleID: "moutai", ChangeID: "a", At: w.Now(), Paused: new(true)})
		w.edit(sale.Edit{SaleID: "moutai", ChangeID: "older", At: w.Now().Add(-time.Second), Paused: new(true)})
		for _, id := range []string{"b", "again"} {
			w.Succeeds(w.Ledger.Describe(w.Ctx, sale.Description{SaleID: "moutai", ChangeID: id, About: new("x")}))
		}
		w.Pass(time.Second)
		for _, id := range []string{"c", "again"} {
			w.Succeeds(w.change(sale.ActionRecall, id, sale.Author{}))
		}
		w.trail(9, false, `3 c recall by "" true 19:59-21:00`, `2 b describe by "" "x"`, `1 a pause by "" true 19:59-21:00`)
	},
	"a change that another overtakes is made after it": func(t *testing.T, w *World) {
		w.overtake(func(saleID string, _ time.Time) {
			w.changes(saleID, sale.ActionDescribe, "theirs", sale.Author{})
		}, func(action sale.Action, saleID string, before int64, _ time.Time, err error) {
			edits, trail := w.Number("SALE#"+saleID, "SALE", "edits"), len(w.Partition("CHANGES#"+saleID))
			if err != nil || edits != before+2 || int64(trail) != edits {
				t.Errorf("%s after %d edits and a description: %d edits, %d in the trail (%v)", action, before, edits, trail, err)
			}
		})
	},
	"no entry of the trail is written over, not even one that the sale does not count": func(t *testing.T, w *World) {
		w.overtake(func(saleID string, _ time.Time) {
			beyond := "0000000001"
			if w.Item("SALE#"+saleID, "SALE")["edits"] != nil {
				beyond = "0000000002"
			}
			w.place(map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "CHANGES#" + saleID}, "sk": &types.AttributeValueMemberS{Value: beyond},
			})
		}, func(action sale.Action, saleID string, before int64, _ time.Time, err error) {
			trail := w.Partition("CHANGES#" + saleID)
			if sale.CodeOf(err) != sale.Internal || trail[len(trail)-1]["id"] != nil {
				t.Errorf("%s after %d edits: %v, and the entry is %v", action, before, err, trail[len(trail)-1])
			}
		})
	},
}
