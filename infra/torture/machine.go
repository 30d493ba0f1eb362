package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"flashsale/infra/local/child"
)

const (
	// readyTime bounds a start, those that fail included.
	readyTime = time.Minute
	readyPoll = 20 * time.Millisecond
	stopTime  = 20 * time.Second
)

// program is one of the two processes that this one starts.
type program struct {
	name      string
	command   child.Command
	readyURL  string
	anyStatus bool // whether any answer means that it serves, or only 200
	process   *child.Process
}

// machine is the system under torture: the queues in a process of their own,
// so that they can be killed alone, and the stack with everything else.
type machine struct {
	dir           string // data and logs
	api, lambda   string
	dynamodb      string
	queues, stack *program
	log           *os.File
	probe         *http.Client
}

// newMachine prepares a machine with empty data and starts nothing.
func newMachine(root string, killAtResponse float64) (*machine, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find root: %w", err)
	}
	local := filepath.Join(root, ".build", "host", "local")
	if _, err := os.Stat(local); err != nil {
		return nil, fmt.Errorf("find stack (make host builds it): %w", err)
	}
	ports, err := steadyPorts(4)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "flashsale-torture-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, "stack.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	url := func(port string) string { return "http://127.0.0.1:" + port }
	m := &machine{
		dir: dir, log: log, api: url(ports[0]), lambda: url(ports[1]), dynamodb: url(ports[2]),
		probe: &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "AWS_EC2_METADATA_DISABLED=true"}
	data := filepath.Join(dir, "data")
	m.queues = &program{name: "queues", readyURL: url(ports[3]), anyStatus: true, command: child.Command{
		Path: local, Dir: root, Env: env, Output: log,
		Args: []string{"-only", "sqs", "-sqs-port", ports[3], "-data", data,
			// As a real standard queue may.
			"-faults", "duplicate=0.05,reorder=0.1"},
	}}
	m.stack = &program{name: "stack", readyURL: m.api + "/_local/health", command: child.Command{
		Path: local, Dir: root, Output: log, Env: append(env[:len(env):len(env)], "AWS_ENDPOINT_URL_SQS="+url(ports[3])),
		Args: []string{
			"-api-port", ports[0], "-lambda-port", ports[1], "-dynamodb-port", ports[2], "-sqs-port", "0", "-data", data,
			"-kill-at-response", strconv.FormatFloat(killAtResponse, 'g', -1, 64),
			// What a killed FinalizeFunction held comes back soon.
			"-parameter", "OrderVisibilityTimeout=5",
		},
	}}
	return m, nil
}

// start starts a program and waits until it serves. One that ends before is
// started again: what its killed predecessor held may take a moment to be free.
func (m *machine) start(ctx context.Context, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	var err error
	for {
		if p.process == nil || p.ended() {
			if p.process, err = child.Start(p.command); err != nil {
				return err
			}
		}
		if m.serves(ctx, p) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the %s serves: %w", p.name, context.Cause(ctx))
		case <-time.After(readyPoll):
		}
	}
}

func (m *machine) serves(ctx context.Context, p *program) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.readyURL, nil)
	if err != nil {
		return false
	}
	response, err := m.probe.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return p.anyStatus || response.StatusCode == http.StatusOK
}

func (p *program) ended() bool {
	select {
	case <-p.process.Done():
		return true
	default:
		return false
	}
}

// kill ends a program with -9 and waits for its end.
func (p *program) kill() {
	p.process.Kill()
	<-p.process.Done()
}

// stop ends both programs in order, and closes the log.
func (m *machine) stop() error {
	var errs []error
	for _, p := range []*program{m.stack, m.queues} {
		if p.process != nil {
			if err := p.process.Stop(stopTime); err != nil {
				errs = append(errs, fmt.Errorf("stop the %s: %w", p.name, err))
			}
		}
	}
	return errors.Join(append(errs, m.log.Close())...)
}

// steadyPorts are ports of 127.0.0.1 that nobody listens on and that the
// system hands to no outgoing connection: a client that knocks at a dead
// server's port could otherwise be given that very port as its own, and the
// server could not come back.
func steadyPorts(n int) ([]string, error) {
	const low, high = 20000, 32000
	var ports []string
	for tries := 0; len(ports) < n; tries++ {
		port := strconv.Itoa(low + rand.IntN(high-low))
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			if tries > 100*n {
				return nil, fmt.Errorf("find free port: %w", err)
			}
			continue
		}
		defer l.Close() // held until the last is found, so that they differ
		ports = append(ports, port)
	}
	return ports, nil
}
