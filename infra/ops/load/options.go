package load

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target"
	"flashsale/shared/sale"
)

const (
	// mostBuyers bounds the memory and the tokens of a run.
	mostBuyers = 200_000
	// mostRate, in buyers a second, is more than one machine can send.
	mostRate = 20_000
	// longest is the longest schedule.
	longest = 30 * time.Minute
	// peakFor is how long the peak lasts.
	peakFor = 2 * time.Second
	// greedyShare of the buyers who are not late click many times at once, keyedShare of all send
	// an Idempotency-Key, and lateShare arrive in the last third.
	greedyShare, keyedShare, lateShare = 0.2, 0.5, 0.2
	// mostClicks are those of one buyer, and inFlight is how many requests are sent at a time.
	mostClicks, inFlight = 5, 256
	// patience is a buyer's, for a final answer, and drain the time limit after the last arrival.
	patience, drain = time.Minute, 2 * time.Minute
)

// options are the flags, and what follows from them.
type options struct {
	where              target.Flags
	tokensFile, report string
	allowRemote        bool
	rate, peak         float64
	duration           time.Duration
	stock, shards      int
	units              span
	tokens             io.Reader // of the file, if there is one
	seed               uint64
	// open opens the table for a sale's receipt; nil: the system's.
	open func(saleID string) (books.DynamoDB, error)
}

// span is how many units the orders are of, from the least to the most; the zero value is one. As a flag it is written
// 2 or 1-2.
type span struct{ least, most int64 }

func (s *span) String() string {
	if least, most := max(1, s.least), max(1, s.most); least < most {
		return fmt.Sprintf("%d-%d", least, most)
	}
	return fmt.Sprint(max(1, s.most))
}

func (s *span) Set(text string) (err error) {
	least, most, ok := strings.Cut(text, "-")
	if !ok {
		most = least
	}
	if s.least, err = strconv.ParseInt(least, 10, 64); err == nil {
		s.most, err = strconv.ParseInt(most, 10, 64)
	}
	if err != nil || s.least < 1 || s.most < s.least || s.most > sale.MaxPerOrder {
		return fmt.Errorf("give 1 to %d, or two of them as 1-2", sale.MaxPerOrder)
	}
	return nil
}

func (s *span) Type() string { return "number" }

// Rehearse is a verb of stack.
func Rehearse(where *target.Flags) *cobra.Command { return new(options).rehearsing(where) }

func (o *options) rehearsing(where *target.Flags) *cobra.Command {
	c := &cobra.Command{
		Use: "rehearse", Short: "Run a trial sale, with its receipt, on AWS also its bill", Args: cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			o.where = *where
			return o.run(c)
		},
	}
	c.Example = "  flashsale stack rehearse --env dev --rate 50 --duration 30s --tokens tokens --allow-remote"
	f := c.Flags()
	f.Uint64Var(&o.seed, "seed", 0, "`seed` of an earlier run, to repeat its buyers (default random)")
	f.Float64Var(&o.rate, "rate", 50, "buyers a second")
	f.Float64Var(&o.peak, "peak", 0, "buyers a second at the opening (default --rate)")
	f.DurationVar(&o.duration, "duration", 30*time.Second, "how long buyers arrive, up to 30m")
	f.IntVar(&o.stock, "stock", 0, "units of the sale (default half of what the buyers want who are not late)")
	f.Var(&o.units, "units", "units that each buyer orders, 1 to 8: 2, or 1-2 for one or two")
	f.IntVar(&o.shards, "shards", 16, "stock shards of the sale, 1 to 1,000")
	f.StringVar(&o.report, "report", "rehearsal.html", "`file` of the HTML report")
	f.StringVar(&o.tokensFile, "tokens", "", "`file` with one access token per line, each of a different user (- is stdin; default: from the local stack)")
	f.BoolVar(&o.allowRemote, "allow-remote", false, "allow a stack on AWS: real calls that cost money")
	return c
}

func (o *options) check() error {
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32()) + 1
	}
	if err := cmp.Or(o.where.Check(), o.checkTarget()); err != nil {
		return err
	}
	err := cmp.Or(
		cli.Between("rate", o.rate, 0.1, mostRate), cli.Between("peak", o.peak, 0, mostRate),
		cli.Between("duration", o.duration, 100*time.Millisecond, longest),
		cli.Between("stock", o.stock, 0, 1_000_000_000), cli.Between("shards", o.shards, 1, 1000))
	switch {
	case err != nil:
		return err
	case o.report == "", o.report == "-":
		return cli.Usagef("--report must name a file")
	case o.allowRemote && o.tokensFile == "":
		return cli.Usagef("a stack on AWS needs --tokens")
	}
	return cli.CanWrite("report", o.report)
}

// errRemote means that the target is another machine, and not a stack with --allow-remote.
var errRemote = errors.New("only this machine is loaded, and with --allow-remote a stack on AWS, by --env or --stack (its owner pays for every call)")

// checkTarget refuses addresses of other machines, and stacks on AWS unless they are allowed.
func (o *options) checkTarget() error {
	stack := o.where.Env + o.where.Stack
	switch {
	case stack != "" && o.allowRemote:
		return nil
	case stack != "":
		return cli.Usagef("%s: %w", stack, errRemote)
	case o.where.URL == "":
		return cli.Usagef("give the address of a running system, such as --url %s", target.LocalURL)
	}
	u, err := client.CheckAddress(o.where.URL)
	if err != nil {
		return cli.Usagef("--url: %w", err)
	}
	if !client.Loopback(u.Hostname()) {
		return cli.Usagef("%s: %w", u.Hostname(), errRemote)
	}
	return nil
}

// settings lists the run's settings for the report.
func (o *options) settings(t trial) [][2]string {
	return [][2]string{
		{"API", t.system.API}, {"sale", t.sale}, {"stock", fmt.Sprint(t.stock)}, {"units of an order", o.units.String()},
		{"rate", fmt.Sprintf("%g/s for %v", o.rate, o.duration)},
		{"peak", fmt.Sprintf("%g/s for the first %v", max(o.peak, o.rate), peakFor)},
		{"greedy", fmt.Sprintf("%.0f %%, up to %d clicks at once", 100*greedyShare, mostClicks)},
		{"late", fmt.Sprintf("%.0f %%, in the last third", 100*lateShare)},
		{"with Idempotency-Key", fmt.Sprintf("%.0f %%", 100*keyedShare)},
		{"requests in flight", fmt.Sprintf("at most %d", inFlight)},
		{"seed", fmt.Sprint(o.seed)},
	}
}
