package handler

import (
	"context"
	"errors"
	"sync"
	"time"

	"flashsale/functions/operate/stack"
	"flashsale/functions/operate/wire"
	"flashsale/shared/invocation"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// repairTime leaves API Gateway, which waits for half a minute, an answer.
const repairTime = 20 * time.Second

// repair does what a sign of health asks for.
func (h *Handler) repair(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	var r wire.Repair
	err := req.fields(maxBody, &r, "action", "saleId")
	if err != nil {
		return nil, err
	}
	event.Text("action", r.Action)
	event.Text("saleId", r.SaleID)
	ofSale := r.Action == wire.Resend || r.Action == wire.Count
	switch {
	case !ofSale && r.Action != wire.Redrive:
		return nil, sale.Refuse(sale.InvalidRequest, "action must be resend, count or redrive")
	case ofSale && !sale.ValidID(r.SaleID):
		return nil, sale.RefuseID("saleId")
	case !ofSale && r.SaleID != "":
		return nil, sale.Refuse(sale.InvalidRequest, "a redrive is of all sales")
	case h.Stack == nil:
		return nil, sale.Fail(sale.Internal, errors.New("there is no stack"))
	}
	ctx, cancel := context.WithTimeout(ctx, repairTime)
	defer cancel()
	out := wire.Repaired{Action: r.Action, SaleID: r.SaleID}
	if ofSale {
		out.Done, out.Reconciled, err = h.reconcile(ctx, r)
	} else {
		out.Done, out.Redriven, err = h.redrive(ctx)
	}
	return out, err
}

func (h *Handler) reconcile(ctx context.Context, r wire.Repair) (done bool, found *wire.Reconciled, err error) {
	request := map[string]string{"saleId": r.SaleID}
	if r.Action == wire.Resend {
		request["action"] = wire.Resend
	}
	var answer struct {
		Receipts []wire.Reconciled
		Resent   int64
	}
	err = h.Stack.Reconcile(ctx, request, &answer)
	switch {
	case ctx.Err() != nil:
		return false, nil, nil
	case err != nil:
		return false, nil, err
	case len(answer.Receipts) == 0:
		return false, nil, nil
	}
	found = &answer.Receipts[0]
	found.Resent = answer.Resent
	return true, found, nil
}

// redrive walks once over the dead letters of orders: it moves back what is pending, and deletes
// what is done. What stays is hidden from the next walk for half a minute.
func (h *Handler) redrive(ctx context.Context) (done bool, all *wire.Redriven, err error) {
	all = &wire.Redriven{}
	for ctx.Err() == nil {
		letters, err := h.Stack.DeadLetters(ctx)
		if err != nil {
			return false, all, ignoreEnd(ctx, err)
		}
		if len(letters) == 0 {
			return true, all, nil
		}
		var mu sync.Mutex
		var work invocation.Group
		var failures []error
		for _, d := range letters {
			work.Go(func() {
				count, err := h.settle(ctx, d, all)
				mu.Lock()
				defer mu.Unlock()
				if failures = append(failures, err); err == nil {
					*count++
				}
			})
		}
		work.Wait()
		if err := errors.Join(failures...); err != nil {
			return false, all, ignoreEnd(ctx, err)
		}
	}
	return false, all, nil
}

// ignoreEnd drops the error of a walk whose time is up: what it did counts.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return sale.Fail(sale.Busy, err)
}

// settle does with a dead letter what its order needs, and returns where to count it.
func (h *Handler) settle(ctx context.Context, d stack.DeadLetter, all *wire.Redriven) (count *int64, err error) {
	switch fate, _ := orderq.FateOf(ctx, h.ledger.Claim, d.Body); fate {
	case orderq.FatePending:
		return &all.Moved, h.Stack.SendBack(ctx, d)
	case orderq.FateDone:
		return &all.Deleted, h.Stack.Delete(ctx, d)
	case orderq.FatePoison:
		return &all.Poison, nil
	default:
		return &all.Unknown, nil
	}
}
