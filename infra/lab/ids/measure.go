package ids

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"flashsale/infra/lab/shop"
)

// Row is what was read from the ids that a generator has made.
type Row struct {
	Generator string  `json:"generator"`
	Issued    int     `json:"issued"`
	PerSecond float64 `json:"perSecond"`
	// Disorder is the share of ids that sort before one that was issued earlier,
	// by any server.
	Disorder float64 `json:"disorder"`
	// Neighbours is the share of ids whose successor, id plus one, was issued,
	// too: whoever holds one can guess that often.
	Neighbours float64 `json:"neighbours"`
	Duplicates int     `json:"duplicates"`
	Length     int     `json:"length"` // characters of the longest
	Example    string  `json:"example"`
	// Does says how an id comes about; NotRun why nothing was measured, "" if
	// it was.
	Does   string `json:"does"`
	NotRun string `json:"notRun,omitempty"`
}

// Servers is how many application servers issue at once.
const Servers = 3

// issued is one batch and the interval in which it was made.
type issued struct {
	ids         []string
	began, came time.Time
}

// Measure lets Servers issue ids for that long.
func Measure(ctx context.Context, g Generator, p shop.Place, last time.Duration) (Row, error) {
	var mu sync.Mutex
	var all []issued
	var failed error
	var work sync.WaitGroup
	began := time.Now()
	for range Servers {
		issue, end, err := g.Open(ctx, p)
		if err != nil {
			failed = err
			break
		}
		work.Go(func() {
			mine, err := run(ctx, issue, began.Add(last))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
			for _, e := range []error{err, end()} {
				if failed == nil {
					failed = e
				}
			}
		})
	}
	work.Wait()
	if failed != nil {
		return Row{}, fmt.Errorf("measure %s: %w", g.Name, failed)
	}
	r, err := read(g.Name, all, time.Since(began))
	r.Does = g.Does
	return r, err
}

func run(ctx context.Context, issue Issue, until time.Time) (mine []issued, err error) {
	for time.Now().Before(until) {
		one := issued{began: time.Now()}
		if one.ids, err = issue(ctx); err != nil {
			return mine, err
		}
		one.came = time.Now()
		mine = append(mine, one)
	}
	return mine, nil
}

// read is the row of a pile of ids.
func read(name string, all []issued, took time.Duration) (Row, error) {
	r := Row{Generator: name}
	numbers := map[string]bool{}
	type made struct {
		number      *big.Int
		began, came time.Time
	}
	var line []made
	for _, batch := range all {
		for _, id := range batch.ids {
			n, err := number(id)
			if err != nil {
				return Row{}, err
			}
			r.Issued++
			r.Length, r.Example = max(r.Length, len(id)), id
			if numbers[n.String()] {
				r.Duplicates++
			}
			numbers[n.String()] = true
			line = append(line, made{n, batch.began, batch.came})
		}
	}
	if r.Issued == 0 {
		return r, nil
	}
	one, neighbours := big.NewInt(1), 0
	for _, m := range line {
		if numbers[new(big.Int).Add(m.number, one).String()] {
			neighbours++
		}
	}
	// An id is out of order if one is higher that had come before this one was
	// asked for: overlapping requests may come in either order.
	byStart := slices.SortedFunc(slices.Values(line), func(a, b made) int { return a.began.Compare(b.began) })
	slices.SortStableFunc(line, func(a, b made) int { return cmp.Compare(a.came.UnixNano(), b.came.UnixNano()) })
	highest, next, late := new(big.Int), 0, 0
	for _, m := range byStart {
		for ; next < len(line) && line[next].came.Before(m.began); next++ {
			if line[next].number.Cmp(highest) > 0 {
				highest = line[next].number
			}
		}
		if m.number.Cmp(highest) < 0 {
			late++
		}
	}
	n := float64(r.Issued)
	r.PerSecond, r.Disorder, r.Neighbours = n/took.Seconds(), float64(late)/n, float64(neighbours)/n
	return r, nil
}

// number is an id as the number it sorts by: decimal, or a UUID's 128 bits.
func number(id string) (*big.Int, error) {
	base, digits := 10, id
	if strings.Contains(id, "-") {
		base, digits = 16, strings.ReplaceAll(id, "-", "")
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return nil, fmt.Errorf("read id %q: not a number", id)
	}
	return n, nil
}
