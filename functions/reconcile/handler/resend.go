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
	// maxResent bounds what one pass resends: about a minute of sequential calls.
	maxResent = 5000
	// maxDelay is the age of a claim from which its message is resent however full the
	// queue is. With a run every minute the first resend happens before the claim is
	// two minutes old and, because MarkResent waits for half its age, the second before
	// it is five: ledger.ResendBound.
	maxDelay = ledger.ResendBound / 5
	// maxFailures is the number of failures in a row after which a pass stops sending:
	// the queue or the table cannot be reached.
	maxFailures = 3
	// maxUnmarked is how many claims whose message could not be sent a pass makes due
	// again at once: the first ones show the next pass whether the queue can be reached.
	// The others stay quiet, because a failed send may have sent the message.
	maxUnmarked = 3
)

// stranded keeps the claims of a pass whose message is to be resent: at most most of
// them, those that have waited longest.
type stranded struct {
	most   int
	claims []sale.Claim
}

func (s *stranded) add(c sale.Claim) {
	if s.claims = append(s.claims, c); len(s.claims) >= 2*s.most {
		s.claims = s.oldest()
	}
}

// oldest returns the claims in the order of their last message. If there are more than
// one pass can send, each gets its turn before any gets a second one.
func (s *stranded) oldest() []sale.Claim {
	slices.SortFunc(s.claims, func(a, b sale.Claim) int { return lastSent(a).Compare(lastSent(b)) })
	return s.claims[:min(s.most, len(s.claims))]
}

// lastSent is when the message of a claim was last sent, according to the claim.
func lastSent(c sale.Claim) time.Time {
	if c.ResentAt.IsZero() {
		return c.AcceptedAt
	}
	return c.ResentAt
}

// resend resends the messages of stranded claims until the sale's time is up. While the
// queue holds as many messages as the sale has unfinished orders, they are probably
// only queued, and more messages would delay them. But those messages may be another
// sale's, or one that fails and comes back endlessly, so only young claims are skipped.
func (h *Handler) resend(
	ctx context.Context, claims []sale.Claim, unfinished int64, hurry bool,
) (resent int64, err error) {
	if len(claims) == 0 {
		return 0, nil
	}
	depth, err := h.queue.Depth(ctx)
	full := err != nil || int64(depth) >= unfinished
	errs := []error{err}
	unmarked := 0
	failures := 0
	for ; len(claims) > 0 && failures < maxFailures && invocation.Outlasts(ctx, saveTime); claims = claims[1:] {
		if full && h.now().Sub(claims[0].AcceptedAt) < maxDelay {
			continue
		}
		mark, err := h.ledger.MarkResent(ctx, claims[0], hurry)
		if !mark.IsZero() {
			sendErr := h.queue.Send(ctx, orderq.Of(claims[0]))
			if sendErr != nil && unmarked < maxUnmarked {
				unmarked++
				sendErr = errors.Join(sendErr, h.unmark(ctx, claims[0], mark))
			}
			err = errors.Join(err, sendErr)
		}
		if err != nil && !invocation.Outlasts(ctx, saveTime) {
			break // the time ended during a call: the rest follows next time
		}
		if err != nil {
			failures++
			errs = append(errs, err)
			continue
		}
		if failures = 0; !mark.IsZero() {
			resent++
		}
	}
	return resent, errors.Join(errs...)
}

// unmark makes a claim due again whose message could not be sent, also when the sale's time
// is up.
func (h *Handler) unmark(ctx context.Context, c sale.Claim, mark time.Time) error {
	ctx, cancel := invocation.Beyond(ctx, saveTime)
	defer cancel()
	return h.ledger.Unmark(ctx, c, mark)
}
