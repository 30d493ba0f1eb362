package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"flashsale/infra/lab/shop"
)

// Peak is what a closed loop of buyers, each followed by another one, came to.
type Peak struct {
	// Times are those of the purchases that were accepted, in no order.
	Times []time.Duration
	// First is the first error, or "".
	First string
}

func (p *Peak) add(other Peak) {
	p.Times = append(p.Times, other.Times...)
	p.First = cmp.Or(p.First, other.First)
}

// loop buys for so many buyers at a time, inside the application server: the lab's own
// requests must not be what is measured.
func loop(ctx context.Context, strategy shop.Strategy, clients int, how time.Duration) Peak {
	ctx, cancel := context.WithTimeout(ctx, how)
	defer cancel()
	var all Peak
	var mu sync.Mutex
	var buyers sync.WaitGroup
	pid := strconv.Itoa(int(time.Now().UnixNano() % 1e9))
	for c := range clients {
		buyers.Go(func() {
			var mine Peak
			for n := 0; ctx.Err() == nil; n++ {
				begun := time.Now()
				// A purchase that has begun is finished: what it did counts.
				outcome, err := strategy.Buy(context.WithoutCancel(ctx), fmt.Sprintf("peak-%s-%d-%d", pid, c, n))
				if outcome == shop.Accepted && err == nil {
					mine.Times = append(mine.Times, time.Since(begun))
				} else if err != nil && mine.First == "" {
					mine.First = err.Error()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.add(mine)
		})
	}
	buyers.Wait()
	return all
}

func peakHandler(strategy shop.Strategy) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		clients, err := strconv.Atoi(r.URL.Query().Get("clients"))
		how, err2 := time.ParseDuration(r.URL.Query().Get("for"))
		if err := errors.Join(err, err2); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(loop(r.Context(), strategy, clients, how)) // the lab is gone, or reads it
	}
}

// Peak lets every server's share of the buyers buy for so long.
func (f *Fleet) Peak(ctx context.Context, buyers int, how time.Duration) (Peak, error) {
	f.mu.RLock()
	members := slices.Clone(f.members)
	f.mu.RUnlock()
	var all Peak
	var mu sync.Mutex
	var asks sync.WaitGroup
	errs := make([]error, len(members))
	for i, m := range members {
		asks.Go(func() {
			text, err := f.ask(ctx, http.MethodPost, m, fmt.Sprintf("/peak?clients=%d&for=%s", buyers/len(members), how))
			var one Peak
			if err == nil {
				err = json.Unmarshal([]byte(text), &one)
			}
			mu.Lock()
			defer mu.Unlock()
			errs[i] = err
			all.add(one)
		})
	}
	asks.Wait()
	return all, errors.Join(errs...)
}
