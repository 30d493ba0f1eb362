package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Withdrawn is the result of a withdrawal.
type Withdrawn struct {
	Seeding
	// Units is how many were taken: fewer than requested only if nothing was left.
	Units int64
}

// Withdraw takes unsold units out of a sale, once per seed id (P15), in steps: each is
// one transaction that takes units from a shard, lowers the seeded total by as many
// (P2), and puts the step. w must have passed Check.
//
// The steps are numbered, and each is put only if its number is free. So the steps
// of one withdrawal are strictly ordered, each is based on the total taken before, and
// together they never take more than w.Stock: not even if two callers run at once or a
// request of a dead caller is applied late. A repeat resumes an interrupted withdrawal.
// If nothing is left, a final step says so, so that a repeat takes nothing from a
// later addition.
//
// Units are taken so that the shards stay as even as possible, see sale.Level. If
// buyers take some of those units first, another round re-reads the shards.
//
// It fails as Add does, but for sale.Recalled. In a sale with a draw it fails with
// sale.Conflicting from the first call on: the units are kept for people who are called (P30).
func (l *Ledger) Withdraw(ctx context.Context, w sale.Withdrawal) (Withdrawn, error) {
	s, err := l.table.OpenSale(ctx, w.SaleID)
	if err != nil {
		return Withdrawn{}, err
	}
	asks := sale.Change{ID: w.SeedID, Action: sale.ActionWithdraw, Author: w.Author, Units: w.Stock}
	if err := l.announceSeeding(ctx, s, w.ReadVersion, asks); err != nil {
		return Withdrawn{}, err
	}
	p := &withdrawal{Ledger: l, Withdrawal: w, sale: s}
	if err := p.resume(ctx); err != nil {
		return Withdrawn{}, err
	}
	for !p.ended && p.taken < w.Stock {
		if err := p.round(ctx); err != nil {
			return Withdrawn{}, err
		}
	}
	s, err = l.table.OpenSale(ctx, w.SaleID)
	after := Seeding{
		SaleID: w.SaleID, Seeded: s.Seeded, Shards: s.Shards, Applied: p.applied,
		ReadVersion: w.ReadVersion.WithSeeding(s),
	}
	return Withdrawn{after, p.taken}, err
}

// withdrawal is the state of one call of Withdraw.
type withdrawal struct {
	*Ledger
	sale.Withdrawal
	sale    sale.Sale
	steps   int   // known to be made, by this or another call
	taken   int64 // by them
	ended   bool  // the last one found nothing left
	applied bool  // this call made one of them
}

// resume reads the steps made before.
func (p *withdrawal) resume(ctx context.Context) error {
	made, err := p.table.Under(ctx, p.SaleID, table.WithdrawalHead(p.SeedID))
	if err != nil {
		return err
	}
	for {
		it := made[table.IdentityOf(table.WithdrawalKey(p.SaleID, p.SeedID, p.steps))]
		if it == nil {
			return nil
		}
		if err := p.follow(it); err != nil {
			return err
		}
	}
}

// follow adds the next step to the totals.
func (p *withdrawal) follow(step table.Item) error {
	r := table.Reader{Item: step}
	if table.Has(step, "ended") {
		p.ended = r.Flag("ended")
	} else {
		p.taken += r.Number("units")
	}
	p.steps++
	return sale.AsInternal(r.Err)
}

// round takes each shard's part until another call makes a step; then the shards must
// be re-read. If there is nothing to take it ends the withdrawal.
func (p *withdrawal) round(ctx context.Context) error {
	stock, err := p.stock(ctx)
	if err != nil {
		return err
	}
	takes := sale.Level(stock, p.Stock-p.taken)
	if slices.Max(takes) == 0 {
		return p.end(ctx)
	}
	for k, units := range takes {
		if mine, err := p.take(ctx, k, units, stock[k]); err != nil || !mine {
			return err
		}
	}
	return nil
}

