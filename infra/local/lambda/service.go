// Package lambda is AWS Lambda on one machine: it runs the functions' real
// bootstrap programs as processes, each against a Lambda Runtime API of its
// own, and answers Lambda's Invoke API.
//
// A process stays warm for the next event, and is killed at the function's timeout, as an
// execution environment is. Differences from AWS: a caller waits for a place, up to the
// concurrency limit, instead of getting a new environment; an idle process is neither
// frozen nor ended; and a process may take several events at once, as on Lambda's Managed
// Instances, which spares memory. Then one that was too slow takes no more events, and is
// killed when those beside it have ended.
//
// It implements Lambda's protocols, limits and error texts, regardless of the functions
// and their events.
package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"flashsale/infra/local/template"
)

type Function struct {
	Name    string // the template's logical id
	Command string // path of the bootstrap program
	// Env is the environment set by the template, without variables that Lambda reserves, but
	// for AWS_LAMBDA_MAX_CONCURRENCY: how many events a process takes at once, 1 without it.
	Env      map[string]string
	Timeout  time.Duration // of one invocation, more than 0
	MemoryMB int           // only passed to the function, not enforced
	// AtOnce bounds the events that run at one time to what this machine can handle; at
	// least 1. Further invocations wait.
	AtOnce int
	// Reserved is the function's reserved concurrency: invocations beyond it, the
	// waiting ones included, are throttled. 0 reserves none: the function shares the
	// account's unreserved concurrency.
	Reserved int
}

// Options are what the functions have in common.
type Options struct {
	// Logs receives every line that a function prints, and one for each invocation that
	// Lambda itself had to end, like "PurchaseFunction | {…}", with one Write per line;
	// Writes never overlap. Nil discards.
	Logs io.Writer
	// AfterResponse is called with every answer of a function, result or error, before
	// it is delivered. If it returns true, the process is killed at this point: the
	// work is done and the reply is lost. May be nil. It must be safe for concurrent
	// use.
	AfterResponse func(function, requestID string) (kill bool)
	// Failed is called with the name of a function of which an invocation failed; may be nil. It must
	// be safe for concurrent use.
	Failed func(function string)
	// Concurrency is the account's concurrency, including what functions reserve;
	// Lambda's 1,000 if 0.
	Concurrency int
	// TimerSlack is the processes'; see package child.
	TimerSlack time.Duration
}

// Service runs functions until it is closed. It is safe for concurrent use.
type Service struct {
	opts  Options
	pools map[string]*pool

	ctx    context.Context // done, with ErrClosed, when Close begins
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // invocations; none is added once closed
}

// New makes a service of functions with different names. It starts nothing: a
// function's first process starts with its first event.
func New(functions []Function, o Options) (*Service, error) {
	if o.Logs == nil {
		o.Logs = io.Discard
	}
	if o.Concurrency == 0 {
		o.Concurrency = AccountConcurrency
	}
	s := &Service{opts: o, pools: make(map[string]*pool, len(functions))}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	logs := &sink{to: o.Logs}
	unreserved := o.Concurrency
	for _, f := range functions {
		if unreserved -= f.Reserved; f.AtOnce < 1 {
			return nil, fmt.Errorf("%s may run %d events at once, want at least 1", f.Name, f.AtOnce)
		}
	}
	if unreserved < 1 { // 100 on AWS, where no account is smaller
		return nil, fmt.Errorf("reserve concurrency: %d of %d are left for the other functions", unreserved, o.Concurrency)
	}
	shared := newLimit(unreserved)
	for _, f := range functions {
		limit := shared
		if f.Reserved > 0 {
			limit = newLimit(f.Reserved)
		}
		s.pools[f.Name] = newPool(s, f, logs, limit)
	}
	return s, nil
}

func (s *Service) arn(function string) string {
	return "arn:aws:lambda:" + template.Region + ":" + template.AccountID + ":function:" + function
}

// Invoke runs a function with an event and waits for its answer; an empty
// payload is passed on as {}. The function error is empty, or "Unhandled" when
// the function failed: the response then is Lambda's error object.
//
// The error is ErrFunctionNotFound, ErrPayloadTooLarge (above 6 MiB), eventsource.ErrThrottled, ErrClosed,
// or the cause of ctx. A ctx that ends while the function runs does not stop it, as on AWS.
func (s *Service) Invoke(ctx context.Context, function string, payload []byte) (response []byte, functionError string, err error) {
	out, err := s.invoke(ctx, function, event{id: newRequestID(), payload: payload})
	if err != nil {
		return nil, "", fmt.Errorf("invoke %s: %w", function, err)
	}
	return out.payload, out.functionError, nil
}

type event struct {
	id      string // the request id
	payload []byte
}

func (s *Service) invoke(ctx context.Context, function string, e event) (outcome, error) {
	p := s.pools[function]
	switch {
	case p == nil:
		return outcome{}, ErrFunctionNotFound
	case len(e.payload) > maxRequest:
		return outcome{}, fmt.Errorf("%w: %d bytes of at most %d", ErrPayloadTooLarge, len(e.payload), maxRequest)
	case len(e.payload) == 0:
		e.payload = []byte("{}")
	}
	if err := p.enter(ctx); err != nil {
		return outcome{}, err
	}
	if !s.begin() {
		p.leave()
		return outcome{}, ErrClosed
	}
	type answer struct {
		outcome
		error
	}
	done := make(chan answer, 1)
	go func() {
		defer s.work.Done()
		out, err := p.serve(e)
		p.leave()
		if out.functionError != "" && s.opts.Failed != nil {
			s.opts.Failed(function)
		}
		done <- answer{out, err}
	}()
	select {
	case a := <-done:
		return a.outcome, a.error
	case <-ctx.Done():
		return outcome{}, context.Cause(ctx)
	}
}

// begin registers an invocation, unless the service is closed.
func (s *Service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

// SetEnvironment replaces what Function.Env was. As on AWS, an invocation that runs goes on
// in its process; later ones get processes with the new environment.
func (s *Service) SetEnvironment(function string, env map[string]string) {
	s.pools[function].setEnvironment(env)
}

// Close kills every process, lets running and waiting invocations end with
// ErrClosed, and returns when all of them are gone. It always returns nil.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(ErrClosed)
	// An invocation may be starting a process: the pools are empty only after it.
	s.work.Wait()
	for _, p := range s.pools {
		p.killAll()
	}
	return nil
}

const (
	maxRequest  = 6 << 20
	maxResponse = 6_291_556
	// initLimit is how long a process may take to ask for its first event.
	initLimit = 10 * time.Second
	// AccountConcurrency is the default quota, a new account's.
	AccountConcurrency = 1000
)

// Requests that Invoke refuses before any function runs.
var (
	ErrFunctionNotFound = errors.New("function not found")
	ErrPayloadTooLarge  = errors.New("payload is too large")
)

// ErrClosed is the error of every invocation interrupted by Close or made after it.
var ErrClosed = errors.New("lambda service is closed")

// unhandled is the function error of every failure of a function, including errors that
// it returns: custom runtimes have no other.
const unhandled = "Unhandled"

type outcome struct {
	payload       []byte
	functionError string // empty, or unhandled
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
