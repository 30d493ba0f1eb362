package dynamotest

import (
	"maps"
	"slices"
	"time"
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

// Rewind takes back what these records of the stream tell, which are in their order: the
// tables become what restored ones would be. Reads see nothing of the time before, no late
// request arrives any more, and the stream gets no record.
func (db *DB) Rewind(records []Record) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, r := range slices.Backward(records) {
		t := db.tables[r.Table]
		if k, err := t.keyIn(r.Keys); err == nil {
			t.put(k, r.Old, r.At, 0)
		}
	}
	for _, t := range db.tables {
		for _, p := range t.partitions {
			for sk, r := range p.rows {
				p.rows[sk] = row{item: r.item}
			}
		}
	}
	db.inFlight, db.pending = map[place]time.Time{}, nil
}
