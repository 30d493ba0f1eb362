// Command lab runs every approach the field has tried, side by side: real
// engines, at least three application servers in processes of their own, the
// same crowds and accidents for all, and a verdict counted from what each
// strategy durably stored.
//
// This package reads flags and prints. It exits with 0 if every verdict is the
// expected one (rows that were not run count as such), 1 if one is not, 2 if it
// could not run.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"flashsale/infra/lab/catalogue"
	"flashsale/infra/lab/fleet"
)

const (
	exitFine       = 0
	exitUnexpected = 1
	exitNotRun     = 2
)

func main() {
	fleet.HostIfAsked(catalogue.Find)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
