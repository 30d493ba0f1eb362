// Package handler answers POST /sales/{saleId}/orders: units for the caller, or the
// reason why not; and, of a sale with a draw, whether the caller has entered it.
//
// It maps the event to calls of the ledger and their outcome to the answer. Keys,
// expressions and retries are the ledger's.
package handler

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"flashsale/shared/draw"
	"flashsale/shared/httpapi"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/ownclaim"
	"flashsale/shared/ratelimit"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

const (
	// sendTime is how long after the tries have used up the time sending a message may take. It lies within
	// invocation.Margin.
	sendTime = 300 * time.Millisecond
	// markTime is how long marking a claim before its message is sent again may delay the
	// answer. A mark that takes longer may still be written, so the message is then sent.
	markTime = 300 * time.Millisecond
	// showTime is how long reading the sale of an order may delay its answer.
	showTime = 300 * time.Millisecond
	// helpTime is the age of a claim up to which a buyer who asks again has its message
	// sent again: sooner than reconcile does. Later that could delay reconcile, because
	// the mark stands even if the message cannot be sent, for about as long as the claim is
	// old.
	helpTime = ledger.ResendBound / 2
)

// Ledger is the part of the ledger that the handler uses.
type Ledger interface {
	Purchase(context.Context, ledger.Request) (ledger.PurchaseResult, error)
	MarkResent(ctx context.Context, c sale.Claim, hurry bool) (mark time.Time, err error)
	Enter(ctx context.Context, saleID, user string, settle time.Duration,
		check func(ctx context.Context, until time.Time) error) (ledger.Entry, error)
	Entry(ctx context.Context, saleID, user string, settle time.Duration) (ledger.Entry, error)
	Turn(ctx context.Context, saleID string, e ledger.Entry, times draw.Times) (ledger.Turn, error)
	ownclaim.Sales
}

// The routes.
const (
	purchaseRoute = "POST /sales/{saleId}/orders"
	enterRoute    = "PUT /sales/{saleId}/entries/me"
	entryRoute    = "GET /sales/{saleId}/entries/me"
)

// Sender is the part of the order queue that the handler uses.
type Sender interface {
	Send(context.Context, orderq.Message) error
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	// Origin refuses requests that did not come through it; the zero value refuses none.
	Origin httpapi.Origin
	// Users are checked before anything is sold to them, unless it is nil.
	Users Users
	// Times are those of draws.
	Times draw.Times
	// PayLink shows buyers where to pay; the zero value shows nothing.
	PayLink ownclaim.PaymentLink

	ledger Ledger
	queue  Sender
	log    *telemetry.Log
	now    func() time.Time
	limit  *ratelimit.Limit
}

// New returns a handler over a ledger and an order queue. now returns the current
// instant, for limiting users' requests; its times must have no monotonic reading: see
// package clock.
func New(l Ledger, q Sender, log *telemetry.Log, now func() time.Time) *Handler {
	return &Handler{ledger: l, queue: q, log: log, now: now, limit: ratelimit.New()}
}

// Handle answers one request; it never returns an error.
func (h *Handler) Handle(ctx context.Context, r httpapi.Request) (response httpapi.Response, _ error) {
	message, count := "purchase", countPurchase
	if r.RouteKey == enterRoute || r.RouteKey == entryRoute {
		message, count = "entry", countEntry
	}
	var saleID string // to which the refusal of a purchase links
	err := h.log.Run(ctx, message, func(ctx context.Context, event *telemetry.Event) error {
		request, err := h.admit(&r, event)
		if err != nil {
			return err
		}
		if r.RouteKey == purchaseRoute {
			saleID = request.SaleID
		}
		if err := h.limit.Allow(request.User, h.now()); err != nil {
			return err
		}
		switch r.RouteKey {
		case purchaseRoute:
			response, err = h.buy(ctx, request, event)
		case enterRoute:
			response, err = h.enter(ctx, request)
		default:
			response, err = h.entry(ctx, request)
		}
		return err
	}, func(event *telemetry.Event, code sale.Code) { count(event, r.RouteKey, code) })
	if err != nil {
		return httpapi.ProblemShowing(err, saleID, func(c sale.Claim) httpapi.Claim { return h.shown(ctx, c) }), nil
	}
	return response, nil
}

