package simulate

import (
	"math/rand/v2"
	"slices"
	"time"
)

// pool is the environments of one function.
type pool struct {
	n        *network
	function function
	most     int
	running  int
	idle     []*environment
	waiting  []chan *environment
}

// take gives a free environment, a warm or a cold one, or waits for one.
func (p *pool) take(who string) *environment {
	p.n.mu.Lock()
	cold := p.running < p.most && (len(p.idle) == 0 || p.n.random() < 0.1)
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
	free := make(chan *environment, 1)
	p.waiting = append(p.waiting, free)
	p.n.mu.Unlock()
	e := <-free
	// The one who gave it away is running, too.
	p.n.wait("free "+who, time.Microsecond)
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.n.numberLocked(e)
	return e
}

// give returns an environment, dead or alive.
func (p *pool) give(e *environment) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	if e.dead.Load() || !p.n.calm.Load() && p.n.random() < p.n.weather.recycle {
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

// startLocked makes an environment whose clock is wrong by up to maxSkew.
func (n *network) startLocked(f function) *environment {
	skew := draw(n.schedule, func(r *rand.Rand) time.Duration { return between(r, -maxSkew, maxSkew) })
	e := n.world.start(f, skew)
	n.numberLocked(e)
	return e
}

func (n *network) numberLocked(e *environment) {
	n.world.invocations++
	e.invocation = n.world.invocations
}

// maxSkew is how far a clock is off at most.
const maxSkew = 50 * time.Millisecond
