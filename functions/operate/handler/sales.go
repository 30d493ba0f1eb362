package handler

import (
	"context"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

type salesPage struct {
	AsOf    string     `json:"asOf"`
	Version string     `json:"version"` // of this release
	Actor   string     `json:"actor"`
	Role    string     `json:"role"`
	Sales   []standing `json:"sales"`
}

// standing is how a sale stands. Of one that cannot be read only the id and the error are
// known.
type standing struct {
	SaleID string    `json:"saleId"`
	Error  sale.Code `json:"error,omitempty"`
	*terms
}

type terms struct {
	Name       string `json:"name"`
	State      string `json:"state"`
	Paused     bool   `json:"paused"`
	OpensAt    string `json:"opensAt"`
	ClosesAt   string `json:"closesAt"`
	ChangedAt  string `json:"changedAt,omitempty"`
	RecalledAt string `json:"recalledAt,omitempty"`
	RecallNote string `json:"recallNote,omitempty"`
	LimitGroup string `json:"limitGroup,omitempty"`
	Drained    bool   `json:"drained"`
	Recalling  bool   `json:"recalling"`
	Edits      int64  `json:"edits"`
	// Seen is what a change gives back, of one sale only.
	Seen      string `json:"seen,omitempty"`
	Seeded    int64  `json:"seeded"`
	Shards    int    `json:"shards"`
	PayWithin int64  `json:"payWithin,omitempty"` // seconds
	PayUntil  string `json:"payUntil,omitempty"`  // of all unpaid orders, if an operator has given more time
	Draw      *drawn `json:"draw,omitempty"`
	Books     *books `json:"books"` // null until the first pass
	// Remaining is counted for one sale only.
	Remaining *remaining `json:"remaining,omitempty"`
}

// drawn is how far the draw of a sale has come.
type drawn struct {
	EnterFrom  string `json:"enterFrom"`
	EnterUntil string `json:"enterUntil"`
	KeepHours  int64  `json:"keepHours"`
	// Call is the number of the newest call, 0 before the first, From and Until its window.
	// Open: it is for anybody.
	Call  int64  `json:"call"`
	From  string `json:"from,omitempty"`
	Until string `json:"until,omitempty"`
	Open  bool   `json:"open,omitempty"`
}

func drawnOf(s sale.Sale) *drawn {
	if !s.HasDraw() {
		return nil
	}
	d := &drawn{
		EnterFrom: httpapi.Time(s.EnterFrom), EnterUntil: httpapi.Time(s.EnterUntil), KeepHours: int64(s.KeepFor / time.Hour),
		Call: s.Call, Open: s.OpenCall,
	}
	if s.Call > 0 {
		d.From, d.Until = httpapi.Time(s.OpensAt), httpapi.Time(s.ClosesAt)
	}
	return d
}

// books are what the last complete pass of ReconcileFunction has found.
type books struct {
	AsOf                 string   `json:"asOf"`
	Stock                int64    `json:"stock"`
	Seeded               int64    `json:"seeded"`
	Claims               int64    `json:"claims"`
	Pending              int64    `json:"pending"`
	Confirmed            int64    `json:"confirmed"`
	Paid                 int64    `json:"paid"`
	Unpaid               int64    `json:"unpaid"`
	Released             int64    `json:"released"`
	RefundsDue           int64    `json:"refundsDue"`
	OldestPendingSeconds int64    `json:"oldestPendingSeconds"`
	Balanced             bool     `json:"balanced"`
	Findings             []string `json:"findings"`
}

type remaining struct {
	Units int64  `json:"units"`
	AsOf  string `json:"asOf"`
}

func booksOf(r *ledger.Receipt) *books {
	if r == nil {
		return nil
	}
	b := &books{
		AsOf: httpapi.Time(r.AsOf), Stock: r.Stock, Seeded: r.Seeded, Claims: r.Claims, Pending: r.Pending, Confirmed: r.Confirmed,
		Paid: r.Paid, Unpaid: r.Unpaid, Released: r.Released, RefundsDue: r.RefundsDue, OldestPendingSeconds: r.OldestPendingSeconds,
		Balanced: r.Balanced, Findings: []string{},
	}
	b.Findings = append(b.Findings, r.Findings...)
	return b
}

func standingOf(one ledger.Standing, now time.Time) standing {
	if one.Err != nil {
		return standing{SaleID: one.SaleID, Error: sale.CodeOf(one.Err)}
	}
	s := one.Sale
	state := string(s.Phase(now))
	if s.State != sale.Open {
		state = string(sale.Draft)
	}
	return standing{SaleID: one.SaleID, terms: &terms{
		Name: s.Name, State: state, Paused: s.Paused, OpensAt: httpapi.Time(s.Begins()), ClosesAt: httpapi.Time(s.Ends()),
		ChangedAt: since(s.ChangedAt), RecalledAt: since(s.RecalledAt), RecallNote: s.RecallNote, LimitGroup: s.LimitGroup,
		Drained: one.Drained, Recalling: one.Recalling, Edits: s.Edits, Seeded: s.Seeded, Shards: s.Shards,
		PayWithin: int64(s.PayWithin / time.Second), PayUntil: since(s.PayUntil), Draw: drawnOf(s), Books: booksOf(one.Books),
	}}
}

// since formats an instant that may be none: zero, or the epoch of a sale that was never
// edited.
func since(t time.Time) string {
	if t.IsZero() || t.UnixMilli() == 0 {
		return ""
	}
	return httpapi.Time(t)
}

// sales lists the sales. One that cannot be read does not hide the others.
func (h *Handler) sales(ctx context.Context, c *call, _ *telemetry.Event) (any, error) {
	all, err := h.book.Standings(ctx, c.drained)
	if err != nil {
		return nil, err
	}
	now := h.now()
	page := salesPage{AsOf: httpapi.Time(now), Version: sale.Release, Actor: c.actor, Role: c.role.String(), Sales: []standing{}}
	for _, one := range all {
		page.Sales = append(page.Sales, standingOf(one, now))
	}
	return page, nil
}

// sale tells how one sale stands, and counts its units.
func (h *Handler) sale(ctx context.Context, c *call, event *telemetry.Event) (any, error) {
	saleID, err := saleOf(c, event)
	if err != nil {
		return nil, err
	}
	one, units, err := h.book.Standing(ctx, saleID)
	if err != nil {
		return nil, err
	}
	now := h.now()
	shown := standingOf(one, now)
	if one.Sale.State == sale.Open {
		shown.Seen = one.Sale.Seen().Text(saleID)
		shown.Remaining = &remaining{Units: units, AsOf: httpapi.Time(now)}
	}
	return shown, nil
}
