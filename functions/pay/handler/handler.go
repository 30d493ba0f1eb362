// Package handler takes the webhooks of payment providers, and buyers' cancellations.
//
// It verifies who reports a payment and reads what the report says; what becomes of the
// payment is the ledger's decision. Without a valid signature nothing is read or
// written (P25).
package handler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/ratelimit"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

const (
	payRoute    = "POST /payments/{provider}"
	cancelRoute = "DELETE /sales/{saleId}/orders/me"
)

// maxWebhook is the longest body of a webhook, in bytes. Events of payments have a few
// thousand.
const maxWebhook = 256 << 10

// Ledger is the part of the ledger that the handler uses.
type Ledger interface {
	Pay(context.Context, sale.Payment) (ledger.Settlement, error)
	Recorded(context.Context, sale.Payment) (bool, error)
	ReportMoney(context.Context, sale.MoneyReport) (ledger.MoneyTaken, error)
	Cancel(ctx context.Context, saleID, user string) (sale.Claim, error)
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	// Origin refuses requests that did not come through it; the zero value refuses none.
	Origin httpapi.Origin
	// Stack is this stack's name among those on one account of a provider; "" takes what names another one, too.
	Stack string

	ledger    Ledger
	providers Providers
	log       *telemetry.Log
	now       func() time.Time
	limit     *ratelimit.Limit
}

// New returns a handler over a ledger that takes webhooks of these providers. now returns the
// current instant; its times must have no monotonic reading: see package clock. A provider whose
// settings cannot be right has a line, and is counted like an internal error: a new release is rolled back for it.
func New(l Ledger, p Providers, log *telemetry.Log, now func() time.Time) *Handler {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if p[name].wrong != nil {
			_ = log.Run(context.Background(), "cannot start provider", func(_ context.Context, event *telemetry.Event) error {
				event.Text("provider", name)
				return p[name].wrong
			}, func(event *telemetry.Event, code sale.Code) {
				event.CountBy("payments", "result", telemetry.Result(code))
			})
		}
	}
	return &Handler{ledger: l, providers: p, log: log, now: now, limit: ratelimit.New()}
}

// Handle answers one request; it never returns an error.
func (h *Handler) Handle(ctx context.Context, r httpapi.Request) (response httpapi.Response, _ error) {
	var done outcome
	err := h.log.Run(ctx, "pay", func(ctx context.Context, event *telemetry.Event) (err error) {
		event.Text("route", r.RouteKey)
		if err := h.Origin.Check(&r); err != nil {
			return err
		}
		switch r.RouteKey {
		case payRoute:
			if done, err = h.pay(ctx, &r, event); err == nil {
				response = httpapi.JSON(http.StatusOK, done)
			}
		case cancelRoute:
			response, err = h.cancel(ctx, &r, event)
		default:
			err = fmt.Errorf("no such route: %q", r.RouteKey)
		}
		return err
	}, func(event *telemetry.Event, code sale.Code) {
		switch {
		case r.RouteKey == cancelRoute:
			event.CountBy("cancellations", "result", telemetry.Result(code))
		case done.Outcome != batch: // whose reports are counted one by one
			event.CountBy("payments", "result", result(done, code))
		}
	})
	if r.RouteKey == payRoute {
		if answer := h.providers[r.Path.Provider].answer; answer != nil {
			return answer(done, err), nil
		}
	}
	if err != nil {
		response = httpapi.ProblemShowing(err, "", h.shown)
	}
	return response, nil
}

const (
	orderPaid = "paid"
	refundDue = "refund-due"
	ignored   = "ignored"
	// kept is a report of money of a payment that is not recorded: it may be reported later.
	kept = "kept"
	// wrongKind and unverified are never told: such a webhook is refused.
	wrongKind  = "wrong-kind"
	unverified = "unverified"
	// batch is a webhook of several reports, whose fates may differ. Only providers that have
	// an answer of their own send such.
	batch = "batch"
)

// These are the outcomes of reports of money of a recorded payment.
var (
	refundOutcomes = map[sale.RefundState]string{
		sale.RefundDone: "refunded", sale.RefundFailed: "refund-failed", sale.RefundStuck: "refund-stuck",
	}
	disputeOutcomes = map[sale.DisputeState]string{
		sale.DisputeAsked: "dispute-asked", sale.DisputeOpen: "dispute-open",
		sale.DisputeWon: "dispute-won", sale.DisputeLost: "dispute-lost",
	}
)

