package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

const (
	tableName = "LedgerTable"
	// answerTime bounds how long a buyer may be without an answer after the last kill. It is
	// wide, because an overloaded machine breaks no promise.
	answerTime = 4 * time.Minute
	// ordersTime bounds the time until every claim has its order.
	ordersTime = 5 * time.Minute
	// payAtOnceTime is how long a buyer may take to pay or cancel at once.
	payAtOnceTime = 3 * time.Second
	readPause     = 300 * time.Millisecond
	// grace is how long a claim may be pending before ReconcileFunction sends
	// its message again.
	grace = 30 * time.Second
	// repairsKilled is how many repairs of a round are killed while running.
	repairsKilled = 2
	// killEveryRelease is how many runs of ReleaseFunction come to one that is killed.
	killEveryRelease = 3
)

// round is a set of concurrent sales, from their creation to the audit.
type round struct {
	sales   []*testSale
	client  *client.Client
	table   *dynamodb.Client
	nemesis *nemesis
}

// run runs the sales under kills for the time chaos, waits until all orders are done and returns
// the violations.
func (r *round) run(ctx context.Context, chance *rand.Rand, chaos time.Duration) ([]string, error) {
	if err := r.sellWhileKilling(ctx, chance, chaos); err != nil {
		return nil, err
	}
	// The kills are over, so buyers without an answer get one now. In a sale that asks for
	// payment they may also buy units that came back.
	for _, last := range []bool{false, true} {
		r.clickAgain(ctx, last)
		if err := r.awaitOrders(ctx); err != nil {
			return nil, err
		}
	}
	all, err := r.readBooks(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.nemesis.restartEnded(ctx); err != nil {
		return nil, err
	}
	var found []string
	for _, e := range r.sales {
		for _, problem := range slices.Concat(e.answers.Findings(), e.audit(ctx, all)) {
			found = append(found, e.id+": "+problem.String())
		}
	}
	return found, context.Cause(ctx)
}

// sellWhileKilling creates the sales and runs their buyers while the nemesis kills.
func (r *round) sellWhileKilling(ctx context.Context, chance *rand.Rand, chaos time.Duration) error {
	killing, stop := context.WithTimeout(ctx, chaos)
	defer stop()
	answering, cancel := context.WithTimeout(ctx, chaos+answerTime)
	defer cancel()
	nemesis := make(chan error, 1)
	go func() { nemesis <- r.nemesis.run(killing) }()
	go r.releases(killing)

	end := time.Now().Add(chaos)
	var all sync.WaitGroup
	for _, e := range r.sales {
		var batches []time.Duration
		for range e.restocks {
			batches = append(batches, chaos*time.Duration(20+chance.IntN(60))/100)
		}
		slices.Sort(batches)
		all.Go(func() {
			if !e.create(answering, r.client, time.Now()) {
				return
			}
			for _, b := range e.buyers {
				all.Go(func() { b.run(answering, r.client, e, end) })
			}
			begun := time.Now()
			for i, at := range batches {
				if !pause(answering, at-time.Since(begun)) || !e.restock(answering, r.client, i) {
					return
				}
			}
		})
	}
	all.Wait()
	// Keep killing until the round ends, even if all buyers are done.
	return <-nemesis
}

// clickAgain lets every buyer repeat their request: a buyer with a claim must get it again,
// and a buyer without one may get sold-out only if no units are left. Then they pay or
// cancel: the last time all of them, before that those that can do so at once.
func (r *round) clickAgain(ctx context.Context, last bool) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	go r.releases(ctx)
	limit := payAtOnceTime
	if last {
		limit = answerTime
	}
	slots := make(chan struct{}, 32)
	var all sync.WaitGroup
	for _, e := range r.sales {
		for _, b := range e.buyers {
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if !b.login(ctx, r.client) {
					e.unanswered(b.name)
					return
				}
				b.order(ctx, r.client, e)
				if e.answers.Holds(b.name) {
					b.ask(ctx, r.client, e)
				}
				if b.paymentPlan == nil || b.paymentPlan.late && !last {
					return
				}
				paying, cancel := context.WithTimeout(ctx, limit)
				defer cancel()
				if !b.payOrCancel(paying, r.client, e) && last {
					e.unanswered(b.name)
				}
			})
		}
	}
	all.Wait()
}

// awaitOrders waits until every claim of the round has its order and is paid or released where
// the sale asks for that. ReconcileFunction repairs claims whose message is lost: it runs
// every minute, and here as soon as there is a claim to repair, as ReleaseFunction does when
// there is a claim to release.
func (r *round) awaitOrders(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ordersTime, fmt.Errorf("not every claim got its order in %v (P8)", ordersTime))
	defer cancel()
	for repairs, releases := 0, 0; ; {
		all, err := r.readBooks(ctx)
		if err != nil {
			return err
		}
		oldest, done, awaiting := time.Now(), true, false
		for _, e := range r.sales {
			if at, ok := allConfirmed(all.Sale(e.id)); !ok {
				done = false
				if at.Before(oldest) {
					oldest = at
				}
			}
			awaiting = awaiting || e.awaitsPayment(ctx, all)
		}
		switch {
		case awaiting:
			releases++
			if err := r.repair(ctx, client.ReleaseFunction, releases%killEveryRelease == 0); err != nil {
				return err
			}
		case done:
			return nil
		}
		if time.Since(oldest) > grace {
			repairs++
			if err := r.repair(ctx, client.ReconcileFunction, repairs <= repairsKilled); err != nil {
				return err
			}
		}
		if !pause(ctx, readPause) {
			return context.Cause(ctx)
		}
	}
}

// repair runs a function or kills it while it runs. The next run completes what a failed one
// left.
func (r *round) repair(ctx context.Context, function string, interrupt bool) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.client.Ask(ctx, function, struct{}{}, nil)
	}()
	if interrupt && pause(ctx, time.Duration(r.nemesis.chance.IntN(60))*time.Millisecond) {
		err = r.nemesis.killOne(function)
	}
	<-done
	return err
}

// readBooks reads the table, with retries until ctx ends.
func (r *round) readBooks(ctx context.Context) (*books.Books, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		all, err := books.Read(ctx, r.table, tableName)
		if err == nil || !pause(ctx, readPause) {
			return all, err
		}
	}
}

// allConfirmed reports whether every claim is confirmed and every order stored; if not, it
// returns when the oldest of the other claims was accepted.
func allConfirmed(s *books.Sale) (oldest time.Time, ok bool) {
	ok = true
	for _, c := range s.Unfinished() {
		if ok || c.AcceptedAt.Before(oldest) {
			oldest, ok = c.AcceptedAt, false
		}
	}
	return oldest, ok
}
