// Command operator does an operator's manual tasks: list the sales, change one, recount it,
// follow one buyer's order, show what is held of a user and erase it, archive a sale, list and mark refunds, publish a sale's events again, and empty
// the dead-letter queue.
//
// It works on the local stack, which it finds by its API port, or, with AWS credentials, on
// the stack of an environment in infra/samconfig.toml or on a given table (and queues).
// OperateFunction shows and changes sales, ReconcileFunction sends messages again, and
// infra/kit/books recounts sales.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"flashsale/infra/kit/arguments"
	"flashsale/shared/sale"
)

// Exit codes: 1 means that the books are wrong, that an edit or an erasure did not take effect or that the
// bus refused an event, 2 that the command could not find out.
const (
	exitFine    = 0
	exitBroken  = 1
	exitFailure = 2
)

// errBroken means that the command worked and found wrong books.
var errBroken = errors.New("the books do not balance")

const usage = `usage:
  operator [where] sales                                  every sale with its state and its last audit
  operator [where] pause -sale ID                         no unit leaves any more, whatever edit stands
  operator [where] resume -sale ID                        the sale goes on
  operator [where] reschedule -sale ID -opens T -closes T
  operator [where] describe -sale ID [-name TEXT] [-image URL] [-about TEXT] [-link URL]   what buyers read; an empty one is removed
  operator [where] add -sale ID -stock N -seed-id NAME    more units, once per name
  operator [where] withdraw -sale ID -stock N -seed-id NAME   unsold units go, once per name
  operator [where] recall -sale ID -note TEXT [-yes]      nothing is sold any more, ever; orders are released, payments go back
  operator [where] resend -sale ID                        lost order messages again, at once, 5,000 at most
  operator [where] receipt -sale ID|-all [-json] [-full] [-events FILE]
                                                          recounts a sale; -full scans any table; -events also compares its events
  operator [where] orders -sale ID [-state paid] [-csv]   every order of a sale, of any number
  operator [where] buyer -sale ID -user ID                what happened to one buyer's order
  operator [where] person -user ID [-json]                everything that the table holds of one user, in all sales
  operator [where] erase -user ID [-go]                   random ids in the user's place, once their sales are over; -go does it
  operator [where] archive -sale ID -file FILE [-go]      writes a sale that has been over for 90 days to a file; -go reads it and deletes claims and orders
  operator [where] draw -sale ID [-csv]                   how a draw stands, and what to publish elsewhere; -csv lists whom the running call calls
  operator [where] verify-draw -sale ID [-url URL] [-user ID -nonce N] [-roll DIGEST -round N]
                                                          checks a draw from what everybody can read
  operator [where] refunds [-sale ID] [-go -payment P]    the payments that must go back; -go marks one as refunded, once
  operator [where] record -provider P -sale ID -order ID -payment REFERENCE -amount N -currency C [-go]
                                                          a payment whose webhook never came; -go records it, once
  operator [where] restore-check|restore-replay -at T [-log FILE] [-events FILE] [-go]
                                                          what a table restored to T lacks of what was logged and published; -go writes it
  operator [where] republish -sale ID|-unknown [-bus NAME]  every event of a sale again, from the table, under the same ids
  operator [where] redrive [-go] [-drop poison]            what is in the dead-letter queue; -go moves what is pending back

pause, resume, reschedule, describe and recall also take -note TEXT and -id ID, the id of a change that is repeated; add and withdraw -note TEXT;
resume, reschedule, describe, add and withdraw -seen TEXT, as a command before printed it: without it the sale is looked at now

where: -api-port N (the local stack, the default), or for AWS, with credentials in the environment,
  -env NAME, the stack of an environment in infra/samconfig.toml, or
  -table NAME [-queue URL -dead-letter-queue URL], from which only the table and the queues are read
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		os.Exit(exitFine)
	case errors.Is(err, errBroken), errors.Is(err, errNotDone), errors.Is(err, errNotPublished):
		os.Exit(exitBroken)
	}
	fmt.Fprintln(os.Stderr, "operator:", err)
	os.Exit(exitFailure)
}

// run does one command and writes its result to out.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(out, usage) }
	var p place
	flags.IntVar(&p.apiPort, "api-port", 3000, "")
	flags.StringVar(&p.env, "env", "", "")
	flags.StringVar(&p.config, "config", "infra/samconfig.toml", "")
	flags.StringVar(&p.table, "table", "", "")
	flags.StringVar(&p.queue, "queue", "", "")
	flags.StringVar(&p.deadLetters, "dead-letter-queue", "", "")
	if err := arguments.Parse(flags, args); err != nil {
		return err
	}
	c, ok := commandOf(flags.Arg(0))
	if !ok {
		return fmt.Errorf("there is no command %q (-h lists them)", flags.Arg(0))
	}
	switch {
	case p.env != "" && p.table != "":
		return errors.New("give only one of ENV (-env) and TABLE (-table)")
	case p.table == "" && p.queue+p.deadLetters != "":
		return errors.New("QUEUE (-queue) and DLQ (-dead-letter-queue) belong to a TABLE (-table): give it, too")
	}
	return c.do(ctx, &p, flags.Args()[1:], out)
}

// command is one of the commands in usage.
type command struct {
	run   func(ctx context.Context, p *place, o options, out io.Writer) error
	takes string // the names of its options, with "=" of those that have a value
	// needs are those of the ids that must be given, and example shows them.
	needs, example string
	done           string // of a change: the past participle that says what was not done
}

var commands = map[string]command{
	"sales":          {run: sales},
	"receipt":        {run: receipt, takes: "sale= all json full events=", example: "make receipt SALE=moutai"},
	"orders":         {run: listOrders, takes: "sale= state= csv", needs: "sale", example: "make orders SALE=moutai"},
	"buyer":          {run: buyer, takes: "sale= user=", needs: "sale user", example: "make buyer SALE=moutai BUYER=alice"},
	"person":         {run: person, takes: "user= json", needs: "user", example: "make person BUYER=alice"},
	"erase":          {run: erase, takes: "user= go", needs: "user", example: "make erase BUYER=alice"},
	"archive":        {run: archive, takes: "sale= file= go", needs: "sale", example: "make archive SALE=moutai FILE=moutai.jsonl"},
	"draw":           {run: showDraw, takes: "sale= csv", needs: "sale", example: "make draw SALE=moutai"},
	"verify-draw":    {run: verifyDraw, takes: "sale= url= user= nonce= roll= round=", needs: "sale", example: "make verify-draw URL=https://… SALE=moutai"},
	"refunds":        {run: refunds, takes: "sale= go payment=", example: "make refunds SALE=moutai"},
	"record":         {run: record, takes: "provider= sale= order= payment= amount= currency= go", needs: "sale", example: "SALE=moutai"},
	"restore-check":  {run: restoreCheck, takes: "at= log= events="},
	"restore-replay": {run: restoreReplay, takes: "at= log= events= go"},
	"republish":      {run: republish, takes: "sale= unknown bus=", example: "make republish SALE=moutai (UNKNOWN=1: the refunds due of unknown orders)"},
	"redrive":        {run: redrive, takes: "go drop="},
}

// commandOf finds a command by its name.
func commandOf(name string) (command, bool) {
	for _, c := range changes {
		if c.action == name {
			return c.command(), true
		}
	}
	c, ok := commands[name]
	return c, ok
}

// options are the options that a command was given, by name. An option without a value has "true".
type options map[string]string

func (o options) has(name string) bool { return o[name] == "true" }

// do reads a command's options and runs it.
func (c command) do(ctx context.Context, p *place, args []string, out io.Writer) error {
	o, err := c.read(args, out)
	if err != nil && c.done != "" && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(out, "NOT %s: %v\n", c.done, err)
		return errNotDone
	}
	if err != nil {
		return err
	}
	return c.run(ctx, p, o, out)
}

func (c command) read(args []string, out io.Writer) (options, error) {
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(out, usage) }
	for name := range strings.FieldsSeq(c.takes) {
		if name, hasValue := strings.CutSuffix(name, "="); hasValue {
			flags.String(name, "", "")
		} else {
			flags.Bool(name, false, "")
		}
	}
	if err := arguments.Parse(flags, args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o := options{}
	flags.Visit(func(given *flag.Flag) { o[given.Name] = given.Value.String() })
	return o, c.check(o)
}

// check refuses an id that the API would refuse.
func (c command) check(o options) error {
	for _, id := range []struct {
		option, hint string
		valid        func(string) bool
	}{
		{"sale", "is not a sale id; name the sale: " + c.example, sale.ValidID},
		{"user", "is not a user id; name the user: " + c.example, sale.AdmitsUser},
		{"id", "is not the id of a change; give the one that an earlier command printed, or none", sale.ValidID},
		{"seed-id", "is not a name; give the request a name that was not used before, so that it counts once: SEED_ID=second-batch", sale.ValidID},
	} {
		_, given := o[id.option]
		needed := slices.Contains(strings.Fields(c.needs), id.option)
		// make gives some options without a value, too.
		if value := o[id.option]; !id.valid(value) && (needed || given && (value != "" || id.option == "id")) {
			return fmt.Errorf("%q %s", value, id.hint)
		}
	}
	return nil
}
