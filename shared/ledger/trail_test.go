package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// changes are one change of each kind, under an id, by an environment, of an author who had seen that.
var changes = map[sale.Action]func(*ledgertest.World, *ledger.Ledger, string, *sale.Seen) error{
	sale.ActionPause: func(w *ledgertest.World, l *ledger.Ledger, id string, _ *sale.Seen) error {
		paused := true
		_, err := l.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: id, Paused: &paused})
		return err
	},
	sale.ActionReschedule: func(w *ledgertest.World, l *ledger.Ledger, id string, seen *sale.Seen) error {
		_, err := l.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: id, OpensAt: ledgertest.Start, ClosesAt: ledgertest.Start.Add(time.Hour), Seen: seen})
		return err
	},
	sale.ActionDescribe: func(w *ledgertest.World, l *ledger.Ledger, id string, seen *sale.Seen) error {
		name := "Moutai, " + id
		_, err := l.Describe(w.Ctx, sale.Description{SaleID: "moutai", ChangeID: id, Name: &name, Seen: seen})
		return err
	},
	sale.ActionRecall: func(w *ledgertest.World, l *ledger.Ledger, id string, _ *sale.Seen) error {
		_, err := l.Recall(w.Ctx, sale.Recall{SaleID: "moutai", ChangeID: id})
		return err
	},
	sale.ActionAdd: func(w *ledgertest.World, l *ledger.Ledger, id string, seen *sale.Seen) error {
		_, err := l.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: id, Stock: 3, Seen: seen})
		return err
	},
	sale.ActionWithdraw: func(w *ledgertest.World, l *ledger.Ledger, id string, seen *sale.Seen) error {
		_, err := l.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: id, Stock: 3, Seen: seen})
		return err
	},
}

// Plain reads see a transaction item by item: here all but one item of the first change's, while
// the same id is asked for again.
func TestOneIDChangesTheSaleOnceAlsoWhilePartOfTheFirstChangeIsHidden(t *testing.T) {
	const hidden = 30 * time.Millisecond
	for first, change := range changes {
		for second, again := range changes {
			for item := range 2 { // the sale and its entry, in either order
				for i := range 4 {
					edited, looked := i/2, i%2
					t.Run(fmt.Sprint(first, second, item, edited, looked), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							w, db, next := faulty(t)
							db.Now = time.Now
							w.Open(4, 1)
							if edited > 0 {
								if err := changes[sale.ActionDescribe](w, w.Environment(), "before", nil); err != nil {
									t.Fatal(err)
								}
							}
							s, err := w.Environment().Sale(w.Ctx, "moutai")
							if err != nil {
								t.Fatal(err)
							}
							var seen *sale.Seen
							if looked > 0 {
								seen = &sale.Seen{Edits: s.Edits, Seedings: s.Seedings}
							}
							next(dynamotest.Fault{Hidden: []int{item}, HiddenFor: hidden, ReplyDelay: hidden})
							made := make(chan error)
							go func() { made <- change(w, w.Environment(), "mine", seen) }()
							time.Sleep(hidden / 6)
							err = again(w, w.Environment(), "mine", seen)
							if code := sale.CodeOf(err); first == second && code != "" || first != second && code != sale.Conflicting && code != sale.Recalled {
								t.Errorf("item %d of a %s is hidden, edited before: %d; a %s under the same id: %v", item, first, edited, second, err)
							}
							if err := <-made; err != nil {
								t.Error(err)
							}
							trail, _, err := w.Environment().Trail(w.Ctx, "moutai", 9)
							if len(trail) != 1+edited || !slices.ContainsFunc(trail, func(c sale.Change) bool { return c.Action == first }) || err != nil {
								t.Errorf("item %d of a %s is hidden, edited before: %d; after a %s under the same id the trail has %d changes (%v)", item, first, edited, second, len(trail), err)
							}
						})
					})
				}
			}
		}
	}
}

// trailReads counts the entries of trails that are read before the first write.
type trailReads struct {
	ledger.API
	calls, entries int
	wrote          bool
}

func (r *trailReads) Query(ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := r.API.Query(ctx, in, options...)
	if pk, ok := in.ExpressionAttributeValues[":pk"].(*types.AttributeValueMemberS); ok && pk.Value == "CHANGES#moutai" && !r.wrote && err == nil {
		r.calls, r.entries = r.calls+1, r.entries+len(out.Items)
	}
	return out, err
}

func (r *trailReads) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	r.wrote = true
	return r.API.TransactWriteItems(ctx, in, options...)
}

func TestAPauseReadsOnePageOfALongTrailAndItsIDStillPausesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		db.Now = time.Now
		w.Open(4, 1)
		for i := range 130 {
			if err := changes[sale.ActionDescribe](w, w.Environment(), fmt.Sprint("d", i), nil); err != nil {
				t.Fatal(err)
			}
		}
		paused, open := true, false
		pause := func(id string) (ledger.Edited, *trailReads, error) {
			reads := &trailReads{API: db}
			done, err := w.EnvironmentOver(reads).Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: id, Paused: &paused})
			return done, reads, err
		}
		done, reads, err := pause("stop")
		if err != nil || !done.Applied || !done.Sale.Paused || reads.calls != 1 || reads.entries != 100 {
			t.Errorf("a pause: %+v, %v; it reads %d entries in %d calls, want 100 in one", done, err, reads.entries, reads.calls)
		}
		if done, _, err := pause("stop"); err != nil || done.Applied || done.Sale.Edits != 131 {
			t.Errorf("the same again: %+v, %v", done, err)
		}
		if _, err := w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "stop", Paused: &open}); sale.CodeOf(err) != sale.Conflicting {
			t.Errorf("a resumption under its id: %v", err)
		}
		if err := changes[sale.ActionAdd](w, w.Environment(), "stop", nil); sale.CodeOf(err) != sale.Conflicting {
			t.Errorf("an addition under its id: %v", err)
		}
		if done, _, err := pause(""); err != nil || !done.Applied {
			t.Errorf("a pause without an id: %+v, %v", done, err)
		}
		if _, err := w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "on", Paused: &open, Seen: &sale.Seen{Edits: 132}}); err != nil {
			t.Error(err)
		}
		if _, _, err := pause("stop"); sale.CodeOf(err) != sale.Conflicting {
			t.Errorf("the first once more, after a resumption: %v, want that the resumption stands", err)
		}
		if _, _, err := pause("d120"); sale.CodeOf(err) != sale.Conflicting {
			t.Errorf("under the id of a description: %v", err)
		}
		if done, _, err := pause("d0"); err != nil || !done.Sale.Paused { // an edit too long ago
			t.Errorf("under the id of the first edit: %+v, %v", done, err)
		}
		trail, _, err := w.Environment().Trail(w.Ctx, "moutai", 200)
		ids := map[string]bool{}
		for _, c := range trail {
			ids[c.ID] = true
		}
		if err != nil || len(trail) != 134 || len(ids) != len(trail) {
			t.Errorf("the trail has %d changes of %d ids, want 134 of as many (%v)", len(trail), len(ids), err)
		}
	})
}
