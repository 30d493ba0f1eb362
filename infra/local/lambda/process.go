package lambda

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"flashsale/infra/local/child"
	"flashsale/infra/local/loopback"
)

// process is one execution environment: a bootstrap program and its Runtime API. At any
// time it is either idle or used by one invocation.
type process struct {
	pool   *pool
	child  *child.Process
	log    *stream
	server *http.Server
	over   chan struct{} // closed when program and server have ended
	// version is that of its environment.
	version int

	polled     chan struct{} // holds a token once the program has asked for an event
	events     chan *invocation
	initFailed chan []byte // holds the program's report of a failed start

	mu      sync.Mutex
	current *invocation // taken and not yet answered
}

// invocation is an event being processed.
type invocation struct {
	event
	deadline time.Time
	result   chan outcome // holds the answer once the program gave one
}

// afterwards is the state of a process after an invocation.
type afterwards int

const (
	untouched afterwards = iota // it did not take the event, and must be ended
	spent                       // it took the event, and must be ended
	parked                      // it asks for its next event
)

func startProcess(p *pool) (*process, error) {
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
		polled: make(chan struct{}, 1), events: make(chan *invocation), initFailed: make(chan []byte, 1),
	}
	proc.server = &http.Server{Handler: loopback.Rules{}.Handler(proc.runtimeAPI())}
	fn := p.fn
	fn.Command = command
	fn.Env, proc.version = p.environment()
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

// run runs an event in the process: its start unless it is warm, the event, and its
// request for the next one. Only that ends an invocation on Lambda, too; the time until
// then counts against the timeout. The error is ErrClosed.
func (p *process) run(e event, warm bool) (out outcome, took afterwards, err error) {
	if !warm {
		if out, ok, err := p.awaitInit(e.id); !ok {
			return out, untouched, err
		}
	}
	return p.exchange(e)
}

// awaitInit waits for the program's first request for an event.
func (p *process) awaitInit(requestID string) (out outcome, ok bool, err error) {
	timer := time.NewTimer(initLimit)
	defer timer.Stop()
	select {
	case <-p.polled:
		return outcome{}, true, nil
	case report := <-p.initFailed:
		out = outcome{payload: report, functionError: unhandled}
	case <-p.child.Done():
		// A report may have arrived just before the exit.
		select {
		case report := <-p.initFailed:
			out = outcome{payload: report, functionError: unhandled}
		default:
			out = exited(requestID, p.child.Wait())
		}
	case <-timer.C:
		out = timedOut(requestID, initLimit)
	case <-p.pool.service.ctx.Done():
		return outcome{}, false, ErrClosed
	}
	p.log.event(requestID, "init failure", string(out.payload))
	return out, false, nil
}

func (p *process) exchange(e event) (outcome, afterwards, error) {
	timeout, closing := p.pool.fn.Timeout, p.pool.service.ctx.Done()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	// A token remains if the program lost its connection and asked again.
	select {
	case <-p.polled:
	default:
	}

	inv := &invocation{event: e, deadline: time.Now().Add(timeout), result: make(chan outcome, 1)}
	select {
	case p.events <- inv:
	case <-p.child.Done():
		return exited(e.id, p.child.Wait()), untouched, nil
	case <-timer.C:
		return timedOut(e.id, timeout), untouched, nil
	case <-closing:
		return outcome{}, untouched, ErrClosed
	}

	var out outcome
	select {
	case out = <-inv.result:
	case <-p.child.Done():
		if !inv.answered(&out) {
			out = exited(e.id, p.child.Wait())
			p.log.event(e.id, "error", string(out.payload))
		}
		return out, spent, nil
	case <-timer.C:
		if !inv.answered(&out) {
			out = timedOut(e.id, timeout)
			p.log.event(e.id, "timeout", string(out.payload))
		}
		return out, spent, nil
	case <-closing:
		return outcome{}, spent, ErrClosed
	}

	select {
	case <-p.polled:
		return out, parked, nil
	case <-p.child.Done():
	case <-timer.C:
	case <-closing:
	}
	return out, spent, nil
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
