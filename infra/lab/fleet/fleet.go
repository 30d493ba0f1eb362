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
	"net"
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

const (
	// idle is how many connections to one address are kept: every buyer of a crowd
	// has one.
	idle = 512
	// readLimit keeps a connection that sends nothing from staying permanently.
	readLimit = 10 * time.Second
)

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
	control *http.Server
	client  *http.Client

	mu      sync.RWMutex
	members []*member // by number; nil while one is down
}

// Start starts the strategy's application servers and returns when all serve.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	f := &Fleet{
		options: o, control: &http.Server{Addr: l.Addr().String(), Handler: control(o), ReadHeaderTimeout: readLimit},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idle}}, members: make([]*member, o.Spec.ServerCount()),
	}
	go func() { _ = f.control.Serve(l) }() // ends with Stop
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

// control is the lab as an application server sees it: the user service, and
// the one to ask at a stop.
func control(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{user}", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(o.CheckTime(r.PathValue("user"))):
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /at/{server}/{point}/{pass}", func(_ http.ResponseWriter, r *http.Request) {
		server, _ := strconv.Atoi(r.PathValue("server"))
		pass, _ := strconv.Atoi(r.PathValue("pass"))
		o.OnStop(server, Stop{shop.Point(r.PathValue("point")), pass})
	})
	return mux
}

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
		Seed: f.options.Seed, Control: "http://" + f.control.Addr, Stops: f.options.Stops(number),
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
	_ = f.control.Close()
}

// route picks the application server for a click: by the user's hash if the
// strategy wants that, else one after the other.
func (f *Fleet) route(user string, click int) *member {
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
		click = int(h.Sum32() >> 1)
	}
	return up[click%len(up)]
}

// Buy sends a user's click to one of the servers. click counts them, so that
// they spread. An error means that the buyer got no answer.
func (f *Fleet) Buy(ctx context.Context, user string, click int) (shop.Outcome, error) {
	m := f.route(user, click)
	if m == nil {
		return "", ErrNoServer
	}
	text, err := ask(ctx, f.client, http.MethodPost, "http://"+m.address+"/buy?user="+url.QueryEscape(user))
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
		text, err := ask(ctx, f.client, http.MethodGet, "http://"+m.address+"/backlog")
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

// ask sends a request and returns what is answered.
func ask(ctx context.Context, client *http.Client, method, address string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("ask: %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	return string(text), err
}
