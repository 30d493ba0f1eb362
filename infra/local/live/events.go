package live

import (
	"encoding/json"
	"time"
)

// eventView is what was published on the event bus, of all sales.
type eventView struct {
	Counts map[string]int `json:"counts"` // by type
	Latest []eventLine    `json:"latest"`
}

type eventLine struct {
	Type    string    `json:"type"`
	SaleID  string    `json:"saleId"`
	OrderID string    `json:"orderId,omitempty"`
	User    string    `json:"user,omitempty"`
	At      time.Time `json:"at"` // when it happened
}

func (v *View) events() *eventView {
	if v.o.Events == nil {
		return nil
	}
	latest, counts := v.o.Events.Latest()
	view := &eventView{Counts: counts, Latest: []eventLine{}}
	for _, e := range latest[:min(len(latest), maxEvents)] {
		line := eventLine{Type: e.DetailType, At: e.Time}
		// What cannot be read stays empty: the bus takes any event.
		_ = json.Unmarshal(e.Detail, &struct {
			SaleID, OrderID, User *string
		}{&line.SaleID, &line.OrderID, &line.User})
		view.Latest = append(view.Latest, line)
	}
	return view
}
