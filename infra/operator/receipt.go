package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// shown is the receipt as JSON; the field names are ReconcileFunction's.
type shown struct {
	SaleID               string   `json:"saleId"`
	AsOf                 string   `json:"asOf"`
	Seeded               int64    `json:"seeded"`
	Stock                int64    `json:"stock"`
	Claims               int64    `json:"claims"`
	Pending              int64    `json:"pending"`
	Confirmed            int64    `json:"confirmed"`
	OldestPendingSeconds int64    `json:"oldestPendingSeconds"`
	Balanced             bool     `json:"balanced"`
	Findings             []string `json:"findings"`
	ReadUnits            float64  `json:"readUnits"`
}

// receipt derives the books of a sale from its items and fails with errBroken
// unless they balance and nothing has been pending beyond the bound.
func receipt(ctx context.Context, p place, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("receipt", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	saleID := flags.String("sale", "", "")
	asJSON := flags.Bool("json", false, "")
	bound := flags.Duration("bound", 5*time.Minute, "")
	if err := flags.Parse(args); err != nil || !sale.ValidID(*saleID) {
		return fmt.Errorf("receipt needs -sale ID\n%s", usage)
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	books, err := audit(ctx, book, *saleID, settle)
	if err != nil {
		return err
	}
	r := judge(books, *bound)
	if *asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("write receipt: %w", err)
		}
	} else {
		print(out, r)
	}
	if !r.Balanced {
		return errBroken
	}
	return nil
}

// settle waits until what was half done is done.
func settle(ctx context.Context) error { return pause(ctx, ledger.SettleTime) }

// audit makes a whole pass, and another one if anything looked unfinished.
func audit(ctx context.Context, book *ledger.Ledger, saleID string, settle func(context.Context) error) (*ledger.Receipt, error) {
	a := &ledger.Audit{SaleID: saleID}
	looked := false
	for {
		r, err := book.Step(ctx, a, func(sale.Claim) {})
		if sale.CodeOf(err) == sale.Busy && ctx.Err() == nil {
			err = settle(ctx) // throttled: the pass goes on where it stopped
			if err == nil {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if r != nil && (r.Missing == 0 || looked) {
			return r, nil
		}
		if r != nil {
			looked = true
			a = &ledger.Audit{SaleID: saleID, Suspects: a.Suspects}
		}
		if err := settle(ctx); err != nil {
			return nil, err
		}
	}
}

// judge adds to the ledger's findings what only time makes wrong.
func judge(books *ledger.Receipt, bound time.Duration) shown {
	findings := append([]string{}, books.Findings...)
	if books.Missing > 0 {
		findings = append(findings, fmt.Sprintf("%d confirmed claims have no order item (P7)", books.Missing))
	}
	if oldest := time.Duration(books.OldestPendingSeconds) * time.Second; oldest > bound {
		findings = append(findings, fmt.Sprintf("a claim has been pending for %v, more than %v (P8)", oldest, bound))
	}
	return shown{
		SaleID: books.SaleID, AsOf: httpapi.Time(books.AsOf), Seeded: books.Seeded, Stock: books.Stock,
		Claims: books.Claims, Pending: books.Pending, Confirmed: books.Confirmed,
		OldestPendingSeconds: books.OldestPendingSeconds, Balanced: len(findings) == 0, Findings: findings,
		ReadUnits: books.ReadUnits,
	}
}

func print(out io.Writer, r shown) {
	fmt.Fprintf(out, "receipt of sale %s as of %s\n", r.SaleID, r.AsOf)
	for _, line := range []struct {
		name  string
		value int64
	}{
		{"seeded", r.Seeded}, {"stock left", r.Stock}, {"claims", r.Claims}, {"  confirmed", r.Confirmed}, {"  pending", r.Pending},
	} {
		fmt.Fprintf(out, "  %-14s %12d\n", line.name, line.value)
	}
	if r.Pending > 0 {
		fmt.Fprintf(out, "  %-14s %11ds\n", "  oldest", r.OldestPendingSeconds)
	}
	fmt.Fprintf(out, "  %-14s %12.0f read units\n", "cost", r.ReadUnits)
	if r.Balanced {
		fmt.Fprintln(out, "balanced: stock left + claims = seeded, on every shard; one claim per buyer;\nevery confirmed claim has its own order")
		return
	}
	fmt.Fprintln(out, "NOT BALANCED:")
	for _, finding := range r.Findings {
		fmt.Fprintln(out, "  -", finding)
	}
}
