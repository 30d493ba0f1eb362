// Package rehearse runs a trial sale on a running system: it seeds the sale, sends buyers at
// a given rate and reports the cost, which is counted on AWS only.
//
// It runs the steps in order and measures the usage. The buyers come from infra/ops/load, the
// receipt from infra/ops/operator, the prices from package price.
package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/deploy/price"
	"flashsale/infra/ops/place"
)

// afterwards is how long the sale stays open after the last buyer's arrival, for retries.
const afterwards = 10 * time.Minute

// Rehearsal is one trial sale.
type Rehearsal struct {
	Place    place.Place
	Sale     string // id of the sale to create
	Rate     float64
	Peak     float64 // at the opening; 0: Rate
	Duration time.Duration
	Stock    int // 0: half of the buyers
	Shards   int
	Payments bool   // buyers must pay within a minute; on the local stack only, which signs webhooks
	Tokens   string // file with a token for each buyer; not needed for the local stack
	Region   string // for the receipt; empty: from the environment
	Report   string // file of the load generator's report
	// AllowRemote allows a target on another machine, whose owner pays for the calls.
	AllowRemote bool
	// Load and Operator are the paths of the programs.
	Load, Operator string
	// Meter measures what the sale costs; nil prints no bill.
	Meter Meter
	Now   func() time.Time
}

// Meter measures the usage between two instants.
type Meter interface {
	// Usage also says how the usage was measured.
	Usage(ctx context.Context, from, to time.Time) (u price.Usage, how string, err error)
}

// ErrRemote means that the target is another machine and AllowRemote is false.
var ErrRemote = errors.New("a rehearsal elsewhere than on this machine needs ALLOW_REMOTE=1: its owner pays for every request")

// ErrBroken means that the buyers saw a broken promise or the books do not balance.
var ErrBroken = errors.New("the rehearsal found a broken promise or wrong books")

// Run runs the rehearsal, and prints its progress and the bill.
func (r *Rehearsal) Run(ctx context.Context, out, complaints io.Writer) error {
	if !r.Place.Local && !r.AllowRemote {
		return ErrRemote
	}
	within := time.Duration(0)
	if r.Payments {
		within = time.Minute
		if !r.Place.Local {
			return errors.New("PAYMENTS=1 is for the local stack: elsewhere only the payment provider can sign")
		}
	}
	if r.Stock == 0 {
		r.Stock = max(1, int(r.Rate*r.Duration.Seconds()/2))
	}
	r.Shards = min(max(r.Shards, 1), r.Stock)
	began := r.Now()
	if err := r.Place.Seed(ctx, client.Sale{
		ID: r.Sale, Name: "Rehearsal", Stock: r.Stock, Shards: r.Shards,
		OpensAt: began.Add(-time.Second), ClosesAt: began.Add(r.Duration + afterwards), PayWithin: within,
	}); err != nil {
		return err
	}
	fmt.Fprintf(out, "rehearsal: sale %s of %d units on %d shards at %s\n", r.Sale, r.Stock, r.Shards, r.Place.API)
	from := r.Now()
	broken, err := r.buyers(ctx, out, complaints)
	if err != nil {
		return err
	}
	to := r.Now()
	orders, err := r.orders(ctx, complaints)
	if err != nil {
		return err
	}
	if r.Meter == nil {
		fmt.Fprintf(out, "\n%d orders; what they cost is counted on AWS only (make plan computes it)\n", orders)
	} else if err := r.bill(ctx, out, from, to, orders); err != nil {
		return err
	}
	if broken {
		return ErrBroken
	}
	return nil
}

// bill prints what the sale cost.
func (r *Rehearsal) bill(ctx context.Context, out io.Writer, from, to time.Time, orders int64) error {
	usage, how, err := r.Meter.Usage(ctx, from, to)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\ncost of %d orders at the on-demand prices of %s for %s, without free tier; %s\n", orders, price.Region, price.Architecture, how)
	price.Print(out, price.Bill(usage), orders)
	return nil
}

// buyers runs the load generator, which also prints the receipt.
func (r *Rehearsal) buyers(ctx context.Context, out, complaints io.Writer) (broken bool, err error) {
	args := []string{
		"-url", r.Place.API, "-sale", r.Sale, "-stock", strconv.Itoa(r.Stock), "-report", r.Report,
		"-rate", fmt.Sprint(r.Rate), "-duration", r.Duration.String(),
	}
	if r.Payments {
		args = append(args, "-payments")
	}
	if r.Peak > 0 {
		args = append(args, "-peak", fmt.Sprint(r.Peak))
	}
	if r.Tokens != "" {
		args = append(args, "-tokens", r.Tokens)
	}
	if !r.Place.Local {
		args = append(args, "-table", r.Place.Table, "-allow-remote")
	}
	c := r.program(ctx, r.Load, args...)
	c.Stdout, c.Stderr = out, complaints
	err = c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return true, nil // it ran and found something broken
	}
	if err != nil {
		return false, fmt.Errorf("send buyers: %w", err)
	}
	return false, nil
}

// orders returns the number of claims on the receipt.
func (r *Rehearsal) orders(ctx context.Context, complaints io.Writer) (int64, error) {
	where := []string{"-table", r.Place.Table}
	if r.Place.Local {
		where = []string{"-api-port", r.Place.Port()}
	}
	c := r.program(ctx, r.Operator, append(where, "receipt", "-sale", r.Sale, "-json")...)
	c.Stderr = complaints
	text, err := c.Output()
	var receipt struct {
		SaleID string
		Claims int64
	}
	// With exit code 1 the books are wrong, but there is a receipt.
	if json.Unmarshal(text, &receipt) != nil || receipt.SaleID != r.Sale {
		return 0, fmt.Errorf("make receipt: %w", errors.Join(errNoReceipt, err))
	}
	return receipt.Claims, nil
}

var errNoReceipt = errors.New("the operator printed no receipt")

func (r *Rehearsal) program(ctx context.Context, path string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, path, args...)
	c.Env = os.Environ()
	if r.Region != "" {
		c.Env = append(c.Env, "AWS_REGION="+r.Region)
	}
	return c
}
