package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Edit pauses, resumes or reschedules a sale, or gives its unpaid orders more time: the sale item first, then every
// shard. It returns after the last shard, so once a pause has returned, no unit leaves any shard
// (P14), and once an extension has, no order expires before its time (P38). e must have passed Check.
//
// An edit without an instant always applies. Its instant is now, or a millisecond after
// the newest edit if that is later: a clock that is ahead, or an edit with a later
// instant, cannot block it. Repeating it without a ChangeID applies it again.
//
// An edit whose ChangeID is in the sale's trail has been made and is not made again; with the
// id of another change it fails with sale.Conflicting.
//
// An edit with ReadVersion is refused with sale.ChangedMeanwhile if another one was made since, and so is
// a resumption without it while a person has paused it since it was last resumed.
//
// An edit with an instant applies if it is newer than the newest one. If it is older,
// the newest edit stays in effect, and its shards are written again in case it was
// interrupted.
//
// It succeeds only if the sale is then as the edit asks; otherwise it fails with
// sale.Conflicting, whose detail names the edit in effect. It also fails with
// sale.SaleNotFound (for a draft, too), sale.Busy or sale.Internal; and with sale.Recalled
// if the sale was recalled and the edit is more than a pause.
func (l *Ledger) Edit(ctx context.Context, e sale.Edit) (Edited, error) {
	done, err := l.editSale(ctx, e)
	if err != nil {
		return Edited{}, err
	}
	if err := l.EditShards(ctx, done.Sale, nil); err != nil {
		return Edited{}, err
	}
	if done.Sale, err = l.table.OpenSale(ctx, e.SaleID); err != nil {
		return Edited{}, err
	}
	if !e.Agrees(done.Sale) {
		return Edited{}, overruled(done.Sale, e)
	}
	return done, nil
}

// overruled returns the error for an edit that a newer one contradicts.
func overruled(s sale.Sale, e sale.Edit) error {
	if s.IsRecalled() {
		return sale.RefuseRecalled()
	}
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
	switch at := stamp(s.ChangedAt); {
	case e.Extends():
		return sale.Refusef(sale.Conflicting, "an edit of %s stands: no more time was given", at)
	case e.Reschedules():
		return sale.Refusef(sale.Conflicting,
			"an edit of %s stands: the sale is open from %s to %s", at, stamp(s.Begins()), stamp(s.Ends()))
	case s.Paused:
		return sale.Refusef(sale.Conflicting, "an edit of %s stands: the sale is paused", at)
	default:
		return sale.Refusef(sale.Conflicting, "an edit of %s stands: the sale is not paused", at)
	}
}

// editSale writes the edit into the sale item unless that has a newer one. It returns
// the sale that the shards must follow.
func (l *Ledger) editSale(ctx context.Context, e sale.Edit) (Edited, error) {
	one := edit{saleID: e.SaleID, asks: e.Change(), seen: e.ReadVersion, set: setSaleOf}
	one.next = func(before sale.Sale) (sale.Sale, error) {
		if before.IsRecalled() && !e.MayFollowRecall() {
			return before, sale.RefuseRecalled()
		}
		if err := e.CheckExtension(before, l.now()); err != nil {
			return before, err
		}
		at := e.At.UnixMilli()
		switch newest := before.ChangedAt.UnixMilli(); {
		case before.HasDraw():
			return l.editDraw(e, before)
		case e.At.IsZero():
			at = max(l.now().UnixMilli(), newest+1)
		case at <= newest:
			return before, nil
		}
		return e.Apply(before, time.UnixMilli(at)), e.CheckDraw(before)
	}
	if e.Extends() {
		one.set = func(after sale.Sale) (string, table.Item) {
			update, values := setSaleOf(after)
			values[":payUntil"], values[":reader"] = table.Millis(after.PayUntil), table.N(int64(after.MinReader))
			return update + ", #payUntil = :payUntil, #minReader = :reader", values
		}
	}
	if e.Reschedules() {
		one.refused = refusedBySeal
		one.others = func(after sale.Sale) []types.TransactWriteItem {
			actions := []types.TransactWriteItem{l.table.Action(table.Update{
				Key: table.ListingKey(after.ID), Expr: "SET #closesAt = :closesAt REMOVE #drained", If: ifNotSealed,
				ReturnOld: true, Values: table.Item{":closesAt": table.Millis(after.Ends())},
			})}
			if after.Call > 0 {
				actions = append(actions, l.moveCall(after))
			}
			return actions
		}
	}
	return l.edit(ctx, one)
}

