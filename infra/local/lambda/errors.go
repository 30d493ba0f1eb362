package lambda

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Lambda's own limits.
const (
	maxRequest      = 6 << 20
	maxAsyncRequest = 1 << 20
	maxResponse     = 6_291_556
	initLimit       = 10 * time.Second
	// accountConcurrency is a new account's quota, of which functions may reserve
	// all but minUnreserved. On AWS that rest is 100; here an account may be smaller.
	accountConcurrency = 1000
	minUnreserved      = 1
)

// What Invoke refuses before any function sees it.
var (
	ErrFunctionNotFound = errors.New("function not found")
	ErrPayloadTooLarge  = errors.New("payload is too large")
	ErrPayloadInvalid   = errors.New("payload is not JSON")
)

// ErrThrottled refuses an invocation beyond a concurrency limit.
var ErrThrottled error = throttled{}

type throttled struct{}

func (throttled) Error() string { return "rate exceeded: no concurrency is left" }

// Throttled tells callers that do not know this package why nothing ran.
func (throttled) Throttled() bool { return true }

// ErrClosed answers every invocation that Close cut short or came before.
var ErrClosed = errors.New("lambda service is closed")

// unhandled is the function error of everything that goes wrong in a function,
// its own errors included: custom runtimes have no other.
const unhandled = "Unhandled"

// outcome is how an invocation ended.
type outcome struct {
	payload       []byte
	functionError string // empty, or unhandled
	log           []byte // the end of what the invocation printed, if it was asked for
}

// failure is an outcome that Lambda itself words, not the function.
func failure(errorType, format string, args ...any) outcome {
	// Strings always marshal.
	payload, _ := json.Marshal(struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}{errorType, fmt.Sprintf(format, args...)})
	return outcome{payload: payload, functionError: unhandled}
}

func timedOut(requestID string, after time.Duration) outcome {
	return failure("Sandbox.Timedout", "RequestId: %s Error: Task timed out after %.2f seconds", requestID, after.Seconds())
}

// exited words the end of a process; err is what waiting for it returned.
func exited(requestID string, err error) outcome {
	if err == nil {
		return failure("Runtime.ExitError", "RequestId: %s Error: Runtime exited without providing a reason", requestID)
	}
	reason := err.Error()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		reason = exit.ProcessState.String()
	}
	return failure("Runtime.ExitError", "RequestId: %s Error: Runtime exited with error: %s", requestID, reason)
}

func cannotStart(requestID string, err error) outcome {
	return failure("Runtime.InvalidEntrypoint", "RequestId: %s Error: %v", requestID, err)
}

func responseTooLarge() outcome {
	return failure("Function.ResponseSizeTooLarge",
		"Response payload size exceeded maximum allowed payload size (%d bytes).", maxResponse)
}
