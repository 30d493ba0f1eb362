package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// refundPage is one page of a sale's refunds; last is "" if it is the last page.
type refundPage struct {
	refunds    []sale.Refund
	due, held  int64
	unreadable []error
	last       string
}

// refundPage reads the page of a sale's refunds after that payment, or the first page if
// that is "": at most that many, or as many as DynamoDB returns if most is 0.
func (l *Ledger) refundPage(ctx context.Context, saleID, after string, most int32) (page refundPage, err error) {
	in := table.Partition(table.RefundKey(saleID, "")[table.PK])
	if most > 0 {
		in.Limit = &most
	}
	out, err := l.table.QueryPage(ctx, in, after)
	if err != nil {
		return refundPage{}, err
	}
	for _, it := range out.Items {
		refund, err := table.ReadRefund(it)
		if err != nil {
			page.unreadable = append(page.unreadable, fmt.Errorf("refund %q: %w", table.IdentityOf(it).SK, err))
			continue
		}
		page.refunds = append(page.refunds, refund)
		switch {
		case refund.IsDue():
			page.due++
		case refund.IsHeldBack():
			page.held++
		}
	}
	page.last = table.IdentityOf(out.LastEvaluatedKey).SK
	return page, nil
}

// RefundPage returns at most most refunds of a sale, due and done, those after that payment in the order of their
// payments, or the first ones if after is "". Those of unknown orders are of the sale "". next continues, or is "" if
// there are no more; unreadable counts those that this version cannot read. It fails with sale.Busy or sale.Internal.
func (l *Ledger) RefundPage(
	ctx context.Context, saleID, after string, most int32,
) (refunds []sale.Refund, next string, unreadable int, err error) {
	page, err := l.refundPage(ctx, saleID, after, most)
	return page.refunds, page.last, len(page.unreadable), err
}

// Refunds returns the refunds of a sale, due and done, or those of unknown orders if the
// sale id is "". It fails with sale.Busy; or with sale.Internal, and then returns those that
// can be read.
func (l *Ledger) Refunds(ctx context.Context, saleID string) (refunds []sale.Refund, err error) {
	var unreadable []error
	for after, more := "", true; more; {
		page, err := l.refundPage(ctx, saleID, after, 0)
		if err != nil {
			return nil, err
		}
		refunds, unreadable = append(refunds, page.refunds...), append(unreadable, page.unreadable...)
		after, more = page.last, page.last != ""
	}
	return refunds, sale.AsInternal(errors.Join(unreadable...))
}

// RefundsOf returns the refunds of a claim's order, due and done, the oldest first and
// MaxClaimRefunds at most. A claim without any costs no call. It fails with sale.Busy or
// sale.Internal.
func (l *Ledger) RefundsOf(ctx context.Context, c sale.Claim) ([]sale.Refund, error) {
	if len(c.Refunds) == 0 {
		return nil, nil
	}
	keys := make([]table.Item, len(c.Refunds))
	for i, payment := range c.Refunds {
		keys[i] = table.RefundKey(c.SaleID, payment)
	}
	items, err := l.table.BatchGet(ctx, table.MaxTries, keys, true)
	if err != nil {
		return nil, err
	}
	var refunds []sale.Refund
	for _, it := range items {
		refund, err := table.ReadRefund(it)
		if err != nil {
			return nil, sale.AsInternal(err)
		}
		refunds = append(refunds, refund)
	}
	slices.SortFunc(refunds,
		func(a, b sale.Refund) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Payment, b.Payment)) })
	return refunds, nil
}

// MoneyOf returns what is to be said of the money of claims of one sale, in their order. It reads the refunds of those
// whose own payment goes back. It fails with sale.Busy; or with sale.Internal, and then says of those whose refund
// cannot be read what their claim says.
func (l *Ledger) MoneyOf(ctx context.Context, claims []sale.Claim) ([]sale.Money, error) {
	var keys []table.Item
	for _, c := range claims {
		if slices.Contains(c.Refunds, c.Payment) {
			keys = append(keys, table.RefundKey(c.SaleID, c.Payment))
		}
	}
	items, err := l.table.BatchGet(ctx, table.PatientTries, keys, true)
	if err != nil {
		return nil, err
	}
	refunds := map[string]*sale.Refund{}
	var unreadable error // the first one's
	for _, it := range items {
		refund, err := table.ReadRefund(it)
		if err != nil {
			unreadable = cmp.Or(unreadable, fmt.Errorf("%v: %w", table.IdentityOf(it), err))
			continue
		}
		refunds[refund.Payment] = &refund
	}
	all := make([]sale.Money, len(claims))
	for i, c := range claims {
		all[i] = sale.MoneyOf(c, refunds[c.Payment])
	}
	return all, sale.AsInternal(unreadable)
}

