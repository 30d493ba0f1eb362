package table

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
	// backoffBase and BackoffCap are the parameters of the back-off with full jitter.
	backoffBase = 20 * time.Millisecond
	BackoffCap  = 200 * time.Millisecond
	// StarvedCap is the cap for a write that confirms a claim, from its try starvedAfter on.
	// Purchases wait longer, so an accepted order gets what a crowd leaves of a partition
	// before the time is up.
	StarvedCap   = 50 * time.Millisecond
	starvedAfter = 8
	// MaxTries bounds one call's tries where a client waits (P16).
	MaxTries = 6
	// PatientTries applies where no client waits (seeding, finalizing, reconciling,
	// releasing): a crowd can exhaust a table for seconds. A failed message comes back only
	// after its visibility timeout, and a failed run of a schedule is an alarm. The time
	// budget also bounds them.
	PatientTries = 24
)

// Outcome classifies an error of the DynamoDB client.
type Outcome int

const (
	Succeeded   Outcome = iota
	Contended           // not applied: conflict or throttle; worth another try
	Unknown             // may have been applied, or may still be
	Conditioned         // not applied: a condition failed (single-item write)
	Cancelled           // not applied: see the transaction's reasons
	Hopeless            // not applied, and no repeat will change that
)

// Judge classifies an error of the client. In doubt the outcome is unknown, never a
// refusal (P5).
func Judge(err error) Outcome {
	if err == nil {
		return Succeeded
	}
	if _, ours := errors.AsType[*sale.Error](err); ours {
		return Hopeless // already has a code: the retries are over
	}
	if _, cancel := errors.AsType[*types.TransactionCanceledException](err); cancel {
		return Cancelled
	}
	if _, condition := errors.AsType[*types.ConditionalCheckFailedException](err); condition {
		return Conditioned
	}
	api, answered := errors.AsType[smithy.APIError](err)
	if !answered {
		return Unknown // no answer at all: a timeout, a broken connection
	}
	switch code := api.ErrorCode(); {
	case Contention(code), code == "TransactionConflictException":
		return Contended
	case temporary(code):
		return Unknown
	}
	status := 0
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		status = response.HTTPStatusCode()
	}
	switch {
	case status >= 500:
		return Unknown
	case status == http.StatusTooManyRequests, skewed(err):
		return Contended
	}
	return Hopeless
}

// Contention reports whether a code, of a call, of one of its statements or of a cancellation,
// is temporary and says nothing about the items. AWS's services throttle under many names.
func Contention(code string) bool {
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

// Attempt runs one call with its own time limit, unless that of ctx is shorter.
func Attempt(ctx context.Context, call func(context.Context) error) error {
	if !invocation.Outlasts(ctx, callTimeout) {
		return call(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx)
}

// Retry runs a call that may safely run twice until its outcome is final. It
// returns the client's error for a failed condition, a cancellation or a
// hopeless call, and sale.Busy when the tries or the time have run out.
func (t *Table) Retry(ctx context.Context, most int, call func(context.Context) error) error {
	for left := t.UpTo(most); ; {
		err := Attempt(ctx, call)
		if o := Judge(err); o != Contended && o != Unknown {
			return err
		}
		if !left.Again(ctx) {
			return sale.Fail(sale.Busy, err)
		}
	}
}

// Tries counts the tries of one loop.
type Tries struct {
	table      *Table
	made, most int
	// starving: from try starvedAfter on the waits are no longer than StarvedCap.
	starving bool
}

func (t *Table) UpTo(most int) Tries { return Tries{table: t, most: most} }

// Again counts a try that is to be repeated, and waits. It reports false if the tries have
// run out, or the time would.
func (t *Tries) Again(ctx context.Context) bool {
	t.made++
	longest := BackoffCap
	if t.starving && t.made >= starvedAfter {
		longest = StarvedCap
	}
	return t.made < t.most && t.table.BackOffUpTo(ctx, longest, t.made-1)
}

// AtOnce counts a try that is to be repeated without a wait. It reports false if the tries have run out.
func (t *Tries) AtOnce() bool {
	t.made++
	return t.made < t.most
}

// BackOffUpTo waits after this try (counted from 0), with full jitter. It reports false,
// without waiting, if the time budget does not suffice.
func (t *Table) BackOffUpTo(ctx context.Context, longest time.Duration, try int) bool {
	limit := min(longest, backoffBase<<min(try, 8))
	return invocation.Wait(ctx, time.Duration(t.Random()*float64(limit)), 0)
}
