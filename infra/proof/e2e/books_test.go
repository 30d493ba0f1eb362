package e2e

import (
	"time"

	"flashsale/infra/kit/books"
)

// items reads the whole table.
func (s *stack) items() *books.Books {
	s.t.Helper()
	all, err := books.Read(s.t.Context(), s.table(), "LedgerTable")
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// books returns a sale from the table.
func (s *stack) books(saleID string) *books.Sale {
	s.t.Helper()
	return s.items().Sale(saleID)
}

// balanced checks that the sale's recount has no findings and everything is confirmed.
func (s *stack) balanced(saleID string) *books.Sale {
	s.t.Helper()
	var all *books.Books
	s.eventually("every claim of "+saleID+" is confirmed", func() bool {
		all = s.items()
		return len(all.Sale(saleID).Unfinished()) == 0
	})
	receipt, err := all.Recount(s.t.Context(), saleID, books.Options{Now: time.Now, Overdue: books.AtOnce})
	if err != nil {
		s.t.Fatal(err)
	}
	if !receipt.Balanced {
		s.t.Errorf("%s: %v", saleID, receipt.Findings)
	}
	return all.Sale(saleID)
}