// RefundCount counts the refunds of a sale that are due, or those of unknown orders if the
// sale id is "". It may be interrupted between two pages.
type RefundCount struct {
	SaleID string
	// NotedAt is the listing's RefundAt. Books are those of a drained sale, which no pass counts any more; nil for none.
	NotedAt time.Time
	Books   *Receipt
	Due     int64
	// HeldBack counts those that are due if a dispute is won. Then the listing notes it: see Listing.RefundAt.
	HeldBack int64
	SentSince
	Complete bool

	money      Money
	began      time.Time
	after      string
	unreadable error // the first one's
}

// SentSince is since when the oldest refunds wait that were sent: of those that are unknown, and of those that were
// accepted and are not back. Zero is none.
type SentSince struct {
	UnknownSince  time.Time `json:"unknownSince,omitzero"`
	AcceptedSince time.Time `json:"acceptedSince,omitzero"`
}

// add counts a refund, unless it is settled: back, or its dispute is lost.
func (s *SentSince) add(r sale.Refund) {
	switch {
	case !r.IsDue() && !r.IsHeldBack():
	case r.Sent.State == sale.SentUnknown:
		s.Join(SentSince{UnknownSince: r.Sent.At})
	case r.Sent.State == sale.SentAccepted:
		s.Join(SentSince{AcceptedSince: r.Sent.At})
	}
}

// Join counts others, too.
func (s *SentSince) Join(t SentSince) {
	s.UnknownSince, s.AcceptedSince = earlier(s.UnknownSince, t.UnknownSince), earlier(s.AcceptedSince, t.AcceptedSince)
}

// earlier returns the first of two instants, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// forgetAfter is how old the refund that a listing notes must be before a count begins that may
// remove the note. Until it is noteAge old by their clocks, environments record refunds
// without noting them. The rest is for clocks that differ, as in DrainAfter, and for a
// transaction that is under way.
const forgetAfter = noteAge + DrainAfter

// CountRefunds continues a count, one page at a time, until it is complete or ctx ends. If
// no refund is due or still sent, it removes the note in the sale's listing; a refund that is recorded
// during the count has a newer note, which stays. It fails with sale.Busy, and then c keeps
// its progress, or with sale.Internal once all refunds that can be read are counted.
func (l *Ledger) CountRefunds(ctx context.Context, c *RefundCount) error {
	if c.began.IsZero() {
		c.began = l.now()
	}
	for !c.Complete {
		page, err := l.refundPage(ctx, c.SaleID, c.after, 0)
		if err != nil {
			return err
		}
		c.Due, c.HeldBack = c.Due+page.due, c.HeldBack+page.held
		for _, r := range page.refunds {
			c.money.refund(r)
			c.add(r)
		}
		c.unreadable = cmp.Or(c.unreadable, errors.Join(page.unreadable...))
		c.after, c.Complete = page.last, page.last == ""
	}
	if c.Books != nil && c.unreadable == nil {
		if err := l.keepRefunds(ctx, c); err != nil {
			return err
		}
	}
	isOpen := c.Due > 0 || c.SentSince != (SentSince{}) // what was sent is looked at although a dispute holds it back
	if isOpen || c.unreadable != nil || c.NotedAt.IsZero() || c.began.Sub(c.NotedAt) < forgetAfter {
		return sale.AsInternal(c.unreadable)
	}
	return unlessBusy(l.table.Update(ctx, table.Update{
		Key: table.ListingKey(c.SaleID), Expr: "REMOVE #refundAt", If: "#refundAt = :read",
		Values: table.Item{":read": table.Millis(c.NotedAt)},
	}))
}

// keepRefunds writes into the books of a sale what a count has found, if they are still those.
func (l *Ledger) keepRefunds(ctx context.Context, c *RefundCount) error {
	for code, one := range c.Books.Money { // what its claims say
		c.money.add(code, func(s *Sums) {
			s.Taken, s.Refunded, s.Standing = one.Taken, s.Refunded+one.Standing, one.Standing
		})
	}
	if c.Due == c.Books.RefundsDue && maps.Equal(c.money, c.Books.Money) {
		return nil
	}
	read, _ := json.Marshal(c.Books) // which never fails
	c.Books.RefundsDue, c.Books.Money = c.Due, c.money
	books, _ := json.Marshal(c.Books)
	return unlessBusy(l.table.Update(ctx, table.Update{
		Key: table.ListingKey(c.SaleID), Expr: "SET #books = :books", If: "#books = :read",
		Values: table.Item{":books": table.S(string(books)), ":read": table.S(string(read))},
	}))
}
