package explore

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"flashsale/infra/proof/harness"
)

// pool is the environments of one function.
type pool struct {
	n        *network
	function harness.Function
	most     int
	running  int
	idle     []*harness.Environment
	frozen   []frozen
	waiting  []chan *harness.Environment
}

// frozen is an environment that is not used until an instant.
type frozen struct {
	*harness.Environment
	until time.Time
}

// take returns a free environment, warm or cold, or waits for one.
func (p *pool) take(who string) *harness.Environment {
	p.n.mu.Lock()
	if e := p.unfreezeLocked(time.Now()); e != nil {
		p.n.mu.Unlock()
		return e
	}
	cold := p.n.planned != nil || p.running < p.most && (len(p.idle) == 0 || p.n.random() < 0.1)
	switch {
	case cold:
		p.running++
		e := p.n.startLocked(p.function)
		p.n.mu.Unlock()
		return e
	case len(p.idle) > 0:
		i := draw(p.n.schedule, func(r *rand.Rand) int { return r.IntN(len(p.idle)) })
		e := p.idle[i]
		p.idle = slices.Delete(p.idle, i, i+1)
		p.n.numberLocked(e)
		p.n.mu.Unlock()
		return e
	}
	free := make(chan *harness.Environment, 1)
	p.waiting = append(p.waiting, free)
	p.n.mu.Unlock()
	e := <-free
	// The goroutine that released it is running, too.
	p.n.wait("free "+who, time.Microsecond)
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.n.numberLocked(e)
	return e
}

// give releases an environment, dead or alive.
func (p *pool) give(e *harness.Environment) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	isFaulty := !p.n.faultsOff.Load()
	switch {
	case e.Dead.Load() || isFaulty && p.n.random() < p.n.rates.recycle:
		e = nil
	case isFaulty && p.n.random() < p.n.rates.freeze:
		// From three seconds to twenty minutes, mostly short.
		pause := time.Duration(float64(3*time.Second) * math.Pow(400, p.n.random()))
		p.n.log.write("%s %d is frozen for %v", e.Function, e.Number, pause)
		p.frozen = append(p.frozen, frozen{e, time.Now().Add(pause)})
		e = nil
	}
	if e == nil {
		if len(p.waiting) == 0 {
			p.running--
			return
		}
		e = p.n.startLocked(p.function)
	}
	if len(p.waiting) > 0 {
		p.waiting[0] <- e
		p.waiting = p.waiting[1:]
		return
	}
	p.idle = append(p.idle, e)
}

// unfreezeLocked returns an environment that was frozen until now, or nil.
func (p *pool) unfreezeLocked(now time.Time) *harness.Environment {
	for i, f := range p.frozen {
		if !f.until.After(now) {
			p.frozen = slices.Delete(p.frozen, i, i+1)
			p.running++
			p.n.watch.counts["freezes"]++
			p.n.numberLocked(f.Environment)
			p.n.log.write("%s %d is thawed", f.Function, f.Number)
			return f.Environment
		}
	}
	return nil
}

// startLocked makes an environment with a random clock error.
func (n *network) startLocked(f harness.Function) *harness.Environment {
	skew := draw(n.schedule, func(r *rand.Rand) time.Duration {
		if sometimes(r, 0.5) {
			return between(r, -n.skew, n.skew)
		}
		return []time.Duration{-n.skew, n.skew}[r.IntN(2)]
	})
	e := n.world.Start(f, skew)
	n.numberLocked(e)
	return e
}

func (n *network) numberLocked(e *harness.Environment) {
	n.world.Invocations++
	e.Invocation = n.world.Invocations
}
