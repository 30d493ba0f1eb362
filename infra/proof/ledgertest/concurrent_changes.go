package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// seen is what somebody who looks at the sale now has seen.
func (w *World) seen(saleID string) *sale.ReadVersion {
	w.T.Helper()
	s, err := w.Environment().Sale(w.Ctx, saleID)
	w.Succeeds(nil, err)
	seen := s.ReadVersion()
	return &seen
}

// unpaused are the kinds of changes that wait for what their author has seen.
var unpaused = []sale.Action{sale.ActionResume, sale.ActionReschedule, sale.ActionDescribe, sale.ActionAdd, sale.ActionWithdraw}

// changeSeeing makes a change of that kind by a new environment, of an author who had seen that, and
// returns what the author has seen with it.
func (w *World) changeSeeing(saleID string, action sale.Action, id string, seen *sale.ReadVersion) (sale.ReadVersion, bool, error) {
	return w.changeAfter(seen, saleID, w.Environment(), action, id, sale.Author{})
}

// meanwhile expects a refusal because of the change of that id.
func (w *World) meanwhile(saleID, what, id string, err error) {
	w.T.Helper()
	e := w.Refused(sale.ChangedMeanwhile, err)
	if m := e.Meanwhile; m == nil || m.Change == nil || m.Change.ID != id || m.ReadVersion != w.seen(saleID).Text(saleID) {
		w.T.Errorf("%s: refused because of %+v, want %s and what is to be seen now", what, e.Meanwhile, id)
	}
}

// seenSales are sales with and without a maxStock and a draw: untouched, edited, and edited and restocked.
func (w *World) seenSales(try func(saleID string)) {
	w.T.Helper()
	for i := range 9 {
		c := w.Sale(10, 2)
		w.overtakes++
		c.SaleID = fmt.Sprint("seen-", w.overtakes)
		switch i % 3 {
		case 1:
			c.MaxStock = 100
		case 2:
			c.EnterFrom, c.EnterUntil, c.KeepFor = c.OpensAt.Add(-3*time.Hour), c.OpensAt.Add(-2*time.Hour), time.Hour
		}
		w.Create(c)
		for _, action := range []sale.Action{sale.ActionPause, sale.ActionAdd}[:i/3] {
			w.changes(c.SaleID, action, "before-"+string(action), sale.Author{})
		}
		try(c.SaleID)
	}
}

