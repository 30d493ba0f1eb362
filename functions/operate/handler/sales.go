package handler

import (
	"context"
	"maps"
	"slices"
	"time"

	"flashsale/shared/currency"
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
	LateDays  int64  `json:"lateDays,omitempty"`
	Price     int64  `json:"price,omitempty"`
	Currency  string `json:"currency,omitempty"`
	PayUntil  string `json:"payUntil,omitempty"` // of all unpaid orders, if an operator has given more time
	Draw      *drawn `json:"draw,omitempty"`
	Books     *books `json:"books"` // null until the first pass
	// Offer is told of one sale only.
	Offer *offer `json:"offer,omitempty"`
	// Remaining is counted for one sale only.
	Remaining *remaining `json:"remaining,omitempty"`
}

// offer is what a copy of the sale needs besides.
type offer struct {
	Price    int64  `json:"price,omitempty"`
	Currency string `json:"currency,omitempty"`
	Image    string `json:"image,omitempty"`
	About    string `json:"about,omitempty"`
	Link     string `json:"link,omitempty"`
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
	// Money has a currency each, Accepted is absent while there is nothing to count.
	Money    []money `json:"money"`
	Accepted *pace   `json:"accepted,omitempty"`
}

// money is sums in minor units of a currency; Digits is absent if nobody knows it.
type money struct {
	Currency    string `json:"currency"`
	Digits      *int   `json:"digits,omitempty"`
	Taken       int64  `json:"taken"`
	Outstanding int64  `json:"outstanding"`
	Due         int64  `json:"due"`
	Refunded    int64  `json:"refunded"`
}

// pace counts the claims by when they were accepted, in steps from From on.
type pace struct {
	From   string  `json:"from"`
	Every  int64   `json:"every"` // seconds
	Counts []int64 `json:"counts"`
}

// moneyOf has the sums of the pass, and what the unpaid orders have to pay by the sale's price.
func moneyOf(r *ledger.Receipt, s sale.Sale) []money {
	sums := ledger.Money{}
	if s.Price > 0 {
		sums[s.Currency] = ledger.Sums{}
	}
	maps.Copy(sums, r.Money)
	all := []money{}
	for _, code := range slices.Sorted(maps.Keys(sums)) {
		one := money{
			Currency: code, Digits: digitsOf(code), Taken: sums[code].Taken, Due: sums[code].Due, Refunded: sums[code].Refunded,
		}
		if code == s.Currency {
			one.Outstanding = r.Unpaid * s.Price
		}
		all = append(all, one)
	}
	return all
}

func digitsOf(code string) *int {
	if n, known := currency.Digits(code); known {
		return &n
	}
	return nil
}

type remaining struct {
	Units int64  `json:"units"`
	AsOf  string `json:"asOf"`
}

func booksOf(r *ledger.Receipt, s sale.Sale) *books {
	if r == nil {
		return nil
	}
	b := &books{
		AsOf: httpapi.Time(r.AsOf), Stock: r.Stock, Seeded: r.Seeded, Claims: r.Claims, Pending: r.Pending,
		Confirmed: r.Confirmed, Paid: r.Paid, Unpaid: r.Unpaid, Released: r.Released, RefundsDue: r.RefundsDue,
		OldestPendingSeconds: r.OldestPendingSeconds, Balanced: r.Balanced, Findings: []string{}, Money: moneyOf(r, s),
	}
	if p := r.Accepted; len(p.Counts) > 0 {
		b.Accepted = &pace{From: httpapi.Time(time.Unix(p.First*p.Every, 0)), Every: p.Every, Counts: p.Counts}
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
		PayWithin: int64(s.PayWithin / time.Second), LateDays: int64(s.LateFor / (24 * time.Hour)),
		PayUntil: since(s.PayUntil), Price: s.Price, Currency: s.Currency, Draw: drawnOf(s), Books: booksOf(one.Books, s),
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

// sales lists the sales, or those of a group. One that cannot be read does not hide the others.
func (h *Handler) sales(ctx context.Context, c *call, event *telemetry.Event) (any, error) {
	list := func() ([]ledger.Standing, error) { return h.book.Standings(ctx, c.query.drained == "1") }
	if group := c.query.group; group != "" {
		if !sale.ValidID(group) {
			return nil, sale.RefuseID("group")
		}
		event.Text("groupId", group)
		list = func() ([]ledger.Standing, error) { return h.book.GroupStandings(ctx, group) }
	}
	all, err := list()
	if err != nil {
		return nil, err
	}
	now := h.now()
	page := salesPage{
		AsOf: httpapi.Time(now), Version: sale.Release, Actor: c.actor, Role: c.role.String(), Sales: []standing{},
	}
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
	s := one.Sale
	if o := (offer{s.Price, s.Currency, s.Image, s.About, s.Link}); o != (offer{}) {
		shown.Offer = &o
	}
	if one.Sale.State == sale.Open {
		shown.Seen = one.Sale.Seen().Text(saleID)
		shown.Remaining = &remaining{Units: units, AsOf: httpapi.Time(now)}
	}
	return shown, nil
}