// admit reads a request, unless it is not to be served.
func (h *Handler) admit(r *httpapi.Request, event *telemetry.Event) (request ledger.Request, err error) {
	switch r.RouteKey {
	case enterRoute, entryRoute:
		event.Text("route", r.RouteKey)
	case purchaseRoute:
	default:
		return request, fmt.Errorf("no such route: %q", r.RouteKey)
	}
	if err := h.Origin.Check(r); err != nil {
		return request, err
	}
	if request.User, request.SaleID, err = httpapi.UserAndSale(r); err != nil {
		return request, err
	}
	switch r.RouteKey {
	case purchaseRoute:
		if request.Key, err = httpapi.IdempotencyKey(r); err != nil {
			return request, err
		}
		if request.Units, err = unitsIn(r); err != nil {
			return request, err
		}
	case enterRoute:
		if err := httpapi.EmptyBody(r); err != nil {
			return request, err
		}
	}
	event.Text("saleId", request.SaleID)
	event.Text("user", request.User)
	request.CheckUser, request.CallGap = h.checkUser(event, request.SaleID, request.User), h.Times.Gap
	return request, nil
}

// buy takes units for the caller and sends the message of the claim.
func (h *Handler) buy(ctx context.Context, request ledger.Request, event *telemetry.Event) (httpapi.Response, error) {
	p, err := h.ledger.Purchase(ctx, request)
	event.Int("tries", p.Tries)
	logClaim(event, p.Claim)
	if unsent := invocation.Try(func() error { h.send(ctx, event, p); return nil }); unsent != nil {
		event.Text("sendError", unsent.Error())
	}
	if err != nil {
		return httpapi.Response{}, err
	}
	return accepted(p.Claim), nil
}

// shown is a claim as its buyer gets it. The purchase has just read the sale, so that this reads nothing, but for an
// unpaid order's that is seconds old. If it cannot be had, an unpaid claim is shown as it was made, since one that is
// confirmed and has no payBy looks like one that is not to be paid.
func (h *Handler) shown(ctx context.Context, c sale.Claim) httpapi.Claim {
	ctx, cancel := context.WithTimeout(ctx, showTime)
	defer cancel()
	shown, err := ownclaim.Show(ctx, h.ledger, h.PayLink, c, h.now())
	if err != nil && c.State() == sale.Confirmed {
		return ownclaim.AsMade(c)
	}
	return shown
}

// logClaim says whatever it takes to write the claim again, should the table be lost. The line of
// the request that made the claim may be missing: its environment may have died. So a refusal that
// tells the buyer of the claim says it, too.
func logClaim(event *telemetry.Event, c sale.Claim) {
	if c.ID == "" {
		return
	}
	event.Text("claimId", c.ID)
	event.Int("shard", c.Shard)
	if c.Units != 0 {
		event.Int("units", int(c.Units))
	}
	event.Int("acceptedAt", int(c.AcceptedAt.UnixMilli()))
	if c.RequestKey != "" {
		event.Text("requestKey", c.RequestKey)
	}
}

// send sends the order message of a new claim, or of one that has been pending for so
// long that its message must be lost: a waiting buyer repairs the order by asking
// again. A failure does not change the answer: the message can be resent from the claim
// (P4, P8).
func (h *Handler) send(ctx context.Context, event *telemetry.Event, p ledger.PurchaseResult) {
	if p.Claim.ID == "" {
		return
	}
	if !p.New {
		if p.Claim.State() != sale.Pending || h.now().Sub(p.Claim.AcceptedAt) > helpTime {
			return
		}
		marking, cancel := context.WithTimeout(ctx, markTime)
		mark, err := h.ledger.MarkResent(marking, p.Claim, false)
		cancel()
		if err != nil {
			event.Text("resendError", err.Error())
		}
		if mark.IsZero() {
			return
		}
		event.Metric("resent", telemetry.Count, 1)
	}
	ctx, cancel := invocation.Beyond(ctx, sendTime)
	defer cancel()
	if err := h.queue.Send(ctx, orderq.Of(p.Claim)); err != nil {
		event.Metric("unsent", telemetry.Count, 1)
		event.Text("sendError", err.Error())
	}
}

func accepted(c sale.Claim) httpapi.Response {
	r := httpapi.JSON(http.StatusAccepted, ownclaim.AsMade(c))
	r.Headers.Location = httpapi.ClaimPath(c.SaleID)
	r.Headers.RetryAfter = httpapi.Seconds(httpapi.Jitter(0, 2*time.Second))
	return r
}

func countPurchase(event *telemetry.Event, _ string, code sale.Code) {
	if code == "" {
		event.CountBy("purchases", "result", "accepted")
		return
	}
	event.CountBy("purchases", "result", telemetry.Result(code))
}

func countEntry(event *telemetry.Event, route string, code sale.Code) {
	switch {
	case code != "":
		event.CountBy("entries", "result", telemetry.Result(code))
	case route == enterRoute:
		event.CountBy("entries", "result", "entered")
	default:
		event.CountBy("entries", "result", "shown")
	}
}
