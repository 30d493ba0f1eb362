package handler

import (
	"context"
	"errors"
	"slices"
	"time"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
)

const (
	// maxResent bounds what one pass sends again: about a minute of calls, one
	// after the other.
	maxResent = 5000
	// maxDelay is how old a claim must be for its message to be sent again however
	// full the queue is. With a run every minute the first message is sent before
	// the claim is two minutes old and, because MayResend waits for half its age,
	// the second before it is five: ledger.ResendBound.
	maxDelay = ledger.ResendBound / 5
	// maxFailures is after how many failures in a row a pass sends no more: the
	// queue or the table cannot be reached.
	maxFailures = 3
)

// stranded keeps the claims of a pass whose message is to be sent again: no more
// than most, those that have waited longest.
type stranded struct {
	most   int
	claims []sale.Claim
}

func (s *stranded) add(c sale.Claim) {
	if s.claims = append(s.claims, c); len(s.claims) >= 2*s.most {
		s.claims = s.oldest()
	}
}

// oldest are the claims in the order of their last message. Of more than one pass
// can send each gets its turn before any gets a second one.
func (s *stranded) oldest() []sale.Claim {
	slices.SortFunc(s.claims, func(a, b sale.Claim) int { return lastSent(a).Compare(lastSent(b)) })
	return s.claims[:min(s.most, len(s.claims))]
}

// lastSent is when the message of a claim was sent last, as far as the claim shows.
func lastSent(c sale.Claim) time.Time {
	if c.ResentAt.IsZero() {
		return c.AcceptedAt
	}
	return c.ResentAt
}

// resend sends the messages of stranded claims again until the turn is over. While
// the queue holds as many messages as the sale has unfinished orders they are
// probably only waiting their turn, and more messages would make that longer. But
// the messages may be those of another sale, or one that fails and comes back for
// ever, so that holds for young claims only.
func (h *Handler) resend(ctx context.Context, claims []sale.Claim, unfinished int64) (resent int64, err error) {
	if len(claims) == 0 {
		return 0, nil
	}
	depth, err := h.queue.Depth(ctx)
	full := err != nil || int64(depth) >= unfinished
	errs := []error{err}
	for failures := 0; len(claims) > 0 && failures < maxFailures && invocation.Outlasts(ctx, saveTime); claims = claims[1:] {
		if full && h.now().Sub(claims[0].AcceptedAt) < maxDelay {
			continue
		}
		sent, err := h.sendAgain(ctx, claims[0])
		if err != nil && !invocation.Outlasts(ctx, saveTime) {
			break // the turn ended in the middle of a call: the rest goes on next time
		}
		if err != nil {
			failures++
			errs = append(errs, err)
			continue
		}
		if failures = 0; sent {
			resent++
		}
	}
	return resent, errors.Join(errs...)
}

// sendAgain marks the claim and sends its message, if that is due. A message whose
// sending fails after the mark is due again after as long as any other.
func (h *Handler) sendAgain(ctx context.Context, c sale.Claim) (bool, error) {
	due, err := h.book.MayResend(ctx, c)
	if err != nil || !due {
		return false, err
	}
	return true, h.queue.Send(ctx, orderq.Of(c))
}
