package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/samconfig"
	"flashsale/infra/ops/deploy/demand"
	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/deploy/rehearse"
	"flashsale/infra/ops/deploy/smoke"
	"flashsale/infra/ops/place"
)

// saleTime is how long a smoke test's sale is open.
const saleTime = 10 * time.Minute

// settle is how long CloudWatch's metrics take to be complete.
const settle = 3 * time.Minute

// localURL is the local stack's default address.
const localURL = "http://127.0.0.1:3000"

// fresh returns a new, random id.
func fresh(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()[:12]) }

// find finds the system given by -url or -env.
func (f files) find(ctx context.Context, url string) (place.Place, samconfig.Environment, error) {
	if *f.env == "" {
		p, err := place.Find(ctx, place.Wanted{URL: cmp.Or(url, localURL)})
		return p, samconfig.Environment{}, err
	}
	e, err := f.environment(nil)
	if err != nil {
		return place.Place{}, e, err
	}
	p, err := place.Find(ctx, place.Wanted{URL: url, Stack: e.StackName, Region: e.Region})
	return p, e, err
}

func parse(f *flag.FlagSet, args []string) error {
	if err := arguments.Parse(f, args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%w: unexpected argument %q", errUsage, f.Arg(0))
	}
	return nil
}

func runSmoke(ctx context.Context, args []string, out, complaints io.Writer) error {
	f, file := flags("smoke", complaints)
	url := f.String("url", "", "the API's address")
	sale := f.String("sale", "", "an open sale's `id` (default: a new one of one unit)")
	token := f.String("token", os.Getenv("TOKEN"), "access token of a user without a claim in the sale (default: $TOKEN)")
	bound := f.Duration("bound", 30*time.Second, "time limit for the order id")
	if err := parse(f, args); err != nil {
		return err
	}
	p, _, err := file.find(ctx, *url)
	if err != nil {
		return err
	}
	r := smoke.Round{URL: p.API, Sale: *sale, Token: *token, Key: fresh("smoke"), Bound: *bound}
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
	fmt.Fprintf(out, "smoke test of %s with sale %s\n", p.API, r.Sale)
	return smoke.Print(out, r.Run(ctx))
}

func runTokens(ctx context.Context, args []string, out, complaints io.Writer) error {
	f, file := flags("tokens", complaints)
	url := f.String("url", "", "the API's address")
	n := f.Int("n", 1, "number of users")
	path := f.String("out", ".build/tokens", "the `file` for the tokens")
	if err := parse(f, args); err != nil {
		return err
	}
	p, _, err := file.find(ctx, *url)
	if err != nil {
		return err
	}
	made, err := p.Tokens(ctx, "buyer", *n)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(*path), 0o755); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	if err := os.WriteFile(*path, []byte(strings.Join(made, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	fmt.Fprintf(out, "%d access tokens are in %s; they are valid for about an hour\n", len(made), *path)
	return nil
}

func runRehearse(ctx context.Context, args []string, out, complaints io.Writer) error {
	f, file := flags("rehearse", complaints)
	r := rehearse.Rehearsal{Sale: fresh("rehearsal"), Now: time.Now}
	url := f.String("url", "", "the API's address")
	f.Float64Var(&r.Rate, "rate", 50, "buyers a second")
	f.Float64Var(&r.Peak, "peak", 0, "buyers a second at the opening (default -rate)")
	f.DurationVar(&r.Duration, "duration", 30*time.Second, "how long buyers arrive")
	f.IntVar(&r.Stock, "stock", 0, "units (default half of the buyers)")
	f.IntVar(&r.Shards, "shards", 16, "stock shards")
	f.BoolVar(&r.Payments, "payments", false, "buyers must pay within a minute, and a third does not; the local stack only")
	f.StringVar(&r.Tokens, "tokens", "", "`file` with one access token per line, each of a different user")
	f.BoolVar(&r.AllowRemote, "allow-remote", false, "allow a target on another machine: real calls that cost money")
	f.StringVar(&r.Report, "report", ".build/rehearsal.html", "`file` of the HTML report")
	if err := parse(f, args); err != nil {
		return err
	}
	var e samconfig.Environment
	var err error
	// Refuse before calling AWS.
	if *file.env != "" && !r.AllowRemote {
		return rehearse.ErrRemote
	}
	if r.Place, e, err = file.find(ctx, *url); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the other programs: %w", err)
	}
	r.Region = e.Region
	programs := filepath.Dir(self)
	r.Load, r.Operator = filepath.Join(programs, "load"), filepath.Join(programs, "operator")
	if !r.Place.Local {
		d, err := demand.Read(*file.template, e.Region, e.Parameters)
		if err != nil {
			return err
		}
		memory := map[string]int{}
		for _, function := range d.Functions {
			memory[function.ID] = function.MemoryMB
		}
		r.Meter = &rehearse.CloudWatch{CLI: preflight.AWS(e.Region), Parts: r.Place.Parts, Stack: e.StackName, MemoryMB: memory, Settle: settle}
	}
	return r.Run(ctx, out, complaints)
}
