package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/deploy/smoke"
	"flashsale/infra/ops/place"
)

const (
	// saleTime is how long a smoke test's sale is open.
	saleTime = 10 * time.Minute
	// bound is how long a smoke test waits for the order's id.
	bound = 30 * time.Second
	// localURL is the local stack's default address.
	localURL = "http://127.0.0.1:3000"
)

// fresh returns a new, random id.
func fresh(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()[:12]) }

// find finds the system given by -url or -env.
func (c *command) find(ctx context.Context, url string) (place.Place, error) {
	if c.env == "" {
		return place.Find(ctx, place.Wanted{URL: cmp.Or(url, localURL)})
	}
	e, err := c.environment()
	if err != nil {
		return place.Place{}, err
	}
	return place.Find(ctx, place.Wanted{URL: url, Stack: e.StackName, Region: e.Region})
}

func runSmoke(ctx context.Context, c *command) error {
	url := c.String("url", "", "the API's address")
	sale := c.String("sale", "", "an open sale's `id` (default: a new one of one unit)")
	token := c.String("token", os.Getenv("TOKEN"), "access token of a user without a claim in the sale (default: $TOKEN)")
	if err := c.parse(); err != nil {
		return err
	}
	p, err := c.find(ctx, *url)
	if err != nil {
		return err
	}
	r := smoke.Round{URL: p.API, Sale: *sale, Token: *token, Key: fresh("smoke"), Bound: bound}
	if r.Token == "" && p.HasIssuer() {
		made, err := p.Tokens(ctx, fresh("smoke-buyer"), 1)
		if err != nil && !errors.Is(err, place.ErrNotAllowed) {
			return err
		}
		if err == nil {
			r.Token = made[0]
		}
	}
	if r.Sale == "" {
		r.Sale, r.LastUnit = fresh("smoke"), true
		now := time.Now()
		if err := p.Seed(ctx, client.Sale{
			ID: r.Sale, Name: "Smoke test", OpensAt: now.Add(-time.Second), ClosesAt: now.Add(saleTime), Stock: 1, Shards: 1,
		}); err != nil {
			return err
		}
	}
	if p.Functions[client.ReconcileFunction] != "" && r.LastUnit && r.Token != "" {
		r.Receipt = func(ctx context.Context) (string, error) { return p.Receipt(ctx, r.Sale) }
	}
	fmt.Fprintf(c.out, "smoke test of %s with sale %s\n", p.API, r.Sale)
	return smoke.Print(c.out, r.Run(ctx))
}

func runTokens(ctx context.Context, c *command) error {
	url := c.String("url", "", "the API's address")
	n := c.Int("n", 1, "number of users")
	path := c.String("out", ".build/tokens", "the `file` for the tokens")
	if err := c.parse(); err != nil {
		return err
	}
	p, err := c.find(ctx, *url)
	if err != nil {
		return err
	}
	made, err := p.Tokens(ctx, "buyer", *n)
	if err != nil {
		return err
	}
	if err := cmp.Or(os.MkdirAll(filepath.Dir(*path), 0o755), os.WriteFile(*path, []byte(strings.Join(made, "\n")+"\n"), 0o600)); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	fmt.Fprintf(c.out, "%d access tokens are in %s; they are valid for about an hour\n", len(made), *path)
	return nil
}
