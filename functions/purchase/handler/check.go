package handler

import (
	"context"
	"time"

	"flashsale/shared/invocation"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Users is the part of the eligibility check that the handler uses. err says why there
// is no answer about a user; then eligible is the operator's default.
type Users interface {
	IsEligible(ctx context.Context, saleID, user string, end time.Time) (eligible bool, err error)
}

// checkUser returns the ledger.Request.CheckUser of a user, nil if no users are checked. It is
// not called when the sale refuses anyway or the user holds a claim. It may be slow: in the incident it took
// longer than the lock that was held meanwhile. So nothing is held while it runs,
// neither a unit nor a claim.
func (h *Handler) checkUser(event *telemetry.Event, saleID, user string) func(context.Context, time.Time) error {
	if h.Users == nil {
		return nil
	}
	return func(ctx context.Context, closesAt time.Time) error {
		call := invocation.Start()
		eligible, err := h.Users.IsEligible(ctx, saleID, user, closesAt)
		event.Int("checkMs", int(call.Elapsed().Milliseconds()))
		if err != nil {
			event.Metric("unchecked", telemetry.Count, 1)
		}
		switch {
		case eligible && err != nil:
			event.Text("checkError", err.Error())
			return nil
		case eligible:
			return nil
		case err != nil:
			return sale.Fail(sale.Busy, err)
		}
		return sale.Refuse(sale.NotEligible, "the user may not buy in this sale")
	}
}
