package lambda

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"flashsale/infra/local/eventsource"
)

// pool is the processes of one function. One is started only by an invocation that has a slot
// and finds no place in another.
type pool struct {
	service *Service
	fn      Function
	logs    *sink
	limit   limit
	slots   chan struct{} // one element per running invocation; waiting ones are served in order

	mu    sync.Mutex
	procs []*process        // the one started last at the end
	env   map[string]string // of new processes
}

func newPool(s *Service, f Function, logs *sink, l limit) *pool {
	return &pool{service: s, fn: f, logs: logs, limit: l, slots: make(chan struct{}, f.AtOnce), env: f.Env}
}

// limit is a concurrency limit: one element per invocation that runs or waits for a
// process. On AWS no invocation waits: it gets an idle or a new environment. This
// machine has too few processors for that, so waiting ones count, too.
type limit chan struct{}

func newLimit(n int) limit { return make(limit, n) }

// enter waits for a process. It fails at once with eventsource.ErrThrottled if the concurrency
// limit is reached.
func (p *pool) enter(ctx context.Context) (err error) {
	// Otherwise select could choose a free slot although the context is done.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case p.limit <- struct{}{}:
	default:
		return eventsource.ErrThrottled
	}
	defer func() {
		if err != nil {
			<-p.limit
		}
	}()
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for one of %d places: %w", p.fn.AtOnce, context.Cause(ctx))
	case <-p.service.ctx.Done():
		return ErrClosed
	}
}

func (p *pool) leave() {
	<-p.slots
	<-p.limit
}

// serve runs an event in the newest process that has a place, or in a new one. The error is ErrClosed.
func (p *pool) serve(e event) (outcome, error) {
	for {
		proc, err := p.take()
		if err != nil {
			out := cannotStart(e.id, err)
			p.newLog().event(e.id, "failure", string(out.payload))
			return out, nil
		}
		out, after, err := proc.run(e)
		if after != healthy {
			p.retire(proc)
		}
		p.giveBack(proc)
		// A process can die, or ask no more, between two events. An event that it did not
		// take has not run and may go to another process.
		if err == nil && after == untouched {
			continue
		}
		return out, err
	}
}

func (p *pool) take() (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, proc := range slices.Backward(p.procs) {
		if proc.running < proc.places {
			proc.running++
			return proc, nil
		}
	}
	proc, err := startProcess(p, p.env)
	if err != nil {
		return nil, err
	}
	proc.running = 1
	p.procs = append(p.procs, proc)
	go proc.watch()
	return proc, nil
}

// giveBack gives back a place, and ends a retired process with its last event.
func (p *pool) giveBack(proc *process) {
	p.mu.Lock()
	proc.running--
	ends := proc.places == 0 && proc.running == 0
	p.mu.Unlock()
	if ends {
		proc.end()
	}
}

// retire lets processes take no more events. They end when they have none.
func (p *pool) retire(procs ...*process) {
	for _, proc := range procs {
		p.mu.Lock()
		if proc.places > 0 {
			proc.places = 0
			close(proc.retired)
		}
		ends := proc.running == 0
		p.mu.Unlock()
		if ends {
			proc.end()
		}
	}
}

// setEnvironment changes the environment of new processes and retires the others.
func (p *pool) setEnvironment(env map[string]string) {
	p.mu.Lock()
	p.env = env
	old := slices.Clone(p.procs)
	p.mu.Unlock()
	p.retire(old...)
}

func (p *pool) forget(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.procs = slices.DeleteFunc(p.procs, func(other *process) bool { return other == proc })
}

// killAll ends all processes; the caller ensures that no more are started.
func (p *pool) killAll() {
	p.mu.Lock()
	procs := slices.Clone(p.procs)
	p.mu.Unlock()
	for _, proc := range procs {
		proc.child.Kill()
	}
	for _, proc := range procs {
		proc.end()
	}
}

// newLog returns a log for one process, or for errors without a process.
func (p *pool) newLog() *stream {
	return &stream{sink: p.logs, prefix: p.fn.Name + " | "}
}
