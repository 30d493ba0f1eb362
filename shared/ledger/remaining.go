package ledger

import (
	"context"
	"errors"
	"time"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

const (
	// sampleShards is how many shards the sale page reads at most.
	sampleShards = table.BatchKeys
	// remainingAge is how often an environment reads them.
	remainingAge = time.Second
	// unchangedAge is how often it reads them before the sale opens and after it has closed.
	// Then the stock changes only with the sale's version; but an edit of the window reaches
	// the shards some time after the sale, and clocks differ.
	unchangedAge = time.Minute
)

// Remaining counts the units left in a sale that Sale returned, at most once a
// second, and at most once a minute before the opening and after the end. While at most 100
// shards have stock it reads them all, else it scales from 100 of them; it is 0 only if every
// shard is empty. It fails with sale.Busy or sale.Internal.
//
// Everybody may ask, so the shards are read eventually consistently, at half the cost: a
// count may lag behind the purchases by a moment. A count that is kept for a minute, or that
// finds nothing (P6), is made consistently.
//
// Plain reads see a transaction item by item, so a new version may show before the units that
// came with it. Until this environment has known it for SettleTime, a count is kept for no
// longer than a second; afterwards one that finds nothing is kept for a minute, because within a
// version the stock only falls.
func (l *Ledger) Remaining(ctx context.Context, s sale.Sale) (Remaining, error) {
	now := l.now()
	if r, ok := l.remaining.Get(edition{s.ID, s.Version}, now); ok {
		return r, nil
	}
	for range table.MaxTries {
		isSettled := l.isSettled(edition{s.ID, s.Version}, now)
		until, consistent := now.Add(remainingAge), false
		if refusal := s.Refusal(now); refusal != nil && refusal.Code != sale.Paused {
			consistent = true
			if isSettled {
				until = now.Add(unchangedAge)
			}
			if now.Before(s.OpensAt) && s.OpensAt.Before(until) {
				until = s.OpensAt
			}
		}
		r, err := l.countRemaining(ctx, s, consistent)
		if err != nil {
			return Remaining{}, err
		}
		version := s.Version
		if r.Units == 0 && !s.SoldOut() {
			// The set of empty shards is older than the count of the others. They were
			// all empty at once only if the sale was not restocked in between (P6).
			if isSettled {
				until = now.Add(unchangedAge)
			}
			if err := l.readConsistently(ctx, table.MaxTries, l.views.of(s.ID), s.ID); err != nil {
				return Remaining{}, err
			}
			if s, err = l.Sale(ctx, s.ID); err != nil {
				return Remaining{}, err
			}
		}
		if s.Version == version {
			l.remaining.Put(edition{s.ID, s.Version}, r, now, until)
			return r, nil
		}
	}
	return Remaining{}, sale.Fail(sale.Busy, errors.New("the sale was restocked during every count"))
}

// isSettled reports whether this environment has known the version for so long that nothing of the
// transaction that made it is hidden any more.
func (l *Ledger) isSettled(e edition, now time.Time) bool {
	since, known := l.editions.Get(e, now)
	if !known {
		l.editions.Put(e, now, now, forever)
		return false
	}
	return now.Sub(since) >= SettleTime
}

// countRemaining counts the units in the shards that are not known to be empty, by consistent
// reads if it is told so or finds nothing otherwise.
func (l *Ledger) countRemaining(ctx context.Context, s sale.Sale, consistent bool) (Remaining, error) {
	open := s.Shards - s.Empty.Len()
	sampled := min(open, sampleShards)
	keys := make([]table.Item, 0, sampled)
	for i := range sampled {
		// Sample evenly over the open shards, not only the first ones.
		keys = append(keys, table.StockKey(s.ID, s.Empty.NthAbsent(i*open/sampled, s.Shards)))
	}
	items, err := l.table.BatchGet(ctx, table.MaxTries, keys, consistent)
	if err != nil {
		return Remaining{}, err
	}
	var r Remaining
	for _, it := range items {
		shard, err := table.ReadShard(it)
		if err != nil {
			return Remaining{}, sale.AsInternal(err)
		}
		r.Units += shard.Stock
	}
	if r.Units == 0 && !consistent {
		return l.countRemaining(ctx, s, true)
	}
	if sampled < open {
		r.Approximate = true
		r.Units = max(1, r.Units*int64(open)/int64(sampled))
	}
	return r, nil
}
