package main

import (
	"context"
	"fmt"

	"flashsale/infra/kit/books"
)

// audit recounts a sale without requests in progress, and compares it with all answers to its buyers and its
// operator.
func (e *testSale) audit(ctx context.Context, all *books.Books) []string {
	receipt, err := all.Recount(ctx, e.id, books.Options{Overdue: books.AtOnce})
	if err != nil {
		return []string{fmt.Sprintf("the sale is not in the table (P11): %v", err)}
	}
	var found []string
	for _, f := range receipt.Findings {
		found = append(found, f.String())
	}
	return append(found, e.compare(all.Sale(e.id))...)
}

// compare compares the answers with the stored sale.
func (e *testSale) compare(s *books.Sale) []string {
	var found []string
	problem := func(format string, a ...any) { found = append(found, fmt.Sprintf(format, a...)) }
	if want := e.seeded(); s.Seeded != want {
		problem("%d units were seeded, want %d (P15)", s.Seeded, want)
	}
	if len(s.Shards) != e.shards {
		problem("%d shards, want %d", len(s.Shards), e.shards)
	}
	e.auditPromises(s, problem)
	if e.asksForPayment {
		e.auditPayments(s, problem)
	}
	return append(found, e.answers.wrongRefusals(s.Claims, s.Stock())...)
}

// auditPromises checks P4: every answer matches the table.
func (e *testSale) auditPromises(s *books.Sale, problem func(string, ...any)) {
	there, crowd := map[string]books.Claim{}, map[string]bool{}
	for _, buyer := range e.buyers {
		crowd[buyer.name] = true
	}
	for _, c := range s.Claims {
		there[c.User] = c
		if !crowd[c.User] {
			problem("%s never ordered but has claim %s (P12)", c.User, c.ClaimID)
		}
	}
	e.answers.mu.Lock()
	defer e.answers.mu.Unlock()
	for user, claimID := range e.answers.claims {
		if there[user].ClaimID != claimID {
			problem("%s got claim %s, but the table has %q (P4)", user, claimID, there[user].ClaimID)
		}
	}
	for user, orderID := range e.answers.orders {
		if there[user].OrderID != orderID {
			problem("%s got order %s, but the table has %q (P7)", user, orderID, there[user].OrderID)
		}
	}
	// By now every buyer has an answer, so a buyer with a claim must have been told.
	for user, c := range there {
		if e.answers.claims[user] == "" {
			problem("%s has claim %s but never got it in an answer (P4, P9)", user, c.ClaimID)
		}
	}
}
