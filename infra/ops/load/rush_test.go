package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/verdict"
)

// shop is an API whose answers are set by a test. Time is virtual: the tests run in a
// synctest bubble.
type shop struct {
	mu     sync.Mutex
	start  time.Time
	clicks []time.Duration // arrival times
	polls  []time.Duration
	// onOrder and onStatus get the number of earlier requests and the time since the start.
	onOrder, onStatus func(n int, at time.Duration, token string) (client.Answer, error)
}

func (s *shop) Buy(_ context.Context, _, token, _ string) (client.Answer, error) {
	s.mu.Lock()
	n, at := len(s.clicks), time.Since(s.start)
	s.clicks = append(s.clicks, at)
	s.mu.Unlock()
	return s.onOrder(n, at, token)
}

func (s *shop) Mine(_ context.Context, _, token string) (client.Answer, error) {
	s.mu.Lock()
	n, at := len(s.polls), time.Since(s.start)
	s.polls = append(s.polls, at)
	s.mu.Unlock()
	if s.onStatus == nil {
		return refused("order-not-found", http.StatusNotFound, -1), nil
	}
	return s.onStatus(n, at, token)
}

func (s *shop) Cancel(context.Context, string, string) (client.Answer, error) {
	return client.Answer{}, errors.New("nobody cancels here")
}

const testSale = "s"

func taken(token string) client.Answer {
	return client.Answer{Status: http.StatusAccepted, RetryAfter: 2 * time.Second, Claim: client.Claim{ClaimID: "c-" + token, SaleID: testSale, State: "PENDING"}}
}

func refused(code string, status int, retryAfter time.Duration) client.Answer {
	return client.Answer{Status: status, Code: code, RetryAfter: retryAfter}
}

// rushed runs the visits against the shop in virtual time.
func rushed(t *testing.T, s *shop, visits []visit, inflight int) (r result, h *verdict.History) {
	t.Helper()
	h = verdict.New(verdict.Sale{Own: true})
	synctest.Test(t, func(t *testing.T) {
		tokens := make([]string, len(visits))
		for i := range tokens {
			tokens[i] = fmt.Sprint(i)
		}
		s.start = time.Now()
		run := rush{client: s, sale: testSale, visits: visits, tokens: tokens, inflight: inflight, patience: time.Minute, tally: newTally(), history: h}
		run.run(t.Context(), s.start, func() {})
		r = run.tally.result(time.Since(s.start))
	})
	return r, h
}

// everyTenth returns buyers 100 ms apart.
func everyTenth(n int) []visit {
	visits := make([]visit, n)
	for i := range visits {
		visits[i] = visit{user: i, at: time.Duration(i) * 100 * time.Millisecond, clicks: 1}
	}
	return visits
}

func near(got, want time.Duration) bool { return got >= want*98/100 && got <= want*102/100 }

func count(rows []counted, o client.Outcome) int64 {
	for _, row := range rows {
		if row.Outcome == o {
			return row.Count
		}
	}
	return 0
}

func TestAStallShowsInTheLatencyOfEveryBuyerWhoCameMeanwhile(t *testing.T) {
	for _, inflight := range []int{1, 1000} {
		t.Run(fmt.Sprintf("with %d requests in flight", inflight), func(t *testing.T) {
			s := &shop{onOrder: func(_ int, at time.Duration, _ string) (client.Answer, error) {
				if at >= time.Second && at < 4*time.Second {
					time.Sleep(4*time.Second - at) // nobody is answered before 4 s
				}
				return refused("sold-out", http.StatusConflict, -1), nil
			}}
			r, _ := rushed(t, s, everyTenth(60), inflight)
			first := r.latencies[0]
			if first.Count != 60 {
				t.Errorf("%d latencies, want all 60", first.Count)
			}
			// Half of the buyers came during the stall, 3 s to 0.1 s before its end. A closed
			// loop with one buyer would have seen a single slow answer.
			if !near(first.Max, 3*time.Second) || !near(first.P90, 2400*time.Millisecond) {
				t.Errorf("max %v, p90 %v; want 3s and 2.4s", first.Max, first.P90)
			}
			if queue := r.latencies[4]; inflight == 1 && !near(queue.Max, 2900*time.Millisecond) {
				t.Errorf("longest queueing %v, want 2.9s", queue.Max)
			}
		})
	}
}

func TestAnHonestBuyerWaitsForTheRetryAfter(t *testing.T) {
	s := &shop{
		onOrder: func(n int, _ time.Duration, token string) (client.Answer, error) {
			switch n {
			case 0:
				return refused("busy", http.StatusServiceUnavailable, 3*time.Second), nil
			case 1:
				return client.Answer{}, errors.New("connection reset")
			}
			return taken(token), nil
		},
		onStatus: func(n int, _ time.Duration, token string) (client.Answer, error) {
			claim := taken(token).Claim
			if n == 0 {
				return client.Answer{Status: http.StatusOK, RetryAfter: 4 * time.Second, Claim: claim}, nil
			}
			claim.State, claim.OrderID = "CONFIRMED", "17"
			return client.Answer{Status: http.StatusOK, Claim: claim}, nil
		},
	}
	r, h := rushed(t, s, everyTenth(1), 8)
	clicks, polls := []time.Duration{0, 3 * time.Second, 4 * time.Second}, []time.Duration{6 * time.Second, 10 * time.Second}
	if fmt.Sprint(s.clicks) != fmt.Sprint(clicks) || fmt.Sprint(s.polls) != fmt.Sprint(polls) {
		t.Errorf("clicks at %v and polls at %v, want %v and %v", s.clicks, s.polls, clicks, polls)
	}
	if r.accepted != 1 || r.confirmed != 1 || !near(r.latencies[2].Max, 10*time.Second) {
		t.Errorf("accepted %d, confirmed %d after %v; want one after 10s", r.accepted, r.confirmed, r.latencies[2].Max)
	}
	if found := h.Findings(); len(found) > 0 {
		t.Error(found)
	}
}

func TestAGreedyBuyerClicksAllAtOnce(t *testing.T) {
	s := &shop{
		onOrder: func(n int, _ time.Duration, token string) (client.Answer, error) {
			if n == 0 {
				return taken(token), nil
			}
			return client.Answer{Status: http.StatusConflict, Code: "already-ordered", RetryAfter: -1, Claim: taken(token).Claim}, nil
		},
		onStatus: func(_ int, _ time.Duration, token string) (client.Answer, error) {
			claim := taken(token).Claim
			claim.State, claim.OrderID = "CONFIRMED", "17"
			return client.Answer{Status: http.StatusOK, Claim: claim}, nil
		},
	}
	r, h := rushed(t, s, []visit{{at: time.Second, kind: greedy, clicks: 4}}, 8)
	for _, at := range s.clicks {
		if at != time.Second {
			t.Errorf("a click came at %v", at)
		}
	}
	if len(s.clicks) != 4 || len(s.polls) != 1 || count(r.outcomes, "already-ordered") != 3 || len(h.Findings()) > 0 {
		t.Errorf("%d clicks, %d polls, outcomes %v, findings %v", len(s.clicks), len(s.polls), r.outcomes, h.Findings())
	}
}
