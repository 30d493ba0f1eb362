// Package operator does an operator's manual tasks: it lists the sales, changes one, recounts it, follows one
// buyer's order, shows what is held of a buyer and erases it, archives a sale, lists and marks refunds, publishes
// a sale's events again, and empties the dead-letter queue.
//
// OperateFunction shows and changes sales, ReconcileFunction sends messages again, and infra/kit/books recounts
// sales; everything else is the ledger's.
package operator

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/target"
	"flashsale/shared/sale"
)

var errBroken = cli.Bad(errors.New("the books do not balance"))

type verb struct {
	use            string // its name, and what it takes as an argument or else as the flag of that name
	short, example string
	flags          string   // the names of its flags
	forms          []string // of its output, besides cli.Table
	needs          string   // a flag without which it does nothing
	asks           bool     // before it goes on, unless --yes is given
	again          string   // what a repeat does after an interruption
	one            bool     // takes no group
	joins          bool     // writes one list of all sales of a group, instead of a sale after the other
	asWhole        bool     // OperateFunction knows the group's sales
	run            func(ctx context.Context, p *target, o options, out *terminal) error
}

type noun struct {
	name, short, group string
	function           bool // OperateFunction is asked for its sales, and not the table
	verbs              []verb
}

// flags are the flags' texts; a flag takes a value if its text names one in backquotes.
var flags = map[string]string{
	"sale":    "`id` of the sale",
	"group":   "every sale of this `group`, one after the other",
	"buyer":   "`id` of the buyer, the sub of their tokens",
	"note":    "`text` for colleagues, which is kept",
	"id":      "`name` of the change, under which a repeat changes nothing (default: random; add and withdraw need it)",
	"version": "`version` of the sale that an earlier command printed; refused if the sale was changed since",
	"dry-run": "say what would happen, and change nothing",
	"opens":   "`instant` at which it opens, such as 2026-11-11T12:00:00Z",
	"closes":  "`instant` at which it closes",
	"until":   "`instant` at which the newest call of a draw ends, or until which unpaid orders may be paid",
	"name":    "`text` that buyers read",
	"image":   "`address` of the picture; an empty one removes it",
	"about":   "`text` about the goods; an empty one removes it",
	"link":    "`address` of a page about the goods; an empty one removes it",
	"stock":   "`number` of units",
	"state":   "only orders in this `state`: pending, confirmed, paid, expired, cancelled or recalled",
	"all":     "every sale of the table",
	"full":    "scan the whole table, however large it is",
	"events":  "`file` with the published events, one a line",
	"log":     "`file` with the functions' lines (- is stdin)",
	"at":      "`instant` to which the table was restored, such as 2026-11-11T12:04:00Z",
	"file":    "`file` to read or to write; of refunds - is stdin, for the archives of a group their folder",
	"nonce":   "`nonce` of the buyer's entry",
	"roll":    "`digest` of the roll that was noted before the dice",
	"round":   "`number` of the round that was noted before the dice",
	"payment": "`payment`: what its provider calls it, such as pi_1; a refund's with the provider, such as stripe#pi_1",

	"sending":  "`id` of the sending, as refund sendings lists it",
	"for":      "write what is due into files for the bulk refund of this `provider`: wechat-pay or adyen",
	"provider": "payment `provider`: stripe, standard-webhooks, wechat-pay, alipay or adyen",
	"order":    "`id` of the order",
	"amount":   "`number` of minor units, 89900 for 899.00",
	"currency": "`code` of the currency, such as CNY",
	"unit":     "what becomes of its `unit`: back in stock (the default) or kept from everybody",

	"drop-poison": "also print and delete messages that no delivery can ever settle",
	"unknown":     "the refunds due of orders that do not exist, instead of a sale's events",
	"to":          "`address` of a receiver, with https or of this machine; EVENTS_SECRET has the secret that signs",
	"type":        "only events of this `type`, such as OrderPaid",
	"bus":         "`name` or ARN of another event bus",
}

