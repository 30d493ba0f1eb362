// Package ownclaim shows a claim to its buyer: what the order costs, until when it must be paid, and where.
package ownclaim

import (
	"context"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// Sales is the part of the ledger that the package uses.
type Sales interface {
	// Existing returns a sale as it was at some time, Sale as it was at most two seconds ago.
	Existing(ctx context.Context, saleID string) (sale.Sale, error)
	Sale(ctx context.Context, saleID string) (sale.Sale, error)
}

// Show returns a claim as its buyer gets it at now, without its refunds. It fails as Sales does.
func Show(ctx context.Context, sales Sales, link PaymentLink, c sale.Claim, now time.Time) (httpapi.Claim, error) {
	shown := httpapi.ClaimOf(c)
	shown.Now = httpapi.Time(now)
	s, err := sales.Existing(ctx, c.SaleID)
	if err != nil {
		return shown, err
	}
	if s.AsksForPayment() {
		shown.Amount, shown.Currency = s.PriceOf(c.UnitCount()), s.Currency
	}
	shown.PayBy, shown.PaymentURL, err = Payment(ctx, sales, link, s, c)
	return shown, err
}

// AsMade returns a claim as its buyer got it first. A repeat gets the same whenever it comes (P9), so that follows from
// the claim alone, and has neither now nor the state and order id that it has got since.
func AsMade(c sale.Claim) httpapi.Claim {
	shown := httpapi.ClaimOf(sale.Claim{SaleID: c.SaleID, ID: c.ID, AcceptedAt: c.AcceptedAt, Units: c.Units})
	if terms := c.PaymentTerms; terms.PayWithin > 0 {
		shown.Amount, shown.Currency = terms.Price*c.UnitCount(), terms.Currency
	}
	return shown
}

// Payment returns until when a claim of the sale must be paid and where; "" for a claim of
// which neither is asked. s may be of any age, so an unpaid claim's is read again: it may have been recalled, or its
// orders given more time. It fails as Sales does: while the sale cannot be read, nobody is sent to pay what may have
// been recalled. A claim that is paid or released has its first payBy, which never changes.
func Payment(
	ctx context.Context, sales Sales, link PaymentLink, s sale.Sale, c sale.Claim,
) (payBy, address string, err error) {
	by := s.FirstPayBy(c.OrderID)
	if by.IsZero() {
		return "", "", nil
	}
	if c.State() != sale.Confirmed {
		return httpapi.Time(by), "", nil
	}
	if s, err = sales.Sale(ctx, s.ID); err != nil {
		return "", "", err
	}
	payBy = httpapi.Time(s.PayBy(c.OrderID))
	if !s.IsRecalled() {
		address = link.of(s, c, payBy)
	}
	return payBy, address, nil
}

// AskAgain returns after how long to look for what becomes of a claim, with jitter; 0 if nothing has to. Most claims
// are confirmed within a second or two; one that is still pending after a minute waits for a repair. Most orders are
// paid within minutes. So the wait grows with the age: a buyer learns of the change after at most one and a half times
// the time that it took, up to the longest wait.
func AskAgain(c sale.Claim, mustPay bool, now time.Time) time.Duration {
	switch {
	case c.State() == sale.Pending:
		return grown(now.Sub(c.AcceptedAt), 2*time.Second, 30*time.Second)
	case c.State() == sale.Confirmed && mustPay:
		return grown(now.Sub(c.AcceptedAt), 5*time.Second, time.Minute)
	}
	return 0
}

// grown is half of an age, between the bounds, less up to half of itself.
func grown(age, shortest, longest time.Duration) time.Duration {
	to := min(max(shortest, age/2), longest)
	return httpapi.Jitter(to/2-shortest/2, to)
}
