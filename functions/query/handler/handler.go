// Package handler answers the GET routes: the public page of a sale, the roll of its draw, the
// caller's own claim in it, and the caller's own orders.
//
// It maps the event to calls of the ledger and their outcome to the answer. Keys,
// expressions and retries are the ledger's.
package handler

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"flashsale/shared/draw"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/ownclaim"
	"flashsale/shared/ratelimit"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Ledger is the part of the ledger that the handler uses.
type Ledger interface {
	Sale(ctx context.Context, saleID string) (sale.Sale, error)
	Existing(ctx context.Context, saleID string) (sale.Sale, error)
	Group(ctx context.Context, group string) ([]ledger.Member, error)
	Remaining(context.Context, sale.Sale) (ledger.Remaining, error)
	Claim(ctx context.Context, saleID, user string) (sale.Claim, error)
	OrderedIn(ctx context.Context, group, user string) (saleID string, err error)
	Order(ctx context.Context, id uint64) (sale.Order, error)
	RefundsOf(context.Context, sale.Claim) ([]sale.Refund, error)
	Draw(context.Context, sale.Sale) (ledger.Draw, error)
	RollPage(ctx context.Context, s sale.Sale, page byte) ([]draw.Leaf, error)
}

const (
	saleRoute  = "GET /sales/{saleId}"
	groupRoute = "GET /groups/{groupId}"
	rollRoute  = "GET /sales/{saleId}/roll/{page}"
	// publicAge is how long a refusal that is the same for everybody may be cached. A new sale
	// stays unknown for as long.
	publicAge = "max-age=2"
)

// lasting are those refusals.
var lasting = []sale.Code{
	sale.SaleNotFound, sale.GroupNotFound, sale.InvalidRequest, sale.DrawNotFound, sale.RollNotFound,
}

// route answers one route; saleID is "" where the path has none.
type route func(ctx context.Context, r *httpapi.Request, event *telemetry.Event) (httpapi.Response, error)

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	// Origin refuses requests that did not come through it; the zero value refuses none.
	Origin httpapi.Origin
	// PayLink shows buyers where to pay; the zero value shows nothing.
	PayLink ownclaim.PaymentLink

	ledger Ledger
	log    *telemetry.Log
	now    func() time.Time
	limit  *ratelimit.Limit
	routes map[string]route
}

// New returns a handler over a ledger. now returns the current instant; its times must have
// no monotonic reading: see package clock.
func New(l Ledger, log *telemetry.Log, now func() time.Time) *Handler {
	h := &Handler{ledger: l, log: log, now: now, limit: ratelimit.New()}
	h.routes = map[string]route{
		saleRoute:                       h.sale,
		groupRoute:                      h.group,
		rollRoute:                       h.roll,
		"GET /sales/{saleId}/orders/me": h.claim,
		"GET /orders/{orderId}":         h.order,
	}
	return h
}

// Handle answers one request; it never returns an error.
func (h *Handler) Handle(ctx context.Context, r httpapi.Request) (response httpapi.Response, _ error) {
	err := h.log.Run(ctx, "query", func(ctx context.Context, event *telemetry.Event) (err error) {
		event.Text("route", r.RouteKey)
		answer, ok := h.routes[r.RouteKey]
		if !ok {
			return fmt.Errorf("no such route: %q", r.RouteKey)
		}
		if err := h.Origin.Check(&r); err != nil {
			return err
		}
		response, err = answer(ctx, &r, event)
		return err
	}, func(event *telemetry.Event, code sale.Code) {
		event.CountBy("queries", "result", telemetry.Result(code))
	})
	isPublic := r.RouteKey == saleRoute || r.RouteKey == groupRoute || r.RouteKey == rollRoute
	if err != nil {
		response = httpapi.Problem(err, "")
		if isPublic && slices.Contains(lasting, sale.CodeOf(err)) {
			response.Headers.CacheControl = publicAge
		}
	}
	if isPublic {
		// API Gateway adds CORS headers only to answers to other origins. A browser that keeps an answer to a page of the
		// API's own would give it to another site's page, without them.
		response.Headers.Vary = "Origin"
	}
	return response, nil
}

type salePage struct {
	SaleID      string     `json:"saleId"`
	Name        string     `json:"name"`
	OpensAt     string     `json:"opensAt"`
	ClosesAt    string     `json:"closesAt"`
	Now         string     `json:"now"`
	State       sale.Phase `json:"state"`
	Remaining   int64      `json:"remaining"`
	Seeded      int64      `json:"seeded"`
	Approximate bool       `json:"approximate,omitempty"`
	MayReturn   bool       `json:"mayReturn,omitempty"`
	MaxPerOrder int        `json:"maxPerOrder,omitempty"` // absent if it is one
	PayWithin   int64      `json:"payWithin,omitempty"`   // seconds
	Price       int64      `json:"price,omitempty"`       // minor units
	Currency    string     `json:"currency,omitempty"`
	Image       string     `json:"image,omitempty"`
	About       string     `json:"about,omitempty"`
	Link        string     `json:"link,omitempty"`
	Labels      []string   `json:"labels,omitempty"`
	LimitGroup  string     `json:"limitGroup,omitempty"`
	Draw        *drawPage  `json:"draw,omitempty"`
}

