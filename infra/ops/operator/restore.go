package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/restore"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// restoreReplay writes what a restored table lacks, if -go is given and nothing contradicts it.
func restoreReplay(ctx context.Context, p *place, o options, out io.Writer) error {
	if p.env != "" {
		return errors.New("the table of a running stack is not replayed into: give the restored one by its name (TABLE=…), before a stack uses it")
	}
	return restoreCheck(ctx, p, o, out)
}

// restoreCheck compares a restored table with logs and events. Without -go, which it does not take
// itself, it writes nothing; with it, only if it finds nothing that a person must decide. It fails with
// errBroken if the table lacks something then.
func restoreCheck(ctx context.Context, p *place, o options, out io.Writer) error {
	source, restoredTo, err := facts(o["at"], o["log"], o["events"])
	if err != nil {
		return err
	}
	db, table, err := p.dynamodb(ctx, ledger.OneAttempt)
	if err != nil {
		return err
	}
	replays := maintenance.Of(ledger.New(db, table, ledger.Options{}))
	lost := source.Lost(restoredTo)
	done, err := replays.Replay(ctx, db, lost, false)
	if err != nil {
		return errors.New(oneLine(err))
	}
	fmt.Fprintf(out, "%d orders are known from the files; the table lacks\n", len(lost.Claims))
	printLacking(out, done)
	for _, c := range done.Oversold {
		order := "no order yet"
		if c.OrderID != 0 {
			order = "order " + orderid.String(c.OrderID)
		}
		fmt.Fprintf(out, "OVERSOLD: %s of sale %s, shard %d, accepted %s, %s\n", c.User, c.SaleID, c.Shard, c.AcceptedAt.Format(time.RFC3339), order)
	}
	books.PrintList(out, "NOT REPLAYED:", done.Problems)
	books.PrintList(out, "changed since, and to be repeated by you:", append(source.Repeat(restoredTo), done.TakenBack...))
	refused := len(done.Oversold)+len(done.Problems) > 0
	switch {
	case refused:
		fmt.Fprintln(out, "nothing was written: see what is listed")
		return errBroken
	case !o.has("go") && done.Missing() > 0:
		fmt.Fprintln(out, "nothing was written: make restore-replay GO=1 writes it")
		return errBroken
	case !o.has("go"):
		return nil
	}
	// A replay that has to be repeated goes on where it was; its own check is the last word.
	for range replayTries {
		if done, err = replays.Replay(ctx, db, lost, true); sale.CodeOf(err) != sale.Busy {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s; repeat the command: it goes on", oneLine(err))
	}
	if done, err = replays.Replay(ctx, db, lost, false); err != nil {
		return errors.New(oneLine(err))
	}
	if books.PrintList(out, "NOT REPLAYED:", done.Problems); done.Missing() > 0 || len(done.Problems) > 0 {
		printLacking(out, done)
		return errBroken
	}
	fmt.Fprintln(out, "replayed: nothing is lacking, and sales that are not over are paused; make preflight recounts every sale of the table")
	return nil
}

// facts reads the files.
func facts(at, log, events string) (*restore.Source, time.Time, error) {
	restoredTo, err := time.Parse(time.RFC3339, at)
	switch {
	case err != nil:
		return nil, restoredTo, fmt.Errorf("%q is no instant to which a table was restored: AT=2026-11-11T12:04:00Z", at)
	case log == "" && events == "":
		return nil, restoredTo, errors.New("give the functions' lines (LOG=file), the published events (EVENTS=file), or both")
	}
	source := restore.NewSource()
	for _, file := range []struct {
		path string
		read func(io.Reader) error
	}{{log, source.Log}, {events, source.Events}} {
		if file.path == "" {
			continue
		}
		f, err := os.Open(file.path)
		if err != nil {
			return nil, restoredTo, err
		}
		err = file.read(f)
		f.Close()
		if err != nil {
			return nil, restoredTo, fmt.Errorf("%s: %w", file.path, err)
		}
	}
	if lost := source.Lost(restoredTo); len(lost.Claims) == 0 {
		return nil, restoredTo, errors.New("the files name no order: are they those of PurchaseFunction and FinalizeFunction, from the instant of the restore on?")
	}
	return source, restoredTo, nil
}

// replayTries is how often a busy table is tried.
const replayTries = 5

func printLacking(out io.Writer, r maintenance.Replayed) {
	for _, line := range []struct {
		name string
		n    int
	}{
		{"claims", r.Claims}, {"guards", r.Guards}, {"order ids", r.OrderIDs}, {"orders", r.Orders}, {"payments", r.Payments}, {"releases", r.Releases},
		{"refunds due", r.Refunds}, {"additions", r.Additions}, {"halves", r.Halves}, {"shard counts", r.Shards},
	} {
		fmt.Fprintf(out, "  %-14s %12d\n", line.name, line.n)
	}
}
