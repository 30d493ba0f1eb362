package eligibility

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/shared/clock"
)

// slowService is a slow in-memory service.
type slowService struct {
	delay  time.Duration
	status int
	body   string

	mu          sync.Mutex
	calls       int
	busy, worst int // concurrent calls, and their maximum
}

// RoundTrip implements http.RoundTripper.
func (o *slowService) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	o.calls++
	o.busy++
	o.worst = max(o.worst, o.busy)
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		o.busy--
		o.mu.Unlock()
	}()
	select {
	case <-time.After(o.delay):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: o.status, Body: io.NopCloser(strings.NewReader(o.body)), Header: http.Header{}, Request: r}, nil
}

func (o *slowService) set(delay time.Duration, status int, body string) {
	o.delay, o.status, o.body = delay, status, body
}

const (
	yes = `{"eligible":true}`
	no  = `{"eligible":false}`
)

// at runs a test with a service and its checker, in virtual time.
func at(t *testing.T, change func(*Options), test func(*testing.T, *slowService, *Checker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &slowService{}
		o.set(10*time.Millisecond, http.StatusOK, yes)
		options := Options{
			URL: "https://check.example.com", Timeout: 300 * time.Millisecond, Concurrency: 8,
			Transport: o, Now: clock.Wall, Random: func() float64 { return 0.5 },
		}
		if change != nil {
			change(&options)
		}
		c, err := New(options)
		if err != nil {
			t.Fatal(err)
		}
		test(t, o, c)
	})
}

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

// The second time is how long an answer is remembered, if the sale is on for that long.
func TestAUserIsAskedAboutOnceInASaleOrOnceAMinuteIfRefused(t *testing.T) {
	for body, remembered := range map[string]time.Duration{yes: time.Hour, no: time.Minute} {
		at(t, nil, func(t *testing.T, o *slowService, c *Checker) {
			o.set(time.Millisecond, http.StatusOK, body)
			end := inAnHour()
			for range 5 {
				if admitted, err := c.IsEligible(t.Context(), "moutai", "alice", end); admitted != (body == yes) || err != nil {
					t.Errorf("admitted %t, %v by %s", admitted, err, body)
				}
				time.Sleep(remembered / 6)
			}
			if o.calls != 1 {
				t.Errorf("%d calls during the sale, want 1", o.calls)
			}
			c.IsEligible(t.Context(), "moutai", "bob", end)
			c.IsEligible(t.Context(), "cognac", "alice", end)
			if o.calls != 3 {
				t.Errorf("%d calls, want one per sale and user", o.calls)
			}
			time.Sleep(remembered)
			o.set(time.Millisecond, http.StatusOK, yes)
			if admitted, _ := c.IsEligible(t.Context(), "moutai", "alice", inAnHour()); !admitted || o.calls != 4 {
				t.Errorf("admitted %t after %d calls, want another one after %v", admitted, o.calls, remembered)
			}
		})
	}
}

func TestNobodyWaitsLongerThanForATurnAndACall(t *testing.T) {
	for _, delay := range []time.Duration{301 * time.Millisecond, 10 * time.Second, 30 * time.Second, time.Hour} {
		at(t, func(o *Options) { o.Concurrency = 2 }, func(t *testing.T, o *slowService, c *Checker) {
			o.set(delay, http.StatusOK, yes)
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					began := time.Now()
					admitted, err := c.IsEligible(t.Context(), "moutai", fmt.Sprint("user-", i), inAnHour())
					if took := time.Since(began); admitted || err == nil || took > 600*time.Millisecond {
						t.Errorf("admitted %t, %v after %s", admitted, err, took)
					}
				})
			}
			all.Wait()
			if o.worst > 2 || o.busy != 0 {
				t.Errorf("%d calls at once and %d left behind, want at most 2 and none", o.worst, o.busy)
			}
		})
	}
}

// 8 at once, 10 ms each, begun within 300 ms; and calls without a turn do not count as failures.
func TestAStampedeReachesTheServiceInTurns(t *testing.T) {
	at(t, nil, func(t *testing.T, o *slowService, c *Checker) {
		var admitted, without atomic.Int64
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				if ok, err := c.IsEligible(t.Context(), "moutai", fmt.Sprint("user-", i), inAnHour()); ok && err == nil {
					admitted.Add(1)
				} else if errors.Is(err, errTurn) && !ok {
					without.Add(1)
				}
			})
		}
		all.Wait()
		if n := admitted.Load(); o.worst != 8 || n < 240 || n > 248 || without.Load() != 1000-n {
			t.Errorf("%d calls at once, %d admitted and %d without a turn", o.worst, n, without.Load())
		}
		if ok, err := c.IsEligible(t.Context(), "moutai", "late", inAnHour()); !ok || err != nil {
			t.Errorf("afterwards: admitted %t, %v", ok, err)
		}
	})
}

