// Package plan sizes a sale before it happens: shards, capacity, concurrency and quotas
// for a crowd, and the expected time and cost, by rules of thumb and AWS's prices.
package plan

import (
	"cmp"
	"io"
	"time"

	"github.com/spf13/cobra"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target"
)

// output is where the plan is written.
type output struct {
	to    target.Flags // whose environment's parameters to write; none means no parameters
	opens time.Time    // when the sale opens
	out   io.Writer    // of what is for people
}

// Command is `plan`.
func Command(where *target.Flags) *cobra.Command {
	var w wish
	var environment, opens string
	var rested bool
	c := &cobra.Command{
		Use: "plan", Short: "Size and price a sale, and configure an environment for it", GroupID: "before", Args: cli.Args(),
		Example: `  flashsale plan --users 500000 --stock 10000 --peak 50000
  flashsale plan --users 500000 --stock 10000 --peak 50000 --apply dev --opens 2026-11-11T12:00:00Z
  flashsale plan --apply dev --rest`,
		RunE: func(c *cobra.Command, _ []string) error {
			o := output{to: target.Flags{Env: environment, Config: where.Config}, out: c.OutOrStdout()}
			isJSON := cli.Form(c) == cli.JSON
			if isJSON {
				o.out = c.ErrOrStderr()
			}
			switch {
			case w.users == 0 && w.stock == 0 && w.peak == 0 && !rested:
				return cli.Usagef("say who comes and for how much, such as --users 500000 --stock 10000 --peak 50000")
			case w.drawn && w.maxPerOrder > 1:
				return cli.Usagef("a sale with a draw has no maxPerOrder: leave out --per-order")
			case !w.drawn && (w.enter != 0 || w.keep != 0):
				return cli.Usagef("--enter and --keep mean nothing without --draw")
			case environment == "" && (rested || opens != ""):
				return cli.Usagef("--opens and --rest mean nothing without --apply")
			case rested:
				return rest(o)
			case environment != "":
				var err error
				if o.opens, err = time.Parse(time.RFC3339, opens); err != nil {
					return cli.Usagef("--apply needs --opens, when the sale opens, such as --opens 2026-11-11T12:00:00Z")
				}
			}
			w.enter, w.keep = cmp.Or(w.enter, 72*time.Hour), cmp.Or(w.keep, 24*time.Hour)
			if err := w.check(); err != nil {
				return err
			}
			if environment != "" {
				e, err := o.to.Environment()
				if err != nil {
					return err
				}
				w.front = w.front || e.Parameters["CreateFront"] == "true"
			}
			a := advise(w)
			if isJSON {
				if err := cli.WriteJSON(c.OutOrStdout(), planned(o, w, a, expect(w, a))); err != nil {
					return err
				}
			} else {
				report(o.out, w, a, expect(w, a))
			}
			if environment == "" {
				return nil
			}
			return apply(o, a)
		},
	}
	cli.Forms(c, cli.JSON)
	f := c.Flags()
	f.IntVar(&w.users, "users", 0, "number of users who want a unit")
	f.Int64Var(&w.stock, "stock", 0, "number of units")
	f.Float64Var(&w.peak, "peak", 0, "first requests a second when the sale opens")
	f.DurationVar(&w.latency, "latency", 20*time.Millisecond, "median duration of a transaction")
	f.IntVar(&w.writes, "writes", tableQuota, "write units a second that the account allows a table")
	f.Int64Var(&w.maxPerOrder, "per-order", 1, "units of each order: the sale's maxPerOrder, 1 to 8")
	f.BoolVar(&w.front, "front", false, "CloudFront answers the sale page")
	f.BoolVar(&w.grouped, "grouped", false, "the sale has a limitGroup")
	f.BoolVar(&w.drawn, "draw", false, "show a draw beside the rush")
	f.DurationVar(&w.enter, "enter", 0, "with --draw: how long people may enter (default 72h)")
	f.DurationVar(&w.keep, "keep", 0, "with --draw: how long a unit is kept for somebody who was called (default 24h)")
	f.StringVar(&environment, "apply", "", "`environment` whose parameters are written beside the configuration file")
	_ = c.RegisterFlagCompletionFunc("apply", where.Environments)
	f.StringVar(&opens, "opens", "", "with --apply: `time` at which the sale opens, RFC 3339")
	f.BoolVar(&rested, "rest", false, "with --apply: take back the sale's parameters")
	return c
}
