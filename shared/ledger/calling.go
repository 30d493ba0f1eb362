package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/draw"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// drawActor is the actor of the calls in a sale's trail.
const drawActor = "draw"

// BeginCall begins the call after d.Last, if one is due by the sale as it is now, and reports
// whether it did: the window of the sale becomes that of the call, which begins a quarter of the
// gap later. ranks are those of the whole roll, in any order. If all of them have been called,
// the call is for anybody until the end of the sale.
//
// Nobody can buy in it before FinishCall. A call before it that is not complete calls nobody: the
// same transaction says so, and nobody can complete it later. BeginCall fails with sale.Busy,
// also if that call was completed meanwhile, or with sale.Internal.
func (l *Ledger) BeginCall(ctx context.Context, d DrawState, ranks []draw.Rank, gap time.Duration) (bool, error) {
	if !d.Head.HasSeed() {
		return false, sale.AsInternal(errors.New("the draw has no seed"))
	}
	next := draw.Call{Number: d.Last.Number + 1, Lo: d.Last.Hi}
	if !d.Last.Complete {
		next.Lo = d.Last.Lo
	}
	next.Open = !slices.ContainsFunc(ranks, func(r draw.Rank) bool { return r.Compare(next.Lo) > 0 })
	done, err := l.edit(ctx, edit{
		saleID: d.Sale.ID, set: setCall,
		asks: sale.Change{
			Action: sale.ActionCall, Author: sale.Author{Actor: drawActor, Note: fmt.Sprintf("call %d", next.Number)},
		},
		next: func(before sale.Sale) (sale.Sale, error) {
			now := l.now()
			from := time.UnixMilli(now.Add(gap / 4).UnixMilli()).UTC()
			due := DrawState{Sale: before, Last: d.Last}
			// The window tells the calls apart, so each must begin later than the one before.
			if before.Call != d.Last.Number || before.Paused || before.IsRecalled() || now.Before(due.NextCallAt(gap)) ||
				!from.Before(before.EndsAt) || !from.After(before.OpensAt) {
				return before, nil
			}
			after := before
			after.ChangedAt = time.UnixMilli(max(now.UnixMilli(), before.ChangedAt.UnixMilli()+1)).UTC()
			after.Call, after.OpenCall, after.OpensAt, after.ClosesAt = next.Number, next.Open, from, before.CallUntil(from)
			if next.Open {
				after.ClosesAt = before.EndsAt
			}
			return after, nil
		},
		others: func(after sale.Sale) []types.TransactWriteItem {
			it := table.With(table.CallKey(after.ID, next.Number), table.Item{
				"from": table.Millis(after.OpensAt), "until": table.Millis(after.ClosesAt), "at": table.Millis(after.ChangedAt),
				"lo": table.S(next.Lo.String()),
			})
			if next.Open {
				it["open"] = table.Yes
			}
			// The record may be there without the sale being in the call: half of what began it, in a
			// table that was restored. Nobody was called in it, so it is begun anew.
			record := l.table.Put(it)
			record.Put.ConditionExpression = aws.String(ifIncomplete)
			record.Put.ExpressionAttributeNames = table.NamesIn(ifIncomplete)
			actions := []types.TransactWriteItem{record}
			if d.Last.Number > 0 && !d.Last.Complete {
				actions = append(actions, l.table.Action(table.Update{
					Key: table.CallKey(after.ID, d.Last.Number), Expr: closeCall, If: ifIncomplete,
					Values: table.Item{":lo": table.S(d.Last.Lo.String())},
				}))
			}
			return actions
		},
		refused: func(others []types.CancellationReason) error {
			if table.Failed(others[len(others)-1]) && !table.Failed(others[0]) {
				return sale.Fail(sale.Busy, fmt.Errorf("call %d was completed meanwhile", d.Last.Number))
			}
			return nil
		},
	})
	return done.Applied, err
}

const ifIncomplete = "attribute_not_exists(#hi)"

// setCall makes the window of a sale that of its new call.
func setCall(s sale.Sale) (string, table.Item) {
	update := "SET #opensAt = :opensAt, #closesAt = :closesAt, #changedAt = :at, #call = :call"
	values := table.Item{
		":opensAt": table.Millis(s.OpensAt), ":closesAt": table.Millis(s.ClosesAt), ":at": table.Millis(s.ChangedAt),
		":call": table.N(s.Call),
	}
	if s.OpenCall {
		update += ", #openCall = :yes"
		values[":yes"] = table.Yes
	}
	return update, values
}

// FinishCall completes the newest call of a sale and returns it; zero if there is none, or if the
// sale was recalled. Every shard gets the call's window first. From then on no unit leaves a
// shard by an earlier call, however late it is applied, and none by this one before it is
// complete, so that as many people are called as there are units (P30). A call that was cut off
// begins with the shards again.
//
// Once the call has lasted for as long as the gap it is too late to call people into it, who
// would have less time than others. Then it calls nobody, and BeginCall begins another one if units
// are left; the shards get its window all the same, because there may be no other call. A call for
// anybody is completed at any time. ranks may be nil if the call is not to be by rank.
//
// FinishCall fails with sale.Busy, also if the call is by rank after all because another run has
// begun it, or with sale.Internal.
func (l *Ledger) FinishCall(
	ctx context.Context, saleID string, ranks []draw.Rank, gap time.Duration,
) (draw.Call, error) {
	s, err := l.table.OpenSale(ctx, saleID)
	if err != nil || s.IsRecalled() {
		return draw.Call{}, err
	}
	call, err := l.readCallOf(ctx, table.PatientTries, s)
	if err != nil || call.Number == 0 || call.Complete {
		return call, err
	}
	if call.IsByRank(l.now(), gap) && len(ranks) == 0 { // it is not for anybody, so somebody has a rank
		return call, sale.Fail(sale.Busy, fmt.Errorf("call %d is another run's", call.Number))
	}
	if err := l.EditShards(ctx, s, nil); err != nil {
		return call, err
	}
	shards, err := l.table.Shards(ctx, s)
	if err != nil {
		return call, err
	}
	for _, one := range shards {
		call.Stock += one.Stock
	}
	if call.Hi = call.Lo; !call.Open {
		call.Hi, _ = draw.NthAbove(ranks, call.Lo, call.Stock)
	}
	update, values := completeCall, table.Item{":hi": table.S(call.Hi.String()), ":stock": table.N(call.Stock)}
	if !call.Open && !call.IsByRank(l.now(), gap) {
		call.Hi, call.Stock = call.Lo, 0
		update, values = closeCall, table.Item{":lo": table.S(call.Lo.String())}
	}
	err = l.table.TryUpdate(ctx, table.Update{
		Key: table.CallKey(saleID, call.Number), Expr: update, If: ifIncomplete, Values: values,
	})
	if table.Judge(err) == table.Conditioned { // by another run, or an earlier try
		return l.readCallOf(ctx, table.PatientTries, s)
	}
	call.Complete = err == nil
	return call, sale.AsInternal(err)
}

const (
	completeCall = "SET #hi = :hi, #stock = :stock"
	closeCall    = "SET #hi = :lo" // it calls nobody
)

// ifUncalled is the condition of each step of a withdrawal from a sale with a draw: a look at
// the sale beforehand would not keep a step away from a call that begins meanwhile.
const ifUncalled = "attribute_not_exists(#call)"

var errCalled = sale.Refuse(sale.Conflicting, "people have been called: the units are kept for them")
