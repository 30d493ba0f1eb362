package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Trail returns the newest changes of a sale, at most that many, newest first, and whether
// there are more. An operator's creation is the oldest. Additions and withdrawals are among the edits by their
// instants. It fails with sale.SaleNotFound, sale.Busy, sale.Internal or sale.NewerVersion.
func (l *Ledger) Trail(ctx context.Context, saleID string, most int) (changes []sale.Change, more bool, err error) {
	if _, err := l.existing(ctx, table.MaxTries, saleID); err != nil {
		return nil, false, err
	}
	edits, err := l.table.Edits(ctx, table.MaxTries, saleID)
	if err != nil {
		return nil, false, err
	}
	seedings, err := l.table.Seedings(ctx, saleID)
	if err != nil {
		return nil, false, err
	}
	created, err := l.table.Get(ctx, table.CreateKey(saleID))
	if err != nil {
		return nil, false, err
	}
	var seeded []sale.Change
	for _, it := range seedings {
		c, err := table.ReadSeeding(it)
		if err != nil {
			return nil, false, sale.AsInternal(err)
		}
		seeded = append(seeded, c)
	}
	slices.SortFunc(seeded, func(a, b sale.Change) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.ID, b.ID)) })
	for _, it := range slices.Backward(edits) {
		c, err := table.ReadChange(it)
		if err != nil {
			return nil, false, sale.AsInternal(err)
		}
		for len(seeded) > 0 && seeded[0].At.After(c.At) {
			changes, seeded = append(changes, seeded[0]), seeded[1:]
		}
		changes = append(changes, c)
	}
	changes = append(changes, seeded...)
	if made, named, err := table.ReadCreation(created); err != nil {
		return nil, false, sale.AsInternal(err)
	} else if named {
		changes = append(changes, made)
	}
	if len(changes) > most {
		return changes[:most], true, nil
	}
	return changes, false, nil
}

// edit is an edit, a description or a recall as it is written.
type edit struct {
	saleID string
	asks   sale.Change
	seen   *sale.ReadVersion // by its author; nil if that does not matter
	// next returns the sale after the edit, or as it is if the edit changes nothing.
	next func(before sale.Sale) (sale.Sale, error)
	// set is what the edit sets or removes of the sale, as an update expression with its
	// values, and counts what it counts besides the version and the edits.
	set    func(after sale.Sale) (expression string, values table.Item)
	counts string
	// others are the actions on other items, if there are any.
	others func(after sale.Sale) []types.TransactWriteItem
	// refused, if not nil, returns the error for reasons of others, or nil if they are no news.
	refused func(others []types.CancellationReason) error
}

// edit makes an edit in one transaction: the sale item and the entry of the trail, so neither
// is there without the other (P32). It returns the sale after it, also if that is as it was.
//
// An edit whose id is in the trail has been made. The sale is read first, then its trail, which
// must be whole, and the transaction requires that the sale has no newer edit: the same id is never
// written twice. It also requires that the id is no seed id: see announceSeeding.
//
// A pause must not wait for a long trail: it reads the newest page. If there are older entries, one of them may have
// its id: see named. Only the id of an edit so long ago pauses the sale once more.
func (l *Ledger) edit(ctx context.Context, e edit) (Edited, error) {
	attempt := l.newID()
	e.asks.ID = cmp.Or(e.asks.ID, attempt)
	id := e.asks.ID
	for left := l.table.UpTo(table.PatientTries); ; {
		before, err := l.table.OpenSale(ctx, e.saleID)
		if err != nil {
			return Edited{}, err
		}
		after := int64(0)
		if e.asks.Action == sale.ActionPause {
			after = max(0, before.Edits-onePage)
		}
		h, err := l.historyOf(ctx, before, id, after)
		if err != nil {
			return Edited{}, err
		}
		if h.asked != nil {
			made, err := table.ReadChange(h.asked)
			switch {
			case err != nil:
				return Edited{}, sale.AsInternal(err)
			case !e.asks.Asks(made):
				return Edited{}, errOtherChange
			case made.Number <= before.Edits:
				isOwn, err := isNamed(h.asked, attempt)
				return Edited{before, isOwn, e.seen.WithEdit(made.Number)}, err
			}
			// It was made after the sale was read, so the transaction is refused.
		}
		switch {
		case before.IsSealed():
			return Edited{}, sale.RefuseSealed()
		case h.whole:
		case !left.Again(ctx):
			return Edited{}, errHalf
		default:
			continue
		}
		if h.asked == nil && e.seen != nil && e.seen.Edits != before.Edits {
			return Edited{}, refuseMeanwhile(before, h.newest)
		}
		next, err := e.next(before)
		if err != nil || next == before {
			return Edited{before, false, e.seen.WithEdit(before.Edits)}, err
		}
		if pause := h.pause; e.seen == nil && e.asks.Action == sale.ActionResume && before.Paused && pause != nil {
			made, err := table.ReadChange(pause)
			if err == nil {
				err = sale.RefusePaused(&before, made)
			}
			return Edited{}, sale.AsInternal(err)
		}
		next.Edits++
		as := named{id: id, other: attempt}
		if after > 0 {
			as = named{id: attempt, other: id}
		}
		reasons, err := l.table.RetryTransaction(ctx, l.writeEdit(e, before, next, as)...)
		switch {
		case err == nil:
			return Edited{next, true, e.seen.WithEdit(next.Edits)}, nil
		case reasons != nil && !table.Failed(reasons[0]) && table.Failed(reasons[len(reasons)-1]):
			return Edited{}, errOtherChange
		case reasons == nil || !table.Failed(reasons[0]):
			if reasons != nil && e.refused != nil {
				err = cmp.Or(e.refused(reasons[2:len(reasons)-1]), err)
			}
			return Edited{}, sale.AsInternal(err)
		case !left.Again(ctx):
			return Edited{}, sale.Fail(sale.Busy, err)
		}
	}
}

