package ledger

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"flashsale/shared/draw"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// DrawState is a draw as the draw function sees it.
type DrawState struct {
	Sale sale.Sale
	Head draw.Head
	Last draw.Call // the newest call; zero before the first
	// HasStock: when a call is due, some shard had a unit. It is not looked at otherwise.
	HasStock bool
}

// NextCallAt returns the earliest instant of the next call. A call that has come to nothing is
// not waited for: nobody counts on it.
func (s DrawState) NextCallAt(gap time.Duration) time.Time {
	switch {
	case s.Last.Number == 0:
		return s.Sale.BeginsAt
	case s.Last.CallsNobody():
		return s.Last.From.Add(gap)
	}
	return s.Sale.ClosesAt.Add(gap)
}

// drawAge is how long an environment remembers what may still change of a draw.
const drawAge = 2 * time.Second

// Draw returns what is public of the draw of a sale that Sale returned, at most two seconds
// old. It fails with sale.DrawNotFound, sale.Busy or sale.Internal.
func (l *Ledger) Draw(ctx context.Context, s sale.Sale) (Draw, error) {
	if !s.HasDraw() {
		return Draw{}, sale.RefuseNoDraw()
	}
	now := l.now()
	if d, ok := l.draws.public.Get(s.ID, now); ok {
		return d, nil
	}
	d, err := l.readDraw(ctx, table.MaxTries, s)
	if err == nil {
		l.draws.public.Put(strings.Clone(s.ID), d, now, now.Add(drawAge))
	}
	return d, err
}

// readDraw reads what is public of a draw from the table.
func (l *Ledger) readDraw(ctx context.Context, tries int, s sale.Sale) (Draw, error) {
	items, err := l.table.QueryAll(ctx, tries, table.Partition(table.S(table.DrawPK(s.ID))))
	if err != nil {
		return Draw{}, err
	}
	var d Draw
	for _, it := range items {
		if strings.HasPrefix(table.IdentityOf(it).SK, table.CallHead) {
			c, err := table.ReadCall(it)
			if err != nil {
				return Draw{}, sale.AsInternal(err)
			}
			d.Calls = append(d.Calls, c)
		} else if d.Head, err = table.ReadDrawHead(it); err != nil {
			return Draw{}, sale.AsInternal(err)
		}
	}
	return d, nil
}

// drawHead returns the head of a draw, zero if the roll is not closed. One with a seed is
// remembered for good.
func (l *Ledger) drawHead(ctx context.Context, tries int, saleID string) (draw.Head, error) {
	if h, ok := l.draws.heads.Get(saleID, l.now()); ok {
		return h, nil
	}
	it, err := l.table.GetWithin(ctx, tries, table.DrawHeadKey(saleID))
	if err != nil || it == nil {
		return draw.Head{}, err
	}
	h, err := table.ReadDrawHead(it)
	if err == nil && h.HasSeed() {
		l.draws.heads.Put(strings.Clone(saleID), h, time.Time{}, forever)
	}
	return h, sale.AsInternal(err)
}

// DrawState reads a draw for the draw function, consistently; gap is the time between two
// calls. It fails with sale.DrawNotFound, sale.SaleNotFound, sale.Busy, sale.NewerVersion or
// sale.Internal.
func (l *Ledger) DrawState(ctx context.Context, saleID string, gap time.Duration) (DrawState, error) {
	var d DrawState
	var err error
	if d.Sale, err = l.table.OpenSale(ctx, saleID); err != nil {
		return d, err
	}
	if !d.Sale.HasDraw() {
		return d, sale.RefuseNoDraw()
	}
	if d.Head, err = l.drawHead(ctx, table.PatientTries, saleID); err != nil {
		return d, err
	}
	if d.Last, err = l.readCallOf(ctx, table.PatientTries, d.Sale); err != nil {
		return d, err
	}
	if !d.Head.HasSeed() || l.now().Before(d.NextCallAt(gap)) {
		return d, nil
	}
	// The set of empty shards does not say it: a shard joins it only when somebody finds it
	// empty, and in a draw nobody comes after the last unit.
	shards, err := l.table.Shards(ctx, d.Sale)
	d.HasStock = slices.ContainsFunc(shards, func(s table.Shard) bool { return s.Stock > 0 })
	return d, err
}

// readCallOf reads the newest call of a sale from the table.
func (l *Ledger) readCallOf(ctx context.Context, tries int, s sale.Sale) (draw.Call, error) {
	if s.Call == 0 {
		return draw.Call{}, nil
	}
	it, err := l.table.GetWithin(ctx, tries, table.CallKey(s.ID, s.Call))
	if err != nil {
		return draw.Call{}, err
	}
	if it == nil { // plain reads see a transaction item by item
		return draw.Call{}, sale.Fail(sale.Busy, fmt.Errorf("call %d cannot be seen yet", s.Call))
	}
	c, err := table.ReadCall(it)
	return c, sale.AsInternal(err)
}

// SetSeed stores the seed of a draw and the signature that it follows from, unless they are
// stored. The caller has verified the signature as that of the draw's round. It fails with
// sale.Busy, or with sale.Internal if another seed is stored or the roll is not closed.
func (l *Ledger) SetSeed(ctx context.Context, s sale.Sale, seed draw.Digest, signature []byte) error {
	err := l.table.TryUpdate(ctx, table.Update{
		Key: table.DrawHeadKey(s.ID), Expr: "SET #seed = :seed, #signature = :signature",
		If:     "attribute_exists(#round) AND attribute_not_exists(#seed)",
		Values: table.Item{":seed": table.S(seed.String()), ":signature": table.S(hex.EncodeToString(signature))},
	})
	if table.Judge(err) != table.Conditioned {
		return sale.AsInternal(err)
	}
	switch h, err := l.drawHead(ctx, table.PatientTries, s.ID); {
	case err != nil:
		return err
	case !h.IsClosed():
		return sale.AsInternal(errors.New("the roll is not closed"))
	case h.Seed != seed:
		return sale.AsInternal(fmt.Errorf("the draw has the seed %s", h.Seed))
	}
	return nil
}

// utc returns the terms with their instants as the table stores them.
func utc(t sale.DrawTerms) sale.DrawTerms {
	if t.HasDraw() {
		t.EnterFrom = time.UnixMilli(t.EnterFrom.UnixMilli()).UTC()
		t.EnterUntil = time.UnixMilli(t.EnterUntil.UnixMilli()).UTC()
	}
	return t
}

// newLeafKey returns the item of a new key of entries.
func (l *Ledger) newLeafKey(saleID string) (table.Item, error) {
	secret := make([]byte, 32)
	if _, err := l.table.Secret(secret); err != nil {
		return nil, sale.AsInternal(fmt.Errorf("make leaf key: %w", err))
	}
	return table.With(table.LeafKeyKey(saleID), table.Item{"leafKey": table.B(secret)}), nil
}

// leafKey returns the key that the entries of a draw are made with.
func (l *Ledger) leafKey(ctx context.Context, tries int, saleID string) ([]byte, error) {
	if secret, ok := l.draws.secrets.Get(saleID, l.now()); ok {
		return secret, nil
	}
	it, err := l.table.GetWithin(ctx, tries, table.LeafKeyKey(saleID))
	if err != nil {
		return nil, err
	}
	r := table.Read(it)
	secret := r.Bytes("leafKey")
	if r.Err == nil {
		l.draws.secrets.Put(strings.Clone(saleID), secret, time.Time{}, forever)
	}
	return secret, sale.AsInternal(r.Err)
}
