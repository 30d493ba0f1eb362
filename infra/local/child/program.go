package child

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// readyPoll is how often a starting program is polled until it serves, readyTime
	// the timeout of one poll.
	readyPoll = 20 * time.Millisecond
	readyTime = time.Second
)

// ErrEnded: the program ended before it served.
var ErrEnded = errors.New("it exited unexpectedly")

// Program is an HTTP server that can be started repeatedly. Its methods are not safe
// for concurrent use.
type Program struct {
	Name    string // as errors name it
	Command Command
	// ReadyURL answers once the program serves: with status 200, or in any way if AnyStatus.
	ReadyURL  string
	AnyStatus bool
	process   *Process
}

// Start starts the program unless it runs, and waits until it serves. The error is
// ErrEnded if it ends before, or ctx's if that ends; then it may still be running.
func (p *Program) Start(ctx context.Context) (err error) {
	if p.Ended() {
		if p.process, err = Start(p.Command); err != nil {
			return err
		}
	}
	probe := &http.Client{Timeout: readyTime, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for !p.serves(ctx, probe) {
		select {
		case <-p.process.Done():
			return fmt.Errorf("start the %s: %w: %w", p.Name, ErrEnded, p.Failure())
		case <-ctx.Done():
			return fmt.Errorf("wait until the %s serves: %w", p.Name, context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

func (p *Program) serves(ctx context.Context, probe *http.Client) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ReadyURL, nil)
	if err != nil {
		return false
	}
	response, err := probe.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return p.AnyStatus || response.StatusCode == http.StatusOK
}

// Ended reports whether the program is not running: it was never started, or it has
// ended.
func (p *Program) Ended() bool {
	if p.process == nil {
		return true
	}
	select {
	case <-p.process.Done():
		return true
	default:
		return false
	}
}

// Done is closed when the process that was started last has ended.
func (p *Program) Done() <-chan struct{} { return p.process.Done() }

// Failure waits for the end of a started program and returns its exit error.
func (p *Program) Failure() error {
	if err := p.process.Wait(); err != nil {
		return err
	}
	return errors.New("exit status 0")
}

// Pid is the id of the process that runs, or ran last.
func (p *Program) Pid() int { return p.process.Pid() }

// Kill ends the program with SIGKILL and waits for its end.
func (p *Program) Kill() {
	if p.process != nil {
		p.process.Kill()
		<-p.process.Done()
	}
}

// Stop ends the program gracefully, or kills it after the grace period. It returns an
// error unless the program ended well or has never been started.
func (p *Program) Stop(grace time.Duration) error {
	if p.process == nil {
		return nil
	}
	if err := p.process.Stop(grace); err != nil {
		return fmt.Errorf("stop the %s: %w", p.Name, err)
	}
	return nil
}

// claims are the UDP ports by which this process keeps the TCP ports of the same numbers from FreePorts in
// others: the system frees them when the process ends.
var claims struct {
	sync.Mutex
	all []net.PacketConn
}

// FreePorts returns ports of 127.0.0.1 that nobody listens on, and that no process
// gets from FreePorts before this process has ended. They are outside the
// range of ephemeral ports: otherwise a client that tries a dead server's port could get
// that port as its local one, and the server could not restart.
func FreePorts(n int) ([]int, error) {
	const low, high = 20000, 32000
	claims.Lock()
	defer claims.Unlock()
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		port := low + rand.IntN(high-low)
		address := fmt.Sprintf("127.0.0.1:%d", port)
		claim, err := net.ListenPacket("udp", address)
		var l net.Listener
		if err == nil {
			claims.all = append(claims.all, claim)
			l, err = net.Listen("tcp", address)
		}
		if err != nil {
			if tries > 100*n {
				return nil, fmt.Errorf("find free port: %w", err)
			}
			continue
		}
		_ = l.Close()
		ports = append(ports, port)
	}
	return ports, nil
}
