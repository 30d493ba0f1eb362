package handler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

const (
	// refundTime bounds what a run takes to count refunds, so that the sales have nearly all
	// of its minute. It is a quarter of a run's time at most.
	refundTime = 15 * time.Second
	// refundsAtOnce is how many sales' refunds are counted at a time.
	refundsAtOnce = 16
)

// reportRefunds counts the refunds that are due in drained sales, which get no receipt, and
// of payments of unknown orders. Counting all of them may take several runs; then each
// continues where the one before stopped in this environment. It writes a line with their
// number when all are counted, if there are any: each metric costs money. A run beside another that counts leaves
// it to that one.
func (h *Handler) reportRefunds(ctx context.Context, event *telemetry.Event, drained []ledger.Listing) error {
	if !h.counting.TryLock() {
		return nil
	}
	defer h.counting.Unlock()
	if h.refunds == nil {
		h.refunds = append(h.refunds, &ledger.RefundCount{})
		for _, l := range drained {
			h.refunds = append(h.refunds, &ledger.RefundCount{SaleID: l.SaleID, NotedAt: l.RefundAt, Books: l.Books})
		}
	}
	err := countRefunds(ctx, h.ledger, h.refunds)
	due, left, sent := int64(0), 0, ledger.SentSince{}
	for _, c := range h.refunds {
		due += c.Due
		sent.Join(c.SentSince)
		if !c.Complete {
			left++
		}
	}
	switch {
	case left > 0:
		event.Int("left", left)
	default:
		h.refunds = nil
		if due == 0 && err == nil && sent == (ledger.SentSince{}) {
			return nil
		}
		event.Metric("refundsDue", telemetry.Count, int(due))
		h.reportSent(event, sent)
	}
	event.End("refunds", sale.CodeOf(err), err)
	return err
}

// reportSent writes for how long the oldest refunds that were sent have waited, if there are any: each metric costs
// money.
func (h *Handler) reportSent(event *telemetry.Event, sent ledger.SentSince) {
	if !sent.UnknownSince.IsZero() {
		event.Metric("refundUnknownSeconds", telemetry.Seconds, int(h.now().Sub(sent.UnknownSince)/time.Second))
	}
	if !sent.AcceptedSince.IsZero() {
		event.Metric("refundAcceptedSeconds", telemetry.Seconds, int(h.now().Sub(sent.AcceptedSince)/time.Second))
	}
}

// countRefunds continues the counts that are not complete until the time is up.
func countRefunds(ctx context.Context, l Ledger, counts []*ledger.RefundCount) error {
	var mu sync.Mutex // guards next and errs
	next := 0
	var errs []error
	take := func() *ledger.RefundCount {
		mu.Lock()
		defer mu.Unlock()
		for next < len(counts) && invocation.Outlasts(ctx, saveTime) {
			if next++; !counts[next-1].Complete {
				return counts[next-1]
			}
		}
		return nil
	}
	var wait invocation.Group
	for range min(refundsAtOnce, len(counts)) {
		wait.Go(func() {
			for c := take(); c != nil; c = take() {
				err := invocation.Try(func() error { return l.CountRefunds(ctx, c) })
				if err == nil || sale.CodeOf(err) == sale.Busy && !invocation.Outlasts(ctx, saveTime) {
					continue // the time ended during a call: the next run continues
				}
				mu.Lock()
				errs = append(errs, fmt.Errorf("refunds of sale %q: %w", c.SaleID, err))
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
