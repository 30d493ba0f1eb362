// Package handler looks after the sales: per sale that is not drained one pass
// over its books, the order messages that must have been lost sent again, and a
// receipt.
//
// A line in here knows what repair may do (P17): send messages, mark when, and
// report. It never writes stock or orders.
package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

const (
	// maxStranded bounds what one pass may send again; the next one goes on.
	maxStranded = 5000
	// saveTime is what keeping the cursor may take after the time is up. It
	// lies within telemetry.Margin.
	saveTime = 300 * time.Millisecond
)

// Book is what the handler needs of the ledger.
type Book interface {
	Listings(context.Context) ([]ledger.Listing, error)
	Listing(ctx context.Context, saleID string) (ledger.Listing, error)
	Step(context.Context, *ledger.Audit, ledger.Stranded) (*ledger.Receipt, error)
	SaveCursor(context.Context, *ledger.Audit) error
	Drain(ctx context.Context, saleID string, closesAt time.Time) error
	MayResend(context.Context, sale.Claim) (bool, error)
}

// Queue is what the handler needs of the order queue.
type Queue interface {
	Send(context.Context, orderq.Message) error
	Depth(context.Context) (int, error)
}

// Handler serves one execution environment.
type Handler struct {
	book  Book
	queue Queue
	log   *telemetry.Log
}

// New is a handler over a ledger and an order queue.
func New(b Book, q Queue, log *telemetry.Log) *Handler { return &Handler{book: b, queue: q, log: log} }

// Request names one sale, or none for every sale that is not drained.
type Request struct {
	SaleID string `json:"saleId"`
}

// Answer has one receipt per sale whose pass was completed.
type Answer struct {
	Receipts []Receipt `json:"receipts"`
}

// Receipt is the books of one sale as operators read them.
type Receipt struct {
	SaleID               string   `json:"saleId"`
	AsOf                 string   `json:"asOf"`
	Seeded               int64    `json:"seeded"`
	Stock                int64    `json:"stock"`
	Claims               int64    `json:"claims"`
	Pending              int64    `json:"pending"`
	Confirmed            int64    `json:"confirmed"`
	Resent               int64    `json:"resent"`
	OldestPendingSeconds int64    `json:"oldestPendingSeconds"`
	Balanced             bool     `json:"balanced"`
	Findings             []string `json:"findings"`
	// ReadUnits is what the pass cost, in DynamoDB read request units.
	ReadUnits float64 `json:"readUnits"`
}

// Handle reconciles. A sale that fails does not keep the others from their
// turn; if any failed, the invocation fails in the end, and the next minute's
// goes on where it stopped.
func (h *Handler) Handle(ctx context.Context, raw json.RawMessage) (answer Answer, failure error) {
	ctx, cancel, event := h.log.Begin(ctx)
	defer cancel()
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		code := sale.CodeOf(err)
		event.Int("sales", len(answer.Receipts))
		event.CountBy("reconciliations", "result", telemetry.Outcome(code))
		event.End("reconcile", code, err)
		if err != nil {
			failure = messages.InvokeResponse_Error{Type: string(code), Message: "not every sale could be reconciled"}
		}
	}()

	answer.Receipts = []Receipt{}
	var listings []ledger.Listing
	if listings, err = h.sales(ctx, raw); err != nil {
		return answer, nil
	}
	var errs []error
	for _, listing := range listings {
		passCtx, part := event.Part(ctx)
		receipt, saleErr := h.reconcile(passCtx, listing)
		if saleErr != nil {
			errs = append(errs, fmt.Errorf("sale %s: %w", listing.SaleID, saleErr))
		}
		if receipt != nil {
			report(passCtx, part, *receipt)
			answer.Receipts = append(answer.Receipts, *receipt)
		}
	}
	err = errors.Join(errs...)
	return answer, nil
}

// sales are those to look at. One that was asked for by name is looked at from
// the beginning, drained or not.
func (h *Handler) sales(ctx context.Context, raw json.RawMessage) ([]ledger.Listing, error) {
	var r Request
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, sale.Refuse(sale.InvalidRequest, `the request must be {} or {"saleId": …}`)
	}
	if r.SaleID == "" {
		return h.book.Listings(ctx)
	}
	if !sale.ValidID(r.SaleID) {
		return nil, sale.Refuse(sale.InvalidRequest, "saleId must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -")
	}
	listing, err := h.book.Listing(ctx, r.SaleID)
	listing.Cursor = nil
	return []ledger.Listing{listing}, err
}

