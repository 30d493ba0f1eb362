// Command demo has a crowd that comes all at once rush for a much smaller number of bottles, on the running local
// stack or on one that it starts, and compares the answers with the recounted table: `make demo`.
//
// The recount reads the table's raw items and shares no code with the ledger, so that it cannot share the ledger's faults.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	o := standard
	flag.StringVar(&o.url, "url", "http://127.0.0.1:3000", "address of the local stack's API")
	flag.Uint64Var(&o.seed, "seed", uint64(rand.Uint32())+1, "seed of an earlier run, to repeat its buyers (default random)")
	flag.StringVar(&o.program, "local", beside("local"), "the local stack's program, started if no stack runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once
	err := o.run(ctx, os.Stdout, os.Stderr)
	if ctx.Err() != nil {
		err = errors.New("interrupted; no buyer comes any more, and the sale closes by itself")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// beside is the path of a program in this one's folder.
func beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}
