// Package fleet runs the application servers: processes of this very program,
// each hosting one strategy, which buyers reach over loopback.
//
// It can interrupt a purchase at a named point. It contains nothing of the
// strategies or the scenarios.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"flashsale/infra/lab/shop"
)

// idle is how many connections to one address are kept: every buyer of a crowd
// has one.
const idle = 512

// ErrNoServer says that no application server is up.
var ErrNoServer = errors.New("no application server is up")

// Options say what the application servers host and what happens to them.
type Options struct {
	// Program is what is started: this program, or a test's.
	Program string
	Spec    shop.Spec
	Place   shop.Place
	Seed    uint64
	// Stops are the stops of a server whenever it is started.
	Stops func(number int) []Stop
	// OnStop is called when a server is at a stop; the server goes on when it
	// returns, if it still lives. Calls may overlap.
	OnStop func(number int, s Stop)
	// Slow are passings that take longer, of every server; Smooth says that none
	// takes time, and no user check.
	Slow   []Slow
	Smooth bool
	// CheckTime is how long the user service takes for a user.
	CheckTime func(user string) time.Duration
}

// Fleet is the load balancer and the application servers behind it. Its methods
// may be called at the same time.
type Fleet struct {
	options Options
	control *control
	client  *http.Client

	mu      sync.RWMutex
	members []*member // by number; nil while one is down
}

// Start starts the strategy's application servers and returns when all serve.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	c, err := startControl(o)
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		options: o, control: c, members: make([]*member, o.Spec.ServerCount()),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idle}},
	}
	var starts sync.WaitGroup
	errs := make([]error, len(f.members))
	for i := range f.members {
		starts.Go(func() { errs[i] = f.Restart(ctx, i) })
	}
	starts.Wait()
	if err := errors.Join(errs...); err != nil {
		f.Stop()
		return nil, err
	}
	return f, nil
}

// Add starts one more application server.
func (f *Fleet) Add(ctx context.Context) error {
	f.mu.Lock()
	number := len(f.members)
	f.members = append(f.members, nil)
	f.mu.Unlock()
	return f.Restart(ctx, number)
}

// Restart starts the application server of that number, which must be down.
func (f *Fleet) Restart(ctx context.Context, number int) error {
	m, err := launch(ctx, f.options.Program, config{
		Strategy: f.options.Spec.Name, Place: f.options.Place, Number: number, Servers: f.options.Spec.ServerCount(),
		Seed: f.options.Seed, Control: f.control.url, Stops: f.options.Stops(number),
		Slow: f.options.Slow, Smooth: f.options.Smooth,
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[number] = m
	return nil
}

// Kill kills the application server of that number as kill -9 does. It reports
// whether it was up.
func (f *Fleet) Kill(number int) bool {
	f.mu.Lock()
	m := f.members[number]
	f.members[number] = nil
	f.mu.Unlock()
	if m != nil {
		m.kill()
	}
	return m != nil
}

// Freeze stops the application server of that number where it is, until thaw is
// called. It does nothing to one that is down.
func (f *Fleet) Freeze(number int) (thaw func() error, err error) {
	f.mu.RLock()
	m := f.members[number]
	f.mu.RUnlock()
	if m == nil {
		return func() error { return nil }, nil
	}
	return func() error { return m.signal(syscall.SIGCONT) }, m.freeze()
}

// Stop stops all application servers.
func (f *Fleet) Stop() {
	f.mu.Lock()
	members := f.members
	f.members = nil
	f.mu.Unlock()
	var stops sync.WaitGroup
	for _, m := range members {
		if m != nil {
			stops.Go(m.stop)
		}
	}
	stops.Wait()
	f.client.CloseIdleConnections()
	f.control.stop()
}

// route picks the application server for a click: by the user's hash if the
// strategy wants that, else in turn.
func (f *Fleet) route(user string, turn int) *member {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var up []*member
	for _, m := range f.members {
		if m != nil {
			up = append(up, m)
		}
	}
	if len(up) == 0 {
		return nil
	}
	if f.options.Spec.Sticky {
		h := fnv.New32a()
		_, _ = io.WriteString(h, user)
		turn = int(h.Sum32() >> 1)
	}
	return up[turn%len(up)]
}

// Buy sends a user's click to one of the servers. turn counts clicks, so that
// they spread. An error means that the buyer got no answer.
func (f *Fleet) Buy(ctx context.Context, user string, turn int) (shop.Outcome, error) {
	m := f.route(user, turn)
	if m == nil {
		return "", ErrNoServer
	}
	text, err := f.ask(ctx, http.MethodPost, m, "/buy?user="+url.QueryEscape(user))
	return shop.Outcome(text), err
}

// Backlog is how many orders the servers have still to write.
func (f *Fleet) Backlog(ctx context.Context) (int, error) {
	f.mu.RLock()
	members := slices.Clone(f.members)
	f.mu.RUnlock()
	sum := 0
	for _, m := range members {
		if m == nil {
			continue
		}
		text, err := f.ask(ctx, http.MethodGet, m, "/backlog")
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("read backlog: %w", err)
		}
		sum += n
	}
	return sum, nil
}

// ask sends a request to an application server and returns what it says.
func (f *Fleet) ask(ctx context.Context, method string, m *member, path string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+m.address+path, nil)
	if err != nil {
		return "", fmt.Errorf("ask server: %w", err)
	}
	answer, err := f.client.Do(r)
	if err != nil {
		return "", fmt.Errorf("ask server: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return "", fmt.Errorf("ask server: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("ask server: %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	return string(text), nil
}
