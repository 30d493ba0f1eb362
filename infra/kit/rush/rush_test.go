package rush

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
	mu            sync.Mutex
	start         time.Time
	clicks, polls []time.Duration // arrival times
	// onOrder and onStatus get the number of earlier requests and the time since the start.
	onOrder, onStatus func(n int, at time.Duration) (client.Answer, error)
}

func (s *shop) BuyUnits(context.Context, string, string, string, int64) (client.Answer, error) {
	return s.asked(&s.clicks, s.onOrder)
}

func (s *shop) Mine(context.Context, string, string) (client.Answer, error) {
	return s.asked(&s.polls, s.onStatus)
}

func (s *shop) asked(all *[]time.Duration, answer func(int, time.Duration) (client.Answer, error)) (client.Answer, error) {
	s.mu.Lock()
	n, at := len(*all), time.Since(s.start)
	*all = append(*all, at)
	s.mu.Unlock()
	return answer(n, at)
}

func claim(state, order string) client.Claim {
	return client.Claim{ClaimID: "c", SaleID: "s", State: state, OrderID: order}
}

func refused(code string, status int, retryAfter time.Duration) client.Answer {
	return client.Answer{Status: status, Code: code, RetryAfter: retryAfter}
}

// rushed lets the buyers rush in virtual time, and then follow their orders.
func rushed(t *testing.T, s *shop, inFlight int, buyers ...Buyer) (seen []Try, h *verdict.History) {
	t.Helper()
	h = verdict.New(verdict.Sale{})
	synctest.Test(t, func(t *testing.T) {
		s.start = time.Now()
		r := Rush{API: s, SaleID: "s", Crowd: buyers, InFlight: inFlight, Patience: time.Minute, Insists: true, History: h, Seen: func(t Try) {
			s.mu.Lock()
			defer s.mu.Unlock()
			seen = append(seen, t)
		}}
		r.Run(t.Context(), func() {})
		r.Follow(t.Context())
	})
	return seen, h
}

func TestAStallShowsInTheLatencyOfEveryBuyerWhoCameMeanwhile(t *testing.T) {
	var crowd []Buyer
	for i := range 60 {
		crowd = append(crowd, Buyer{User: strconv.Itoa(i), At: time.Duration(i) * 100 * time.Millisecond, Clicks: 1})
	}
	for _, inFlight := range []int{1, 1000} {
		s := &shop{onOrder: func(_ int, at time.Duration) (client.Answer, error) {
			if at >= time.Second && at < 4*time.Second {
				time.Sleep(4*time.Second - at) // nobody is answered before 4 s
			}
			return refused("sold-out", http.StatusConflict, -1), nil
		}}
		seen, _ := rushed(t, s, inFlight, crowd...)
		var took, queued []time.Duration
		for _, t := range seen {
			took, queued = append(took, t.Answered.Sub(t.Intended)), append(queued, t.Sent.Sub(t.Due))
		}
		slices.Sort(took)
		// Half of the buyers came during the stall, 3 s to 0.1 s before its end. A closed
		// loop with one buyer would have seen a single slow answer.
		if len(took) != 60 || took[59] != 3*time.Second || took[60-6] != 2500*time.Millisecond {
			t.Errorf("with %d requests in flight: latencies %v, want 60, of which the last are 2.5 s to 3 s", inFlight, took)
		}
		if longest := slices.Max(queued); inFlight == 1 && longest != 2900*time.Millisecond {
			t.Errorf("longest queueing %v, want 2.9s", longest)
		}
	}
}

func TestABuyerWaitsForTheRetryAfter(t *testing.T) {
	s := &shop{
		onOrder: func(n int, _ time.Duration) (client.Answer, error) {
			switch n {
			case 0:
				return refused("busy", http.StatusServiceUnavailable, 3*time.Second), nil
			case 1:
				return client.Answer{}, errors.New("connection reset")
			}
			return client.Answer{Status: http.StatusAccepted, RetryAfter: 2 * time.Second, Claim: claim("PENDING", "")}, nil
		},
		onStatus: func(n int, _ time.Duration) (client.Answer, error) {
			if n == 0 {
				return client.Answer{Status: http.StatusOK, RetryAfter: 4 * time.Second, Claim: claim("PENDING", "")}, nil
			}
			return client.Answer{Status: http.StatusOK, Claim: claim("CONFIRMED", "17")}, nil
		},
	}
	_, h := rushed(t, s, 8, Buyer{User: "a", Clicks: 1})
	clicks, polls := []time.Duration{0, 3 * time.Second, 4 * time.Second}, []time.Duration{6 * time.Second, 10 * time.Second}
	if fmt.Sprint(s.clicks) != fmt.Sprint(clicks) || fmt.Sprint(s.polls) != fmt.Sprint(polls) || len(h.Findings()) > 0 {
		t.Errorf("clicks at %v and polls at %v, want %v and %v; found %v", s.clicks, s.polls, clicks, polls, h.Findings())
	}
}

func TestABuyerWhoGetsNoAnswerGivesUp(t *testing.T) {
	for name, answer := range map[string]client.Answer{
		"after its last try":      refused("busy", http.StatusServiceUnavailable, 0), // minWait: 10 s
		"when its patience ends":  refused("busy", http.StatusServiceUnavailable, 5*time.Second),
		"when the patience ended": refused("busy", http.StatusServiceUnavailable, 2*time.Minute),
	} {
		s := &shop{onOrder: func(int, time.Duration) (client.Answer, error) { return answer, nil }, onStatus: func(int, time.Duration) (client.Answer, error) {
			return refused("order-not-found", http.StatusNotFound, -1), nil
		}}
		seen, h := rushed(t, s, 1, Buyer{User: "a", Clicks: 1})
		if found := h.Findings(); len(found) == 0 || found[0].Promise != "P5" || !slices.ContainsFunc(seen, func(t Try) bool { return t.GaveUp }) || len(s.clicks) > maxTries {
			t.Errorf("%s: %d clicks, found %v", name, len(s.clicks), found)
		}
	}
}
