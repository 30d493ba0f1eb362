package handler

import (
	"context"
	"time"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Users is what the handler needs of the operator's check on users. err says why
// there is no answer about this one; then admitted is the operator's choice.
type Users interface {
	Admit(ctx context.Context, saleID, user string, end time.Time) (admitted bool, err error)
}

// Checking makes the handler ask about users before it sells to them.
func (h *Handler) Checking(u Users) *Handler {
	h.users = u
	return h
}

// check asks about the user, if anybody is to be asked and only the answer stands
// between the request and its transaction: not for a sale that would refuse it anyway
// and not for the holder of a claim. It may take long: in the incident, longer than
// the lock that was held meanwhile. So nothing is held here, neither a unit nor a
// claim, and nothing found here is relied on later: the transaction checks it all.
//
// answered reports that p and err are the end of the request.
func (h *Handler) check(ctx context.Context, event *telemetry.Event, r ledger.Request) (p ledger.Purchase, answered bool, err error) {
	if h.users == nil {
		return p, false, nil
	}
	o, err := h.book.Outlook(ctx, r)
	if err != nil || o.Claim.ID != "" {
		return o.Purchase, true, err
	}
	call := invocation.Start()
	admitted, err := h.users.Admit(ctx, r.SaleID, r.User, o.ClosesAt)
	event.Int("checkMs", int(call.Elapsed().Milliseconds()))
	if err != nil {
		event.Metric("unchecked", telemetry.Count, 1)
	}
	switch {
	case admitted && err != nil:
		event.Text("checkError", err.Error())
		return p, false, nil
	case admitted:
		return p, false, nil
	case err != nil:
		return p, true, sale.Fail(sale.Busy, err)
	}
	return p, true, sale.Refuse(sale.NotEligible, "the user may not buy in this sale")
}
