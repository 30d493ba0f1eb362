// Package handler answers the operators: how their sales stand, what happened to a buyer's
// order, who changed what; and it changes a sale. Its callers are the operators' HTTP API,
// whose token names an operator, and those who may invoke the function, by their word.
//
// It maps the event to calls of the ledger and their outcome to the answer. Keys,
// expressions and retries are the ledger's, and what a change means is package change's.
package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/change"
	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Ledger is the part of the ledger that the handler uses.
type Ledger interface {
	change.Ledger
	Standings(ctx context.Context, drained bool) ([]ledger.Standing, error)
	Standing(ctx context.Context, saleID string) (ledger.Standing, int64, error)
	Trail(ctx context.Context, saleID string, most int) ([]sale.Change, bool, error)
	Latest(ctx context.Context, saleID string) (sale.Sale, error)
	Existing(ctx context.Context, saleID string) (sale.Sale, error)
	Claim(ctx context.Context, saleID, user string) (sale.Claim, error)
	OrderedIn(ctx context.Context, group, user string) (saleID string, err error)
	Order(ctx context.Context, id uint64) (sale.Order, error)
	RefundsOf(context.Context, sale.Claim) ([]sale.Refund, error)
	Cancelled(context.Context, sale.Claim) (*sale.CancelledOrder, error)
	GroupStandings(ctx context.Context, group string) ([]ledger.Standing, error)
	RefundPage(
		ctx context.Context, saleID, after string, most int32,
	) (refunds []sale.Refund, next string, unreadable int, err error)
	MarkRefunds(ctx context.Context, saleID string, payments []string, actor string) []ledger.Marking
	UnmarkRefund(ctx context.Context, saleID, payment, actor, note string) (r sale.Refund, done bool, err error)
	BeginSending(context.Context, sale.Sending) (s sale.Sending, isNew bool, err error)
	StopSending(ctx context.Context, id, actor string) (s sale.Sending, stopped bool, err error)
	Sendings(context.Context) ([]sale.Sending, error)
}

// Page answers the routes of the operators' page, which are public.
type Page interface {
	Answer(events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	// Desk applies the changes. Its rules beyond the ledger and the time are fields that main sets.
	Desk change.Desk
	// RolesClaim is the claim of a token that names the caller's roles; "" leaves every token
	// without any.
	RolesClaim string
	// Sends: the stack has RefundFunction, which sends refunds.
	Sends bool
	// Page is served, too, unless it is nil.
	Page Page
	// Stack is looked at, and repaired; nil is unknown.
	Stack Stack

	ledger Ledger
	log    *telemetry.Log
	now    func() time.Time
	routes map[string]route
}

// New returns a handler over a ledger. now returns the current instant; its times must have
// no monotonic reading: see package clock.
func New(l Ledger, log *telemetry.Log, now func() time.Time) *Handler {
	h := &Handler{ledger: l, Desk: change.Desk{Ledger: l, Now: now}, log: log, now: now}
	h.routes = routesOf(h)
	return h
}

// Invoke implements Lambda's Handler. It fails only for what is no event, or for one that
// names its caller twice.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var req *request
	var answer any
	err := h.log.Run(ctx, "operate", func(ctx context.Context, event *telemetry.Event) (err error) {
		if req, err = readRequest(payload, h.RolesClaim); err != nil {
			return err
		}
		event.Text("route", req.RouteKey)
		if h.Page != nil && isPage(req.RouteKey) {
			answer, err = h.page(payload)
			return err
		}
		shown, err := h.answer(ctx, req, event)
		if err == nil {
			answer = httpapi.JSON(http.StatusOK, shown)
		}
		return err
	}, func(event *telemetry.Event, code sale.Code) {
		event.CountBy("operations", "result", telemetry.Result(code))
	})
	switch {
	case req == nil:
		return nil, err
	case err != nil:
		answer = httpapi.Problem(err, "")
	}
	return json.Marshal(answer)
}

func (h *Handler) page(payload []byte) (events.APIGatewayV2HTTPResponse, error) {
	var r events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(payload, &r); err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	return h.Page.Answer(r)
}

// isPage reports whether a route is one of the operators' page.
func isPage(route string) bool {
	return route == "GET /" || route == "GET /signin" || strings.HasPrefix(route, "GET /assets/")
}

func (h *Handler) answer(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	to, ok := h.routes[req.RouteKey]
	if !ok {
		return nil, fmt.Errorf("no such route: %q", req.RouteKey)
	}
	err := req.identify(to.right)
	event.Text("actor", req.actor)
	if err != nil {
		return nil, err
	}
	return to.answer(ctx, req, event)
}

// saleOf returns the sale that the path names.
func saleOf(req *request, event *telemetry.Event) (saleID string, err error) {
	if saleID, err = httpapi.SaleID(&req.Request); err == nil {
		event.Text("saleId", saleID)
	}
	return saleID, err
}

// maxBody is the longest body of a change, in bytes.
const maxBody = 4 << 10

// maxCreation is the longest body of a creation, in bytes: it has more texts than a change.
const maxCreation = 16 << 10

// fields reads a body of these members strictly: a misspelt, doubled, unknown or null one is an error, as in a change.
func (req *request) fields(limit int, into any, members ...string) error {
	body, err := httpapi.JSONBody(&req.Request, limit)
	if err != nil {
		return err
	}
	names, err := jsonread.Flat([]byte(body), into)
	isUnknown := slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(members, name) })
	if err != nil || isUnknown {
		detail := "the body must be one JSON object of " + strings.Join(members, ", ") + ", each name once"
		return &sale.Error{Code: sale.InvalidRequest, Detail: detail, Err: err}
	}
	return nil
}

// create creates a sale, and answers when it is open with all of its shards.
func (h *Handler) create(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	body, err := httpapi.JSONBody(&req.Request, maxCreation)
	if err != nil {
		return nil, err
	}
	r, err := change.DecodeCreation([]byte(body))
	if err != nil {
		return nil, err
	}
	event.Text("saleId", r.SaleID)
	return h.apply(ctx, req, event, r)
}

// change applies a change, and answers when every shard has it, with what then holds.
func (h *Handler) change(ctx context.Context, req *request, event *telemetry.Event) (any, error) {
	saleID, err := saleOf(req, event)
	if err != nil {
		return nil, err
	}
	body, err := httpapi.JSONBody(&req.Request, maxBody)
	if err != nil {
		return nil, err
	}
	r, err := change.DecodeOperated([]byte(body), saleID)
	if err != nil {
		return nil, err
	}
	return h.apply(ctx, req, event, r)
}

func (h *Handler) apply(ctx context.Context, req *request, event *telemetry.Event, r change.Request) (any, error) {
	event.Text("action", r.Action)
	event.Text("changeId", r.ID)
	if r.OrderID != "" {
		event.Text("orderId", r.OrderID)
	}
	r.Actor, r.Verified = req.actor, req.verified
	done, err := h.Desk.Apply(ctx, r)
	done.ChangeID = r.ID
	return done, err
}
