package lambda

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"flashsale/infra/local/child"
	"flashsale/infra/local/guard"
)

// environment returns the whole environment of a process of the function. Nothing is
// inherited from this process: a function must not work here because of a variable that
// is missing on AWS.
func (s *Service) environment(f Function, runtimeAPI string, now time.Time) []string {
	env := map[string]string{
		"AWS_ACCESS_KEY_ID":     "local",
		"AWS_SECRET_ACCESS_KEY": "local",
		"AWS_SESSION_TOKEN":     "local",
		// Not set by Lambda: it keeps the SDK from looking for an instance role.
		"AWS_EC2_METADATA_DISABLED": "true",
		"AWS_LAMBDA_LOG_FORMAT":     "JSON",
		"LANG":                      "en_US.UTF-8",
		"PATH":                      "/usr/local/bin:/usr/bin/:/bin:/opt/bin",
		"TZ":                        ":UTC",
	}
	for name, value := range f.Env {
		env[name] = value
	}
	for name, value := range map[string]string{
		"AWS_REGION":                      s.opts.Region,
		"AWS_DEFAULT_REGION":              s.opts.Region,
		"AWS_LAMBDA_FUNCTION_NAME":        f.Name,
		"AWS_LAMBDA_FUNCTION_VERSION":     latest,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(f.MemoryMB),
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + f.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME":      now.UTC().Format("2006/01/02") + "/[" + latest + "]" + randomHex(16),
		"AWS_LAMBDA_RUNTIME_API":          runtimeAPI,
		"LAMBDA_TASK_ROOT":                filepath.Dir(f.Command),
		"_HANDLER":                        "bootstrap",
	} {
		env[name] = value
	}
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	return out
}

// newRequestID makes a random UUID, version 4.
func newRequestID() string {
	var b [16]byte
	// crypto/rand never fails.
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newTraceID makes an X-Ray trace header with sampling off.
func newTraceID(now time.Time) string {
	return fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", now.Unix(), randomHex(12), randomHex(8))
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// pool is the processes of one function. There are never more than places, because a
// process is started only by an invocation that has a place and finds no idle process.
type pool struct {
	service *Service
	fn      Function
	logs    *sink
	limit   limit
	places  chan struct{} // one element per running invocation; waiting ones are served in order

	mu   sync.Mutex
	all  map[*process]bool
	idle []*process // the most recently used one last
	// env is the environment of new processes; version counts its changes.
	env     map[string]string
	version int
}

func newPool(s *Service, f Function, logs *sink, l limit) *pool {
	return &pool{service: s, fn: f, logs: logs, limit: l, places: make(chan struct{}, f.Processes),
		all: map[*process]bool{}, env: f.Env}
}

// limit is a concurrency limit: one element per invocation that runs or waits for a
// process. On AWS no invocation waits: it gets an idle or a new environment. This
// machine has too few processors for that, so waiting ones count, too.
type limit chan struct{}

func newLimit(n int) limit { return make(limit, n) }

// enter waits for a process. It fails at once with ErrThrottled if the concurrency
// limit is reached.
func (p *pool) enter(ctx context.Context) (err error) {
	// Otherwise select could choose a free place although the context is done.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case p.limit <- struct{}{}:
	default:
		return ErrThrottled
	}
	defer func() {
		if err != nil {
			<-p.limit
		}
	}()
	select {
	case p.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for one of %d processes: %w", p.fn.Processes, context.Cause(ctx))
	case <-p.service.ctx.Done():
		return ErrClosed
	}
}

func (p *pool) leave() {
	<-p.places
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
	for len(p.idle) > 0 && proc == nil {
		last := len(p.idle) - 1
		proc, p.idle = p.idle[last], p.idle[:last]
		if proc.gone() {
			proc = nil
		}
	}
	return proc, proc != nil
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

func (p *pool) pids() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	pids := make([]int, 0, len(p.all))
	for proc := range p.all {
		pids = append(pids, proc.child.Pid())
	}
	return pids
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

// standing is the state of a process after an invocation.
type standing int

const (
	untouched standing = iota // it did not take the event, and must be ended
	spent                     // it took the event, and must be ended
	parked                    // it asks for its next event
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
	proc.server = &http.Server{Handler: guard.Rules{}.Handler(proc.runtimeAPI())}
	fn := p.fn
	fn.Command = command
	fn.Env, proc.version = p.environment()
	proc.child, err = child.Start(child.Command{
		Path:   command,
		Dir:    filepath.Dir(command),
		Env:    p.service.environment(fn, listener.Addr().String(), time.Now()),
		Output: proc.log,
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

func (p *process) gone() bool {
	select {
	case <-p.child.Done():
		return true
	default:
		return false
	}
}

// end kills the program, if it still runs, and waits for the cleanup.
func (p *process) end() {
	p.child.Kill()
	<-p.over
}

// run runs an event in the process: its start unless it is warm, the event, and its
// request for the next one. Only that ends an invocation on Lambda, too; the time until
// then counts against the timeout. The error is ErrClosed.
func (p *process) run(e event, warm bool) (out outcome, took standing, err error) {
	if !warm {
		if out, ok, err := p.awaitInit(e.id); !ok {
			return p.withLog(e, out), untouched, err
		}
	} else if e.tail {
		p.child.Flush()
		p.log.take()
	}
	out, took, err = p.exchange(e)
	return p.withLog(e, out), took, err
}

// awaitInit waits for the program's first request for an event.
func (p *process) awaitInit(requestID string) (out outcome, ok bool, err error) {
	limit := p.pool.service.opts.InitTimeout
	timer := time.NewTimer(limit)
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
		out = timedOut(requestID, limit)
	case <-p.pool.service.ctx.Done():
		return outcome{}, false, ErrClosed
	}
	p.log.event(requestID, "init failure", string(out.payload))
	return out, false, nil
}

func (p *process) exchange(e event) (outcome, standing, error) {
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

// withLog adds the end of the log to an outcome, if the event asked for it.
func (p *process) withLog(e event, out outcome) outcome {
	if e.tail {
		p.child.Flush()
		out.log = p.log.take()
	}
	return out
}
