package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// part is what one shard gives of an order.
type part struct {
	shard int
	units int64
}

// planShards is how many shards a plan reads at a time.
const planShards = 8

// planning is how a call looks for units after a shard had some, and fewer than it needs.
type planning struct {
	isNeeded bool
	version  int64    // of the sale, under which the rest was read
	empty    sale.Set // shards that were read, and had no units
	found    []part   // those that have units, with these: the short one first, and then as they were read
}

// known returns the shards that need not be read any more: those and the plan's.
func (p *planning) known(avoided sale.Set) sale.Set {
	avoided.Union(p.empty)
	for _, f := range p.found {
		avoided.Add(f.shard)
	}
	return avoided
}

// mayAsk refuses an order of more units than the sale allows. That never changes, so a snapshot of any age will do.
func (p *purchasing) mayAsk(ctx context.Context) error {
	s := p.view.load(p.ledger.now())
	if !s.found {
		var err error
		if s, err = p.ledger.look(ctx, p.view, p.request.SaleID, 1); err != nil {
			return err
		}
	}
	if most := int64(max(1, s.sale.MaxPerOrder)); s.found && s.sale.State == sale.Open && p.request.Units > most {
		return sale.Refusef(sale.InvalidRequest, "units must be 1 to %d", most)
	}
	return nil
}

// fill is a try after a shard had fewer units than the order needs: it reads up to 8 shards, and takes the units from
// one that has enough, or else from those that have them together.
//
// Plain reads see transactions item by item: two of them may miss a unit that was in one of the shards all the time. So
// they close no shard and refuse nobody. If all shards have too few according to them, they are read together at one
// instant.
func (p *purchasing) fill(ctx context.Context, s *snapshot) (step, PurchaseResult, error) {
	plan := &p.plan
	if plan.version != s.sale.Version {
		*plan = planning{isNeeded: true, version: s.sale.Version}
	}
	skipped := plan.known(s.avoid)
	shards := sale.ShardsInOrder(p.request.User, p.moves, &skipped, s.sale.Shards, planShards)
	empty, err := p.readShards(ctx, shards)
	if err != nil {
		return p.afterRead(err)
	}
	parts := partsOf(plan.found, p.request.units())
	if parts == nil {
		skipped = plan.known(s.avoid)
		isWhole := skipped.Len() >= s.sale.Shards
		if isWhole {
			empty = sale.ShardsInOrder(p.request.User, p.moves, &s.avoid, s.sale.Shards, s.sale.Shards)
		}
		if len(empty) == 0 {
			return planNext, PurchaseResult{}, errScattered
		}
		next, result, err := p.prove(ctx, s, empty, isWhole)
		if next != tryAnother {
			return next, result, err
		}
		parts = partsOf(plan.found, p.request.units())
	}
	*plan = planning{isNeeded: true} // whatever comes of the try, others have bought meanwhile
	next, result, err := p.try(ctx, s, parts, p.ledger.now())
	if next == tryAnother {
		next = planNext
	}
	return next, result, err
}

var errScattered = errors.New("the units are on more shards than were read")

// readShards adds shards to the plan, and returns those that have no units.
func (p *purchasing) readShards(ctx context.Context, shards []int) (empty []int, err error) {
	keys, numbers := make([]table.Item, len(shards)), map[table.Identity]int{}
	for i, k := range shards {
		keys[i] = table.StockKey(p.request.SaleID, k)
		numbers[table.IdentityOf(keys[i])] = k
	}
	items, err := p.ledger.table.BatchGet(ctx, 1, keys, true)
	if err != nil {
		return nil, err
	}
	units := map[int]int64{}
	for _, it := range items {
		shard, err := table.ReadShard(it)
		if err != nil {
			return nil, sale.AsInternal(err)
		}
		units[numbers[table.IdentityOf(it)]] = shard.Stock
	}
	for _, k := range shards {
		n, isThere := units[k]
		if !isThere {
			return nil, sale.AsInternal(fmt.Errorf("there is no shard %d", k))
		}
		if n > 0 {
			p.plan.found = append(p.plan.found, part{k, n})
		} else {
			p.plan.empty.Add(k)
			empty = append(empty, k)
		}
	}
	return empty, nil
}

