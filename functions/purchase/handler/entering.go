package handler

import (
	"context"
	"net/http"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// entryPage is the receipt of an entry: with the nonce its owner can show that the leaf on the
// roll is theirs.
type entryPage struct {
	Nonce     string `json:"nonce"`
	Leaf      string `json:"leaf"`
	EnteredAt string `json:"enteredAt"`
}

// entry enters the caller into a sale's draw, or shows whether they have entered.
func (h *Handler) entry(ctx context.Context, r *httpapi.Request) httpapi.Response {
	var entry ledger.Entry
	err := h.log.Run(ctx, "entry", func(ctx context.Context, event *telemetry.Event) (err error) {
		event.Text("route", r.RouteKey)
		entry, err = h.enterOrShow(ctx, r, event)
		return err
	}, func(event *telemetry.Event, code sale.Code) {
		event.CountBy("entries", "result", entryResult(r.RouteKey, code))
	})
	if err != nil {
		return httpapi.Problem(err, "")
	}
	return httpapi.JSON(http.StatusOK, entryPage{
		Nonce: entry.Nonce.String(), Leaf: entry.Leaf.String(), EnteredAt: httpapi.Time(entry.At),
	})
}

func (h *Handler) enterOrShow(ctx context.Context, r *httpapi.Request, event *telemetry.Event) (ledger.Entry, error) {
	if err := h.Origin.Check(r); err != nil {
		return ledger.Entry{}, err
	}
	user, saleID, err := httpapi.UserAndSale(r)
	if err != nil {
		return ledger.Entry{}, err
	}
	event.Text("saleId", saleID)
	event.Text("user", user)
	if r.RouteKey == enterRoute {
		if err := httpapi.EmptyBody(r); err != nil {
			return ledger.Entry{}, err
		}
	}
	if err := h.limit.Allow(user, h.now()); err != nil {
		return ledger.Entry{}, err
	}
	if r.RouteKey == enterRoute {
		return h.book.Enter(ctx, saleID, user, h.Times.Settle, h.checkUser(event, saleID, user))
	}
	return h.book.Entry(ctx, saleID, user, h.Times.Settle)
}

func entryResult(route string, code sale.Code) string {
	switch {
	case code != "":
		return telemetry.Result(code)
	case route == enterRoute:
		return "entered"
	}
	return "shown"
}
