package main

import (
	"time"

	"flashsale/infra/kit/books"
)

const tableName = "LedgerTable"

// allConfirmed reports whether every claim is confirmed and every order stored; if not, it
// returns when the oldest of the other claims was accepted.
func allConfirmed(s *books.Sale) (oldest time.Time, ok bool) {
	ok = true
	for _, c := range s.Unfinished() {
		if ok || c.AcceptedAt.Before(oldest) {
			oldest, ok = c.AcceptedAt, false
		}
	}
	return oldest, ok
}
