package handler

import (
	"context"
	"net/http"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
)

// entryPage is an entry as its owner gets it: with the nonce its owner can show that the leaf on the
// roll is theirs.
type entryPage struct {
	Nonce     string `json:"nonce"`
	Leaf      string `json:"leaf"`
	EnteredAt string `json:"enteredAt"`
}

// enter enters the caller into a sale's draw, or shows whether they have entered.
func (h *Handler) enter(ctx context.Context, route string, r ledger.Request) (httpapi.Response, error) {
	var entry ledger.Entry
	var err error
	if route == enterRoute {
		entry, err = h.ledger.Enter(ctx, r.SaleID, r.User, h.Times.Settle, r.CheckUser)
	} else {
		entry, err = h.ledger.Entry(ctx, r.SaleID, r.User, h.Times.Settle)
	}
	if err != nil {
		return httpapi.Response{}, err
	}
	return httpapi.JSON(http.StatusOK, entryPage{
		Nonce: entry.Nonce.String(), Leaf: entry.Leaf.String(), EnteredAt: httpapi.Time(entry.At),
	}), nil
}
