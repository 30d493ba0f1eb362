package main

import (
	"context"
	"slices"

	"flashsale/infra/kit/books"
)

// audit recounts a sale without requests in progress, and compares it with all answers to its
// buyers.
func (e *testSale) audit(ctx context.Context, all *books.Books) []books.Finding {
	receipt, err := all.Recount(ctx, e.id, books.Options{Overdue: books.AtOnce})
	if err != nil {
		return []books.Finding{{Promise: "P11", Text: "the sale is not in the table: " + err.Error()}}
	}
	return slices.Concat(receipt.Findings, e.answers.Compare(all.Sale(e.id)))
}
