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
	// accountConcurrency is the default quota; functions may reserve all of it but
	// minUnreserved, which is 100 on AWS. Here an account may be smaller.
	accountConcurrency = 1000
	minUnreserved      = 1
)

// Requests that Invoke refuses before any function runs.
var (
	ErrFunctionNotFound = errors.New("function not found")
	ErrPayloadTooLarge  = errors.New("payload is too large")
	ErrPayloadInvalid   = errors.New("payload is not JSON")
)

// ErrThrottled refuses an invocation beyond a concurrency limit.
var ErrThrottled error = throttled{}

type throttled struct{}

func (throttled) Error() string { return "rate exceeded: no concurrency left" }

// Throttled lets callers detect throttling without importing this package.
func (throttled) Throttled() bool { return true }

// ErrClosed is the error of every invocation interrupted by Close or made after it.
var ErrClosed = errors.New("lambda service is closed")

// unhandled is the function error of every failure of a function, including errors that
// it returns: custom runtimes have no other.
const unhandled = "Unhandled"

// outcome is how an invocation ended.
type outcome struct {
	payload       []byte
	functionError string // empty, or unhandled
	log           []byte // the end of the invocation's output, if requested
}

// failure is an outcome with an error of Lambda, not of the function.
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

// exited is the failure for a process that ended; err is the result of waiting for it.
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
