package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/drawcheck"
	"flashsale/infra/kit/drawcheck/rules"
	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

// verifyDraw checks a draw from what its API shows to everybody, and fails with errNotCorrect if
// anything is not as it must be. With a buyer and their nonce it finds their turn, with --roll and
// --round it compares what was noted before the dice. Whether everybody on the roll has entered and has
// bought in their turn is in the sale's receipt, because only the operator can read that.
func verifyDraw(ctx context.Context, p *target, o options, out *terminal) error {
	saleID, user := o["sale"], o["buyer"]
	round, err := strconv.ParseUint(cmp.Or(o["round"], "0"), 10, 64)
	if err != nil {
		return cli.Usagef("--round is %q; it must be the number of a round", o["round"])
	}
	var own *rules.Leaf
	if user != "" || o["nonce"] != "" {
		var n rules.Nonce
		if err := n.UnmarshalText([]byte(o["nonce"])); err != nil || !sale.ValidUser(user) {
			return cli.Usagef("give --buyer and --nonce together: the nonce is 64 lower-case hexadecimal digits of the entry")
		}
		own = new(rules.LeafOf(user, n))
	}
	v, err := p.readDraw(ctx, saleID, out)
	if err != nil {
		return err
	}
	if roll := o["roll"]; roll != "" && roll != v.Sale.Roll.String() {
		v.wrong("you noted the roll %s before the dice, but it is %s now: the roll was changed", roll, v.Sale.Roll)
	}
	if round != 0 && round != v.Sale.Round {
		v.wrong("you noted round %d before the dice, but it is %d now: the dice were chosen again", round, v.Sale.Round)
	}
	v.print()
	if own != nil {
		v.printTurn(user, *own)
	}
	return v.end()
}

var errNotCorrect = cli.Bad(errors.New("the draw is not correct"))

func (p *target) readDraw(ctx context.Context, saleID string, out *terminal) (*verifying, error) {
	where, err := p.system(ctx)
	if err != nil {
		return nil, err
	}
	show, clear := out.progress("pages of the roll")
	published, err := drawcheck.Read(ctx, where.Client, saleID, show)
	clear()
	if err != nil {
		return nil, err
	}
	return &verifying{Report: published.Check(), out: out, api: where.API}, nil
}

// verifying is a check of a draw and where it is told.
type verifying struct {
	*drawcheck.Report
	out *terminal
	api string // its address
}

func (v *verifying) line(name, format string, args ...any) {
	fmt.Fprintf(v.out, "  %-12s %s\n", name, fmt.Sprintf(format, args...))
}

func (v *verifying) wrong(format string, args ...any) {
	v.Wrong = append(v.Wrong, fmt.Sprintf(format, args...))
}

func (v *verifying) print() {
	s := &v.Sale
	fmt.Fprintf(v.out, "draw of sale %s at %s\n", s.SaleID, v.api)
	v.line("entering", "until %s", instant(s.EnterUntil))
	if s.Round != 0 {
		of := "drand's quicknet"
		if v.Chain != drawcheck.Quicknet {
			of = "this machine's own dice, which prove nothing to others"
		}
		v.line("roll", "%d entrants, digest %s", s.Entrants, s.Roll)
		v.line("dice", "round %d of %s, signed at %s, %s after the roll was closed", s.Round, of, instant(v.Chain.TimeOf(s.Round)),
			v.Chain.TimeOf(s.Round).Sub(slices.MaxFunc([]time.Time{s.EnterUntil, s.ClosedAt}, time.Time.Compare)).Round(time.Second))
	}
	if len(s.Signature) > 0 {
		v.line("seed", "%s", s.Seed)
	}
	place := int64(0)
	for i, c := range s.Calls[:min(len(s.Calls), len(v.Called))] {
		whom := "anybody"
		switch n := v.Called[i]; {
		case c.Open:
		case c.Hi == nil:
			whom = "not complete yet"
		case n == 0:
			whom = "nobody: it came to nothing"
		default:
			whom = fmt.Sprintf("%d people, places %d to %d", n, place+1, place+n)
		}
		place += v.Called[i]
		v.line(fmt.Sprintf("call %d", c.Number), "%s, from %s until %s", whom, instant(c.From), instant(c.Until))
	}
	if v.HasOrder() {
		v.line("uncalled", "%d", max(0, s.Entrants-place))
	}
}

func (v *verifying) printTurn(user string, l rules.Leaf) {
	t := v.Turn(l)
	switch {
	case v.Sale.Round == 0:
		v.line("your leaf", "%s: look for it when the roll is closed", l)
	case !t.OnRoll:
		v.wrong("the leaf %s of %s is not on the roll: the nonce is another one's, or the entry was left out", l, user)
	case !v.HasOrder():
		v.line("your leaf", "%s, on the roll", l)
	case t.Call == nil:
		v.line("your place", "%d of %d, rank %s: not called yet", t.Place, v.Sale.Entrants, t.Rank)
	default:
		v.line("your place", "%d of %d, rank %s: call %d, from %s until %s", t.Place, v.Sale.Entrants, t.Rank, t.Call.Number, instant(t.Call.From), instant(t.Call.Until))
	}
}

