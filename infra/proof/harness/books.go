package harness

import (
	"context"
	"fmt"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/dynamotest"
)

// Books is one sale's part of the table, read according to its documentation, without
// the ledger's code.
type Books struct {
	*books.Sale
	id  string
	all *books.Books
}

// ReadBooks reads the whole table for one sale, without faults.
func ReadBooks(db *dynamotest.DB, id string) *Books {
	all := books.Of(db.Items(TableName))
	return &Books{all.Sale(id), id, all}
}

// CheckRecall checks that the recall of a sale is complete, and every released unit is back. What
// became of its orders is in the recount (P35).
func (b *Books) CheckRecall() (found []string) {
	if b.Recalling || !b.Recalled || !b.Paused {
		return []string{fmt.Sprintf("P35: the recall of %s is not complete", b.id)}
	}
	for _, k := range Sorted(b.Shards) {
		if s := b.Shards[k]; s.Released != s.PutBack {
			found = append(found, fmt.Sprintf("P35: shard %d has %d units released and %d put back", k, s.Released, s.PutBack))
		}
	}
	return found
}

// Audit recounts a sale whose orders are all finished.
func (b *Books) Audit() (found []string) {
	receipt, err := b.all.Recount(context.Background(), b.id, books.Options{Overdue: books.AtOnce})
	if err != nil {
		return []string{fmt.Sprintf("P11: %v", err)}
	}
	for _, f := range receipt.Findings {
		found = append(found, f.Promise+": "+f.Text)
	}
	return found
}