// end makes the step that says that nothing was left to take.
func (p *withdrawal) end(ctx context.Context) error {
	var actions []types.TransactWriteItem
	if p.sale.HasDraw() {
		actions = append(actions, p.table.Check(table.SaleKey(p.SaleID), ifUncalled, nil))
	}
	_, refused, err := p.step(ctx, table.Item{"ended": table.Yes, "at": table.Millis(p.now())}, actions...)
	switch {
	case refused == nil:
		return err
	case p.sale.HasDraw() && table.Failed(refused[1]):
		return errCalled
	}
	return sale.AsInternal(err)
}

// stock returns the units left in each shard.
func (p *withdrawal) stock(ctx context.Context) ([]int64, error) {
	shards, err := p.table.Shards(ctx, p.sale)
	if err != nil {
		return nil, err
	}
	stock := make([]int64, len(shards))
	for k, one := range shards {
		stock[k] = one.Stock
	}
	return stock, nil
}

// take takes units from a shard that had that stock, or as many as it still has. It
// reports false if another call made the step.
func (p *withdrawal) take(ctx context.Context, k int, units, stock int64) (mine bool, err error) {
	for {
		if units = min(units, stock); units <= 0 {
			return true, nil
		}
		mine, refused, err := p.step(ctx,
			table.Item{"shard": table.N(int64(k)), "units": table.N(units), "at": table.Millis(p.now())},
			p.fromShard(k, units, stock), p.fromSale(k, units, stock), p.undrain(p.SaleID))
		if refused == nil {
			return mine, err
		}
		if p.sale.HasDraw() && table.Failed(refused[2]) {
			return false, errCalled
		}
		one, readErr := table.ReadShard(refused[1].Item)
		switch {
		case isSealed(refused[3]):
			return false, sale.RefuseSealed()
		case !table.Failed(refused[1]):
			return false, sale.AsInternal(err)
		case readErr != nil:
			return false, sale.AsInternal(readErr)
		case one.Stock == stock:
			return false, sale.AsInternal(fmt.Errorf("read cancellation: the shard meets its condition: %w", err))
		}
		stock = one.Stock
	}
}

// step makes the next step: its item and the given actions. It reports whether this
// call made it. It returns the reasons only if anything but the step failed.
func (p *withdrawal) step(
	ctx context.Context, attributes table.Item, actions ...types.TransactWriteItem,
) (mine bool, refused []types.CancellationReason, err error) {
	step := table.With(table.WithdrawalKey(p.SaleID, p.SeedID, p.steps), attributes)
	reasons, err := p.table.RetryTransaction(ctx, append([]types.TransactWriteItem{p.table.Put(step)}, actions...)...)
	switch {
	case err == nil:
		p.applied = true
		return true, nil, p.follow(step)
	case reasons == nil:
		return false, nil, sale.AsInternal(err)
	case table.Failed(reasons[0]):
		return false, nil, p.follow(reasons[0].Item)
	}
	return false, reasons, err
}

// fromShard takes units from a shard. The condition includes whether it takes all of
// them, because then the same transaction closes the shard.
func (p *withdrawal) fromShard(k int, units, stock int64) types.TransactWriteItem {
	condition := "#stock > :u"
	if units == stock {
		condition = "#stock = :u"
	}
	return p.table.Action(table.Update{
		Key: table.StockKey(p.SaleID, k), Expr: "SET #stock = #stock - :u, #seeded = #seeded - :u", If: condition,
		Values: table.Item{":u": table.N(units)}, ReturnOld: true,
	})
}

// fromSale lowers the sale's seeded total and returns the room. It closes the shard if
// that is empty now; for the last shard this means "sold out", as after a purchase. The
// version rises, although no shard opens, because reconciliation uses it to detect that
// shards and sale were read at different times.
func (p *withdrawal) fromSale(k int, units, stock int64) types.TransactWriteItem {
	lower := table.Update{
		Key: table.SaleKey(p.SaleID), Expr: "SET #seeded = #seeded - :u, #version = #version + :one",
		Values: table.Item{":u": table.N(units), ":one": table.One},
	}
	if p.sale.Limited {
		lower.Expr += ", #room = #room + :u"
	}
	if units == stock {
		lower.Expr += " ADD #empty :k"
		lower.Values[":k"] = table.NS(k)
	}
	if p.sale.HasDraw() {
		lower.If = ifUncalled
	}
	return p.table.Action(lower)
}
