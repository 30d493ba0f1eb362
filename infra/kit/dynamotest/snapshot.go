package dynamotest

import (
	"maps"
	"slices"
)

// Snapshot is what a DB holds at one instant: its items, transactions in
// flight and late requests. It never changes.
type Snapshot struct{ contents contents }

// Snapshot keeps the present contents. It copies maps but no items.
func (db *DB) Snapshot() *Snapshot {
	db.mu.Lock()
	defer db.mu.Unlock()
	return &Snapshot{db.contents.copied()}
}

// Restore puts back what a snapshot of this DB kept. Counts go on.
func (db *DB) Restore(s *Snapshot) {
	db.mu.Lock()
	defer db.mu.Unlock()
	kept := s.contents.copied()
	for name, t := range kept.tables {
		// Requests that were read before, late ones among them, hold on to
		// the table itself.
		db.tables[name].partitions = t.partitions
	}
	db.inFlight, db.pending = kept.inFlight, kept.pending
}

func (c *contents) copied() contents {
	out := contents{
		tables:   make(map[string]*table, len(c.tables)),
		inFlight: maps.Clone(c.inFlight), pending: slices.Clone(c.pending),
	}
	for name, t := range c.tables {
		out.tables[name] = t.copied()
	}
	return out
}
