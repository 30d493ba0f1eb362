// Package handler reconciles the sales: for each that is not drained it makes one pass
// over the books, resends the order messages that must have been lost, and writes a
// receipt.
//
// Repair only sends messages, records when they were sent, and reports. It never writes
// stock or orders (P17).
package handler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/scheduled"
	"flashsale/shared/telemetry"
)

// Ledger is the part of the ledger that the handler uses.
type Ledger interface {
	scheduled.Ledger
	Step(context.Context, *ledger.Audit, ledger.Stranded) (*ledger.Receipt, error)
	SaveCursor(context.Context, *ledger.Audit, *ledger.Receipt) error
	Drain(context.Context, *ledger.Receipt) (bool, error)
	MarkResent(ctx context.Context, c sale.Claim, hurry bool) (mark time.Time, err error)
	Unmark(ctx context.Context, c sale.Claim, mark time.Time) error
	CountRefunds(context.Context, *ledger.RefundCount) error
}

// Queue is the part of the order queue that the handler uses.
type Queue interface {
	Send(context.Context, orderq.Message) error
	Depth(context.Context) (int, error)
}

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	ledger Ledger
	queue  Queue
	log    *telemetry.Log
	now    func() time.Time
	// most is how many messages one pass may resend.
	most int
	// counting is held by the run that counts refunds, of those at the same time.
	counting sync.Mutex
	// refunds are counted by this run and the next ones; nil begins anew.
	refunds []*ledger.RefundCount
}

// New returns a handler over a ledger and an order queue; now returns the current
// instant.
func New(l Ledger, q Queue, log *telemetry.Log, now func() time.Time) *Handler {
	return &Handler{ledger: l, queue: q, log: log, now: now, most: maxResent}
}

// salesAtOnce is how many sales are reconciled at a time.
const salesAtOnce = 8

// Handle reconciles. A sale that fails does not stop the others, nor the logging of
// their receipts; if any failed, the invocation fails in the end, and the next one, a
// minute later, continues.
func (h *Handler) Handle(ctx context.Context, raw json.RawMessage) (Answer, error) {
	answer := Answer{Receipts: []Receipt{}}
	err := scheduled.Run(ctx, h.log, "reconcile", func(ctx context.Context, event *telemetry.Event) error {
		return h.reconcileAll(ctx, event, raw, &answer)
	}, func(event *telemetry.Event, code sale.Code) {
		event.Int("sales", len(answer.Receipts))
		event.CountBy("reconciliations", "result", telemetry.Result(code))
	})
	return answer, err
}

func (h *Handler) reconcileAll(ctx context.Context, event *telemetry.Event, raw []byte, answer *Answer) error {
	sales, err := h.sales(ctx, raw)
	if err != nil {
		return err
	}
	var noRefunds error
	if !sales.Named {
		var drained []ledger.Listing
		sales.Listings, drained = split(sales.Listings)
		slice, part := event.Part(ctx)
		slice, cancel := invocation.Share(slice, 4)
		slice, stop := context.WithTimeout(slice, refundTime)
		noRefunds = h.reportRefunds(slice, part, drained)
		stop()
		cancel()
	}
	receipts, resent := make([]*Receipt, len(sales.Listings)), make([]int64, len(sales.Listings))
	err = sales.Each(ctx, event, scheduled.Work{
		AtOnce: salesAtOnce,
		Do: func(slice context.Context, i int) (cut bool, err error) {
			listing := &sales.Listings[i]
			listing.Cursor = cmp.Or(listing.Cursor, &ledger.Audit{SaleID: listing.SaleID}) // a further time slice continues it
			var sent int64
			receipts[i], sent, cut, err = h.reconcile(slice, *listing)
			resent[i] += sent
			return cut, err
		},
		Report: func(line *telemetry.Event, i int, _ error) {
			if receipts[i] != nil {
				h.report(line, *receipts[i])
			}
		},
		Draft: func(line *telemetry.Event, i int, draft *sale.DraftError) {
			h.reportDraft(line, sales.Listings[i].SaleID, draft)
		},
	})
	for i, r := range receipts {
		answer.Resent += resent[i]
		if r != nil {
			answer.Receipts = append(answer.Receipts, *r)
		}
	}
	return errors.Join(noRefunds, err)
}

