package handler

import (
	"context"
	"maps"
	"slices"
	"time"

	"flashsale/functions/operate/wire"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

func drawnOf(s sale.Sale) *wire.Draw {
	if !s.HasDraw() {
		return nil
	}
	d := &wire.Draw{
		EnterFrom: httpapi.Time(s.EnterFrom), EnterUntil: httpapi.Time(s.EnterUntil), KeepHours: int64(s.KeepFor / time.Hour),
		Call: s.Call, Open: s.OpenCall,
	}
	if s.Call > 0 {
		d.From, d.Until = httpapi.Time(s.OpensAt), httpapi.Time(s.ClosesAt)
	}
	return d
}

// moneyOf has the sums of the pass, and what the units of unpaid orders cost by the sale's price.
func moneyOf(r *ledger.Receipt, s sale.Sale) []wire.Money {
	sums := ledger.Money{}
	if s.Price > 0 {
		sums[s.Currency] = ledger.Sums{}
	}
	maps.Copy(sums, r.Money)
	all := []wire.Money{}
	for _, code := range slices.Sorted(maps.Keys(sums)) {
		one := wire.Money{
			Currency: code, Digits: wire.Digits(code),
			Taken: sums[code].Taken, Due: sums[code].Due, Refunded: sums[code].Refunded,
		}
		if code == s.Currency {
			one.Outstanding = s.PriceOf(r.OutstandingUnits())
		}
		all = append(all, one)
	}
	return all
}

func booksOf(r *ledger.Receipt, s sale.Sale) *wire.Books {
	if r == nil {
		return nil
	}
	b := &wire.Books{
		AsOf: httpapi.Time(r.AsOf), Stock: r.Stock, Seeded: r.Seeded, Claims: r.Claims, Pending: r.Pending,
		Confirmed: r.Confirmed, Paid: r.Paid, Unpaid: r.Unpaid, Released: r.ReleasedOrders(), RefundsDue: r.RefundsDue,
		OldestPendingSeconds: r.OldestPendingSeconds, Balanced: r.Balanced, Findings: []string{}, Money: moneyOf(r, s),
		Units: r.Units, UnpaidUnits: r.UnpaidUnits,
	}
	if p := r.Accepted; len(p.Counts) > 0 {
		b.Accepted = &wire.Pace{From: httpapi.Time(time.Unix(p.First*p.Every, 0)), Every: p.Every, Counts: p.Counts}
	}
	b.Findings = append(b.Findings, r.Findings...)
	return b
}

func standingOf(one ledger.Standing, now time.Time) wire.Sale {
	if one.Err != nil {
		return wire.Sale{SaleID: one.SaleID, Error: sale.CodeOf(one.Err)}
	}
	s := one.Sale
	state := string(s.Phase(now))
	if s.State != sale.Open {
		state = string(sale.Draft)
	}
	extras := ""
	if s.Extras {
		extras = sale.ExtrasAllowed
	}
	return wire.Sale{SaleID: one.SaleID, Terms: &wire.Terms{
		Name: s.Name, State: state, Paused: s.Paused, OpensAt: httpapi.Time(s.Begins()), ClosesAt: httpapi.Time(s.Ends()),
		ChangedAt: since(s.ChangedAt), RecalledAt: since(s.RecalledAt), RecallNote: s.RecallNote, LimitGroup: s.LimitGroup,
		Drained: one.Drained, Recalling: one.Recalling, Edits: s.Edits, Seeded: s.Seeded, Shards: s.Shards,
		MaxPerOrder: s.MaxPerOrder,
		PayWithin:   int64(s.PayWithin / time.Second), LateDays: int64(s.LateFor / (24 * time.Hour)),
		PayUntil: since(s.PayUntil), Price: s.Price, Currency: s.Currency, Extras: extras, Draw: drawnOf(s),
		Books: booksOf(one.Books, s),
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
func (h *Handler) sales(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	list := func() ([]ledger.Standing, error) { return h.ledger.Standings(ctx, req.query.drained == "1") }
	if group := req.query.group; group != "" {
		if !sale.ValidID(group) {
			return nil, sale.RefuseID("group")
		}
		event.Text("groupId", group)
		list = func() ([]ledger.Standing, error) { return h.ledger.GroupStandings(ctx, group) }
	}
	all, err := list()
	if err != nil {
		return nil, err
	}
	now := h.now()
	page := wire.Sales{
		AsOf: httpapi.Time(now), Version: sale.ProgramVersion, Actor: req.actor,
		Role: req.may.roles()[0], Roles: req.may.roles(),
		Sales: []wire.Sale{},
	}
	for _, one := range all {
		page.Sales = append(page.Sales, standingOf(one, now))
	}
	return page, nil
}

// sale tells how one sale stands, and counts its units.
func (h *Handler) sale(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	saleID, err := saleOf(req, event)
	if err != nil {
		return nil, err
	}
	one, units, err := h.ledger.Standing(ctx, saleID)
	if err != nil {
		return nil, err
	}
	now := h.now()
	shown := standingOf(one, now)
	s := one.Sale
	o := wire.Offer{Price: s.Price, Currency: s.Currency, Image: s.Image, About: s.About, Link: s.Link}
	if o != (wire.Offer{}) {
		shown.Offer = &o
	}
	if one.Sale.State == sale.Open {
		shown.Version = one.Sale.ReadVersion().Text(saleID)
		shown.Remaining = &wire.Remaining{Units: units, AsOf: httpapi.Time(now)}
	}
	return shown, nil
}
