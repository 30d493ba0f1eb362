// Package eligibility asks a service of the operator whether a user may buy in a sale:
// the user check that started the incident. It may be slow.
//
// It handles HTTP and a slow or broken service. It uses neither the ledger nor a
// queue, so a user who waits here holds no unit, no claim and no lock.
package eligibility

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"flashsale/shared/cache"
)

// MaxTimeout bounds Options.Timeout: with it a purchase still has time for its tries (P16).
const MaxTimeout = time.Second

// Options say which service to ask and how long to wait.
type Options struct {
	// URL is the service's: https, or http on loopback. It receives POST requests.
	URL string
	// Timeout bounds one call, 1 ms to MaxTimeout. Waiting for a turn has the same
	// bound of its own: a call with little time left would fail and make a busy service
	// look broken.
	Timeout time.Duration
	// Concurrency bounds the calls at once.
	Concurrency int
	// FailOpen lets users buy when there is no answer; otherwise they may not
	// until there is one.
	FailOpen bool

	// Transport carries the requests; nil means the checker's own, which verifies
	// certificates.
	Transport http.RoundTripper
	// Now is the current instant. It must be given, and its times must have no
	// monotonic reading: see package clock.
	Now func() time.Time
	// Random, uniform in [0,1), spreads the probes of many environments; nil means
	// math/rand. Both must be safe for concurrent use.
	Random func() float64
}

// Checker asks the service and caches its answers. It is safe for concurrent use and
// meant to live as long as its execution environment.
type Checker struct {
	service  service
	timeout  time.Duration
	failOpen bool
	turns    chan struct{} // holds one token per call under way
	now      func() time.Time
	breaker  *breaker
	answers  *cache.Memory[question, bool]
}

// New returns a checker; it fails for a URL that cannot be meant.
func New(o Options) (*Checker, error) {
	s, err := newService(o.URL, o.Transport, o.Concurrency)
	if err != nil {
		return nil, err
	}
	return &Checker{
		service: s, timeout: o.Timeout, failOpen: o.FailOpen, now: o.Now,
		turns: make(chan struct{}, o.Concurrency), breaker: newBreaker(o.Random),
		answers: cache.NewMemory[question, bool](maxAnswers),
	}, nil
}

const (
	// maxAnswers bounds the cache of an environment: 5 MB, 15 MB with the longest user ids.
	maxAnswers = 20_000
	// refusalAge is how long an environment remembers that a user may not buy: somebody who has just been
	// verified need not wait longer. It costs the service at most one call a minute for each such user.
	refusalAge = time.Minute
)

type question struct{ saleID, user string }

// Reasons for no answer other than a failed call.
var (
	errOpen = errors.New("circuit breaker is open")
	errTurn = errors.New("too many calls are under way")
)

// IsEligible reports whether the user may buy in the sale. The answer that a user may is
// cached until the given end of the sale, and that a user may not for refusalAge, or until the end. If
// there is no answer within twice the timeout, or the circuit breaker is open, err says
// why, and the result is FailOpen. Type service documents what counts as an answer and
// what counts as a failure.
func (c *Checker) IsEligible(ctx context.Context, saleID, user string, end time.Time) (bool, error) {
	about := question{saleID, user}
	if eligible, ok := c.answers.Get(about, c.now()); ok {
		return eligible, nil
	}
	eligible, err := c.ask(ctx, saleID, user)
	if err != nil {
		return c.failOpen, fmt.Errorf("check user: %w", err)
	}
	// Clone the ids, so that the event they are part of is not kept. That a user may buy has no
	// age, so it survives a wall clock that steps back.
	about = question{strings.Clone(saleID), strings.Clone(user)}
	from := time.Time{}
	if !eligible {
		if from = c.now(); end.After(from.Add(refusalAge)) {
			end = from.Add(refusalAge)
		}
	}
	c.answers.Put(about, eligible, from, end)
	return eligible, nil
}

// ask calls the service, unless the circuit breaker is open.
func (c *Checker) ask(ctx context.Context, saleID, user string) (bool, error) {
	if err := c.turn(ctx); err != nil {
		return false, err
	}
	defer func() { <-c.turns }()
	if !c.breaker.enter(c.now(), c.timeout) {
		return false, errOpen // it failed while this call waited for its turn
	}
	call, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	eligible, err := c.service.ask(call, saleID, user)
	// A call that the caller ended says nothing about the service, and an answer that
	// cannot be used says nothing about other users.
	switch {
	case err == nil:
		c.breaker.succeed()
	case ctx.Err() == nil && !errors.Is(err, errAnswer):
		c.breaker.fail(c.now())
	}
	return eligible, err
}

// turn waits until a call may be made; the caller must release it afterwards.
func (c *Checker) turn(ctx context.Context) error {
	if c.breaker.isOpen(c.now()) {
		return errOpen
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	select {
	case c.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errTurn
	}
}
