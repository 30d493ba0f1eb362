package handler

import (
	"context"

	"flashsale/functions/operate/wire"
	"flashsale/shared/httpapi"
	"flashsale/shared/telemetry"
)

// mostChanges is how many changes of a sale are shown.
const mostChanges = 200

// trail shows who changed a sale, the newest change first.
func (h *Handler) trail(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	saleID, err := saleOf(req, event)
	if err != nil {
		return nil, err
	}
	s, err := h.ledger.Latest(ctx, saleID)
	if err != nil {
		return nil, err
	}
	changes, more, err := h.ledger.Trail(ctx, saleID, mostChanges)
	if err != nil {
		return nil, err
	}
	page := wire.Trail{SaleID: saleID, Edits: s.Edits, Changes: []httpapi.Change{}, More: more}
	for _, one := range changes {
		page.Edits = max(page.Edits, one.Number) // of a change since the sale was read
		page.Changes = append(page.Changes, httpapi.ChangeOf(one))
	}
	return page, nil
}
