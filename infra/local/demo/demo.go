package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
	"flashsale/infra/local/launch"
)

const (
	// tokensTime and recountTime bound the fetching of tokens and the recount.
	tokensTime, recountTime = 5 * time.Minute, time.Minute
	// saleTime is longer than any run.
	saleTime = 2 * time.Hour
)

// options are the flags, and how the crowd behaves.
type options struct {
	url, program string
	seed         uint64

	buyers, clicks int // clicks at most, of one buyer
	stock, shards  int
	inflight       int           // requests at a time, at most
	patience       time.Duration // of a buyer, for a final answer
	limit          time.Duration // of all
}

// A lost message is sent again within five minutes of the acceptance (P8), also if it was lost twice, and then
// finalized: so long is patience.
var standard = options{
	buyers: 1000, clicks: 3, stock: 100, shards: 5, inflight: 64,
	patience: 5*time.Minute + 30*time.Second, limit: 10 * time.Minute,
}

var (
	errBroken = errors.New("BROKEN: not every promise held")
	errRemote = errors.New("only a stack on this machine is loaded; `flashsale stack rehearse` tries one on AWS")
)

// run sends the crowd, prints a receipt of the sale, and fails with errBroken unless every promise holds.
func (o options) run(ctx context.Context, stdout, stderr io.Writer) error {
	at, err := client.CheckAddress(o.url)
	if err == nil && !client.Loopback(at.Hostname()) {
		err = errRemote
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d buyers want one of %d bottles each; each clicks 1 to %d times; at most %d requests in flight (-seed %d repeats this crowd)\n",
		o.buyers, o.stock, o.clicks, o.inflight, o.seed)
	system, own, err := o.findStack(ctx, at, stderr)
	if err != nil {
		return err
	}
	defer system.Close()
	saleID, lines, err := o.demonstrate(ctx, system, stdout)
	isBroken := slices.ContainsFunc(lines, func(l line) bool { return len(l.broken) > 0 })
	if own != nil {
		own.end(stderr, (isBroken || err != nil) && ctx.Err() == nil)
	}
	if err != nil {
		return err
	}
	printReceipt(stdout, saleID, lines)
	if isBroken {
		return fmt.Errorf("%w. The sale %s is kept for inspection", errBroken, saleID)
	}
	return nil
}

// findStack finds the running stack, or starts one for the demonstration.
func (o *options) findStack(ctx context.Context, at *url.URL, stderr io.Writer) (client.System, *stack, error) {
	found, err := client.Find(ctx, at.String(), client.Options{Connections: o.inflight})
	switch {
	case err == nil:
		fmt.Fprintf(stderr, "using the running stack at %s\n", found.API)
		return found, nil, nil
	case ctx.Err() != nil || !errors.Is(err, client.ErrNoSystem):
		return client.System{}, nil, err
	}
	fmt.Fprintln(stderr, "no stack is running: starting one for this demonstration")
	own, err := startStack(ctx, o.program, stderr)
	if err != nil {
		return client.System{}, nil, err
	}
	if found, err = client.Find(ctx, own.API, client.Options{Connections: o.inflight}); err != nil {
		own.end(stderr, ctx.Err() == nil)
	}
	return found, own, err
}

// demonstrate makes a sale, sends the crowd, and checks the books.
func (o *options) demonstrate(ctx context.Context, system client.System, stdout io.Writer) (saleID string, lines []line, err error) {
	crowd := rush.Plan(o.seed, o.buyers, o.clicks)
	if err := fetchTokens(ctx, system.Client, crowd); err != nil {
		return "", nil, err
	}
	// Last, so that the sale opens when the run starts.
	now := time.Now()
	made := client.Sale{
		ID: "demo-" + strings.ToLower(rand.Text()[:12]), Name: "demo", Stock: o.stock, Shards: o.shards,
		OpensAt: now.Add(-time.Second), ClosesAt: now.Add(saleTime),
	}
	if err := system.Seed(ctx, made); err != nil {
		return "", nil, err
	}
	fmt.Fprintf(stdout, "sale %s is open: %d bottles on %d stock shards\n", made.ID, o.stock, o.shards)
	t := newTally()
	r := rush.Rush{
		API: system, SaleID: made.ID, Crowd: crowd, InFlight: o.inflight, Patience: o.patience, Whole: true, Insists: true,
		History: verdict.New(verdict.Sale{Units: int64(o.stock), Shards: o.shards, Steady: true}), Seen: t.seen,
	}
	r.Then = func(ctx context.Context, i int) { r.Poll(ctx, i) }
	limited, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	r.Run(limited, func() {})
	if ctx.Err() != nil {
		return made.ID, nil, ctx.Err()
	}
	printRush(stdout, crowd, t)
	return o.recount(ctx, system, made.ID, r.History, t)
}

func fetchTokens(ctx context.Context, c *client.Client, crowd []rush.Buyer) error {
	ctx, cancel := context.WithTimeout(ctx, tokensTime)
	defer cancel()
	users := make([]string, len(crowd))
	for i, b := range crowd {
		users[i] = b.User
	}
	tokens, err := c.Tokens(ctx, users, func() {})
	for i, token := range tokens {
		crowd[i].Token = token
	}
	return err
}

// recount reads the sale's items, which must not change any more.
func (o *options) recount(
	ctx context.Context, system client.System, saleID string, history *verdict.History, t *tally,
) (string, []line, error) {
	ctx, cancel := context.WithTimeout(ctx, recountTime)
	defer cancel()
	all, err := books.Read(ctx, launch.Table(system.DynamoDB), system.Table)
	if err != nil {
		return saleID, nil, err
	}
	receipt, err := all.Recount(ctx, saleID, books.Options{Overdue: books.AtOnce})
	if err != nil {
		return saleID, nil, err
	}
	return saleID, audit(evidence{
		buyers: o.buyers, history: history, tally: t, books: all.Sale(saleID), findings: receipt.Findings, readAt: time.Now(),
	}), nil
}

// tally counts the answers to purchases: all of them, and the final ones.
type tally struct {
	mu          sync.Mutex
	all, finals map[client.Outcome]int
}

func newTally() *tally {
	return &tally{all: map[client.Outcome]int{}, finals: map[client.Outcome]int{}}
}

func (t *tally) seen(r rush.Try) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.GaveUp || r.Poll {
		return
	}
	t.all[r.Outcome]++
	if r.Final {
		t.finals[r.Outcome]++
	}
}