var changingConcurrently = map[string]func(*testing.T, *World){
	"a change is refused if somebody edited the sale since, and made by who has seen that": func(t *testing.T, w *World) {
		for _, action := range unpaused {
			w.seenSales(func(saleID string) {
				old := w.seen(saleID)
				w.Pass(time.Second)
				w.changes(saleID, sale.ActionPause, "lees", sale.Author{Actor: "lee", Note: "hot"})
				everything := func() string {
					return w.textOf("SALES", "SALE#"+saleID, "CHANGES#"+saleID, "STOCK#"+saleID+"#0", "STOCK#"+saleID+"#1")
				}
				before := everything()
				future := sale.ReadVersion{Edits: w.seen(saleID).Edits + 1, Seedings: old.Seedings}
				for what, seen := range map[string]*sale.ReadVersion{"old": old, "of the future": &future} {
					_, _, err := w.changeSeeing(saleID, action, "kims", seen)
					if w.meanwhile(saleID, fmt.Sprint(action, " ", what), "lees", err); everything() != before {
						t.Errorf("%s of who has seen what is %s changes the table", action, what)
					}
				}
				now := *w.seen(saleID)
				after, applied, err := w.changeSeeing(saleID, action, "kims-again", &now)
				check(t, err == nil && applied && after == *w.seen(saleID), "%s of who has seen it: applied %t, then seen %v (%v)", action, applied, after, err)
			})
		}
	},
	"a change that was made is recognised, whatever was changed since, and its author has seen no more with it": func(t *testing.T, w *World) {
		for _, action := range unpaused {
			w.seenSales(func(saleID string) {
				seen := w.seen(saleID)
				first, _, err := w.changeSeeing(saleID, action, "kims", seen)
				w.Succeeds(nil, err)
				for _, other := range []sale.Action{sale.ActionDescribe, sale.ActionAdd} {
					w.changes(saleID, other, "lees-"+string(other), sale.Author{})
				}
				again, applied, err := w.changeSeeing(saleID, action, "kims", seen)
				check(t, err == nil && !applied && again == first, "%s again: applied %t, seen %v, then %v (%v)", action, applied, first, again, err)
				_, _, err = w.changeSeeing(saleID, action, "kims-next", &again)
				w.Refused(sale.ChangedMeanwhile, err)
				all := w.seen(saleID)
				if repeated, _, err := w.changeSeeing(saleID, action, "kims", all); err != nil || repeated.Edits > all.Edits || repeated.Seedings > all.Seedings {
					t.Errorf("%s again by who has seen all, %v: seen %v (%v)", action, *all, repeated, err)
				}
			})
		}
	},
	"of two who add or withdraw for one reason the second is told of the first, and an edit does not mind": func(t *testing.T, w *World) {
		for _, first := range []sale.Action{sale.ActionAdd, sale.ActionWithdraw} {
			for _, second := range unpaused {
				w.seenSales(func(saleID string) {
					seen := w.seen(saleID)
					w.Pass(time.Second)
					if _, applied, err := w.changeSeeing(saleID, first, "lees", seen); err != nil || !applied {
						t.Fatalf("%s: applied %t (%v)", first, applied, err)
					}
					_, applied, err := w.changeSeeing(saleID, second, "kims", seen)
					if second == sale.ActionAdd || second == sale.ActionWithdraw {
						w.meanwhile(saleID, fmt.Sprintf("%s, then %s", first, second), "lees", err)
					} else if err != nil || !applied {
						t.Errorf("%s, then %s: applied %t (%v)", first, second, applied, err)
					}
				})
			}
		}
	},
	"whoever does not say what was seen adds and withdraws after others, and a closing of a shard is no change": func(t *testing.T, w *World) {
		w.Open(2, 2)
		seen := w.seen("moutai")
		w.Accepted(w.Buy("alice"))
		w.Accepted(w.Buy("bob"))
		w.Refused(sale.SoldOut, errOf(w.Buy("carol")))
		_, applied, err := w.changeSeeing("moutai", sale.ActionAdd, "a", seen)
		check(t, err == nil && applied, "applied %t (%v)", applied, err)
		for id, action := range map[string]sale.Action{"b": sale.ActionAdd, "c": sale.ActionWithdraw} {
			if after, applied, err := w.changeSeeing("moutai", action, id, nil); err != nil || !applied || after != (sale.ReadVersion{}) {
				t.Errorf("%s: applied %t, and its author is said to have seen %v (%v)", action, applied, after, err)
			}
		}
		got := *w.seen("moutai")
		check(t, got == (sale.ReadVersion{Seedings: 3}) && w.Number("SALE#moutai", "SALE", "seedings") == 3, "got %+v, want 3 additions and withdrawals", got)
	},
	"a resumption of who has seen nothing leaves a person's pause as it is": func(t *testing.T, w *World) {
		w.Open(10, 2)
		pause := func(by string) string {
			w.Pass(time.Second)
			id := fmt.Sprint("pause-", by, w.Now().Unix())
			w.Succeeds(w.change(sale.ActionPause, id, sale.Author{Actor: by}))
			return id
		}
		resume := func(id string, at time.Time) (ledger.Edited, error) {
			return w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: id, At: at, Paused: new(false)})
		}
		pause("")
		w.Succeeds(resume("schedule-1", w.Now().Add(time.Millisecond))) // after a schedule's pause
		id := pause("lee")
		for range 2 { // also after a schedule, or a restore, has paused it once more
			before := w.everything()
			for _, at := range []time.Time{{}, w.Now().Add(time.Second)} {
				_, err := resume("schedule-2", at)
				w.meanwhile("moutai", "a scheduled resumption", id, err)
				w.unchanged(before)
			}
			pause("")
		}
		_, applied, err := w.changeSeeing("moutai", sale.ActionResume, "kims", w.seen("moutai"))
		check(t, err == nil && applied, "of who has seen it: applied %t (%v)", applied, err)
		w.Succeeds(resume("schedule-3", time.Time{})) // it is not paused
		pause("")
		w.Succeeds(resume("schedule-4", time.Time{})) // after a schedule's pause that followed a person's
	},
}