// pageOf returns the public page of a sale, without its draw.
func pageOf(s sale.Sale, left ledger.Remaining, now time.Time) salePage {
	state := phase(s, left, now)
	return salePage{
		SaleID: s.ID, Name: s.Name, OpensAt: httpapi.Time(s.Begins()), ClosesAt: httpapi.Time(s.Ends()),
		Now: httpapi.Time(now), State: state, Remaining: left.Units, Seeded: s.Seeded, Approximate: left.Approximate,
		MayReturn: state == sale.PhaseSoldOut && s.MayReturn(), MaxPerOrder: s.MaxPerOrder,
		PayWithin: int64(s.PayWithin / time.Second), Price: s.Price, Currency: s.Currency, Labels: s.Labels.List(),
		Image: s.Image, About: s.About, Link: s.Link, LimitGroup: s.LimitGroup,
	}
}

// sale answers with the public sale page, cacheable for a second.
func (h *Handler) sale(ctx context.Context, r *httpapi.Request, event *telemetry.Event) (httpapi.Response, error) {
	saleID, err := httpapi.SaleID(r)
	if err != nil {
		return httpapi.Response{}, err
	}
	event.Text("saleId", saleID)
	s, err := h.ledger.Sale(ctx, saleID)
	if err != nil {
		return httpapi.Response{}, err
	}
	left, err := h.ledger.Remaining(ctx, s)
	if err != nil {
		return httpapi.Response{}, err
	}
	page := pageOf(s, left, h.now())
	if page.Draw, err = h.draw(ctx, s); err != nil {
		return httpapi.Response{}, err
	}
	response := httpapi.JSON(http.StatusOK, page)
	response.Headers.CacheControl = "max-age=1"
	if page.MayReturn {
		response.Headers.RetryAfter = httpapi.Seconds(httpapi.ReturnWait())
	}
	return response, nil
}

type groupPage struct {
	GroupID string     `json:"groupId"`
	Now     string     `json:"now"`
	Sales   []salePage `json:"sales"`
}

// group answers with the public pages of a group's sales, cacheable for a second.
func (h *Handler) group(ctx context.Context, r *httpapi.Request, event *telemetry.Event) (httpapi.Response, error) {
	groupID, err := httpapi.GroupID(r)
	if err != nil {
		return httpapi.Response{}, err
	}
	event.Text("groupId", groupID)
	members, err := h.ledger.Group(ctx, groupID)
	if err != nil {
		return httpapi.Response{}, err
	}
	now := h.now()
	page := groupPage{GroupID: groupID, Now: httpapi.Time(now)}
	for _, m := range members {
		one := pageOf(m.Sale, m.Remaining, now)
		if one.Draw, err = h.draw(ctx, m.Sale); err != nil {
			return httpapi.Response{}, err
		}
		page.Sales = append(page.Sales, one)
	}
	response := httpapi.JSON(http.StatusOK, page)
	response.Headers.CacheControl = "max-age=1"
	if slices.ContainsFunc(page.Sales, func(one salePage) bool { return one.MayReturn }) {
		response.Headers.RetryAfter = httpapi.Seconds(httpapi.ReturnWait())
	}
	return response, nil
}

// phase also considers the count: all shards may be empty before the sale item says so. With a draw the first call
// is waited for like any other: nobody may order at opensAt, as a client would that knows nothing of draws.
func phase(s sale.Sale, left ledger.Remaining, now time.Time) sale.Phase {
	switch p := s.Phase(now); {
	case p == sale.PhaseOpen && left.Units == 0:
		return sale.PhaseSoldOut
	case p == sale.PhaseNotOpen && s.HasDraw():
		return sale.PhaseWaiting
	default:
		return p
	}
}

// claim answers with the status of the caller's own order in a sale.
func (h *Handler) claim(ctx context.Context, r *httpapi.Request, event *telemetry.Event) (httpapi.Response, error) {
	user, saleID, err := httpapi.UserAndSale(r)
	if err != nil {
		return httpapi.Response{}, err
	}
	event.Text("saleId", saleID)
	event.Text("user", user)
	if err := h.limit.Allow(user, h.now()); err != nil {
		return httpapi.Response{}, err
	}
	c, err := h.ledger.Claim(ctx, saleID, user)
	if sale.CodeOf(err) == sale.OrderNotFound {
		err = h.elsewhere(ctx, saleID, user, err)
	}
	if err != nil {
		return httpapi.Response{}, err
	}
	now := h.now()
	shown, err := ownclaim.Show(ctx, h.ledger, h.PayLink, c, now)
	if err != nil {
		return httpapi.Response{}, err
	}
	if c.OrderID != 0 {
		if shown.Refund, shown.Refunds, err = h.refunds(ctx, c); err != nil {
			return httpapi.Response{}, err
		}
	}
	return again(httpapi.JSON(http.StatusOK, shown), c, shown.PayBy, now), nil
}

