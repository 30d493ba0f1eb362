package rush

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/client"
)

func TestTheSameSeedMakesTheSameCrowd(t *testing.T) {
	a, b := Plan(3, 200, 3), Plan(3, 200, 3)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two crowds of one seed differ:\n%s", diff)
	}
	if cmp.Equal(a, Plan(4, 200, 3)) {
		t.Error("two seeds make the same crowd")
	}
	users, clicks, keyed := map[string]bool{}, map[int]int{}, 0
	for _, b := range a {
		users[b.User] = true
		clicks[b.Clicks]++
		if b.Key != "" {
			keyed++
		}
	}
	if len(users) != 200 {
		t.Errorf("%d different buyers of 200", len(users))
	}
	if len(clicks) != 3 || clicks[1] == 0 || clicks[2] == 0 || clicks[3] == 0 {
		t.Errorf("clicks per buyer are %v, want each of 1, 2 and 3", clicks)
	}
	if keyed == 0 || keyed == 200 {
		t.Errorf("%d of 200 send an Idempotency-Key, want some and not all", keyed)
	}
}

// gauge is an API that counts the requests in flight.
type gauge struct {
	mu           sync.Mutex
	inside, most int
	meet         chan struct{} // if not nil, each request waits for another one
	reply        func(token string) (client.Answer, error)
}

func (g *gauge) Buy(_ context.Context, _, token, _ string) (client.Answer, error) {
	g.mu.Lock()
	g.inside++
	g.most = max(g.most, g.inside)
	g.mu.Unlock()
	if g.meet != nil {
		select {
		case g.meet <- struct{}{}:
		case <-g.meet:
		case <-time.After(30 * time.Second):
			return client.Answer{}, errors.New("no second request came")
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	return g.reply(token)
}

func (g *gauge) Mine(context.Context, string, string) (client.Answer, error) {
	return client.Answer{}, errors.New("not used here")
}

func refusal(string) (client.Answer, error) {
	return client.Answer{Status: http.StatusConflict, Code: "sold-out"}, nil
}

func TestTheClicksOfABuyerComeTogether(t *testing.T) {
	g := &gauge{meet: make(chan struct{}), reply: refusal}
	results := Run(t.Context(), g, "s", []Buyer{{User: "a", Clicks: 2}}, 2, time.Now, func(Result) {})
	if len(results) != 2 || results[0].Outcome != client.SoldOut || results[1].Outcome != client.SoldOut {
		t.Errorf("results are %+v, want two answers", results)
	}
}

func TestNoMoreRequestsAreInFlightThanAllowed(t *testing.T) {
	g := &gauge{reply: refusal}
	clicks := 0
	var mu sync.Mutex
	Run(t.Context(), g, "s", Plan(1, 50, 3), 4, time.Now, func(Result) { mu.Lock(); clicks++; mu.Unlock() })
	if g.most > 4 {
		t.Errorf("%d requests at once, want at most 4", g.most)
	}
	if want := TotalClicks(Plan(1, 50, 3)); clicks != want {
		t.Errorf("progress counted %d clicks, want %d", clicks, want)
	}
}

func TestABusyAnswerIsRetriedAndCountsAsOneClick(t *testing.T) {
	asked := 0
	g := &gauge{reply: func(string) (client.Answer, error) {
		if asked++; asked < 3 {
			return client.Answer{Status: 503, Code: "busy", RetryAfter: time.Nanosecond}, nil
		}
		return client.Answer{Status: 409, Code: "sold-out"}, nil
	}}
	r := Run(t.Context(), g, "s", []Buyer{{User: "a", Clicks: 1}}, 1, time.Now, func(Result) {})
	if r[0].Outcome != client.SoldOut || r[0].Tries != 3 {
		t.Errorf("result is %+v, want sold out after 3 tries", r[0])
	}
}

func TestARushThatGetsNoAnswersEnds(t *testing.T) {
	t.Run("after its last try", func(t *testing.T) {
		g := &gauge{reply: func(string) (client.Answer, error) {
			return client.Answer{Status: 503, RetryAfter: time.Nanosecond}, nil
		}}
		r := Run(t.Context(), g, "s", []Buyer{{User: "a", Clicks: 1}}, 1, time.Now, func(Result) {})
		if r[0].Final || r[0].Tries != maxTries {
			t.Errorf("result is %+v, want no answer after %d tries", r[0], maxTries)
		}
	})
	t.Run("when its time is up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := &gauge{reply: func(string) (client.Answer, error) { cancel(); return client.Answer{}, errors.New("no route") }}
		r := Run(ctx, g, "s", []Buyer{{User: "a", Clicks: 3}}, 1, time.Now, func(Result) {})
		for _, r := range r {
			if r.Final || r.Err == nil {
				t.Errorf("result is %+v, want no answer and an error", r)
			}
		}
	})
}

func TestBuyersWithAClaimOrAnUnclearOutcomeFollowUp(t *testing.T) {
	got := WhoAsks([]Result{
		{Buyer: 0, Outcome: client.Accepted, Tries: 1}, {Buyer: 0, Outcome: client.AlreadyOrdered, Tries: 1},
		{Buyer: 1, Outcome: client.SoldOut, Tries: 1},
		{Buyer: 2, Outcome: client.SoldOut, Tries: 2},
		{Buyer: 3, Outcome: client.AlreadyOrdered, Tries: 1},
	})
	if diff := cmp.Diff([]int{0, 2, 3}, got); diff != "" {
		t.Errorf("buyers who follow up (-want +got):\n%s", diff)
	}
}

func TestABuyerClicksAtTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		g := &gauge{reply: refusal}
		r := Run(t.Context(), g, "s", []Buyer{{At: time.Minute, Clicks: 1}, {Clicks: 1}}, 1, time.Now, func(Result) {})
		if late, first := r[0].Answered.Sub(start), r[1].Answered.Sub(start); late != time.Minute || first != 0 {
			t.Errorf("answered after %v and %v", late, first)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r := Run(ctx, g, "s", []Buyer{{At: time.Minute, Clicks: 1}}, 1, time.Now, func(Result) {}); r[0].Tries != 0 || r[0].Err == nil {
			t.Errorf("clicked after the end: %+v", r[0])
		}
	})
}