// Commands are the commands about what a running system holds.
func Commands(where *system.Flags) []*cobra.Command { return commandsAt(&target{where: where}) }

func commandsAt(p *target) (all []*cobra.Command) {
	for _, n := range nouns() {
		var verbs []*cobra.Command
		for _, v := range n.verbs {
			verbs = append(verbs, v.command(p, n))
		}
		c := cli.Noun(n.name, n.short, verbs...)
		c.GroupID = n.group
		all = append(all, c)
	}
	short := createVerb
	short.example = strings.ReplaceAll(short.example, "sale create", "create")
	create := short.command(p, noun{})
	create.GroupID = cli.Before.ID
	return append(all, create)
}

// options are the flags and arguments that a command was given, by name. A flag without a value has "true".
type options map[string]string

func (o options) has(name string) bool { return o[name] == "true" }

// sales are the sales that are meant, "" for none.
func (o options) sales() []string {
	if joined := strings.Fields(o["sales"]); len(joined) > 0 { // no id has a blank
		return joined
	}
	return []string{o["sale"]}
}

// terminal is where a command writes what it was asked for, and whom it asks and tells what else there is.
type terminal struct {
	io.Writer
	command *cobra.Command
	at      *target
}

func (t *terminal) is(form string) bool { return cli.Form(t.command) == form }

// ask asks, and says first where: of the same sale there may be one in each environment.
func (t *terminal) ask(question string) error { return cli.Ask(t.command, t.at.name()+":\n"+question) }
func (t *terminal) notef(format string, values ...any) {
	fmt.Fprintf(t.command.ErrOrStderr(), format+"\n", values...)
}
func (t *terminal) progress(of string) (show func(done, about int64), clear func()) {
	return cli.Progress(t.command.ErrOrStderr(), of)
}

func (v verb) command(p *target, n noun) *cobra.Command {
	c := &cobra.Command{Use: v.use, Short: v.short, Example: "  " + strings.ReplaceAll(v.example, "\n", "\n  ")}
	words := strings.Fields(v.use)[1:]
	argument := ""
	if len(words) > 0 {
		argument = strings.ToLower(strings.Trim(words[0], "[]"))
		words[0] = "[" + words[0] + "]" // it may be given as a flag, too
	}
	c.Args = cli.Args(words...)
	names := strings.Fields(v.flags + " " + argument)
	if slices.Contains(names, "sale") && !v.one {
		names = append(names, "group")
	}
	for _, name := range names {
		if help := flags[name]; strings.Contains(help, "`") {
			c.Flags().String(name, "", help)
		} else {
			c.Flags().Bool(name, false, help)
		}
	}
	p.complete(c, argument, names)
	if v.forms != nil {
		cli.Forms(c, v.forms...)
	}
	if v.asks {
		cli.CanAsk(c)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		o := options{}
		for _, name := range names {
			if f := c.Flags().Lookup(name); f.Changed {
				o[name] = f.Value.String()
			}
		}
		if len(args) > 0 {
			if o[argument] != "" {
				return cli.Usagef("give only one of %s and --%s", strings.Trim(words[0], "[]"), argument)
			}
			o[argument] = args[0]
		}
		err := v.do(c.Context(), p, n, o, &terminal{c.OutOrStdout(), c, p})
		if c.Context().Err() != nil && v.again != "" && cli.Code(err) == cli.ExitUnknown && !errors.Is(err, cli.ErrUnanswered) {
			return errors.New(v.again)
		}
		return answered(system.Explain(err))
	}
	return c
}

