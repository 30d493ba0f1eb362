package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// BeginSending begins a sending, which must have passed Check, once for its id: a press that is repeated gets the one
// that it began. Of a group it has the sales that the group has now. It fails with sale.Conflicting if the id is
// another press's, with sale.GroupNotFound, sale.Busy or sale.Internal.
func (l *Ledger) BeginSending(ctx context.Context, s sale.Sending) (begun sale.Sending, isNew bool, err error) {
	if s.At = l.millis(); s.Scope.Group != "" {
		of, err := l.Sales(ctx, s.Scope.Group)
		if err != nil {
			return s, false, err
		}
		for _, one := range of {
			s.Scope.Sales = append(s.Scope.Sales, one.ID)
		}
	}
	err = l.table.TryPut(ctx, table.MaxTries, table.SendingItem(s), true)
	refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !isRefused {
		return s, err == nil, sale.AsInternal(err)
	}
	stored, err := table.ReadSending(refused.Item)
	if err != nil {
		return s, false, sale.AsInternal(err)
	}
	of, was := s.Scope, stored.Scope
	if of.SaleID != was.SaleID || of.Group != was.Group || !slices.Equal(of.Payments, was.Payments) ||
		s.Count != stored.Count || !maps.Equal(s.Sums, stored.Sums) || s.Actor != stored.Actor || s.Note != stored.Note {
		return stored, false, sale.Refuse(sale.Conflicting, "the id is that of another sending")
	}
	return stored, false, nil
}

// StopSending ends a sending in somebody's name, and reports whether this call did. What it has sent stays so. It fails
// with sale.OrderNotFound if there is none, with sale.Busy or sale.Internal.
func (l *Ledger) StopSending(ctx context.Context, id, actor string) (sale.Sending, bool, error) {
	now := l.millis()
	u := table.StopSending(id, actor, now)
	u.Return = types.ReturnValueAllNew
	it, unsure, err := l.table.UpdateWithin(ctx, table.PatientTries, u)
	refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case isRefused && refused.Item == nil:
		return sale.Sending{}, false, noSending
	case isRefused:
		it = refused.Item
	case err != nil:
		return sale.Sending{}, false, sale.AsInternal(err)
	}
	s, err := table.ReadSending(it)
	isOurs := !isRefused || unsure && s.StoppedAt.Equal(now) && s.StoppedBy == actor
	return s, isOurs && err == nil, sale.AsInternal(err)
}

var noSending = sale.Refuse(sale.OrderNotFound, "no such sending")

// Sendings returns the sendings of the last sale.SendingsFor, the newest first. It fails with sale.Busy; or with
// sale.Internal, and then returns those that can be read.
func (l *Ledger) Sendings(ctx context.Context) (all []sale.Sending, err error) {
	in := table.Partition(table.SendingKey("")[table.PK])
	in.ExclusiveStartKey = table.SendingKey(sale.SendingID(l.now().Add(-sale.SendingsFor), ""))
	items, err := l.table.QueryAll(ctx, table.PatientTries, in)
	if err != nil {
		return nil, err
	}
	var unreadable []error
	for _, it := range slices.Backward(items) {
		s, err := table.ReadSending(it)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		all = append(all, s)
	}
	return all, sale.AsInternal(errors.Join(unreadable...))
}

// Sending returns one sending as it is. It fails with sale.OrderNotFound, sale.Busy or sale.Internal.
func (l *Ledger) Sending(ctx context.Context, id string) (sale.Sending, error) {
	it, err := l.table.GetWithin(ctx, table.PatientTries, table.SendingKey(id))
	switch {
	case err != nil:
		return sale.Sending{}, err
	case it == nil:
		return sale.Sending{}, noSending
	}
	s, err := table.ReadSending(it)
	return s, sale.AsInternal(err)
}

// SaveSending writes the progress of a sending, and EndedAt, if it is as it was read and was not stopped. It fails with
// sale.Busy, and then may have written it, or sale.Internal.
func (l *Ledger) SaveSending(ctx context.Context, was, now sale.Sending) (bool, error) {
	u := table.UpdateSending(now.ID, was.SendingProgress, now.SendingProgress, now.EndedAt)
	_, unsure, err := l.table.UpdateWithin(ctx, table.PatientTries, u)
	refused, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	if isRefused {
		isOurs := unsure && table.HasProgress(refused.Item, now.SendingProgress)
		return isOurs, nil
	}
	return err == nil, sale.AsInternal(err)
}

// SendingPage is a part of a sending's scope. Its refunds are in the order of sales and payments.
type SendingPage struct {
	Refunds    []sale.Refund
	Unreadable int
	// SaleID and After are the cursor that follows. IsLast: there is nothing after it.
	SaleID, After string
	IsLast        bool
}