func TestAServiceThatFailsIsLeftAloneAndTriedByOne(t *testing.T) {
	at(t, nil, func(t *testing.T, o *slowService, c *Checker) {
		admit := func(user string) (bool, error) { return c.IsEligible(t.Context(), "moutai", user, inAnHour()) }
		o.set(10*time.Second, http.StatusOK, yes)
		for i := range maxFailures {
			admit(fmt.Sprint("user-", i))
		}
		began := time.Now()
		for i := range 100 {
			if ok, err := admit(fmt.Sprint("user-", i)); ok || !errors.Is(err, errOpen) {
				t.Errorf("admitted %t, %v; want it left alone", ok, err)
			}
		}
		if o.calls != maxFailures || time.Since(began) != 0 {
			t.Errorf("%d calls, and %s of waiting while it is left alone", o.calls, time.Since(began))
		}
		time.Sleep(firstPause)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() { admit(fmt.Sprint("user-", i)) })
		}
		all.Wait()
		if o.calls != maxFailures+1 {
			t.Errorf("%d calls when the pause is over, want one more than %d", o.calls, maxFailures)
		}
		o.set(10*time.Millisecond, http.StatusOK, yes)
		time.Sleep(2 * firstPause)
		for i := range 20 {
			if ok, err := admit(fmt.Sprint("user-", i)); !ok || err != nil {
				t.Errorf("once it is well, user %d: admitted %t, %v", i, ok, err)
			}
		}
	})
}

func TestOneStrangeUserCutsOffNobodyElse(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		opens  bool // whether maxFailures in a row open the breaker
	}{
		{"an id that cannot be read", 400, "{}", false},
		{"a gateway whose service is being replaced", 405, `{"message":"Forbidden"}`, false},
		{"a redirect", 302, "", false},
		{"a 200 that is no answer", 200, "<html>", false},
		{"no content", 204, "", false},
		{"a timeout told by status", 408, "", true},
		{"too many requests", 429, no, true},
		{"a server's error", 500, no, true},
	} {
		at(t, nil, func(t *testing.T, o *slowService, c *Checker) {
			o.set(time.Millisecond, tt.status, tt.body)
			for i := range 2 * maxFailures {
				if admitted, err := c.IsEligible(t.Context(), "moutai", fmt.Sprint("strange-", i), inAnHour()); admitted || err == nil {
					t.Errorf("%s: strange user %d: admitted %t, %v; want no answer", tt.name, i, admitted, err)
				}
			}
			if want := map[bool]int{false: 2 * maxFailures, true: maxFailures}[tt.opens]; o.calls != want {
				t.Errorf("%s: %d calls, want %d", tt.name, o.calls, want)
			}
			o.set(time.Millisecond, http.StatusOK, yes)
			if admitted, err := c.IsEligible(t.Context(), "moutai", "alice", inAnHour()); admitted == tt.opens || errors.Is(err, errOpen) != tt.opens {
				t.Errorf("%s: the next user: admitted %t, %v", tt.name, admitted, err)
			}
			// Nothing is remembered of what is no answer: the service is asked again.
			time.Sleep(longestPause)
			if admitted, err := c.IsEligible(t.Context(), "moutai", "strange-0", inAnHour()); !admitted || err != nil {
				t.Errorf("%s: the strange user later: admitted %t, %v", tt.name, admitted, err)
			}
		})
	}
}

func TestFailOpenAdmitsWhomNobodyKnowsAndStillSaysWhy(t *testing.T) {
	at(t, func(o *Options) { o.FailOpen = true }, func(t *testing.T, o *slowService, c *Checker) {
		o.set(0, http.StatusOK, no)
		if admitted, err := c.IsEligible(t.Context(), "moutai", "mallory", inAnHour()); admitted || err != nil {
			t.Errorf("a user who was refused: admitted %t, %v", admitted, err)
		}
		o.set(30*time.Second, http.StatusOK, no)
		for i := range 2 * maxFailures {
			if admitted, err := c.IsEligible(t.Context(), "moutai", fmt.Sprint("user-", i), inAnHour()); !admitted || err == nil {
				t.Errorf("user %d: admitted %t, %v; want both", i, admitted, err)
			}
		}
		if admitted, err := c.IsEligible(t.Context(), "moutai", "mallory", inAnHour()); admitted || err != nil {
			t.Errorf("a user who was refused, later: admitted %t, %v", admitted, err)
		}
	})
}

func TestAnInvocationThatEndsTakesItsCallAlong(t *testing.T) {
	at(t, nil, func(t *testing.T, o *slowService, c *Checker) {
		o.set(time.Hour, http.StatusOK, yes)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		began := time.Now()
		admitted, err := c.IsEligible(ctx, "moutai", "alice", inAnHour())
		if admitted || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 20*time.Millisecond || o.busy != 0 {
			t.Errorf("admitted %t, %v after %s, %d calls left behind", admitted, err, time.Since(began), o.busy)
		}
	})
}
