package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// DrainAfter is how long before a pass begins a sale must have closed for the pass
// to drain it, by the clock of the pass's own machine. A buyer's machine admits a
// purchase by its own clock and commits it within the function's timeout of 6 s, so
// the rule holds as long as the two clocks differ by less than 14 minutes.
const DrainAfter = 15 * time.Minute

// Listing is a sale's entry in the list of sales.
type Listing struct {
	SaleID  string
	Drained bool
	// Cursor is the pass to continue; nil begins a new one.
	Cursor *Audit
	// Err is why this version must leave the sale alone: sale.NewerVersion or
	// sale.Internal. Such a listing does not hide the others.
	Err error
	// PayWithin is the sale's, 0 if it asks for no payment. NextPayBy is the earliest payBy
	// that an unpaid claim may have, as the last complete pass left it; zero if
	// there was none; in the table it is nextDue. Releasing is the pass to continue, or nil.
	PayWithin time.Duration
	NextPayBy time.Time
	Releasing *ReleasePass
	// Recalling: the sale was recalled, and some of its orders may be neither released nor to
	// be refunded.
	Recalling bool
	// RefundAt is the instant of a refund of the sale that is at most noteAge older than the
	// last one, or since when one is due again, or zero if none is due.
	RefundAt time.Time
	// Draw: a draw decides who may buy.
	Draw bool
	// Books are those of the last complete pass; nil if there was none.
	Books *Receipt
}

// RefundsFor is how long a drained sale is still listed after its last refund was recorded,
// or up to noteAge less.
const RefundsFor = 90 * 24 * time.Hour

// Listings returns every sale that is not drained, and the drained ones of which a refund
// may be due. It fails with sale.Busy or sale.Internal.
func (l *Ledger) Listings(ctx context.Context) ([]Listing, error) {
	items, err := l.table.QueryAll(ctx, table.PatientTries, table.Filtered(table.ListingKey("")[table.PK],
		"attribute_not_exists(#drained) OR #refundAt > :since", table.Item{":since": table.Millis(l.now().Add(-RefundsFor))}))
	if err != nil {
		return nil, err
	}
	var list []Listing
	for _, it := range items {
		list = append(list, readListing(it))
	}
	return list, nil
}

