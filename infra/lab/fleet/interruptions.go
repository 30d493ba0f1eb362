package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
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
