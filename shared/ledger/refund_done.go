package ledger

import (
	"context"
	"errors"
	"strings"
	"time"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Marking is what became of one refund that was to be marked as done.
type Marking struct {
	Payment string
	Refund  sale.Refund // as it is then
	Marked  bool        // by this call
	Doubled bool        // the payment is named before, and answered there
	// Err is sale.OrderNotFound if there is no such refund, sale.Conflicting if it was sent and its provider will say what
	// became of it, sale.Busy or sale.Internal.
	Err error
}

// MarkRefunds marks refunds as done, each once, and notes by whom unless actor is ""; payments are the ids of their
// payments, with or without sense. saleID is the sale of all of them; if it is "", each one's guard says which sale it
// is of. That and what is known of the money is one more read a payment. Every payment is answered, in the given order.
func (l *Ledger) MarkRefunds(ctx context.Context, saleID string, payments []string, actor string) []Marking {
	marks := make([]Marking, len(payments))
	named := map[string]bool{}
	var todo []*Marking
	var keys []table.Item
	for i, payment := range payments {
		m := &marks[i]
		m.Payment, m.Doubled = payment, named[payment]
		switch named[payment] = true; {
		case m.Doubled:
		case !isPayment(payment):
			m.Err = noRefund
		default:
			todo, keys = append(todo, m), append(keys, table.AccountKey(payment))
			if saleID == "" {
				keys = append(keys, table.PaymentKey(payment))
			}
		}
	}
	stored, unread := l.table.GetAll(ctx, keys)
	table.Each(len(todo), func(i int) {
		m, of := todo[i], saleID
		if m.Err = unread; m.Err != nil {
			return
		}
		if guard := stored[table.IdentityOf(table.PaymentKey(m.Payment))]; guard != nil {
			g, err := table.ReadGuard(guard)
			if of = g.SaleID; err != nil {
				m.Err = sale.AsInternal(err)
				return
			}
		}
		account := stored[table.IdentityOf(table.AccountKey(m.Payment))]
		m.Refund, m.Marked, m.Err = l.markRefunded(ctx, of, m.Payment, actor, account)
	})
	return marks
}

// noRefund is the error of a payment that has no refund.
var noRefund = sale.Refuse(sale.OrderNotFound, "no such refund")

// isPayment reports whether text may be the id of a payment. DynamoDB refuses longer keys.
func isPayment(text string) bool {
	provider, reference, found := strings.Cut(text, "#")
	p := sale.Payment{Provider: provider, Reference: reference, Currency: noCurrency}
	return found && p.Check() == nil
}

// markRefunded marks one refund, and reports whether this call did. The mark counts what the account knows: it stays
// until a refund fails that has not failed yet.
func (l *Ledger) markRefunded(
	ctx context.Context, saleID, payment, actor string, account table.Item,
) (sale.Refund, bool, error) {
	now := l.millis()
	others := table.Item{}
	if actor != "" {
		others["refundedBy"] = table.S(actor)
	}
	key := table.RefundKey(saleID, payment)
	var was sale.Refund // without an account nothing but a mark is known of a refund
	unsure := false
	for left := l.table.UpTo(table.MaxTries); ; {
		a, err := table.ReadAccount(payment, account)
		if err != nil {
			return sale.Refund{}, false, sale.AsInternal(err)
		}
		var w written
		switch {
		case was.Payment != "" && !was.CanMark(now):
			return was, false, errSent
		case a.V > 0 && was.Payment == "":
			w.it, err = l.item(ctx, key)
		default:
			after := refundedOf(was)
			if a.V >= was.MoneyVersion { // or else a restore has made the account older
				after = refunded{was.Apply(a, was.Amount, was.Currency, now), was.Sent.After(a)}
			}
			after.RefundedAt = now
			w, err = l.writeReturned(ctx, key, saleID, refundedOf(was), after, others)
		}
		switch {
		case err != nil:
			return sale.Refund{}, false, err
		case w.it == nil:
			return sale.Refund{}, false, noRefund
		}
		unsure = unsure || w.unsure
		if was, err = table.ReadRefund(w.it); err != nil || w.isDone || !was.RefundedAt.IsZero() {
			isOurs := w.isDone || unsure && was.RefundedAt.Equal(now) && was.RefundedBy == actor
			return was, isOurs && err == nil, sale.AsInternal(err)
		}
		if was.MoneyVersion > a.V {
			if account, err = l.item(ctx, table.AccountKey(payment)); err != nil {
				return sale.Refund{}, false, err
			}
		}
		if !left.Again(ctx) {
			return sale.Refund{}, false, errRefundChanges
		}
	}
}

// errSent: the stack has sent the refund, and what became of it will be known without a person.
var errSent = sale.Refuse(sale.Conflicting, "the refund was sent, and its provider will say what became of it")

// errRefundChanges: others write the refund all the time.
var errRefundChanges = sale.Fail(sale.Busy, errors.New("the refund changes all the time"))

// item reads one item consistently, nil if there is none: as a batch, because that is what the role of OperateFunction
// allows of refunds and accounts, which it otherwise reads by the hundred.
func (l *Ledger) item(ctx context.Context, key table.Item) (table.Item, error) {
	stored, err := l.table.GetAll(ctx, []table.Item{key})
	return stored[table.IdentityOf(key)], err
}

// UnmarkRefund takes a wrong mark back, in somebody's name and with a note why: the refund is due again. So is one
// that is unknown, and of which somebody has seen at the provider that it was not sent: see sale.Refund.CanMark. It
// reports whether this call did. saleID is the refund's; if it is "", the payment's guard says which. It fails with
// sale.Conflicting if its provider has said that the money is back, or will say what became of what was sent; with
// sale.OrderNotFound if there is no such refund, with sale.Busy or sale.Internal.
func (l *Ledger) UnmarkRefund(ctx context.Context, saleID, payment, actor, note string) (sale.Refund, bool, error) {
	if !isPayment(payment) {
		return sale.Refund{}, false, noRefund
	}
	if saleID == "" {
		guard, err := l.item(ctx, table.PaymentKey(payment))
		if err != nil {
			return sale.Refund{}, false, err
		}
		if guard != nil {
			g, err := table.ReadGuard(guard)
			if err != nil {
				return sale.Refund{}, false, sale.AsInternal(err)
			}
			saleID = g.SaleID
		}
	}
	key, accountKey := table.RefundKey(saleID, payment), table.AccountKey(payment)
	others := table.Item{"unmarkedBy": table.S(actor), "unmarkNote": table.S(note)}
	isTried := false
	for left := l.table.UpTo(table.MaxTries); ; {
		it, err := l.item(ctx, key)
		switch {
		case err != nil:
			return sale.Refund{}, false, err
		case it == nil:
			return sale.Refund{}, false, noRefund
		}
		was, err := table.ReadRefund(it)
		switch isUnknown := was.Sent.State == sale.SentUnknown; {
		case err != nil, was.RefundedAt.IsZero() && !isUnknown:
			isOurs := isTried && was.UnmarkedBy == actor && was.UnmarkNote == note // by a try without an answer
			return was, isOurs && err == nil, sale.AsInternal(err)
		case isUnknown && !was.CanMark(l.now()):
			return was, false, errSent
		}
		if it, err = l.item(ctx, accountKey); err != nil {
			return sale.Refund{}, false, err
		}
		a, err := table.ReadAccount(payment, it)
		if err != nil {
			return sale.Refund{}, false, sale.AsInternal(err)
		}
		after, isBack := refundedOf(was), was.Back > 0 && was.Back >= was.Amount
		if after.RefundedAt = (time.Time{}); was.Sent.State == sale.SentUnknown {
			after.Sent = was.Sent.NotSent()
		}
		if a.V >= was.MoneyVersion { // or else a restore has made the account older
			after.Returned, after.Sent = after.Apply(a, was.Amount, was.Currency, l.now()), after.Sent.After(a)
			isBack = !after.RefundedAt.IsZero()
		}
		if isBack {
			return was, false, sale.Refuse(sale.Conflicting, "the provider says that the money is back")
		}
		w, err := l.writeReturned(ctx, key, saleID, refundedOf(was), after, others)
		if err != nil {
			return sale.Refund{}, false, err
		}
		if w.isDone {
			was, err = table.ReadRefund(w.it)
			return was, err == nil, sale.AsInternal(err)
		}
		isTried = true
		if !left.Again(ctx) {
			return sale.Refund{}, false, errRefundChanges
		}
	}
}