// afterRead says what follows a read that has failed.
func (p *purchasing) afterRead(err error) (step, PurchaseResult, error) {
	if sale.CodeOf(err) == sale.Busy {
		return waitAndMove, PurchaseResult{}, err
	}
	return finishWith(p.fail(sale.CodeOf(err), err))
}

// partsOf returns from which shards to take the units: from the first one that has enough, or from as few as have them
// together, the one that gives most first; nil if they have too few.
func partsOf(found []part, units int64) (parts []part) {
	if i := slices.IndexFunc(found, func(f part) bool { return f.units >= units }); i >= 0 {
		return []part{{found[i].shard, units}}
	}
	found = slices.SortedStableFunc(slices.Values(found), func(a, b part) int { return cmp.Compare(b.units, a.units) })
	for _, f := range found {
		f.units = min(f.units, units)
		parts = append(parts, f)
		if units -= f.units; units == 0 {
			return parts
		}
	}
	return nil
}

// prove reads the sale and shards together. If isWhole, these are all shards that may have units: if they have fewer
// than the order needs it is refused, with how many there were, and sold out if there were none. If they have enough,
// prove returns tryAnother with a plan of exactly what they have. Otherwise it closes those that are empty, so that
// whoever plans next need not read them.
//
// What it reads is of one instant, and no transaction that writes any of it is under way, so it is as good as what a
// transaction found, and within the version the units only become fewer.
func (p *purchasing) prove(
	ctx context.Context, s *snapshot, shards []int, isWhole bool,
) (step, PurchaseResult, error) {
	begun, now := p.view.begin(), p.ledger.now()
	keys := []table.Item{table.SaleKey(p.request.SaleID)}
	if shards = shards[:min(len(shards), table.BatchKeys-1)]; len(shards) < s.sale.Shards-s.avoid.Len() {
		isWhole = false
	}
	for _, k := range shards {
		keys = append(keys, table.StockKey(p.request.SaleID, k))
	}
	items, err := p.ledger.table.GetTogether(ctx, keys)
	if err != nil {
		return p.afterRead(err)
	}
	current, err := table.ReadSale(items[0])
	if err != nil {
		return finishWith(p.fail(sale.Internal, err))
	}
	p.view.accept(begun, true, current, now, p.ledger.snapshotAge())
	if current.Version != s.sale.Version {
		return planNext, PurchaseResult{}, errRestocked // or paused, or recalled
	}
	left, found := int64(0), []part(nil)
	for i, k := range shards {
		shard, err := table.ReadShard(items[1+i])
		if err != nil {
			return finishWith(p.fail(sale.Internal, err))
		}
		if left += shard.Stock; shard.Stock > 0 {
			found = append(found, part{k, shard.Stock})
		}
	}
	of := snapshot{certain: true, readAt: now, sale: current}
	if refusal := current.Refusal(p.ledger.now()); refusal != nil {
		return finishWith(p.refuse(ctx, of, refusal)) // it ended meanwhile
	}
	switch {
	case isWhole && left >= p.request.units():
		p.plan.found = found
		return tryAnother, PurchaseResult{}, nil
	case isWhole && left > 0:
		p.view.proved(current.Version, left)
		return finishWith(p.refuse(ctx, of, current.RefuseNotEnough(left)))
	}
	for _, k := range shards {
		if !slices.ContainsFunc(found, func(f part) bool { return f.shard == k }) {
			p.view.observe(current.Version, k)
		}
	}
	p.closeShards(ctx, current.Version, table.MaxTries)
	return planNext, PurchaseResult{}, errScattered
}

var errRestocked = errors.New("the sale was changed while its shards were read")
