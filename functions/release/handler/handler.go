// Package handler releases, in every sale that asks for payment, the claims that are due
// and not paid, and puts their units back on sale. In every sale that was recalled it
// releases all claims that are not paid, and records refunds for the others.
package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/scheduled"
	"flashsale/shared/telemetry"
)

// Ledger is the part of the ledger that the handler uses.
type Ledger interface {
	scheduled.Ledger
	ReleaseDue(ctx context.Context, listing ledger.Listing, grace time.Duration) (ledger.ReleaseResult, error)
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	ledger Ledger
	grace  time.Duration
	log    *telemetry.Log
}

// New returns a handler over a ledger. A claim is due when grace has passed since its payBy.
func New(l Ledger, grace time.Duration, log *telemetry.Log) *Handler {
	return &Handler{ledger: l, grace: grace, log: log}
}

// GraceFromEnv reads RELEASE_GRACE_SECONDS, whose default is ledger.DefaultGrace.
func GraceFromEnv() (time.Duration, error) {
	text := os.Getenv("RELEASE_GRACE_SECONDS")
	if text == "" {
		return ledger.DefaultGrace, nil
	}
	n, err := strconv.Atoi(text)
	if most := int(ledger.MaxGrace / time.Second); err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("RELEASE_GRACE_SECONDS is %q, want 0 to %d", text, most)
	}
	return time.Duration(n) * time.Second, nil
}

// Answer has one pass for each sale that asks for payment or is being recalled.
type Answer struct {
	Passes []Pass `json:"passes"`
}

// Pass is what one invocation did for one sale.
type Pass struct {
	SaleID string `json:"saleId"`
	// Released counts orders, PutBack units.
	Released int   `json:"released"`
	PutBack  int64 `json:"putBack"`
	// Refunded counts the payments of a recalled sale that were found to go back.
	Refunded int `json:"refunded,omitempty"`
	// OverdueSeconds is how long the claim that was due first had been due.
	OverdueSeconds int64 `json:"overdueSeconds"`
	// Complete is false if the sale is paused or was just edited, if the time was up and the next invocation
	// continues, or if another pass must follow that of a recall. NextDue is when the next claim is due at the earliest.
	Complete  bool    `json:"complete"`
	NextDue   string  `json:"nextDue,omitempty"`
	ReadUnits float64 `json:"readUnits"`
}

// add adds what one time slice did for a sale; a later time slice of the sale continues its pass.
func (a *Answer) add(p Pass) {
	i := slices.IndexFunc(a.Passes, func(q Pass) bool { return q.SaleID == p.SaleID })
	if i < 0 {
		a.Passes = append(a.Passes, p)
		return
	}
	q := a.Passes[i]
	p.Released, p.PutBack, p.ReadUnits = p.Released+q.Released, p.PutBack+q.PutBack, p.ReadUnits+q.ReadUnits
	p.Refunded += q.Refunded
	p.OverdueSeconds = max(p.OverdueSeconds, q.OverdueSeconds)
	a.Passes[i] = p
}

// Handle makes a pass over each sale that asks for payment or is being recalled, or over the
// one that the request names. A sale that fails does not stop the others; if any failed, the invocation fails in
// the end, and the next one, a minute later, continues. Invocations may overlap: conditional
// writes release each claim and put back each unit once.
func (h *Handler) Handle(ctx context.Context, raw json.RawMessage) (Answer, error) {
	answer := Answer{Passes: []Pass{}}
	err := scheduled.Run(ctx, h.log, "release", func(ctx context.Context, event *telemetry.Event) error {
		return h.release(ctx, event, raw, &answer)
	}, func(event *telemetry.Event, code sale.Code) {
		event.Int("sales", len(answer.Passes))
		event.CountBy("releases", "result", telemetry.Result(code))
	})
	return answer, err
}

