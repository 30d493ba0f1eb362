package fleet

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"flashsale/infra/lab/shop"
)

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
	control string
	number  int
	stops   map[Stop]bool
	slow    []Slow
	smooth  bool
	client  *http.Client

	mu     sync.Mutex
	passes map[shop.Point]int
	random *rand.Rand
}

func newInterruptions(c config) *interruptions {
	i := &interruptions{
		control: c.Control, number: c.Number, slow: c.Slow, smooth: c.Smooth, stops: map[Stop]bool{}, passes: map[shop.Point]int{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idle}},
		random: rand.New(rand.NewPCG(c.Seed, uint64(c.Number))),
	}
	for _, s := range c.Stops {
		i.stops[s] = true
	}
	return i
}

// checkUser asks the user service, which the lab plays.
func (i *interruptions) checkUser(ctx context.Context, user string) error {
	if i.smooth {
		return nil
	}
	return i.get(ctx, "/users/"+url.PathEscape(user))
}

// at passes a point: it takes its time, and at a stop asks the lab, which may
// kill this process instead of answering.
func (i *interruptions) at(ctx context.Context, p shop.Point) {
	if i.smooth {
		return
	}
	pause, pass := i.pass(p)
	if i.stops[Stop{p, pass}] {
		// The lab's answer only means "go on"; without the lab one goes on too.
		_ = i.get(context.WithoutCancel(ctx), "/at?server="+strconv.Itoa(i.number)+"&point="+url.QueryEscape(string(p))+"&pass="+strconv.Itoa(pass))
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
	for _, s := range i.slow {
		if s.Point == p && s.From <= i.passes[p] && i.passes[p] <= s.To {
			pause = s.Pause
		}
	}
	return pause, i.passes[p]
}

func (i *interruptions) get(ctx context.Context, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, i.control+path, nil)
	if err != nil {
		return fmt.Errorf("ask the lab: %w", err)
	}
	answer, err := i.client.Do(r)
	if err != nil {
		return fmt.Errorf("ask the lab: %w", err)
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