// resend is the action of an operator who does not want to wait until messages are due to be
// resent. It continues the pass that is under way, so that its repeats reach every claim of
// a large sale.
const resend = "resend"

// sales returns the sales to reconcile, the one that has waited longest first: if the
// time does not suffice for all, the others come first next time. A sale requested by
// id is reconciled from the beginning, drained or not.
func (h *Handler) sales(ctx context.Context, raw []byte) (scheduled.Sales, error) {
	sales, err := scheduled.SalesOf(ctx, h.ledger, raw, resend)
	switch {
	case !sales.Named:
		slices.SortStableFunc(sales.Listings, func(a, b ledger.Listing) int { return savedAt(a).Compare(savedAt(b)) })
	case sales.Action == resend:
		one := &sales.Listings[0]
		one.Cursor = cmp.Or(one.Cursor, &ledger.Audit{SaleID: one.SaleID})
		one.Cursor.Hurry = true
	default:
		sales.Listings[0].Cursor = nil
	}
	return sales, err
}

// split separates the drained sales, of which only refunds are looked at.
func split(listings []ledger.Listing) (others, drained []ledger.Listing) {
	for _, l := range listings {
		if l.Drained {
			drained = append(drained, l)
		} else {
			others = append(others, l)
		}
	}
	return others, drained
}

// savedAt is when a sale was last reconciled; zero if never.
func savedAt(l ledger.Listing) time.Time {
	if l.Cursor == nil {
		return time.Time{}
	}
	return l.Cursor.SavedAt
}

// reconcile begins or continues the pass of a listing. A nil receipt without an error means
// that the pass is not complete yet; cut, that its time was up. resent counts the messages.
func (h *Handler) reconcile(
	ctx context.Context, listing ledger.Listing,
) (receipt *Receipt, resent int64, cut bool, err error) {
	audit := listing.Cursor
	stranded := &stranded{most: h.most}
	books, cut, err := h.pass(ctx, audit, stranded)
	if sale.CodeOf(err) == sale.NewerVersion {
		return nil, 0, false, err // a newer version keeps the sale's pass
	}
	if books == nil {
		// Resend what was found so far without waiting for the end of the pass.
		resent, sendErr := h.resend(ctx, stranded.oldest(), audit.Pending+audit.Missing, audit.Hurry)
		return nil, resent, cut, errors.Join(err, sendErr, h.save(ctx, audit, nil))
	}
	resent, err = h.resend(ctx, stranded.oldest(), books.Pending+books.Missing, audit.Hurry)
	receipt = shown(*books, resent)
	if books.Finished {
		drained, drainErr := h.ledger.Drain(ctx, books)
		if err = errors.Join(err, drainErr); drained {
			return receipt, resent, false, err
		}
	}
	return receipt, resent, false, errors.Join(err, h.save(ctx, audit.Next(), books))
}

// pass steps until the pass is complete or its time is up; then the receipt is nil. It
// leaves half of the time slice's time for resending messages.
func (h *Handler) pass(
	ctx context.Context, audit *ledger.Audit, stranded *stranded,
) (receipt *ledger.Receipt, cut bool, err error) {
	ctx, cancel := invocation.Share(ctx, 2)
	defer cancel()
	for {
		books, err := h.ledger.Step(ctx, audit, stranded.add)
		if err != nil && sale.CodeOf(err) == sale.Busy && !invocation.Outlasts(ctx, saveTime) {
			return nil, true, nil
		}
		// A mismatch without the time to look again is left to the next run, after more than
		// SettleTime.
		if books != nil || err != nil || !invocation.Wait(ctx, ledger.SettleTime, ledger.SettleTime) {
			return books, false, err
		}
		stranded.claims = nil // the new pass finds them again
	}
}

// save stores the pass for the next invocation, also when the sale's time is up, and the books
// of the one before, if that is complete.
func (h *Handler) save(ctx context.Context, audit *ledger.Audit, books *ledger.Receipt) error {
	ctx, cancel := invocation.Beyond(ctx, saveTime)
	defer cancel()
	return h.ledger.SaveCursor(ctx, audit, books)
}

// saveTime is how long after its time is up a sale's claim may be unmarked and its pass stored. It lies within
// invocation.Margin.
const saveTime = 300 * time.Millisecond
