package eligibility

import (
	"strings"
	"sync"
	"time"
)

// maxAnswers bounds what an environment remembers: some 5 MB.
const maxAnswers = 20_000

type question struct{ saleID, user string }

type answer struct {
	eligible bool
	end      time.Time
}

// answers are what the service has said, the oldest forgotten first.
type answers struct {
	mu    sync.Mutex
	m     map[question]answer
	order []question // ring of insertions, oldest at next
	next  int
}

func newAnswers() *answers { return &answers{m: map[question]answer{}} }

func (a *answers) get(saleID, user string, now time.Time) (eligible, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.m[question{saleID, user}]
	if !ok || !now.Before(known.end) {
		return false, false
	}
	return known.eligible, true
}

func (a *answers) put(saleID, user string, eligible bool, now, end time.Time) {
	if !now.Before(end) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// Not all of what the ids were read from is to be kept.
	q := question{strings.Clone(saleID), strings.Clone(user)}
	if _, known := a.m[q]; !known {
		if len(a.order) < maxAnswers {
			a.order = append(a.order, q)
		} else {
			delete(a.m, a.order[a.next])
			a.order[a.next] = q
			a.next = (a.next + 1) % maxAnswers
		}
	}
	a.m[q] = answer{eligible, end}
}