// again says when to ask for a claim again, if something is to become of it.
func again(r httpapi.Response, c sale.Claim, payBy string, now time.Time) httpapi.Response {
	if wait := ownclaim.AskAgain(c, payBy != "", now); wait > 0 {
		r.Headers.RetryAfter = httpapi.Seconds(wait)
	}
	return r
}

// elsewhere returns the refusal of a user who has no order in a sale. If it belongs to a group,
// the refusal names the group's sale in which they have one.
func (h *Handler) elsewhere(ctx context.Context, saleID, user string, refusal error) error {
	s, err := h.ledger.Existing(ctx, saleID)
	if err != nil || s.LimitGroup == "" {
		return cmp.Or(err, refusal)
	}
	other, err := h.ledger.OrderedIn(ctx, s.LimitGroup, user)
	if err != nil || other == "" || other == saleID { // the claim of a purchase may be seen later than its guard
		return cmp.Or(err, refusal)
	}
	return &sale.Error{
		Code: sale.OrderNotFound, Detail: "the user has ordered in another sale of its group", OtherSale: other,
	}
}

// refunds returns what became of the money of a claim's order, and the payments of it that go back to its buyer.
func (h *Handler) refunds(ctx context.Context, c sale.Claim) (*httpapi.Money, []httpapi.Refund, error) {
	refunds, err := h.ledger.RefundsOf(ctx, c)
	money := sale.MoneyOf(c, sale.RefundOf(c, refunds))
	return httpapi.MoneyOf(c.Payment, money), httpapi.RefundsOf(refunds), err
}

type orderPage struct {
	OrderID     string `json:"orderId"`
	SaleID      string `json:"saleId"`
	ClaimID     string `json:"claimId"`
	ConfirmedAt string `json:"confirmedAt"`
	// Only in a sale that asks for payment, has orders of several units, was recalled or has cancelled orders; elsewhere
	// the claim is not read.
	Units      int64            `json:"units,omitempty"` // absent if it is one
	State      sale.ClaimState  `json:"state,omitempty"`
	PayBy      string           `json:"payBy,omitempty"`
	PaymentURL string           `json:"paymentUrl,omitempty"`
	Refund     *httpapi.Money   `json:"refund,omitempty"`
	Refunds    []httpapi.Refund `json:"refunds,omitempty"`
}

// order answers with an order to its owner; to others with "not found".
func (h *Handler) order(ctx context.Context, r *httpapi.Request, event *telemetry.Event) (httpapi.Response, error) {
	user, err := httpapi.User(r)
	if err != nil {
		return httpapi.Response{}, err
	}
	id, err := httpapi.OrderID(r)
	if err != nil {
		return httpapi.Response{}, err
	}
	event.Text("user", user)
	if err := h.limit.Allow(user, h.now()); err != nil {
		return httpapi.Response{}, err
	}
	o, err := h.ledger.Order(ctx, id)
	if err == nil && o.User != user {
		err = sale.Refuse(sale.OrderNotFound, "no such order")
	}
	if err != nil {
		return httpapi.Response{}, err
	}
	event.Text("saleId", o.SaleID)
	page := orderPage{
		OrderID: orderid.String(o.ID), SaleID: o.SaleID, ClaimID: o.ClaimID, ConfirmedAt: httpapi.Time(orderid.Time(o.ID)),
	}
	s, err := h.ledger.Existing(ctx, o.SaleID)
	if err == nil && s.PayWithin == 0 {
		s, err = h.ledger.Sale(ctx, o.SaleID) // it may have been recalled, or an operator may have cancelled an order
	}
	if err != nil {
		return httpapi.Response{}, err
	}
	if s.PayWithin > 0 || s.MaxPerOrder > 0 || s.IsRecalled() || s.Cancelled > 0 {
		c, err := h.ledger.Claim(ctx, o.SaleID, user)
		if err != nil {
			return httpapi.Response{}, err
		}
		page.Units, page.State = c.Units, c.State()
		if page.PayBy, page.PaymentURL, err = ownclaim.Payment(ctx, h.ledger, h.PayLink, s, c); err != nil {
			return httpapi.Response{}, err
		}
		if page.Refund, page.Refunds, err = h.refunds(ctx, c); err != nil {
			return httpapi.Response{}, err
		}
		return again(httpapi.JSON(http.StatusOK, page), c, page.PayBy, h.now()), nil
	}
	return httpapi.JSON(http.StatusOK, page), nil
}
