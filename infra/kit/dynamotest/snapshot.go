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
	// Requests that were read before, late ones among them, hold on to the table itself.
	db.table.partitions = kept.table.partitions
	db.inFlight, db.pending = kept.inFlight, kept.pending
}

func (c *contents) copied() contents {
	return contents{table: c.table.copied(), inFlight: maps.Clone(c.inFlight), pending: slices.Clone(c.pending)}
}

// Rewind takes back what these records of the stream tell, which are in their order: the
// table becomes what a restored one would be. Reads see nothing of the time before, no late
// request arrives any more, and the stream gets no record.
func (db *DB) Rewind(records []Record) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, r := range slices.Backward(records) {
		if k, err := db.table.keyIn(r.Keys); err == nil {
			db.table.put(k, versionOf(r.Old), r.At, 0)
		}
	}
	for _, p := range db.table.partitions {
		for sk, r := range p.rows {
			p.rows[sk] = row{version: r.version}
		}
	}
	db.inFlight, db.pending = map[key]time.Time{}, nil
}