// editDraw returns the sale with a draw after the edit. Its instant is compared with that of the
// last operator's or schedule's edit, as if there were no calls; it is applied after the newest
// of all, which the shards go by.
func (l *Ledger) editDraw(e sale.Edit, before sale.Sale) (sale.Sale, error) {
	operated := e.At.UnixMilli()
	switch newest := before.OperatedAt.UnixMilli(); {
	case e.At.IsZero():
		operated = max(newest+1, l.now().UnixMilli())
	case operated <= newest:
		return before, nil
	}
	if err := e.CheckDraw(before); err != nil {
		return before, err
	}
	after := e.Apply(before, time.UnixMilli(max(operated, before.ChangedAt.UnixMilli()+1)))
	after.OperatedAt = time.UnixMilli(operated)
	return after, nil
}

// moveCall sets the end of the newest call to the sale's.
func (l *Ledger) moveCall(s sale.Sale) types.TransactWriteItem {
	return l.table.Action(table.Update{
		Key: table.CallKey(s.ID, s.Call), Expr: "SET #until = :until", Values: table.Item{":until": table.Millis(s.ClosesAt)},
	})
}

// setSaleOf sets what an edit changes of a sale: the window and the pause flag, with a draw also
// its beginning, its end and the instant of the edit.
func setSaleOf(s sale.Sale) (string, table.Item) {
	update, values := setWindowOf(s)
	if s.HasDraw() {
		update += ", #beginsAt = :beginsAt, #endsAt = :endsAt, #operatedAt = :operatedAt"
		values[":beginsAt"], values[":endsAt"] = table.Millis(s.BeginsAt), table.Millis(s.EndsAt)
		values[":operatedAt"] = table.Millis(s.OperatedAt)
	}
	return update, values
}

// setWindowOf sets the window and the pause flag of a sale or of one of its shards.
func setWindowOf(s sale.Sale) (string, table.Item) {
	return "SET #opensAt = :opensAt, #closesAt = :closesAt, #paused = :paused, #changedAt = :at", table.Item{
		":opensAt": table.Millis(s.OpensAt), ":closesAt": table.Millis(s.ClosesAt),
		":paused": table.Bool(s.Paused), ":at": table.Millis(s.ChangedAt),
	}
}

// EditShards edits every shard, or those that are late, if that is not nil.
func (l *Ledger) EditShards(ctx context.Context, s sale.Sale, late func(k int) bool) error {
	return sale.AsInternal(table.EachOf("shard", s.Shards, func(k int) error {
		if late != nil && !late(k) {
			return nil
		}
		return l.editShard(ctx, s, k)
	}))
}

// editShard sets one shard's window and pause flag to the sale's, unless the shard has
// a newer edit. It writes all of them, not only what the edit changes: otherwise an
// edit that is interrupted half-way and overtaken by another would remain in some
// shards and not in others.
func (l *Ledger) editShard(ctx context.Context, s sale.Sale, k int) error {
	update, values := setWindowOf(s)
	err := l.table.TryUpdate(ctx, table.Update{
		Key: table.StockKey(s.ID, k), Expr: update, If: "#changedAt < :at", Values: values, ReturnOld: true,
	})
	failed, isRefused := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !isRefused {
		return sale.AsInternal(err)
	}
	if failed.Item == nil {
		return sale.AsInternal(errors.New("the shard does not exist"))
	}
	return nil
}
