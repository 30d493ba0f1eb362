package handler

import (
	"context"
	"errors"
	"fmt"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// reportRefunds writes a line with the number of refunds that are due in drained sales,
// which get no receipt, and of payments of unknown orders, if there are any: each metric
// costs money.
func (h *Handler) reportRefunds(ctx context.Context, event *telemetry.Event, drained []ledger.Listing) error {
	due, errs := 0, []error(nil)
	for _, saleID := range append([]string{""}, ids(drained)...) {
		refunds, err := h.book.Refunds(ctx, saleID)
		if err != nil {
			errs = append(errs, fmt.Errorf("refunds of sale %q: %w", saleID, err))
		}
		for _, r := range refunds {
			if r.RefundedAt.IsZero() {
				due++
			}
		}
	}
	err := errors.Join(errs...)
	if due == 0 && err == nil {
		return nil
	}
	event.Metric("refundsDue", telemetry.Count, due)
	event.End("refunds", sale.CodeOf(err), err)
	return err
}

func ids(listings []ledger.Listing) (all []string) {
	for _, l := range listings {
		all = append(all, l.SaleID)
	}
	return all
}