// reconcile makes or goes on with one pass. A nil receipt without an error
// means that the pass goes on next time.
func (h *Handler) reconcile(ctx context.Context, listing ledger.Listing) (*Receipt, error) {
	audit := listing.Cursor
	if audit == nil {
		audit = &ledger.Audit{SaleID: listing.SaleID}
	}
	final := time.Since(listing.ClosesAt) >= ledger.DrainAfter
	if final && audit.Sold == nil {
		audit.OrdersFrom = time.Time{} // every order, before the sale is drained
	}
	whole := audit.OrdersFrom.IsZero()
	var stranded []sale.Claim
	books, err := h.pass(ctx, audit, func(c sale.Claim) {
		if len(stranded) < maxStranded {
			stranded = append(stranded, c)
		}
	})
	if books == nil {
		// What was found so far need not wait for the end of the pass.
		_, sendErr := h.resend(ctx, stranded, audit.Pending+audit.Missing)
		return nil, errors.Join(err, sendErr, h.save(ctx, audit))
	}
	resent, err := h.resend(ctx, stranded, books.Pending+books.Missing)
	receipt := shown(*books, resent)
	if final && whole && books.Pending == 0 && books.Missing == 0 && books.Balanced {
		return &receipt, errors.Join(err, h.book.Drain(ctx, listing.SaleID, listing.ClosesAt))
	}
	next := &ledger.Audit{SaleID: listing.SaleID, OrdersFrom: audit.OrdersFrom}
	if books.Missing == 0 {
		next.OrdersFrom = audit.Began.Add(-ledger.Recheck)
	}
	return &receipt, errors.Join(err, h.save(ctx, next))
}

// pass steps until the pass is complete or the time is up; then the receipt is
// nil.
func (h *Handler) pass(ctx context.Context, audit *ledger.Audit, stranded ledger.Stranded) (*ledger.Receipt, error) {
	for {
		books, err := h.book.Step(ctx, audit, stranded)
		if books != nil || err != nil {
			if sale.CodeOf(err) == sale.Busy && ctx.Err() != nil {
				return nil, nil
			}
			return books, err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < 2*ledger.SettleTime {
			return nil, nil
		}
		select {
		case <-time.After(ledger.SettleTime):
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// resend sends the messages of stranded claims again, unless the queue holds as
// many messages as there are orders to finish: then they are only waiting
// their turn, and more messages would make that longer.
func (h *Handler) resend(ctx context.Context, stranded []sale.Claim, unfinished int64) (int64, error) {
	if len(stranded) == 0 {
		return 0, nil
	}
	depth, err := h.queue.Depth(ctx)
	if err != nil {
		return 0, err
	}
	if int64(depth) >= unfinished {
		return 0, nil
	}
	resent := int64(0)
	for _, c := range stranded {
		due, err := h.book.MayResend(ctx, c)
		if err != nil {
			return resent, err
		}
		if !due {
			continue
		}
		if err := h.queue.Send(ctx, orderq.Of(c)); err != nil {
			return resent, err
		}
		resent++
	}
	return resent, nil
}

// save keeps the cursor, also when the time is up.
func (h *Handler) save(ctx context.Context, audit *ledger.Audit) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), saveTime)
		defer cancel()
	}
	return h.book.SaveCursor(ctx, audit)
}

// report writes one line per sale, with the figures that alarms watch (P11).
func report(ctx context.Context, event *telemetry.Event, r Receipt) {
	event.Text("saleId", r.SaleID)
	event.Metric("oversold", telemetry.Count, int(max(0, -r.Stock, r.Claims-r.Seeded)))
	event.Metric("unbalanced", telemetry.Count, map[bool]int{false: 1, true: 0}[r.Balanced])
	event.Metric("pending", telemetry.Count, int(r.Pending))
	event.Metric("resent", telemetry.Count, int(r.Resent))
	event.Metric("oldestPendingSeconds", telemetry.Seconds, int(r.OldestPendingSeconds))
	event.Metric("readUnits", telemetry.Count, int(r.ReadUnits))
	var err error
	code := sale.Code("")
	if !r.Balanced {
		code, err = sale.Internal, fmt.Errorf("the books do not balance: %q", r.Findings)
	}
	event.End("receipt", code, err)
}

func shown(r ledger.Receipt, resent int64) Receipt {
	findings := r.Findings
	if findings == nil {
		findings = []string{}
	}
	return Receipt{
		SaleID: r.SaleID, AsOf: httpapi.Time(r.AsOf), Seeded: r.Seeded, Stock: r.Stock, Claims: r.Claims,
		Pending: r.Pending, Confirmed: r.Confirmed, Resent: resent, OldestPendingSeconds: r.OldestPendingSeconds,
		Balanced: r.Balanced, Findings: findings, ReadUnits: r.ReadUnits,
	}
}