func (v *verifying) end() error {
	books.PrintList(v.out, "not checked:", v.Pending)
	if len(v.Wrong) > 0 {
		books.PrintList(v.out, "WRONG:", v.Wrong)
		return errNotCorrect
	}
	switch {
	case v.HasOrder():
		fmt.Fprintln(v.out, "correct: every leaf is on its page once, the pages are the published roll, the dice were signed after it,\nand every call follows the order that they gave")
	case v.Sale.Round != 0:
		fmt.Fprintln(v.out, "correct so far: every leaf is on its page once, and the pages are the published roll.\nNote the digest and the round, and compare them after the dice (--roll … --round …)")
	}
	return nil
}

// showDraw prints how a draw stands and what to publish elsewhere.
func showDraw(ctx context.Context, p *target, o options, out *terminal) error {
	v, err := p.readDraw(ctx, o["sale"], out)
	if err != nil {
		return err
	}
	v.print()
	if s := &v.Sale; s.Round != 0 && !v.HasOrder() {
		fmt.Fprintf(out, "to publish elsewhere, before round %d is signed at %s:\n  %s: %d entrants, roll %s, round %d of drand's quicknet\n",
			s.Round, instant(v.Chain.TimeOf(s.Round)), s.SaleID, s.Entrants, s.Roll, s.Round)
	}
	if call := v.running(); call != nil {
		out.notef("call %d runs until %s: %s lists the people", call.Number, instant(call.Until), p.flashsale("draw called "+o["sale"]))
	}
	return v.end()
}

// listCalled lists whom the running calls of sales call. It holds a roll, and a page of users at a time.
func listCalled(ctx context.Context, p *target, o options, out *terminal) error {
	list := out.list("sale user call from until place leaf")
	var unread error
	for _, id := range o.sales() {
		if err := p.called(ctx, id, out, list); err != nil {
			unread = errors.Join(unread, err)
		}
	}
	return list.end(unread)
}

func (p *target) called(ctx context.Context, saleID string, out *terminal, list *list) error {
	v, err := p.readDraw(ctx, saleID, out)
	if err != nil {
		return err
	}
	if len(v.Wrong) > 0 {
		return fmt.Errorf("the draw of %s is not correct: %s says why", saleID, p.flashsale("draw verify "+saleID))
	}
	call := v.running()
	if call == nil {
		return noSuch("no call for people on the roll is running in sale %s", saleID)
	}
	db, table, err := p.dynamodb(ctx)
	if err != nil {
		return err
	}
	d, err := books.OpenDrawing(ctx, db, table, saleID)
	if err != nil {
		return fmt.Errorf("read the table %s: %w", table, err)
	}
	return v.writeCalled(ctx, d, call, list)
}

type calledPerson struct {
	SaleID string `json:"saleId"`
	User   string `json:"user"`
	Call   int64  `json:"call"`
	From   string `json:"from"`
	Until  string `json:"until"`
	Place  int64  `json:"place"`
	Leaf   string `json:"leaf"`
}

// running is the newest call if it has called people and lasts.
func (v *verifying) running() *rules.Call {
	if n := len(v.Sale.Calls); n > 0 {
		if c := &v.Sale.Calls[n-1]; len(v.Called) == n && v.Called[n-1] > 0 && v.Sale.AsOf.Before(c.Until) {
			return c
		}
	}
	return nil
}

// writeCalled writes the people of a call, in the order of their leaves.
func (v *verifying) writeCalled(ctx context.Context, d *books.Drawing, call *rules.Call, list *list) error {
	text := spreadsheet.Text
	show, clear := v.out.progress("pages of entries")
	listed, err := int64(0), error(nil)
	for page := 0; page < rules.Pages && err == nil; page++ {
		err = d.Entrants(ctx, byte(page), func(users []string) error {
			for _, user := range users {
				t := v.Turn(rules.LeafOf(user, rules.NonceOf(d.LeafKey, user)))
				if t.Call == nil || t.Call.Number != call.Number {
					continue
				}
				listed++
				c := calledPerson{v.Sale.SaleID, user, call.Number, instant(call.From), instant(call.Until), t.Place, t.Leaf.String()}
				if err := list.add(c, text(c.SaleID), text(c.User), number(c.Call), text(c.From), text(c.Until), number(c.Place),
					text(c.Leaf)); err != nil {
					return err
				}
			}
			return nil
		})
		show(int64(page), rules.Pages)
	}
	clear()
	switch called := v.Called[call.Number-1]; {
	case err != nil:
		return err
	case listed != called:
		return fmt.Errorf("the list has %d of the %d people who were called: the table is not the one of this draw", listed, called)
	}
	v.out.notef("call %d: %d people", call.Number, listed)
	return nil
}
