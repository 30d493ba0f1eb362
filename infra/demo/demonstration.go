package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	defaultTable = "LedgerTable"
	// Each step is bounded, so that a stack that hangs cannot hang this.
	tokensTime   = 2 * time.Minute
	rushTime     = 3 * time.Minute
	confirmTime  = 2 * time.Minute // the default patience
	recountTime  = time.Minute
	saleDuration = time.Hour
)

// endpoints are where a stack listens.
type endpoints struct {
	api, lambda, dynamodb string
	table                 string
}

// localEndpoints are those of a stack on this machine.
func localEndpoints(api, lambda, dynamodb int) endpoints {
	return endpoints{
		api:      fmt.Sprintf("http://127.0.0.1:%d", api),
		lambda:   fmt.Sprintf("http://127.0.0.1:%d", lambda),
		dynamodb: fmt.Sprintf("http://127.0.0.1:%d", dynamodb),
	}
}

// corrected takes what a stack says of itself, which knows better than flags
// where its parts are: its DynamoDB engine may be another machine's. A table
// that a flag names stays.
func (e endpoints) corrected(h health) endpoints {
	e.lambda = cmp.Or(h.Lambda, e.lambda)
	e.dynamodb = cmp.Or(h.DynamoDB, e.dynamodb)
	e.table = cmp.Or(e.table, h.Table, defaultTable)
	return e
}

// demonstration is one run against a running stack.
type demonstration struct {
	options
	where    endpoints
	out      io.Writer
	progress progress
	now      func() time.Time
	patience time.Duration // how long the winners wait to be confirmed
	saleID   string
}

// run makes a sale, lets the crowd rush, waits for the confirmations and checks
// the books. It fails only if it could not do that.
func (d *demonstration) run(ctx context.Context) ([]line, error) {
	c := newClient(d.where, d.concurrency)
	defer c.close()
	d.saleID = "demo-" + randomID()
	now := d.now()
	err := c.create(ctx, creation{
		Action: "create", SaleID: d.saleID, Name: "The demonstration",
		OpensAt:  now.Add(-time.Second).UTC().Format(time.RFC3339),
		ClosesAt: now.Add(saleDuration).UTC().Format(time.RFC3339),
		Stock:    d.stock, Shards: d.shards,
	})
	if err != nil {
		return nil, err
	}
	crowd := plan(d.seed, d.buyers, d.clicks)
	if err := d.tokens(ctx, c, crowd); err != nil {
		return nil, err
	}
	fmt.Fprintf(d.out, "sale %s is open: %s clicks\n", d.saleID, thousands(totalClicks(crowd)))

	startedAt := d.now()
	results, err := d.rush(ctx, c, crowd)
	if err != nil {
		return nil, err
	}
	printRush(d.out, results)
	sightings, err := d.follow(ctx, c, crowd, whoAsks(results))
	if err != nil {
		return nil, err
	}
	printPace(d.out, startedAt, results, sightings)

	recountCtx, cancel := context.WithTimeout(ctx, recountTime)
	defer cancel()
	sale, findings, err := readBooks(recountCtx, newTable(d.where.dynamodb), d.where.table, d.saleID, d.now)
	if err != nil {
		return nil, err
	}
	return audit(evidence{
		stock: d.stock, shards: d.shards, crowd: crowd, results: results,
		sightings: sightings, books: sale, findings: findings, endedAt: d.now(),
	}), nil
}

func (d *demonstration) rush(ctx context.Context, c *client, crowd []buyer) ([]result, error) {
	one, end := d.progress.step("clicks", totalClicks(crowd))
	defer end()
	limited, cancel := context.WithTimeout(ctx, rushTime)
	defer cancel()
	return rush(limited, c, d.saleID, crowd, d.concurrency, d.now, one), ctx.Err()
}

func (d *demonstration) follow(ctx context.Context, c *client, crowd []buyer, asks []int) ([]sighting, error) {
	one, end := d.progress.step("confirmed", len(asks))
	defer end()
	limited, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	return follow(limited, c, d.saleID, crowd, asks, d.concurrency, d.now, one), ctx.Err()
}

// tokens gives every buyer a token. The first failure ends it: without tokens
// there is nothing to show.
func (d *demonstration) tokens(ctx context.Context, c *client, crowd []buyer) error {
	ctx, cancel := context.WithTimeout(ctx, tokensTime)
	defer cancel()
	one, end := d.progress.step("tokens", len(crowd))
	defer end()
	next := make(chan int)
	failed := make(chan error, d.concurrency)
	var wg sync.WaitGroup
	for range d.concurrency {
		wg.Go(func() {
			for i := range next {
				var err error
				if crowd[i].token, err = c.token(ctx, crowd[i].user); err != nil {
					failed <- err
					cancel()
					return
				}
				one()
			}
		})
	}
feed:
	for i := range crowd {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return ctx.Err()
	}
}

func randomID() string { return strings.ToLower(rand.Text()[:12]) }
