package ledger

// All retries of this package follow the rules of this file. These loops count their tries
// and wait by type tries: retry (one call), retryTransaction in transact.go, batchGet and
// execute in batches.go (the rest of a batch), editSale in edit.go (an edit that lost a
// race), and run in purchase.go (a purchase, on another shard). Confirm in confirm.go goes
// on with claims that are busy as long as it has time.

import (
	"context"
	"errors"
	"net/http"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"flashsale/shared/invocation"
	"flashsale/shared/sale"
)

const (
	// callTimeout bounds one call: the SDK has no limit, and a hung connection would
	// use up the time budget.
	callTimeout = time.Second
	// backoffBase and backoffCap are the parameters of the back-off with full jitter.
	backoffBase = 20 * time.Millisecond
	backoffCap  = 200 * time.Millisecond
	// starvedCap is the cap for a write that confirms a claim, from its try starvedAfter on.
	// Purchases wait longer, so an accepted order gets what a crowd leaves of a partition
	// before the time is up.
	starvedCap   = 50 * time.Millisecond
	starvedAfter = 8
	// maxTries bounds one call's tries where a client waits (P16).
	maxTries = 6
	// patientTries applies where no client waits (seeding, finalizing, reconciling,
	// releasing): a crowd can exhaust a table for seconds. A failed message comes back only
	// after its visibility timeout, and a failed run of a schedule is an alarm. The time
	// budget also bounds them.
	patientTries = 24
)

// outcome classifies an error of the DynamoDB client.
type outcome int

const (
	succeeded   outcome = iota
	contended           // not applied: conflict or throttle; worth another try
	unknown             // may have been applied, or may still be
	conditioned         // not applied: a condition failed (single-item write)
	cancelled           // not applied: see the transaction's reasons
	hopeless            // not applied, and no repeat will change that
)

// judge classifies an error of the client. In doubt the outcome is unknown, never a
// refusal (P5).
func judge(err error) outcome {
	if err == nil {
		return succeeded
	}
	if _, ours := errors.AsType[*sale.Error](err); ours {
		return hopeless // already has a code: the retries are over
	}
	if _, cancel := errors.AsType[*types.TransactionCanceledException](err); cancel {
		return cancelled
	}
	if _, condition := errors.AsType[*types.ConditionalCheckFailedException](err); condition {
		return conditioned
	}
	api, answered := errors.AsType[smithy.APIError](err)
	if !answered {
		return unknown // no answer at all: a timeout, a broken connection
	}
	switch code := api.ErrorCode(); {
	case contention(code), code == "TransactionConflictException":
		return contended
	case temporary(code):
		return unknown
	}
	status := 0
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		status = response.HTTPStatusCode()
	}
	switch {
	case status >= 500:
		return unknown
	case status == http.StatusTooManyRequests, skewed(err):
		return contended
	}
	return hopeless
}

// contention reports whether a code, of a call, of one of its statements or of a cancellation,
// is temporary and says nothing about the items. AWS's services throttle under many names.
func contention(code string) bool {
	switch code {
	case reasonConflict, reasonThroughput, reasonThrottling, reasonInProgress,
		"ProvisionedThroughputExceededException", "RequestLimitExceeded", "LimitExceededException", "BandwidthLimitExceeded",
		"Throttling", "ThrottlingException", "ThrottledException", "EC2ThrottledException",
		"RequestThrottled", "RequestThrottledException", "TooManyRequestsException", "SlowDown", "PriorRequestNotComplete":
		return true
	}
	return false
}

// temporary reports whether a code is of a call that may have been applied, or may still be.
func temporary(code string) bool {
	switch code {
	case "TransactionInProgressException", "InternalServerError", "ServiceUnavailable", "InternalFailure",
		"RequestTimeout", "RequestTimeoutException":
		return true
	}
	return false
}

// skewed reports whether a call was refused because this machine's clock is minutes off. The client
// says so of the first call only: from the answer it learns the time that it signs the next with.
func skewed(err error) bool {
	refused, ok := errors.AsType[interface {
		error
		RetryableError() bool
	}](err)
	return ok && refused.RetryableError()
}

// attempt runs one call with its own time limit.
func attempt(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx)
}

// retry runs a call that may safely run twice until its outcome is final. It
// returns the client's error for a failed condition, a cancellation or a
// hopeless call, and sale.Busy when the tries or the time have run out.
func (l *Ledger) retry(ctx context.Context, most int, call func(context.Context) error) error {
	for left := l.upTo(most); ; {
		err := attempt(ctx, call)
		if o := judge(err); o != contended && o != unknown {
			return err
		}
		if !left.again(ctx) {
			return sale.Fail(sale.Busy, err)
		}
	}
}

// tries counts the tries of one loop.
type tries struct {
	ledger     *Ledger
	made, most int
	// starving: from try starvedAfter on the waits are no longer than starvedCap.
	starving bool
}

func (l *Ledger) upTo(most int) tries { return tries{ledger: l, most: most} }

// again counts a try that is to be repeated, and waits. It reports false if the tries have
// run out, or the time would.
func (t *tries) again(ctx context.Context) bool {
	t.made++
	longest := backoffCap
	if t.starving && t.made >= starvedAfter {
		longest = starvedCap
	}
	return t.made < t.most && t.ledger.backOffUpTo(ctx, longest, t.made-1)
}

// backOffUpTo waits after this try (counted from 0), with full jitter. It reports false,
// without waiting, if the time budget does not suffice.
func (l *Ledger) backOffUpTo(ctx context.Context, longest time.Duration, try int) bool {
	limit := min(longest, backoffBase<<min(try, 8))
	return invocation.Wait(ctx, time.Duration(l.random()*float64(limit)), 0)
}

// asInternal gives an error without a code the code sale.Internal.
func asInternal(err error) error {
	if err == nil {
		return nil
	}
	if _, ours := errors.AsType[*sale.Error](err); ours {
		return err
	}
	return sale.Fail(sale.Internal, err)
}
