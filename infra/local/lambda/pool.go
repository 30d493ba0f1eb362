package lambda

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"flashsale/infra/local/eventsource"
)

// pool is the processes of one function. There are never more than slots, because a
// process is started only by an invocation that has a slot and finds no idle process.
type pool struct {
	service *Service
	fn      Function
	logs    *sink
	limit   limit
	slots   chan struct{} // one element per running invocation; waiting ones are served in order

	mu   sync.Mutex
	all  map[*process]bool
	idle []*process // the most recently used one last
	// env is the environment of new processes; version counts its changes.
	env     map[string]string
	version int
}

func newPool(s *Service, f Function, logs *sink, l limit) *pool {
	return &pool{service: s, fn: f, logs: logs, limit: l, slots: make(chan struct{}, f.Processes),
		all: map[*process]bool{}, env: f.Env}
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
		return fmt.Errorf("wait for one of %d processes: %w", p.fn.Processes, context.Cause(ctx))
	case <-p.service.ctx.Done():
		return ErrClosed
	}
}

func (p *pool) leave() {
	<-p.slots
	<-p.limit
}

// serve runs an event in the most recently used idle process or in a new one.
// The error is ErrClosed.
func (p *pool) serve(e event) (outcome, error) {
	for {
		proc, warm := p.takeIdle()
		if !warm {
			var err error
			if proc, err = p.start(); err != nil {
				out := cannotStart(e.id, err)
				p.newLog().event(e.id, "failure", string(out.payload))
				return out, nil
			}
		}
		out, took, err := proc.run(e, warm)
		if took != parked || !p.putIdle(proc) {
			proc.end()
		}
		// An idle process can die, or never ask again, between two events. An event
		// that it did not take has not run and may go to another process.
		if err == nil && took == untouched && warm {
			continue
		}
		return out, err
	}
}

func (p *pool) takeIdle() (proc *process, warm bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil, false
	}
	proc, p.idle = p.idle[last], p.idle[:last]
	return proc, true
}

// putIdle keeps a process for the next event. It reports false if the process has died,
// and been removed, since it asked for that, or has an old environment.
func (p *pool) putIdle(proc *process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	keeps := p.all[proc] && proc.version == p.version
	if keeps {
		p.idle = append(p.idle, proc)
	}
	return keeps
}

// setEnvironment changes the environment of new processes and ends the idle ones.
func (p *pool) setEnvironment(env map[string]string) {
	p.mu.Lock()
	old := p.idle
	p.env, p.idle = env, nil
	p.version++
	p.mu.Unlock()
	for _, proc := range old {
		proc.end()
	}
}

// environment returns the environment of a new process, and its version.
func (p *pool) environment() (map[string]string, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.env, p.version
}

// forget removes a process that has ended.
func (p *pool) forget(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, proc)
	p.idle = slices.DeleteFunc(p.idle, func(other *process) bool { return other == proc })
}

func (p *pool) start() (*process, error) {
	proc, err := startProcess(p)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.all[proc] = true
	p.mu.Unlock()
	// Only now can forget find it.
	go proc.watch()
	return proc, nil
}

// killAll ends all processes; the caller ensures that no more are started.
func (p *pool) killAll() {
	p.mu.Lock()
	var procs []*process
	for proc := range p.all {
		procs = append(procs, proc)
	}
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
