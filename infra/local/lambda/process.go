package lambda

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"flashsale/infra/local/child"
	"flashsale/infra/local/loopback"
)

// process is one execution environment: a bootstrap program and its Runtime API.
type process struct {
	pool   *pool
	child  *child.Process
	log    *stream
	server *http.Server
	over   chan struct{} // closed when program and server have ended

	asked  chan struct{} // closed once the program has asked for an event
	asking sync.Once
	events chan *invocation

	// Guarded by the pool's mutex: how many events it may have at once, 0 from when it retires, and has.
	places, running int
	retired         chan struct{}

	mu      sync.Mutex
	current map[string]*invocation // taken and not yet answered, by request id
}

type invocation struct {
	event
	deadline time.Time
	result   chan outcome // holds the answer once the program gave one
}

// afterwards is the state of a process after an invocation.
type afterwards int

const (
	untouched afterwards = iota // it did not take the event, and must retire
	spent                       // it failed, and must retire
	healthy
)

// startProcess starts a program with an environment. As on Lambda's Managed Instances,
// AWS_LAMBDA_MAX_CONCURRENCY says how many events it takes at once; what is no such number is 1.
func startProcess(p *pool, env map[string]string) (*process, error) {
	command, err := filepath.Abs(p.fn.Command)
	if err != nil {
		return nil, fmt.Errorf("find bootstrap: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for runtime: %w", err)
	}
	proc := &process{
		pool: p, log: p.newLog(), over: make(chan struct{}),
		asked: make(chan struct{}), events: make(chan *invocation), retired: make(chan struct{}), current: map[string]*invocation{},
	}
	places, _ := strconv.Atoi(env["AWS_LAMBDA_MAX_CONCURRENCY"])
	proc.places = max(1, places)
	proc.server = &http.Server{Handler: loopback.Rules{}.Handler(proc.runtimeAPI())}
	fn := p.fn
	fn.Command, fn.Env = command, env
	proc.child, err = child.Start(child.Command{
		Path:   command,
		Dir:    filepath.Dir(command),
		Env:    p.service.environment(fn, listener.Addr().String(), time.Now()),
		Output: proc.log,
		Slack:  p.service.opts.TimerSlack,
	})
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	go func() { _ = proc.server.Serve(listener) }()
	return proc, nil
}

// watch waits for the program's end, which may come at any time, and cleans up.
func (p *process) watch() {
	<-p.child.Done()
	p.pool.forget(p)
	_ = p.server.Close()
	close(p.over)
}

// end kills the program, if it still runs, and waits for the cleanup.
func (p *process) end() {
	p.child.Kill()
	<-p.over
}

// run runs an event in the process, after its start. The time until the program takes it counts
// against the timeout, too. The error is ErrClosed.
func (p *process) run(e event) (outcome, afterwards, error) {
	timeout, closing := p.pool.fn.Timeout, p.pool.service.ctx.Done()
	select {
	case <-p.asked: // it may have died since
	default:
		if out, ok, err := p.awaitInit(e.id); !ok {
			return out, spent, err
		}
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	inv := &invocation{event: e, deadline: time.Now().Add(timeout), result: make(chan outcome, 1)}
	select {
	case p.events <- inv:
	case <-p.retired:
		return outcome{}, untouched, nil
	case <-p.child.Done():
		return outcome{}, untouched, nil
	case <-timer.C:
		return outcome{}, untouched, nil
	case <-closing:
		return outcome{}, untouched, ErrClosed
	}

	var out outcome
	select {
	case out = <-inv.result:
		return out, healthy, nil
	case <-p.child.Done():
		if !inv.answered(&out) {
			out = exited(e.id, p.child.Wait())
			p.log.event(e.id, "error", string(out.payload))
		}
	case <-timer.C:
		if inv.answered(&out) {
			return out, healthy, nil
		}
		out = timedOut(e.id, timeout)
		p.log.event(e.id, "timeout", string(out.payload))
	case <-closing:
		return outcome{}, spent, ErrClosed
	}
	return out, spent, nil
}

// awaitInit waits for the program's first request for an event.
func (p *process) awaitInit(requestID string) (out outcome, ok bool, err error) {
	timer := time.NewTimer(initLimit)
	defer timer.Stop()
	select {
	case <-p.asked:
		return outcome{}, true, nil
	case <-p.child.Done():
		out = exited(requestID, p.child.Wait())
	case <-timer.C:
		out = timedOut(requestID, initLimit)
	case <-p.pool.service.ctx.Done():
		return outcome{}, false, ErrClosed
	}
	p.log.event(requestID, "init failure", string(out.payload))
	return out, false, nil
}

// answered gets an answer that arrived together with the process's end.
func (i *invocation) answered(out *outcome) bool {
	select {
	case *out = <-i.result:
		return true
	default:
		return false
	}
}
