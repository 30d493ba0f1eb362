package ledger

import (
	"context"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// TakeRefund takes a refund for a sending, which is then unknown, before its provider at that account is asked: see
// sale.Refund.TakenBy. It returns the refund as it is then, and false if it is not as it was read: somebody else has
// it, has marked it, or a report has come. It is also false if a write without an answer was made after all: that of
// somebody else in the same millisecond would look the same. Whoever has it may call until its lease ends. It fails
// with sale.Busy, and then may have taken it, or sale.Internal.
func (l *Ledger) TakeRefund(
	ctx context.Context, r sale.Refund, s *sale.Sending, account string,
) (sale.Refund, bool, error) {
	was := refundedOf(r)
	after := refunded{r.Returned, r.TakenBy(s, account, l.millis())}
	w, err := l.writeReturned(ctx, table.RefundKey(r.SaleID, r.Payment), r.SaleID, was, after, nil)
	if err != nil || w.it == nil {
		return r, false, err
	}
	now, err := table.ReadRefund(w.it)
	return now, err == nil && w.isDone, sale.AsInternal(err)
}

// NoteSent notes what has become of a refund that was taken, unless somebody else has taken it since, and returns it
// as it is then. First it records what the provider has said of money, like ReportMoney, but of a payment with a
// refund due it needs no right to orders and claims. An accepted refund that has failed since is due again. It fails
// with sale.Busy or sale.Internal, and then the refund is unknown until its next try.
func (l *Ledger) NoteSent(
	ctx context.Context, taken sale.Refund, after sale.Sent, money []sale.MoneyReport,
) (sale.Refund, error) {
	for _, m := range money {
		if err := l.takeAnswer(ctx, m); err != nil {
			return taken, err
		}
	}
	key, accountKey := table.RefundKey(taken.SaleID, taken.Payment), table.AccountKey(taken.Payment)
	was := taken
	var account sale.Account
	isRead := len(money) == 0 && after.State != sale.SentAccepted
	for left := l.table.UpTo(table.MaxTries); ; isRead = false {
		if !isRead {
			stored, err := l.table.GetAll(ctx, []table.Item{key, accountKey})
			if err == nil {
				was, err = table.ReadRefund(stored[table.IdentityOf(key)])
			}
			if err == nil {
				account, err = table.ReadAccount(taken.Payment, stored[table.IdentityOf(accountKey)])
			}
			if err != nil {
				return taken, sale.AsInternal(err)
			}
		}
		if account.V < was.MoneyVersion { // the account was read first, or a restore has made it older
			stored, err := l.item(ctx, accountKey)
			if err == nil {
				account, err = table.ReadAccount(taken.Payment, stored)
			}
			if err != nil {
				return taken, sale.AsInternal(err)
			}
		}
		if account.V > was.MoneyVersion {
			applied, err := l.applyToRefund(ctx, account, table.Guard{
				SaleID: taken.SaleID, Amount: taken.Amount, Currency: taken.Currency,
			}, refundedOf(was))
			if err != nil {
				return taken, err
			}
			if was = *applied.refund; was.MoneyVersion != account.V { // which may know that what is accepted has failed
				if !left.Again(ctx) {
					return taken, errRefundChanges
				}
				continue
			}
		}
		now := refunded{was.Returned, after.After(account)}
		if was.Sent != taken.Sent || now.Sent == was.Sent { // somebody else has it, or it is noted
			return was, nil
		}
		w, err := l.writeReturned(ctx, key, taken.SaleID, refundedOf(was), now, nil)
		if err != nil {
			return taken, err
		}
		if w.isDone {
			was, err = table.ReadRefund(w.it)
			return was, sale.AsInternal(err)
		}
		if !left.Again(ctx) {
			return taken, errRefundChanges
		}
	}
}

// takeAnswer records in its account what a provider has said of money of a payment with a refund due. What follows from
// it is applied by the caller.
func (l *Ledger) takeAnswer(ctx context.Context, m sale.MoneyReport) error {
	if err := m.Check(l.now()); err != nil {
		return sale.AsInternal(err)
	}
	stored, guard, err := l.readAccount(ctx, m.PaymentID())
	switch {
	case err != nil:
		return err
	case guard == nil:
		return errRefundHidden
	}
	account, _, err := l.takeReport(ctx, m, stored, guard)
	if err != nil {
		return err
	}
	return l.setKnown(ctx, account, *guard)
}
