package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"flashsale/infra/lab/shop"
)

// openLimit bounds how long a strategy may take to connect.
const openLimit = 20 * time.Second

// HostIfAsked ends the process after an application server's whole life, if it was started as one: it opens the
// strategy that its environment names, serves buyers and returns when it is asked to stop.
func HostIfAsked(lookup func(name string) (shop.Spec, bool)) {
	if os.Getenv(variable) == "" {
		return
	}
	if err := host(lookup); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func host(lookup func(name string) (shop.Spec, bool)) error {
	var c config
	if err := json.Unmarshal([]byte(os.Getenv(variable)), &c); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	spec, ok := lookup(c.Strategy)
	if !ok {
		return fmt.Errorf("host strategy: there is no %q", c.Strategy)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	i := newInterruptions(c)
	opening, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	strategy, err := spec.Open(opening, shop.Host{
		Place: c.Place, Server: c.Number, Servers: c.Servers, CheckUser: i.checkUser, At: i.at,
	})
	if err != nil {
		return fmt.Errorf("open %s: %w", c.Strategy, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("%s%s\n", listening, l.Addr())
	server := &http.Server{Handler: handler(strategy), ReadHeaderTimeout: readLimit}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err = server.Serve(l); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	if c, ok := strategy.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// handler answers POST /buy?user=… with an outcome and GET /backlog with a number,
// or 500 with what went wrong.
func handler(strategy shop.Strategy) http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, value) // the buyer may be gone, which is the buyer's affair
	}
	mux.HandleFunc("POST /buy", func(w http.ResponseWriter, r *http.Request) {
		outcome, err := strategy.Buy(r.Context(), r.URL.Query().Get("user"))
		answer(w, outcome, err)
	})
	mux.HandleFunc("GET /backlog", func(w http.ResponseWriter, r *http.Request) {
		waiting, err := 0, error(nil)
		if b, ok := strategy.(shop.Backlogged); ok {
			waiting, err = b.Backlog(r.Context())
		}
		answer(w, waiting, err)
	})
	return mux
}

// Every passing of a point takes a network's time; one in stallEvery meets the
// garbage collector or a lost packet and takes longer. It is the same for all
// strategies.
const (
	network    = time.Millisecond
	stallEvery = 8
	stallLeast = 4 * time.Millisecond
	stallMost  = 12 * time.Millisecond
)

// interruptions are what a purchase meets in one application server.
type interruptions struct {
	config config
	client *http.Client

	mu     sync.Mutex
	passes map[shop.Point]int
	random *rand.Rand
}

func newInterruptions(c config) *interruptions {
	return &interruptions{
		config: c, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idle}},
		passes: map[shop.Point]int{}, random: rand.New(rand.NewPCG(c.Seed, uint64(c.Number))),
	}
}

// checkUser asks the user service, which the lab plays.
func (i *interruptions) checkUser(ctx context.Context, user string) error {
	if i.config.Smooth {
		return nil
	}
	_, err := ask(ctx, i.client, http.MethodGet, i.config.Control+"/users/"+url.PathEscape(user))
	return err
}

// at passes a point: it takes its time, and at a stop asks the lab, which may
// kill this process instead of answering.
func (i *interruptions) at(ctx context.Context, p shop.Point) {
	if i.config.Smooth {
		return
	}
	pause, pass := i.pass(p)
	if slices.Contains(i.config.Stops, Stop{p, pass}) {
		// The lab's answer only means "go on"; without the lab one goes on too.
		_, _ = ask(context.WithoutCancel(ctx), i.client, http.MethodGet, fmt.Sprintf("%s/at/%d/%s/%d", i.config.Control, i.config.Number, p, pass))
	}
	time.Sleep(pause)
}

func (i *interruptions) pass(p shop.Point) (pause time.Duration, pass int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.passes[p]++
	pause = time.Duration(i.random.Int64N(int64(network)))
	if i.random.IntN(stallEvery) == 0 {
		pause = stallLeast + time.Duration(i.random.Int64N(int64(stallMost-stallLeast)))
	}
	for _, s := range i.config.Slow {
		if s.Point == p && s.From <= i.passes[p] && i.passes[p] <= s.To {
			pause = s.Pause
		}
	}
	return pause, i.passes[p]
}

// variable holds an application server's configuration; a program started with
// it is one.
const variable = "FLASHSALE_LAB_SERVER"

// listening begins the line by which an application server says where it is.
const listening = "listening "

type config struct {
	Strategy string
	Place    shop.Place
	Number   int
	Servers  int
	Seed     uint64
	// Control is the URL of the lab: the user service and the stops.
	Control string
	Stops   []Stop
	Slow    []Slow
	// Smooth: no point takes time, and no user check.
	Smooth bool
}

// Stop is a moment of a purchase at which the server asks the lab before it
// goes on.
type Stop struct {
	Point shop.Point
	// Pass is which passing of the point it is, counted from 1 in one process.
	Pass int
}

// Slow says that the From-th to the To-th passing of a point take so long.
type Slow struct {
	Point    shop.Point
	From, To int
	Pause    time.Duration
}
