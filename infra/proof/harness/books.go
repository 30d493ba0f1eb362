package harness

import (
	"context"
	"fmt"
	"time"

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

// Waiting is how many released units are not back in stock.
func (b *Books) Waiting() (units int64) {
	for _, s := range b.Shards {
		units += s.Released - s.PutBack
	}
	return units
}

// Recount returns the findings of a recount. What is due may take that long: books.AtOnce if the orders of the
// sale are all finished.
func (b *Books) Recount(overdue time.Duration) (found []string) {
	receipt, err := b.all.Recount(context.Background(), b.id, books.Options{Overdue: overdue})
	if err != nil {
		return []string{fmt.Sprintf("P11: %v", err)}
	}
	for _, f := range receipt.Findings {
		found = append(found, f.Promise+": "+f.Text)
	}
	return found
}