// do runs the verb, for a group's sales one after the other.
func (v verb) do(ctx context.Context, p *target, n noun, o options, out *terminal) error {
	if err := cmp.Or(p.where.Check(), v.check(o, out.command)); err != nil {
		return err
	}
	p.tolerant = v.use == "pause SALE"
	p.errors = out.command.ErrOrStderr()
	group, given := o["group"]
	if !given || v.asWhole || out.command.Flags().Lookup("sale") == nil { // who takes no sale looks for the group itself
		return v.run(ctx, p, o, out)
	}
	if o["version"] != "" {
		return cli.Usagef("--version is of one sale, and --group means several")
	}
	members, err := p.members(ctx, n.function, group)
	if err != nil {
		return err
	}
	if v.joins {
		o["sales"] = strings.Join(members, " ")
		return v.run(ctx, p, o, out)
	}
	if o["id"] == "" && out.command.Flags().Lookup("id") != nil && !o.has("dry-run") {
		o["id"] = rand.Text()
		out.notef("this is change %s of each sale: with --id %s the same command changes nothing more", o["id"], o["id"])
	}
	var worst error
	failed := 0
	for _, id := range members {
		one := maps.Clone(o)
		one["sale"] = id
		if file := o["file"]; file != "" {
			one["file"] = filepath.Join(file, id+".jsonl")
		}
		err := answered(v.run(ctx, p, one, out))
		if cli.Code(err) == cli.ExitUsage || errors.Is(err, cli.ErrLeft) {
			return err
		}
		if err != nil {
			out.notef("%s: %v", id, cli.OneLine(system.Explain(err)))
			if failed++; cli.Code(err) > cli.Code(worst) {
				worst = err
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if worst != nil {
		return cli.As(worst, fmt.Errorf("it failed for %d of the %d sales of the group %s", failed, len(members), group))
	}
	return nil
}

// check refuses an id that the API would refuse.
func (v verb) check(o options, c *cobra.Command) error {
	if _, given := o["group"]; given {
		if o["sale"] != "" {
			return cli.Usagef("give only one of a sale and --group")
		}
		if !sale.ValidID(o["group"]) {
			return cli.Usagef("--group is %q, which is not the id of a group", o["group"])
		}
		return nil
	}
	for _, name := range []string{v.needs, v.argument()} {
		if _, given := o[name]; name != "" && !given {
			return cli.Usagef("%s: name the %s: %s", c.CommandPath(), name, strings.TrimSpace(strings.SplitN(c.Example, "\n", 2)[0]))
		}
	}
	for _, id := range []struct {
		option, hint string
		valid        func(string) bool
	}{
		{"sale", "is not a sale id", sale.ValidID},
		{"buyer", "is not a buyer's id", sale.AdmitsUser},
		{"id", "is not the name of a change; give the one that an earlier command printed, or a new one, such as second-batch", sale.ValidID},
	} {
		if value, given := o[id.option]; given && !id.valid(value) {
			return cli.Usagef("%q %s", value, id.hint)
		}
	}
	return nil
}

// argument is the name of the argument without which the verb does nothing; "" if there is none.
func (v verb) argument() string {
	if _, word, ok := strings.Cut(v.use, " "); ok && word[0] != '[' {
		return strings.ToLower(word)
	}
	return ""
}

// members are the sales of a group, in the order of their ids.
func (p *target) members(ctx context.Context, function bool, group string) (ids []string, err error) {
	if !function {
		book, err := p.ledger(ctx)
		if err != nil {
			return nil, err
		}
		found, err := book.Group(ctx, group)
		for _, m := range found {
			ids = append(ids, m.Sale.ID)
		}
		if sale.CodeOf(err) == sale.GroupNotFound {
			err = p.noGroup(group)
		}
		return ids, err
	}
	list, err := p.saleList(ctx)
	for _, s := range list.of(group) {
		ids = append(ids, s.SaleID)
	}
	if err == nil && len(ids) == 0 {
		err = p.noGroup(group)
	}
	return ids, err
}

func (p *target) noGroup(group string) error {
	return noSuch("no sale has the limitGroup %s (%s names the sales, %s the group of one)", group, p.flashsale("sale list"), p.flashsale("sale show SALE"))
}
