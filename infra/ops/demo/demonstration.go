package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
)

const (
	// confirmTime is the default of patience. A lost message is sent again within five minutes
	// of the acceptance (P8), also if it was lost twice, and then finalized.
	confirmTime = 5*time.Minute + 30*time.Second
	// requestTime bounds one request; the slowest function answers within 6 s.
	requestTime = 15 * time.Second
	// Time limits of the steps, so that a hanging stack cannot hang this program.
	tokensTime   = 2 * time.Minute
	rushTime     = 3 * time.Minute
	recountTime  = time.Minute
	saleDuration = time.Hour
)

// demonstration is one run against a running stack.
type demonstration struct {
	options
	system   client.System
	out      io.Writer
	progress progress
	now      func() time.Time
	patience time.Duration // how long the winners wait for their confirmation
	saleID   string
	// payWithin is how long the buyers of the small sale have to pay.
	payWithin time.Duration
}

// receipt is what was checked of one sale.
type receipt struct {
	saleID string
	lines  []line
}

// runAll plays the rush, and while it lasts, if asked to, the time to pay of a small sale.
func (d *demonstration) runAll(ctx context.Context) ([]receipt, error) {
	var p *paymentSale
	var err error
	if d.payments {
		if p, err = d.openPayments(ctx); err != nil {
			return nil, err
		}
	}
	lines, err := d.run(ctx)
	receipts := []receipt{{d.saleID, lines}}
	if err == nil && p != nil {
		lines, err = p.finish(ctx)
		receipts = append(receipts, receipt{p.saleID, lines})
	}
	return receipts, err
}

// run makes a sale, sends the crowd, waits for the confirmations and checks the books. An
// error means that a step failed, not that a promise is broken.
func (d *demonstration) run(ctx context.Context) ([]line, error) {
	d.saleID = "demo-" + randomID()
	now := d.now()
	if err := d.system.Seed(ctx, client.Sale{
		ID: d.saleID, Name: "The demonstration", Stock: d.stock, Shards: d.shards,
		OpensAt: now.Add(-time.Second), ClosesAt: now.Add(saleDuration),
	}); err != nil {
		return nil, err
	}
	crowd := rush.Plan(d.seed, d.buyers, d.clicks)
	if err := d.tokens(ctx, crowd); err != nil {
		return nil, err
	}
	fmt.Fprintf(d.out, "sale %s is open: %s bottles on %s stock shards\n", d.saleID, thousands(d.stock), thousands(d.shards))

	startedAt := d.now()
	results, err := d.rush(ctx, crowd)
	if err != nil {
		return nil, err
	}
	printRush(d.out, results)
	sightings, err := d.follow(ctx, crowd, rush.WhoAsks(results))
	if err != nil {
		return nil, err
	}
	printPace(d.out, startedAt, results, sightings)

	_, end := d.progress.step("the table is recounted", 0)
	defer end()
	recountCtx, cancel := context.WithTimeout(ctx, recountTime)
	defer cancel()
	sale, counted, err := readBooks(recountCtx, newTable(d.system.DynamoDB), d.system.Table, d.saleID, d.now)
	if err != nil {
		return nil, err
	}
	return audit(evidence{
		stock: d.stock, shards: d.shards, crowd: crowd, results: results,
		sightings: sightings, books: sale, findings: counted.Findings, endedAt: d.now(),
	}), nil
}

func (d *demonstration) rush(ctx context.Context, crowd []rush.Buyer) ([]rush.Result, error) {
	one, end := d.progress.step("clicks answered", rush.TotalClicks(crowd))
	defer end()
	limited, cancel := context.WithTimeout(ctx, rushTime)
	defer cancel()
	return rush.Run(limited, d.system, d.saleID, crowd, d.concurrency, d.now, func(rush.Result) { one() }), ctx.Err()
}

func (d *demonstration) follow(ctx context.Context, crowd []rush.Buyer, asks []int) ([]rush.Sighting, error) {
	one, end := d.progress.step("buyers who know their outcome", len(asks))
	defer end()
	limited, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	return rush.Follow(limited, d.system, d.saleID, crowd, asks, d.concurrency, d.now, one), ctx.Err()
}

// tokens gets a token for every buyer and stops at the first failure.
func (d *demonstration) tokens(ctx context.Context, crowd []rush.Buyer) error {
	ctx, cancel := context.WithTimeout(ctx, tokensTime)
	defer cancel()
	one, end := d.progress.step("buyers signed in", len(crowd))
	defer end()
	users := make([]string, len(crowd))
	for i, b := range crowd {
		users[i] = b.User
	}
	tokens, err := d.system.Tokens(ctx, users, one)
	for i, token := range tokens {
		crowd[i].Token = token
	}
	return err
}

func randomID() string { return strings.ToLower(rand.Text()[:12]) }
