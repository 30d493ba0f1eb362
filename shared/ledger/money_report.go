package ledger

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// MoneyTaken is what has become of a report of money.
type MoneyTaken struct {
	// Recorded: the payment was recorded, as its order's or as a refund due. SaleID is its order's sale, "" if unknown.
	Recorded bool
	SaleID   string
	// New: the report says what was not known, or was not applied. It may be false although it does, if the answer of a
	// call was lost.
	New bool
	// Kept: no payment is known, and the report is kept for sale.ForeignFor in case that one comes.
	Kept bool
	// TooMany: the account knows the most refunds or disputes, and nothing follows from this one.
	TooMany bool
	// PaidBack: since this report the whole payment of an order that stands is back. It may be false like New.
	PaidBack bool
}

// ReportMoney records what a provider says of the money of a payment, whether the payment is known or comes later: in
// its account first, and then, if it is known, on its refund due or the claim of the order that stands. A report of a
// payment that is not known is answered, too: the payment's own report reads the account after it has written its
// guard, see Pay. So whichever comes second applies the account, and a repeat applies it again, because the first one
// may have died.
//
// r must have passed Check. It fails with sale.Busy or sale.Internal, and then the provider must report it again.
func (l *Ledger) ReportMoney(ctx context.Context, r sale.MoneyReport) (MoneyTaken, error) {
	payment := r.PaymentID()
	known, guard, err := l.readAccount(ctx, payment)
	if err != nil || guard == nil && !r.MayBeOurs {
		return MoneyTaken{}, err
	}
	account, done, err := l.takeReport(ctx, r, known, guard)
	if err != nil {
		return MoneyTaken{}, err
	}
	if guard == nil { // a guard is never deleted, so one that was seen before the account was written is enough
		if guard, err = l.readGuard(ctx, payment); err != nil || guard == nil {
			done.Kept = err == nil
			return done, err
		}
	}
	done.Recorded, done.SaleID = true, guard.SaleID
	now, err := l.applyAccount(ctx, account, *guard)
	// Whoever has written the account may have died, and told nobody.
	done.New, done.PaidBack = done.New || now.isNew, now.paidBack
	return done, err
}

// readAccount reads the account of a payment, nil if there is none, and the payment's guard, in one call.
func (l *Ledger) readAccount(ctx context.Context, payment string) (account table.Item, g *table.Guard, err error) {
	found, err := l.table.BatchGet(ctx, table.MaxTries,
		[]table.Item{table.AccountKey(payment), table.PaymentKey(payment)}, true)
	for _, it := range found {
		if strings.HasPrefix(table.IdentityOf(it).PK, table.AccountPKHead) {
			account = it
		} else if g, err = guardOf(it); err != nil {
			return nil, nil, err
		}
	}
	return account, g, err
}

// readGuard reads the guard of a payment, nil if there is none.
func (l *Ledger) readGuard(ctx context.Context, payment string) (*table.Guard, error) {
	it, err := l.table.Get(ctx, table.PaymentKey(payment))
	if err != nil || it == nil {
		return nil, err
	}
	return guardOf(it)
}

func guardOf(it table.Item) (*table.Guard, error) {
	g, err := table.ReadGuard(it)
	return &g, sale.AsInternal(err)
}

// takeReport writes into the account of a payment, which was read as it is stored, what a report adds, and
// returns the account as it is then.
func (l *Ledger) takeReport(
	ctx context.Context, r sale.MoneyReport, stored table.Item, guard *table.Guard,
) (a sale.Account, done MoneyTaken, err error) {
	heard := l.millis()
	for left := l.table.UpTo(table.MaxTries); ; {
		if a, err = table.ReadAccount(r.PaymentID(), stored); err != nil {
			return a, done, sale.AsInternal(err)
		}
		version, others := a.V, a.Other
		if !a.Take(r, heard) {
			return a, done, nil
		}
		if guard != nil {
			a.IsKnown, a.SaleID, a.OrderID = true, guard.SaleID, guard.OrderID
		}
		_, _, err = l.table.UpdateWithin(ctx, table.MaxTries, table.UpdateAccount(a, version, heard.Add(sale.ForeignFor)))
		refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case err == nil:
			done.New, done.TooMany = true, a.Other > others
			return a, done, nil
		case !isRefused:
			return a, done, sale.AsInternal(err)
		case !left.Again(ctx):
			return a, done, sale.Fail(sale.Busy, errors.New("the account of the payment changes all the time"))
		}
		stored = refused.Item
	}
}