// Listing returns the listing of one sale, drained or not. It fails with
// sale.SaleNotFound, sale.Busy or the listing's Err.
func (l *Ledger) Listing(ctx context.Context, saleID string) (Listing, error) {
	it, err := l.table.GetWithin(ctx, table.PatientTries, table.ListingKey(saleID))
	if err != nil {
		return Listing{}, err
	}
	if it == nil {
		return Listing{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	one := readListing(it)
	return one, one.Err
}

func readListing(it table.Item) Listing {
	r := table.Read(it)
	one := Listing{
		SaleID: r.Text(table.SK), PayWithin: time.Duration(r.OptionalNumber("payWithin")) * time.Second,
		NextPayBy: r.OptionalTime("nextDue"), Recalling: !r.OptionalTime("recalling").IsZero(),
		RefundAt: r.OptionalTime("refundAt"), Drained: r.OptionalFlag("drained"), Draw: r.OptionalFlag("draw"),
		Cursor: noted[Audit](&r, "cursor"), Releasing: noted[ReleasePass](&r, "releasing"),
		Books: noted[Receipt](&r, "books"),
	}
	if one.Cursor != nil && (one.Cursor.Format != cursorFormat || one.Cursor.SaleID != one.SaleID) {
		one.Cursor = nil
	}
	one.Err = sale.AsInternal(r.Err)
	return one
}

// noted reads what a pass has noted, nil if there is nothing. What cannot be read was written by
// another version of this program. Dropping it costs a new pass; an error would keep all other
// sales from being reconciled.
func noted[T any](r *table.Reader, name string) *T {
	text, v := r.OptionalText(name), new(T)
	if text == "" || json.Unmarshal([]byte(text), v) != nil {
		return nil
	}
	return v
}

// SaveCursor stores a pass for the next invocation, unless the table is too busy; with it the
// books of the pass before, unless r is nil: that pass is not complete. It fails with
// sale.Internal.
func (l *Ledger) SaveCursor(ctx context.Context, a *Audit, r *Receipt) error {
	a.SavedAt, a.Format = l.now(), cursorFormat
	if r == nil {
		return l.saveCursors(ctx, a.SaleID, map[string]any{"cursor": a})
	}
	return l.saveCursors(ctx, a.SaleID, map[string]any{"cursor": a, "books": r})
}

// saveCursors stores how far a pass came, and what it found, in attributes of the sale's
// listing. Lost or overwritten, they only cost reads, so it is no error that the table is too
// busy. They may name users, so nothing is stored of a sale that is sealed.
func (l *Ledger) saveCursors(ctx context.Context, saleID string, attributes map[string]any) error {
	var sets []string
	values := table.Item{}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		text, err := json.Marshal(attributes[name])
		if err != nil {
			return sale.AsInternal(fmt.Errorf("write cursor: %w", err))
		}
		sets = append(sets, "#"+name+" = :"+name)
		values[":"+name] = table.S(string(text))
	}
	err := l.table.TryUpdate(ctx, table.Update{
		Key: table.ListingKey(saleID), Expr: "SET " + strings.Join(sets, ", "), If: ifNotSealed, Values: values,
		ReturnOld: true,
	})
	refused, conditioned := errors.AsType[*types.ConditionalCheckFailedException](err)
	if conditioned && table.Has(refused.Item, "sealedAt") {
		return nil
	}
	return unlessBusy(sale.AsInternal(err))
}

// setListing updates the listing of a sale, which must exist.
func (l *Ledger) setListing(ctx context.Context, saleID, update string, values table.Item) error {
	return sale.AsInternal(l.table.TryUpdate(ctx, table.Update{
		Key: table.ListingKey(saleID), Expr: update, If: "attribute_exists(pk)", Values: values,
	}))
}

// Drain takes a finished sale off the list of sales to reconcile, unless it has been
// edited, restocked or recalled since the pass of that receipt began: each raises the version,
// so a window that was moved and moved back counts, too. Nor does it while the orders of a
// recalled sale are being released. It reports whether the sale is
// drained, and fails with sale.Busy or sale.Internal. The listing keeps the receipt.
func (l *Ledger) Drain(ctx context.Context, r *Receipt) (bool, error) {
	books, err := json.Marshal(r)
	if err != nil {
		return false, sale.AsInternal(fmt.Errorf("write books: %w", err))
	}
	refused, err := l.table.RetryTransaction(ctx,
		l.table.Check(table.SaleKey(r.SaleID), "#version = :version", table.Item{":version": table.N(r.Version)}),
		l.table.Action(table.Update{
			Key: table.ListingKey(r.SaleID), Expr: "SET #drained = :yes, #books = :books REMOVE #cursor, #releasing",
			If:     "#closesAt = :closesAt AND attribute_not_exists(#recalling)",
			Values: table.Item{":yes": table.Yes, ":books": table.S(string(books)), ":closesAt": table.Millis(r.ClosesAt)},
		}),
	)
	if refused != nil {
		return false, nil
	}
	return err == nil, err
}

// unlessBusy drops the error of a note in a listing that could not be written because the table is busy: the note only
// saves the next pass or count some work.
func unlessBusy(err error) error {
	if sale.CodeOf(err) == sale.Busy {
		return nil
	}
	return err
}

// ReleasePass is one pass over a sale's claims that releases those that are due. It may
// be cut off and continue in another process; passes may overlap. The listing stores it.
type ReleasePass struct {
	Began time.Time `json:"began"`
	// Bucket and After say where to continue: after that user of that bucket.
	Bucket int    `json:"bucket"`
	After  string `json:"after,omitempty"`
	// Ahead are that bucket and those behind it that are not read to their end; none if the pass begins, or an
	// earlier release has stored it: then they are all.
	Ahead []Position `json:"ahead,omitempty"`
	// NextPayBy is the earliest payBy of the claims that the pass has left unpaid; zero if
	// there is none. See Listing.NextPayBy for its name in the table.
	NextPayBy time.Time `json:"nextDue"`
	// RecalledAt is its sale's, if the pass is a recall's. A recall does not continue another
	// pass, which has left out what was not due.
	RecalledAt time.Time `json:"recalledAt,omitzero"`
	// PausedAt is by when every shard of a recalled sale was paused.
	PausedAt time.Time `json:"pausedAt,omitzero"`
	// Again: a recall's pass has seen a claim that is not finished, so another pass follows.
	Again bool `json:"again,omitempty"`
}

// isPart reports whether the pass has come past some claims.
func (p *ReleasePass) isPart() bool { return p.Bucket > 0 || p.After != "" || len(p.Ahead) > 0 }

func (p *ReleasePass) isRecall() bool { return !p.RecalledAt.IsZero() }
