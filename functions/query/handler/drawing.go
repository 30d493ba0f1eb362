package handler

import (
	"context"
	"encoding/hex"
	"net/http"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// drawPage is what everybody may know of a draw. With the roll and the beacon's signature of
// the round whoever likes computes the seed, the ranks and each call's end.
type drawPage struct {
	EnterFrom  string `json:"enterFrom"`
	EnterUntil string `json:"enterUntil"`
	KeepHours  int64  `json:"keepHours"`
	// From the closing of the roll on; the seed and the round's signature once that is known.
	ClosedAt  string     `json:"closedAt,omitempty"`
	Entrants  *int64     `json:"entrants,omitempty"`
	Roll      string     `json:"roll,omitempty"`
	Round     uint64     `json:"round,omitempty"`
	Seed      string     `json:"seed,omitempty"`
	Signature string     `json:"signature,omitempty"`
	Calls     []callPage `json:"calls"`
}

type callPage struct {
	Call  int64  `json:"call"`
	From  string `json:"from"`
	Until string `json:"until"`
	Lo    string `json:"lo"`
	// Hi is absent until the call is complete, and Stock, the units that were left then, also
	// if it called nobody.
	Hi    string `json:"hi,omitempty"`
	Stock int64  `json:"stock,omitempty"`
	Open  bool   `json:"open,omitempty"`
}

// draw returns what is public of the draw of a sale; nil if it has none.
func (h *Handler) draw(ctx context.Context, s sale.Sale) (*drawPage, error) {
	if !s.HasDraw() {
		return nil, nil
	}
	d, err := h.ledger.Draw(ctx, s)
	if err != nil {
		return nil, err
	}
	page := &drawPage{
		EnterFrom: httpapi.Time(s.EnterFrom), EnterUntil: httpapi.Time(s.EnterUntil), KeepHours: int64(s.KeepFor / time.Hour),
		Calls: []callPage{},
	}
	if d.IsClosed() {
		page.ClosedAt, page.Entrants, page.Roll, page.Round = httpapi.Time(d.ClosedAt), &d.Entrants, d.Roll.String(), d.Round
	}
	if d.HasSeed() {
		page.Seed, page.Signature = d.Seed.String(), hex.EncodeToString(d.Signature)
	}
	for _, c := range d.Calls {
		one := callPage{
			Call: c.Number, From: httpapi.Time(c.From), Until: httpapi.Time(c.Until), Lo: c.Lo.String(), Open: c.Open,
		}
		if c.Complete {
			one.Hi, one.Stock = c.Hi.String(), c.Stock
		}
		page.Calls = append(page.Calls, one)
	}
	return page, nil
}

type rollPage struct {
	Leaves []string `json:"leaves"`
}

// roll answers with a page of a roll, which never changes.
func (h *Handler) roll(ctx context.Context, r *httpapi.Request, event *telemetry.Event) (httpapi.Response, error) {
	saleID, err := httpapi.SaleID(r)
	if err != nil {
		return httpapi.Response{}, err
	}
	event.Text("saleId", saleID)
	number, err := httpapi.RollPage(r)
	if err != nil {
		return httpapi.Response{}, err
	}
	s, err := h.ledger.Existing(ctx, saleID)
	if err != nil {
		return httpapi.Response{}, err
	}
	leaves, err := h.ledger.RollPage(ctx, s, number)
	if err != nil {
		return httpapi.Response{}, err
	}
	page := rollPage{Leaves: make([]string, 0, len(leaves))}
	for _, l := range leaves {
		page.Leaves = append(page.Leaves, l.String())
	}
	response := httpapi.JSON(http.StatusOK, page)
	response.Headers.CacheControl = "public, max-age=31536000, immutable"
	return response, nil
}