// refuseMeanwhile refuses a change because of a newer one: an entry of the trail, or nil.
func refuseMeanwhile(s sale.Sale, newest table.Item) error {
	if newest == nil {
		return sale.RefuseMeanwhile(&s, nil)
	}
	c, err := table.ReadChange(newest)
	if err != nil {
		return sale.AsInternal(err)
	}
	return sale.RefuseMeanwhile(&s, &c)
}

// named is how an entry of the trail is named: by the id of the change, and by the attempt, which tells it from the
// entry of another attempt at the same change. In a trail that was read whole the change's id is its own; in one that
// was not, an older entry may have that, so the attempt is, and the change's id is the other one: whoever asks again
// looks for both.
type named struct{ id, other string }

// otherName is the attribute of the other one.
const otherName = "call"

// isNamed reports whether an entry has that name.
func isNamed(entry table.Item, name string) (bool, error) {
	r := table.Reader{Item: entry}
	is := r.Text("id") == name || r.Text(otherName) == name
	return is, sale.AsInternal(r.Err)
}

func (l *Ledger) writeEdit(e edit, before, after sale.Sale, as named) []types.TransactWriteItem {
	update, values := e.set(after)
	condition := "attribute_not_exists(#edits)"
	values[":one"] = table.One
	if before.Edits > 0 {
		condition, values[":edits"] = "#edits = :edits", table.N(before.Edits)
	}
	update += " ADD #version :one, #edits :one" + e.counts
	c := e.asks
	c.ID, c.Number = as.id, after.Edits
	if c.Action == sale.ActionDescribe {
		c.At = l.now()
	} else {
		c.At, c.Paused, c.OpensAt, c.ClosesAt = after.ChangedAt, after.Paused, after.OpensAt, after.ClosesAt
	}
	if after.HasDraw() && c.Action != sale.ActionDescribe && c.Action != sale.ActionRecall && c.Action != sale.ActionCall {
		c.OperatedAt, c.BeginsAt, c.EndsAt = after.OperatedAt, after.BeginsAt, after.EndsAt
	}
	entry := table.WithLabels(after.Labels, table.ChangeItem(e.saleID, c))
	entry[otherName] = table.S(as.other)
	actions := []types.TransactWriteItem{
		l.table.Action(table.Update{Key: table.SaleKey(e.saleID), Expr: update, If: condition, Values: values}),
		l.table.Put(entry),
	}
	if e.others != nil {
		actions = append(actions, e.others(after)...)
	}
	return append(actions, l.table.Check(table.SeedKey(e.saleID, e.asks.ID), table.IfAbsent, nil))
}

// history is what the trail says about the edits of a sale that has been read.
type history struct {
	asked  table.Item // the entry of the id that is asked for, or nil
	newest table.Item // the entry of the sale's newest edit, or nil
	pause  table.Item // the newest pause by a person since the newest resumption, or nil
	// whole: plain reads see a transaction item by item, so the sale may tell of an edit whose
	// entry, perhaps of the very id, they do not see yet. Every edit waits for the entry of the one
	// before it, so the trail is whole once the newest is seen.
	whole bool
}

// onePage of the newest edits is read in one call, however long they are: 1 MB.
const onePage = 100

// historyOf reads the trail of a sale that has been read, from the edit after that number on.
func (l *Ledger) historyOf(ctx context.Context, s sale.Sale, id string, after int64) (history, error) {
	var h history
	edits, err := l.table.EditsAfter(ctx, table.PatientTries, s.ID, after)
	newest := table.IdentityOf(table.ChangeKey(s.ID, s.Edits))
	for _, it := range edits {
		r := table.Reader{Item: it}
		if r.Text("id") == id || r.Text(otherName) == id {
			h.asked = it
		}
		switch sale.Action(r.Text("action")) {
		case sale.ActionPause:
			if table.Has(it, "actor") {
				h.pause = it
			}
		case sale.ActionResume:
			h.pause = nil
		}
		if r.Err != nil {
			return h, sale.AsInternal(r.Err)
		}
		if table.IdentityOf(it) == newest {
			h.newest = it
		}
	}
	h.whole = s.Edits == 0 || h.newest != nil
	return h, err
}

// errHalf: the newest edit of a sale is not visible as a whole.
var errHalf = sale.Fail(sale.Busy, errors.New("the entry of the newest edit is not visible yet"))

// errOtherChange: an id of a change of the sale was used for another one.
var errOtherChange = sale.Refuse(sale.Conflicting, "the change id was used for another change")

// Edited is a sale after an edit.
type Edited struct {
	// Sale was read after every shard had been written.
	Sale sale.Sale
	// Applied is false if the edit had been applied before, or if a newer edit agrees
	// with it.
	Applied bool
	// ReadVersion is what the author has seen with this change, and of others what the request had seen. It is
	// zero if the request did not say that.
	ReadVersion sale.ReadVersion
}