// SendingPage returns at most most refunds of a sending's scope, those after its cursor. What their accounts know is
// applied first. Sales of which no refund is noted are left out. It fails with sale.Busy or sale.Internal.
func (l *Ledger) SendingPage(ctx context.Context, s *sale.Sending, most int32) (page SendingPage, err error) {
	defer func() {
		if err == nil {
			err = l.applyAccounts(ctx, &page)
		}
	}()
	if len(s.Scope.Payments) > 0 {
		page.IsLast = true
		page.Refunds, page.Unreadable, err = l.refundsAt(ctx, s.Scope.Payments)
		return page, err
	}
	ids, err := l.sendingSales(ctx, s)
	if err != nil {
		return page, err
	}
	at, found := slices.BinarySearch(ids, s.SaleID)
	if at == len(ids) {
		page.SaleID, page.After, page.IsLast = s.SaleID, s.After, true
		return page, nil
	}
	after := ""
	if found {
		after = s.After
	}
	read, err := l.refundPage(ctx, ids[at], after, most)
	page.Refunds, page.Unreadable = read.refunds, len(read.unreadable)
	switch {
	case read.last != "":
		page.SaleID, page.After = ids[at], read.last
	case at+1 < len(ids):
		page.SaleID = ids[at+1]
	default:
		page.SaleID, page.IsLast = ids[at], true
	}
	return page, err
}

// applyAccounts applies to the refunds of a page that may be sent what their accounts know and they do not: a dispute
// that was reported before its payment, whose own report died before it applied that.
func (l *Ledger) applyAccounts(ctx context.Context, page *SendingPage) error {
	maySend := func(r *sale.Refund) bool { return r.RefundedAt.IsZero() && r.Sent.State != sale.SentAccepted }
	var keys []table.Item
	for i := range page.Refunds {
		if maySend(&page.Refunds[i]) {
			keys = append(keys, table.AccountKey(page.Refunds[i].Payment))
		}
	}
	stored, err := l.table.GetAll(ctx, keys)
	if err != nil {
		return err
	}
	read := page.Refunds
	page.Refunds = nil
	for _, r := range read {
		if maySend(&r) {
			a, err := table.ReadAccount(r.Payment, stored[table.IdentityOf(table.AccountKey(r.Payment))])
			if err != nil {
				page.Unreadable++
				continue
			}
			if a.V > r.MoneyVersion {
				g := table.Guard{SaleID: r.SaleID, OrderID: r.OrderID, Amount: r.Amount, Currency: r.Currency}
				if err := l.setKnown(ctx, a, g); err != nil {
					return err
				}
				applied, err := l.applyToRefund(ctx, a, g, refundedOf(r))
				if err != nil {
					return err
				}
				r = *applied.refund
			}
		}
		page.Refunds = append(page.Refunds, r)
	}
	return nil
}

// refundsAt reads the refunds of those payments, in that order; what is not there is left out.
func (l *Ledger) refundsAt(ctx context.Context, payments []sale.SalePayment) (all []sale.Refund, bad int, err error) {
	keys := make([]table.Item, len(payments))
	for i, p := range payments {
		keys[i] = table.RefundKey(p.SaleID, p.Payment)
	}
	stored, err := l.table.GetAll(ctx, keys)
	if err != nil {
		return nil, 0, err
	}
	for _, key := range keys {
		it := stored[table.IdentityOf(key)]
		if it == nil {
			continue
		}
		delete(stored, table.IdentityOf(key)) // it may be named twice
		if r, err := table.ReadRefund(it); err != nil {
			bad++
		} else {
			all = append(all, r)
		}
	}
	return all, bad, nil
}

const (
	// maxSendings is of how many sendings an environment remembers which sales they are about.
	maxSendings = 16
	// sendingSalesAge is for how long, as far as that may change. What was due when it was pressed is never missed: each
	// sending's are read after that.
	sendingSalesAge = time.Minute
)

// sendingSales returns the ids of a sending's sales in their order, "" for the payments of unknown orders.
func (l *Ledger) sendingSales(ctx context.Context, s *sale.Sending) (ids []string, err error) {
	switch {
	case s.Scope.SaleID != "":
		return []string{s.Scope.SaleID}, nil
	case s.Scope.Group != "":
		return s.Scope.Sales, nil
	}
	now := l.now()
	if ids, found := l.sending.Get(s.ID, now); found {
		return ids, nil
	}
	listings, err := l.table.QueryAll(ctx, table.PatientTries, table.Partition(table.ListingKey("")[table.PK]))
	if err != nil {
		return nil, err
	}
	ids = []string{""}
	for _, listing := range listings {
		if table.Has(listing, "refundAt") {
			ids = append(ids, table.IdentityOf(listing).SK)
		}
	}
	slices.Sort(ids)
	l.sending.Put(s.ID, ids, now, now.Add(sendingSalesAge))
	return ids, nil
}
