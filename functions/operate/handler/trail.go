package handler

import (
	"context"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// mostChanges is how many changes of a sale are shown.
const mostChanges = 200

type trailPage struct {
	SaleID  string  `json:"saleId"`
	Edits   int64   `json:"edits"`
	Changes []entry `json:"changes"`
	More    bool    `json:"more"`
}

// entry is a change in the trail. What its action does not set is missing.
type entry struct {
	Number   int64       `json:"n,omitempty"`
	ID       string      `json:"id"`
	Action   sale.Action `json:"action"`
	At       string      `json:"at"`
	Actor    string      `json:"actor"`
	Verified bool        `json:"verified"`
	Note     string      `json:"note,omitempty"`
	Paused   *bool       `json:"paused,omitempty"`
	OpensAt  string      `json:"opensAt,omitempty"`
	ClosesAt string      `json:"closesAt,omitempty"`
	Units    int64       `json:"units,omitempty"`
	Name     *string     `json:"name,omitempty"`
	Image    *string     `json:"image,omitempty"`
	About    *string     `json:"about,omitempty"`
	Link     *string     `json:"link,omitempty"`
}

func entryOf(c sale.Change) entry {
	shown := entry{
		Number: c.Number, ID: c.ID, Action: c.Action, At: httpapi.Time(c.At), Actor: c.Actor, Verified: c.Verified, Note: c.Note,
		Units: c.Units, Name: c.Name, Image: c.Image, About: c.About, Link: c.Link,
	}
	if opensAt, closesAt := c.Window(); !opensAt.IsZero() {
		shown.Paused, shown.OpensAt, shown.ClosesAt = &c.Paused, httpapi.Time(opensAt), httpapi.Time(closesAt)
	}
	return shown
}

// trail shows who changed a sale, the newest change first.
func (h *Handler) trail(ctx context.Context, c *call, event *telemetry.Event) (any, error) {
	saleID, err := saleOf(c, event)
	if err != nil {
		return nil, err
	}
	s, err := h.book.Sale(ctx, saleID)
	if err != nil {
		return nil, err
	}
	changes, more, err := h.book.Trail(ctx, saleID, mostChanges)
	if err != nil {
		return nil, err
	}
	page := trailPage{SaleID: saleID, Edits: s.Edits, Changes: []entry{}, More: more}
	for _, one := range changes {
		page.Edits = max(page.Edits, one.Number) // the sale may be of two seconds ago
		page.Changes = append(page.Changes, entryOf(one))
	}
	return page, nil
}