func (h *Handler) release(ctx context.Context, event *telemetry.Event, raw []byte, answer *Answer) error {
	sales, err := h.sales(ctx, raw)
	if err != nil {
		return err
	}
	done, again := make([]ledger.ReleaseResult, len(sales.Listings)), make([]bool, len(sales.Listings))
	return sales.Each(ctx, event, scheduled.Work{
		AtOnce: 1,
		Do: func(slice context.Context, i int) (cut bool, err error) {
			done[i] = ledger.ReleaseResult{} // what was done before is reported
			done[i], err = h.pass(slice, sales.Listings[i], again[i])
			if sale.CodeOf(err) == sale.Busy && !invocation.Outlasts(slice, callTime) {
				err = nil // the time ended during a call: the next time slice continues
			}
			again[i] = err == nil && !done[i].Complete && !invocation.Outlasts(slice, restOfSlice)
			return again[i], err
		},
		Report: func(line *telemetry.Event, i int, err error) {
			pass := shown(sales.Listings[i].SaleID, done[i])
			report(line, pass, err)
			answer.add(pass)
		},
	})
}

// restOfSlice is the time in which ledger.ReleaseDue begins no further part of a pass. A pass
// that is not complete although more is left is one of a sale that is paused, or was just edited.
const restOfSlice = 2 * time.Second

// callTime is the least time in which a call of the table can be expected to end.
const callTime = 300 * time.Millisecond

// sales returns the sales that ask for payment or are being recalled, the one that was due
// first at the end: what those leave over of which nothing is due is for it. A sale that was
// never looked at, as a draft, comes first, and one that is being recalled last.
func (h *Handler) sales(ctx context.Context, raw []byte) (scheduled.Sales, error) {
	sales, err := scheduled.SalesOf(ctx, h.ledger, raw)
	if sales.Named {
		return sales, err
	}
	sales.Listings = slices.DeleteFunc(sales.Listings, func(l ledger.Listing) bool {
		return l.Drained || l.Err == nil && l.PayWithin == 0 && !l.Recalling
	})
	slices.SortStableFunc(sales.Listings, func(a, b ledger.Listing) int {
		if a.Recalling != b.Recalling {
			if a.Recalling {
				return 1
			}
			return -1
		}
		if a.NextPayBy.IsZero() || b.NextPayBy.IsZero() {
			return a.NextPayBy.Compare(b.NextPayBy)
		}
		return b.NextPayBy.Compare(a.NextPayBy)
	})
	return sales, err
}

// pass begins or continues a pass. After a time slice that was cut off the listing is read again,
// because it says how far that time slice came.
func (h *Handler) pass(ctx context.Context, listing ledger.Listing, again bool) (done ledger.ReleaseResult, err error) {
	if again {
		if listing, err = h.ledger.Listing(ctx, listing.SaleID); err != nil {
			return done, err
		}
	}
	return h.ledger.ReleaseDue(ctx, listing, h.grace)
}

func shown(saleID string, r ledger.ReleaseResult) Pass {
	p := Pass{
		SaleID: saleID, Released: r.Released, PutBack: r.PutBack, OverdueSeconds: r.OldestDueSeconds,
		Complete: r.Complete, ReadUnits: r.ReadUnits, Refunded: r.Refunded,
	}
	if r.Complete && !r.NextRelease.IsZero() {
		p.NextDue = httpapi.Time(r.NextRelease)
	}
	return p
}

// report writes one line per time slice, with the figures that alarms watch (P11).
func report(event *telemetry.Event, p Pass, err error) {
	event.Text("saleId", p.SaleID)
	if p.Complete {
		event.Text("nextDue", p.NextDue)
	}
	event.Metric("released", telemetry.Count, p.Released)
	event.Metric("putBack", telemetry.Count, int(p.PutBack))
	if p.Refunded > 0 {
		event.Int("refunded", p.Refunded)
	}
	event.Metric("overdueSeconds", telemetry.Seconds, int(p.OverdueSeconds))
	event.Metric("readUnits", telemetry.Count, int(p.ReadUnits))
	event.End("pass", sale.CodeOf(err), err)
}
