// Package handler leads every draw from the end of entering to its last call: it closes the
// roll, fetches the round of the public dice that decides, and calls as many people as there
// are units.
//
// What a step writes, and that two runs agree about it, is the ledger's. The handler decides
// which step comes next, and waits for one that is due while it runs.
package handler

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"flashsale/shared/beacon"
	"flashsale/shared/draw"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/scheduled"
	"flashsale/shared/telemetry"
)

// Ledger is the part of the ledger that the handler uses.
type Ledger interface {
	scheduled.Ledger
	DrawState(ctx context.Context, saleID string, gap time.Duration) (ledger.DrawState, error)
	CloseRoll(ctx context.Context, s sale.Sale, roundAt func(time.Time) uint64, dice time.Duration) (draw.Head, error)
	SetSeed(ctx context.Context, s sale.Sale, seed draw.Digest, signature []byte) error
	Ranks(ctx context.Context, s sale.Sale, head draw.Head) ([]draw.Rank, error)
	BeginCall(ctx context.Context, d ledger.DrawState, ranks []draw.Rank, gap time.Duration) (begun bool, err error)
	FinishCall(ctx context.Context, saleID string, ranks []draw.Rank, gap time.Duration) (draw.Call, error)
}

// Dice returns the signature of a round of the beacon, verified.
type Dice interface {
	Signature(ctx context.Context, round uint64) ([]byte, error)
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	ledger Ledger
	chain  beacon.Chain
	dice   Dice
	times  draw.Times
	log    *telemetry.Log
	now    func() time.Time
}

// New returns a handler over a ledger and a beacon, whose chain says when a round is signed.
// now returns the current instant; its times must have no monotonic reading: see package clock.
func New(l Ledger, c beacon.Chain, d Dice, times draw.Times, log *telemetry.Log, now func() time.Time) *Handler {
	return &Handler{ledger: l, chain: c, dice: d, times: times, log: log, now: now}
}

// Answer has one Course for each sale with a draw.
type Answer struct {
	Draws []Course `json:"draws"`
}

// Course is what one invocation did in the draw of one sale.
type Course struct {
	SaleID string `json:"saleId"`
	// Steps are those that were taken: roll, seed, begin, finish.
	Steps []string `json:"steps"`
	Call  int64    `json:"call"` // the number of the newest one
	// NextStep is when the next step is due, as far as that is known.
	NextStep string `json:"nextStep,omitempty"`
	// DiceLateSeconds is for how long the round that decides has been missed. CallLateSeconds
	// is for how long a call has been due, or not complete.
	DiceLateSeconds int64 `json:"diceLateSeconds"`
	CallLateSeconds int64 `json:"callLateSeconds"`
}

const (
	// watch is for how long after its beginning an invocation waits for steps, so that they are
	// taken on the second. The schedule begins the next one a minute after this one.
	watch = 55 * time.Second
	// stepTime is the least time that must be left for the step that is waited for.
	stepTime = 2 * time.Second
	// callTime is the least time in which a call of the table can be expected to end.
	callTime = 300 * time.Millisecond
)

// Handle leads the draws of all sales, or of the one that the request names. A sale that fails
// does not stop the others; if any failed, the invocation fails in the end, and the next one, a
// minute later, continues. Invocations may overlap: what one has written, the other one finds.
func (h *Handler) Handle(ctx context.Context, raw json.RawMessage) (Answer, error) {
	answer := Answer{Draws: []Course{}}
	err := scheduled.Run(ctx, h.log, "draw", func(ctx context.Context, event *telemetry.Event) error {
		return h.lead(ctx, event, raw, &answer)
	}, func(event *telemetry.Event, code sale.Code) {
		event.Int("sales", len(answer.Draws))
		event.CountBy("draws", "result", telemetry.Result(code))
	})
	return answer, err
}

func (h *Handler) lead(ctx context.Context, event *telemetry.Event, raw []byte, answer *Answer) error {
	begun := invocation.Start()
	sales, err := scheduled.SalesOf(ctx, h.ledger, raw)
	if err != nil {
		return err
	}
	var draws []*saleDraw
	for _, l := range sales.Listings {
		if sales.Named || !l.Drained && (l.Err != nil || l.Draw) {
			draws = append(draws, &saleDraw{Handler: h, listing: l, shown: Course{SaleID: l.SaleID, Steps: []string{}}})
		}
	}
	var errs []error
	for due := draws; len(due) > 0; due = h.await(ctx, begun, draws) {
		sales.Listings = nil
		for _, c := range due {
			sales.Listings = append(sales.Listings, c.listing)
		}
		errs = append(errs, sales.Each(ctx, event, scheduled.Work{
			AtOnce: 1,
			Do: func(slice context.Context, i int) (cut bool, err error) {
				err = due[i].advance(slice)
				if sale.CodeOf(err) == sale.Busy && !invocation.Outlasts(slice, callTime) {
					return true, nil // the time ended during a step: the next time slice continues
				}
				return false, err
			},
			Report: func(line *telemetry.Event, i int, err error) {
				if err != nil {
					due[i].next = time.Time{}
				}
				due[i].report(line, err)
			},
			Draft: func(_ *telemetry.Event, i int, _ *sale.DraftError) { due[i].isDraft = true }, // reconciliation reports it
		}))
	}
	for _, c := range draws {
		if !c.isDraft {
			answer.Draws = append(answer.Draws, c.shown)
		}
	}
	return errors.Join(errs...)
}

// await waits for the earliest step that is due while the invocation still watches, and returns
// the sales that then have one to take.
func (h *Handler) await(ctx context.Context, begun invocation.Stopwatch, draws []*saleDraw) (due []*saleDraw) {
	var first time.Time
	for _, c := range draws {
		if !c.next.IsZero() && (first.IsZero() || c.next.Before(first)) {
			first = c.next
		}
	}
	wait := max(0, first.Sub(h.now()))
	if first.IsZero() || begun.Elapsed()+wait > watch || !invocation.Wait(ctx, wait, stepTime) {
		return nil
	}
	now := h.now()
	for _, c := range draws {
		if !c.next.IsZero() && !now.Before(c.next) {
			due = append(due, c)
		}
	}
	return due
}
