package handler

import (
	"context"
	"fmt"
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
func (h *Handler) entry(ctx context.Context, r *httpapi.Request) (response httpapi.Response) {
	ctx, cancel, event := h.log.Begin(ctx)
	defer cancel()
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil {
			response = httpapi.Problem(err, "")
		}
		code := sale.CodeOf(err)
		event.CountBy("entries", "result", entryResult(r.RouteKey, code))
		event.End("entry", code, err)
	}()

	event.Text("route", r.RouteKey)
	if err = h.Origin.Check(r); err != nil {
		return response
	}
	user, saleID, err := httpapi.UserAndSale(r)
	if err != nil {
		return response
	}
	event.Text("saleId", saleID)
	event.Text("user", user)
	if r.RouteKey == enterRoute {
		if err = httpapi.EmptyBody(r); err != nil {
			return response
		}
	}
	if err = h.limit.Allow(user, h.now()); err != nil {
		return response
	}
	var entry ledger.Entry
	if r.RouteKey == enterRoute {
		entry, err = h.book.Enter(ctx, saleID, user, h.Times.Settle, h.checkUser(event, saleID, user))
	} else {
		entry, err = h.book.Entry(ctx, saleID, user, h.Times.Settle)
	}
	if err != nil {
		return response
	}
	return httpapi.JSON(http.StatusOK, entryPage{Nonce: entry.Nonce.String(), Leaf: entry.Leaf.String(), EnteredAt: httpapi.Time(entry.At)})
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
