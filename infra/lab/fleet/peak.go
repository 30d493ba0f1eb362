package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"flashsale/infra/lab/shop"
)

// Peak is what a closed loop of buyers, each followed by another one, came to.
type Peak struct {
	Accepted int
	// Failed is how many were not told yes; First is the first error, or "".
	Failed int
	First  string
	// Times counts accepted purchases by the class of their time: classes grow by
	// one percent.
	Times map[int]int
}

func classOf(d time.Duration) int { return int(100 * math.Log(max(1, float64(d.Microseconds())))) }

// Percentile is the time that p percent of the accepted purchases did not exceed.
func (p *Peak) Percentile(percent int) time.Duration {
	var classes []int
	for class := range p.Times {
		classes = append(classes, class)
	}
	slices.Sort(classes)
	left := (p.Accepted*percent + 99) / 100
	for _, class := range classes {
		if left -= p.Times[class]; left <= 0 {
			return time.Duration(math.Exp(float64(class+1)/100) * float64(time.Microsecond))
		}
	}
	return 0
}

func (p *Peak) add(other Peak) {
	p.Accepted, p.Failed = p.Accepted+other.Accepted, p.Failed+other.Failed
	if p.First == "" {
		p.First = other.First
	}
	for class, n := range other.Times {
		p.Times[class] += n
	}
}

// loop buys for so many buyers at a time, inside the application server: the lab's own
// requests must not be what is measured.
func loop(ctx context.Context, strategy shop.Strategy, clients int, how time.Duration) Peak {
	ctx, cancel := context.WithTimeout(ctx, how)
	defer cancel()
	all := Peak{Times: map[int]int{}}
	var mu sync.Mutex
	var buyers sync.WaitGroup
	pid := strconv.Itoa(int(time.Now().UnixNano() % 1e9))
	for c := range clients {
		buyers.Go(func() {
			mine := Peak{Times: map[int]int{}}
			for n := 0; ctx.Err() == nil; n++ {
				begun := time.Now()
				// A purchase that has begun is finished: what it did counts.
				outcome, err := strategy.Buy(context.WithoutCancel(ctx), fmt.Sprintf("peak-%s-%d-%d", pid, c, n))
				switch {
				case outcome == shop.Accepted && err == nil:
					mine.Accepted++
					mine.Times[classOf(time.Since(begun))]++
				case err != nil && mine.First == "":
					mine.First = err.Error()
					mine.Failed++
				default:
					mine.Failed++
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
	all := Peak{Times: map[int]int{}}
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
