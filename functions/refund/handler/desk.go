package handler

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"flashsale/functions/refund/provider"
	"flashsale/shared/invocation"
)

const (
	// atOnce and perSecond are the calls of one provider. Stripe takes 25 a second, WeChat Pay 150, but of those 6
	// that it refuses.
	atOnce    = 5
	perSecond = 10
	// maxRefusals in a row for one reason halt a provider: the reason is not the single payment's.
	maxRefusals = 3
	// maxUnknown in a row are a provider that does not answer: the rest of the run is for others.
	maxUnknown = 5
	// restOfRunOrMore is longer than a run.
	restOfRunOrMore = time.Hour
)

// desk is what a run knows of a provider.
type desk struct {
	name    string
	account provider.Provider // nil if there is no key of it
	limit   *rate.Limiter
	now     func() time.Time

	mu       sync.Mutex
	until    time.Time // when the provider wants to be called again
	code     string    // of the last refusals
	refusals int
	unknown  int
}

func (r *run) desk(name string) *desk {
	if r.desks[name] == nil {
		r.desks[name] = &desk{
			name: name, account: r.accounts[name], limit: rate.NewLimiter(perSecond, atOnce), now: r.now,
		}
	}
	return r.desks[name]
}

// wait waits until the provider may be called. It reports false, without waiting, if that is not in this run.
func (d *desk) wait(ctx context.Context) bool {
	for {
		d.mu.Lock()
		now := d.now()
		pause := d.until.Sub(now)
		isFree := pause <= 0 && d.limit.AllowN(now, 1)
		d.mu.Unlock()
		if isFree {
			return invocation.Outlasts(ctx, restOfRun)
		}
		if !invocation.Wait(ctx, max(pause, time.Second/perSecond), restOfRun) {
			return false
		}
	}
}

// hear learns from an answer how to go on with the provider, and reports whether it must be halted. isKnown: an earlier
// press heard the same of the same refund. Or else what is refused for ever would hold up all others, in each press.
func (d *desk) hear(a provider.Answer, isKnown bool) (halt bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch a.Outcome {
	case provider.Halted:
		return true
	case provider.Busy:
		d.pause(max(a.Wait, time.Second))
		return false
	case provider.Unknown:
		pause := time.Second / 4 // in which the others that hang are heard, too
		if d.unknown++; d.unknown >= maxUnknown {
			pause = restOfRunOrMore
		}
		d.pause(pause)
		return false
	case provider.Refused:
		if isKnown {
			return false
		}
		if a.Code != d.code {
			d.code, d.refusals = a.Code, 0
		}
		d.refusals++
	case provider.Accepted:
		d.refusals = 0
	}
	d.unknown = 0
	return a.Outcome == provider.Refused && d.refusals >= maxRefusals
}

func (d *desk) pause(pause time.Duration) {
	if until := d.now().Add(pause); until.After(d.until) {
		d.until = until
	}
}
