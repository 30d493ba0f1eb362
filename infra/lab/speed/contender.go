package speed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/lab/engines"
	"flashsale/infra/lab/fleet"
	"flashsale/infra/lab/ours"
	"flashsale/infra/lab/shop"
	"flashsale/infra/local/launch"
)

// contender sells, over HTTP.
type contender interface {
	// expect is told how many buyers come next, and answers how many may.
	expect(ctx context.Context, from, buyers int) (int, error)
	buy(ctx context.Context, buyer int) (shop.Outcome, error)
	orders(ctx context.Context) ([]shop.Order, error)
	// crash ends servers and engine as kill -9 does, and returns who has a unit after a new start.
	crash(ctx context.Context) ([]shop.Order, error)
	stop() error
}

// rival is a strategy behind one application server.
type rival struct {
	fleet  *fleet.Fleet
	spec   shop.Spec
	place  shop.Place
	engine []engines.Engine
}

func openRival(ctx context.Context, program string, spec shop.Spec, place shop.Place, pool *engines.Pool) (contender, error) {
	running, err := pool.Get(ctx, spec.Needs)
	if err != nil {
		return nil, err
	}
	for _, e := range running {
		e.Describe(&place)
	}
	if spec.Prepare != nil {
		if err := spec.Prepare(ctx, place); err != nil {
			return nil, err
		}
	}
	spec.Servers = 1
	f, err := fleet.Start(ctx, fleet.Options{Program: program, Spec: spec, Place: place, Smooth: true, Stops: func(int) []fleet.Stop { return nil }})
	return &rival{f, spec, place, running}, err
}

func (r *rival) expect(context.Context, int, int) (int, error) { return math.MaxInt32, nil }

func (r *rival) buy(ctx context.Context, n int) (shop.Outcome, error) {
	return r.fleet.Buy(ctx, user(n), n)
}

func (r *rival) orders(ctx context.Context) ([]shop.Order, error) { return r.spec.Orders(ctx, r.place) }

func (r *rival) crash(ctx context.Context) ([]shop.Order, error) {
	r.fleet.Kill(0)
	for _, e := range r.engine {
		e.Crash()
		if err := e.Recover(ctx); err != nil {
			return nil, err
		}
	}
	return r.orders(ctx)
}

func (r *rival) stop() error {
	r.fleet.Stop()
	return nil
}

const (
	// shards is how many a sale has on the stack: as many as a load's.
	shards = 16
	// expected is how many buyers a second have a token before they come. With more, a round ends early.
	expected = 2_000
	// stopGrace is how long a stack may take to stop.
	stopGrace = 15 * time.Second
)

// stack is the whole local stack, as `make run` starts it.
type stack struct {
	*launch.Stack
	system client.System
	place  shop.Place
	tokens map[int]string
}

func openStack(ctx context.Context, root, data string, place shop.Place, clients int) (contender, error) {
	local, err := launch.New(launch.Built(root), data, "-root", root)
	if err != nil {
		return nil, err
	}
	// The stack's own engine, and nobody's credentials.
	own := slices.DeleteFunc(local.Command.Env, func(v string) bool { return strings.HasPrefix(v, "AWS_") })
	local.Command.Env = append(own, "AWS_EC2_METADATA_DISABLED=true")
	s := &stack{Stack: local, place: place, tokens: map[int]string{}}
	if err := s.Start(ctx); err != nil {
		return nil, fmt.Errorf("%w; it printed:\n%s", err, s.Output)
	}
	if s.system, err = client.Find(ctx, s.API, client.Options{Connections: clients}); err != nil {
		return nil, err
	}
	s.place.DynamoDB, s.place.Table = s.system.DynamoDB, s.system.Table
	now := time.Now()
	return s, s.system.Seed(ctx, client.Sale{
		ID: place.Sale, Name: "speed", OpensAt: now.Add(-time.Second), ClosesAt: now.Add(time.Hour), Stock: place.Stock, Shards: shards,
	})
}

func (s *stack) expect(ctx context.Context, from, buyers int) (int, error) {
	users := make([]string, buyers)
	for i := range users {
		users[i] = user(from + i)
	}
	tokens, err := s.system.Tokens(ctx, users, func() {})
	for i, token := range tokens {
		s.tokens[from+i] = token
	}
	return len(tokens), err
}

func (s *stack) buy(ctx context.Context, n int) (shop.Outcome, error) {
	a, err := s.system.Buy(ctx, s.place.Sale, s.tokens[n], user(n))
	outcome, final := client.JudgePurchase(s.place.Sale, a)
	if err == nil && !final {
		outcome = client.Busy
	}
	return shop.Outcome(outcome), err
}

func (s *stack) orders(ctx context.Context) ([]shop.Order, error) { return ours.Orders(ctx, s.place) }

func (s *stack) crash(ctx context.Context) ([]shop.Order, error) {
	s.Kill() // on Linux the kernel kills its engine and functions with it
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	return ours.Claimed(ctx, s.place)
}

func (s *stack) stop() error { return s.Stop(stopGrace) }
