package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

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
			id := fmt.Sprint("d", i)
			if _, err := w.Environment().Describe(w.Ctx, sale.Description{SaleID: "moutai", ChangeID: id, Name: &id}); err != nil {
				t.Fatal(err)
			}
		}
		pause := func(id string) (ledger.Edited, *trailReads, error) {
			reads := &trailReads{API: db}
			done, err := w.EnvironmentOver(reads).Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: id, Paused: new(true)})
			return done, reads, err
		}
		done, reads, err := pause("stop")
		if err != nil || !done.Applied || !done.Sale.Paused || reads.calls != 1 || reads.entries != 100 {
			t.Errorf("a pause: %+v, %v; it reads %d entries in %d calls, want 100 in one", done, err, reads.entries, reads.calls)
		}
		if done, _, err := pause("stop"); err != nil || done.Applied || done.Sale.Edits != 131 {
			t.Errorf("the same again: %+v, %v", done, err)
		}
		if _, err := w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "stop", Paused: new(false)}); sale.CodeOf(err) != sale.Conflicting {
			t.Errorf("a resumption under its id: %v", err)
		}
		if _, err := w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "stop", Stock: 3}); sale.CodeOf(err) != sale.Conflicting {
			t.Errorf("an addition under its id: %v", err)
		}
		if done, _, err := pause(""); err != nil || !done.Applied {
			t.Errorf("a pause without an id: %+v, %v", done, err)
		}
		if _, err := w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "on", Paused: new(false), ReadVersion: &sale.ReadVersion{Edits: 132}}); err != nil {
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
