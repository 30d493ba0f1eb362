package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/restore"
	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

var errLacking = cli.Bad(errors.New("the table is not whole"))

// replayTable writes what a restored table lacks, unless something contradicts it.
func replayTable(ctx context.Context, p *target, o options, out *terminal) error {
	if p.where.Table == "" {
		return cli.Usagef("the table of a running stack is not replayed into: give the restored one by its name (--table), before a stack uses it")
	}
	return p.restore(ctx, o, out, !o.has("dry-run"))
}

func checkTable(ctx context.Context, p *target, o options, out *terminal) error {
	return p.restore(ctx, o, out, false)
}

// restore says what a restored table lacks, and asks before it writes that. It fails with errLacking if the table
// lacks something in the end, or if there is something that a person must decide.
func (p *target) restore(ctx context.Context, o options, out *terminal, write bool) error {
	source, restoredTo, err := facts(out.command, o["at"], o["log"], o["events"])
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
		return err
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
		return errLacking
	case !write && done.Missing() > 0:
		command := []string{"--at", o["at"]}
		for _, name := range []string{"log", "events"} {
			if o[name] != "" {
				command = append(command, "--"+name, o[name])
			}
		}
		fmt.Fprintf(out, "nothing was written: %s writes it\n", p.flashsale("table replay", command...))
		if o.has("dry-run") { // the run would write it
			return nil
		}
		return errLacking
	case !write:
		return nil
	}
	if err := out.ask("Write this into " + table + "?"); err != nil {
		return err
	}
	// A replay that has to be repeated goes on where it was; its own check is the last word.
	for range 5 {
		if done, err = replays.Replay(ctx, db, lost, true); sale.CodeOf(err) != sale.Busy {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%w; repeat the command: it goes on", err)
	}
	if done, err = replays.Replay(ctx, db, lost, false); err != nil {
		return err
	}
	if books.PrintList(out, "NOT REPLAYED:", done.Problems); done.Missing() > 0 || len(done.Problems) > 0 {
		printLacking(out, done)
		return errLacking
	}
	fmt.Fprintln(out, "replayed: nothing is lacking, and sales that are not over are paused; `flashsale stack preflight` recounts every sale of the table")
	return nil
}

func facts(c *cobra.Command, at, log, events string) (*restore.Source, time.Time, error) {
	restoredTo, err := time.Parse(time.RFC3339, at)
	switch {
	case err != nil:
		return nil, restoredTo, cli.Usagef("%q is no instant to which a table was restored: --at 2026-11-11T12:04:00Z", at)
	case log == "" && events == "":
		return nil, restoredTo, cli.Usagef("give the functions' lines (--log FILE), the published events (--events FILE), or both")
	case log == "-" && events == "-":
		return nil, restoredTo, cli.Usagef("only one of --log and --events can be stdin")
	}
	source := restore.NewSource()
	for _, file := range []struct {
		path string
		read func(io.Reader) error
	}{{log, source.Log}, {events, source.Events}} {
		if file.path == "" {
			continue
		}
		f, err := cli.Open(c, file.path)
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

func printLacking(out io.Writer, r maintenance.Replayed) {
	for _, line := range []struct {
		name string
		n    int
	}{
		{"claims", r.Claims}, {"guards", r.Guards}, {"order ids", r.OrderIDs}, {"orders", r.Orders}, {"payments", r.Payments}, {"releases", r.Releases},
		{"refunds due", r.Refunds}, {"additions", r.Additions}, {"more time", r.Extensions}, {"halves", r.Halves}, {"open sendings", r.Sendings}, {"shard counts", r.Shards},
	} {
		fmt.Fprintf(out, "  %-14s %12d\n", line.name, line.n)
	}
}
