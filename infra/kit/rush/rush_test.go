package rush

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"flashsale/infra/kit/client"
)

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