// lookedAt are counted apart of what is ignored: money may have moved, so that somebody looks.
var lookedAt = map[subject]string{
	free: "ignored-free", charge: "ignored-charge", refunded: "ignored-refunded", notBack: "ignored-not-back",
	disputed: "ignored-disputed", unknown: "ignored-unknown",
}

// result is the value under which a webhook is counted. Reports of what was recorded
// before are counted apart, so that "paid" and "refund-due" count payments.
func result(done outcome, code sale.Code) string {
	switch {
	case done.Outcome == wrongKind:
		return wrongKind
	case done.Outcome == unverified:
		return unverified
	case code != "":
		return telemetry.Result(code)
	case done.Outcome == ignored:
		return cmp.Or(lookedAt[done.about], ignored)
	case done.repeated:
		return "repeated"
	}
	return done.Outcome
}

// pay records the payments that a webhook reports. Success means that it is durable: the
// provider repeats anything else.
func (h *Handler) pay(ctx context.Context, r *httpapi.Request, event *telemetry.Event) (outcome, error) {
	p, known := h.providers[r.Path.Provider]
	if !known {
		return outcome{}, sale.Refuse(sale.ProviderNotFound, "no such payment provider")
	}
	event.Text("provider", r.Path.Provider)
	if p.wrong != nil {
		return outcome{}, p.wrong
	}
	body, err := httpapi.Body(r, maxWebhook)
	if err != nil {
		return outcome{}, err
	}
	raw := []byte(body)
	if err := p.verify(r, raw); err != nil {
		return outcome{Outcome: unverified}, err
	}
	reports, err := p.read(raw)
	if err != nil {
		return outcome{}, err
	}
	if len(reports) == 1 {
		return h.take(ctx, r.Path.Provider, reports[0], event)
	}
	event.Int("reports", len(reports))
	return outcome{Outcome: batch}, h.takeAll(ctx, r.Path.Provider, reports, event)
}

// takeAll takes each report of a batch, with a line of its own. It fails if one of them does, after
// all were tried: the provider repeats the batch, and what is recorded stays as it is.
func (h *Handler) takeAll(
	ctx context.Context, provider string, reports []report, event *telemetry.Event,
) (failed error) {
	for _, one := range reports {
		turn, part := event.Part(ctx)
		part.Text("provider", provider)
		done, err := h.take(turn, provider, one, part)
		code := sale.CodeOf(err)
		part.CountBy("payments", "result", result(done, code))
		part.End("payment", code, err)
		failed = cmp.Or(failed, err)
	}
	return failed
}

// take records what a report says.
func (h *Handler) take(ctx context.Context, provider string, one report, event *telemetry.Event) (outcome, error) {
	payment, about := one.payment, one.about
	if payment.Reference != "" { // also of what is ignored: somebody may have to look at the provider
		event.Text("payment", payment.Reference)
	}
	if payment.OrderID != 0 {
		event.Text("orderId", orderid.String(payment.OrderID))
	}
	payment.Provider = provider
	if payment.Stack == h.Stack || h.Stack == "" {
		payment.Stack = ""
	}
	switch {
	case one.refused != nil:
		return outcome{}, one.refused
	case one.money != nil:
		money := *one.money
		money.Provider, money.Reference = provider, payment.Reference
		return h.takeMoney(ctx, money, event)
	case about == otherKind:
		return h.takeOtherKind(ctx, payment)
	case about != ours:
		return outcome{Outcome: ignored, about: about}, nil
	}
	if err := payment.Check(); err != nil {
		return outcome{}, err
	}
	s, err := h.ledger.Pay(ctx, payment)
	if s.Contradicts {
		event.Metric("contradicting", telemetry.Count, 1)
	}
	if s.PaidBack {
		event.Metric("paidBack", telemetry.Count, 1)
	}
	if s.Before != nil {
		tellBefore(ctx, payment, *s.Before, event)
	}
	switch {
	case err != nil:
		return outcome{}, err
	case s.Elsewhere:
		event.Text("otherStack", payment.Stack)
		return outcome{Outcome: ignored, about: otherStack}, nil
	case s.Refund != nil:
		event.Text("saleId", s.Refund.SaleID)
		event.Text("reason", string(s.Refund.Reason))
		done := outcome{Outcome: refundDue, Reason: s.Refund.Reason, repeated: !s.New}
		if done.Reason == sale.RefundAmount {
			done.Detail = notThePrice
		}
		return done, nil
	}
	event.Text("saleId", s.SaleID)
	return outcome{Outcome: orderPaid, repeated: !s.New}, nil
}

// takeOtherKind takes the report only if its payment is recorded: a shop whose Stripe events are
// of both kinds. Otherwise the events that count may never come, because the
// shop uses the other kind, and the money is taken. The provider repeats what is refused,
// so the payment is recorded once StripeEvents is right.
func (h *Handler) takeOtherKind(ctx context.Context, p sale.Payment) (outcome, error) {
	if err := p.Check(); err != nil {
		return outcome{}, err
	}
	switch recorded, err := h.ledger.Recorded(ctx, p); {
	case err != nil:
		return outcome{}, err
	case recorded:
		return outcome{Outcome: ignored}, nil
	case p.Stack != "":
		return outcome{Outcome: ignored, about: otherStack}, nil
	}
	return outcome{Outcome: wrongKind}, sale.Refuse(sale.InvalidRequest,
		"the payment is not recorded, and StripeEvents does not count this kind of event: "+
			"change it, or put the metadata into the other object only")
}

// takeMoney records what the provider says of money that went back, did not, or is disputed.
func (h *Handler) takeMoney(ctx context.Context, m sale.MoneyReport, event *telemetry.Event) (outcome, error) {
	var done outcome
	switch {
	case m.Refund != nil:
		event.Text("refund", m.Refund.ID)
		done.Outcome = refundOutcomes[m.Refund.State]
	case m.Dispute != nil:
		event.Text("dispute", m.Dispute.ID)
		done.Outcome = disputeOutcomes[m.Dispute.State]
	default:
		done.Outcome = refundOutcomes[sale.RefundDone]
	}
	if err := m.Check(h.now()); err != nil {
		return outcome{}, err
	}
	taken, err := h.ledger.ReportMoney(ctx, m)
	if taken.TooMany {
		event.Metric("moneyUncounted", telemetry.Count, 1)
	}
	if taken.PaidBack {
		event.Metric("paidBack", telemetry.Count, 1)
	}
	switch {
	case err != nil:
		return outcome{}, err
	case !taken.Recorded && taken.Kept:
		return outcome{Outcome: kept, repeated: !taken.New}, nil
	case !taken.Recorded:
		return outcome{Outcome: ignored, about: foreign}, nil
	}
	event.Text("saleId", taken.SaleID)
	done.repeated = !taken.New
	return done, nil
}

// tellBefore counts, each with a line of its own, what must ring of the refunds and disputes of a payment that were
// reported before it: then they were kept, and nobody knew that they are ours.
func tellBefore(ctx context.Context, p sale.Payment, a sale.Account, event *telemetry.Event) {
	tell := func(name, id, result string) {
		_, part := event.Part(ctx)
		part.Text("provider", p.Provider)
		part.Text("payment", p.Reference)
		part.Text("saleId", a.SaleID)
		part.Text(name, id)
		part.CountBy("payments", "result", result)
		part.End("payment", "", nil)
	}
	for _, id := range slices.Sorted(maps.Keys(a.Refunds)) {
		if state := a.Refunds[id].State; state != sale.RefundDone {
			tell("refund", id, refundOutcomes[state])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.Disputes)) {
		if state := a.Disputes[id].State; state != sale.DisputeWon {
			tell("dispute", id, disputeOutcomes[state])
		}
	}
}

// cancel releases the caller's own claim in a sale.
func (h *Handler) cancel(ctx context.Context, r *httpapi.Request, event *telemetry.Event) (httpapi.Response, error) {
	user, saleID, err := httpapi.UserAndSale(r)
	if err != nil {
		return httpapi.Response{}, err
	}
	event.Text("saleId", saleID)
	event.Text("user", user)
	if err := h.limit.Allow(user, h.now()); err != nil {
		return httpapi.Response{}, err
	}
	c, err := h.ledger.Cancel(ctx, saleID, user)
	if err != nil {
		return httpapi.Response{}, err
	}
	return httpapi.JSON(http.StatusOK, h.shown(c)), nil
}

// shown is a claim as its buyer gets it.
func (h *Handler) shown(c sale.Claim) httpapi.Claim {
	shown := httpapi.ClaimOf(c)
	shown.Now = httpapi.Time(h.now())
	return shown
}
