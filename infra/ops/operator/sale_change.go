package operator

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/ops/cli"
	requests "flashsale/shared/change"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// notDone is why the ledger refuses what an operator asked for, as a bad answer. Any other error is that of a
// command that could not find out.
func notDone(what string, err error) error {
	refused, ok := errors.AsType[*sale.Error](err)
	if ok && (refused.Code == sale.Conflicting || refused.Code == sale.Poison) {
		return cli.Bad(fmt.Errorf("NOT %s: %s", what, refused.Detail))
	}
	return err
}

// A change is a command that asks OperateFunction to change a sale.
// It applies once for each id: a repeat of the request with the same id changes nothing, and the
// command prints the state from the last answer. If it carries what the operator has seen of the
// sale, it is refused if somebody else has changed that since.
type change struct {
	action                string // of the request
	short, example, flags string // as of a verb, without what every change takes
	sees                  bool   // the request carries what the operator has seen of the sale
	needs                 string // "id": the operator must give it, a second one would change more
	done                  string // past participle of the action
	// members returns the request's members besides id, action, note and sale; nil: there are none.
	members func(o options) (map[string]any, error)
	// confirm, if not nil, asks the operator before the function is asked.
	confirm func(ctx context.Context, p *target, o options, out *terminal) error
	would   string // what it would do, to go on behind "it would"
	open    bool   // a recalled sale refuses it
	// say describes the sale as it is now, or fails if it is not as asked.
	say func(c requests.Answer, o options, p *target) (string, error)
}

type mayHappen struct{ error }

func (m mayHappen) Unwrap() error { return m.error }

var errLater = cli.Bad(errors.New("it was made, and a later change stands"))

var errUnsaid = errors.New("OperateFunction's answer does not confirm it")

var changes = []change{
	{
		action: "pause", short: "Sell no unit any more, until the sale is resumed", example: "flashsale sale pause moutai --note 'wrong price'", done: "PAUSED",
		would: "be paused: no unit would be sold until it is resumed",
		say: func(c requests.Answer, _ options, p *target) (string, error) {
			if !c.Paused {
				return "", errUnsaid
			}
			until := "until " + p.flashsale("sale resume "+c.SaleID)
			if c.RecalledAt != "" {
				until = "any more, because it was recalled"
			}
			return fmt.Sprintf("%s has been paused since %s: no unit is sold %s", c.SaleID, at(when(c.ChangedAt)), until), nil
		},
	},
	{
		action: "resume", short: "Let a paused sale go on", example: "flashsale sale resume moutai", sees: true, done: "RESUMED",
		would: "be resumed", open: true,
		say: func(c requests.Answer, _ options, _ *target) (string, error) {
			if c.Paused {
				return "", errUnsaid
			}
			return fmt.Sprintf("%s was resumed at %s: it sells from %s to %s", c.SaleID, at(when(c.ChangedAt)), exactly(when(c.OpensAt)), exactly(when(c.ClosesAt))), nil
		},
	},
	{
		action: "reschedule", short: "Give a sale other instants", example: "flashsale sale reschedule moutai --opens 2026-11-11T12:00:00Z --closes 2026-11-11T14:00:00Z",
		flags: "opens closes until", sees: true, done: "RESCHEDULED", members: instants("opens closes", "both: --opens 2026-11-11T12:00:00Z --closes 2026-11-11T14:00:00Z"),
		would: "be rescheduled", open: true,
		say: func(c requests.Answer, o options, p *target) (string, error) {
			if exactly(when(c.OpensAt)) != o["opens"] || exactly(when(c.ClosesAt)) != o["closes"] {
				return "", errUnsaid
			}
			text := fmt.Sprintf("%s was rescheduled at %s: it sells from %s to %s", c.SaleID, at(when(c.ChangedAt)), o["opens"], o["closes"])
			if until, given := o["until"]; given {
				text += ", and its newest call lasts until " + until
			}
			if c.Paused {
				text += ", but it is paused: " + p.flashsale("sale resume "+c.SaleID)
			}
			return text, nil
		},
	},
	{
		action: "extend", short: "Give all unpaid orders of a sale more time", example: "flashsale sale extend moutai --until 2026-11-12T12:00:00Z",
		flags: "until", sees: true, done: "EXTENDED", members: instants("until", "one such as --until 2026-11-12T12:00:00Z"),
		would: "give every unpaid order more time", open: true,
		say: func(c requests.Answer, o options, _ *target) (string, error) {
			if until, _ := time.Parse(time.RFC3339, o["until"]); when(c.PayUntil).Before(until) { // somebody may have given more
				return "", errUnsaid
			}
			return fmt.Sprintf("every unpaid order of %s may be paid until %s, those that are made later, too", c.SaleID, exactly(when(c.PayUntil))), nil
		},
	},
	{
		action: "describe", short: "Change what buyers read of a sale", example: "flashsale sale describe moutai --name 'Moutai 2026' --about '53 %'",
		flags: "name image about link", sees: true, done: "DESCRIBED", members: description,
		would: "be shown otherwise",
		say: func(c requests.Answer, o options, _ *target) (string, error) {
			shown := map[string]string{"name": c.Name, "image": c.Image, "about": c.About, "link": c.Link}
			for name, asked := range o {
				if shown, known := shown[name]; known && shown != asked && (name != "name" || asked != "") {
					if !c.Applied {
						return "", errLater
					}
					return "", errUnsaid
				}
			}
			text := fmt.Sprintf("%s is shown as %q", c.SaleID, c.Name)
			for _, name := range []string{"image", "about", "link"} {
				if shown[name] != "" {
					text += fmt.Sprintf(", %s %q", name, shown[name])
				}
			}
			return text + "; pages that are loaded from two seconds on have it", nil
		},
	},
	{
		action: "add", short: "Add units, once for each id", example: "flashsale sale add moutai --stock 50 --id third-batch",
		flags: "stock", sees: true, needs: "id", done: "ADDED", members: units,
		would: "get units more", open: true,
		say: func(c requests.Answer, o options, p *target) (string, error) {
			if !c.Applied {
				return fmt.Sprintf("%s: %s units were added earlier under the name %s, and nothing changed now; %d units have been seeded in total", c.SaleID,
					o["stock"], o["id"], c.Seeded), nil
			}
			return fmt.Sprintf("%s got %s more units, %d have been seeded in total; repeating it with --id %s changes nothing; %s counts them",
				c.SaleID, o["stock"], c.Seeded, o["id"], p.flashsale("books receipt "+c.SaleID)), nil
		},
	},
	{
		action: "withdraw", short: "Take unsold units away, once for each id", example: "flashsale sale withdraw moutai --stock 10 --id kept-back",
		flags: "stock", sees: true, needs: "id", done: "WITHDRAWN", members: units,
		would: "lose units that nobody holds, as far as there are so many",
		say: func(c requests.Answer, o options, p *target) (string, error) {
			text := fmt.Sprintf("%s: %d of %s units were withdrawn, %d stay seeded", c.SaleID, c.Withdrawn, o["stock"], c.Seeded)
			if !c.Applied {
				text = fmt.Sprintf("%s: %d of %s units were withdrawn earlier under the name %s, and nothing changed now; %d stay seeded", c.SaleID,
					c.Withdrawn, o["stock"], o["id"], c.Seeded)
			}
			if fmt.Sprint(c.Withdrawn) != o["stock"] {
				text += "; no other unit was left"
			}
			return text + "; " + p.flashsale("books receipt "+c.SaleID) + " counts them", nil
		},
	},
	{
		action: "recall", short: "End a sale permanently: orders are released, and payments go back", example: "flashsale sale recall moutai --note 'the soles come off'",
		done: "RECALLED", members: reason, confirm: confirmRecall,
		would: "be recalled permanently: every order that is not paid would be released, and every payment go back",
		say: func(c requests.Answer, _ options, p *target) (string, error) {
			if c.RecalledAt == "" || !c.Paused {
				return "", errUnsaid
			}
			text := fmt.Sprintf("%s was recalled at %s: no unit is sold any more, and within minutes each order is cancelled or its payment is a refund due; ", c.SaleID, instant(when(c.RecalledAt)))
			if !c.Applied {
				text = fmt.Sprintf("%s was recalled at %s, and nothing changed now; ", c.SaleID, instant(when(c.RecalledAt)))
			}
			return text + p.flashsale("refund list "+c.SaleID) + " lists what must be paid back", nil
		},
	},
}

func at(t time.Time) string { return t.UTC().Format("15:04:05Z") }

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// instants reads the flags of a change that are instants, and rewrites them in the format of exactly.
func instants(needed, example string) func(options) (map[string]any, error) {
	return func(o options) (map[string]any, error) {
		members := map[string]any{}
		for flag, member := range map[string]string{"opens": "opensAt", "closes": "closesAt", "until": "until"} {
			if _, given := o[flag]; !given && !strings.Contains(needed, flag) {
				continue
			}
			t, err := time.Parse(time.RFC3339, o[flag])
			if err != nil {
				return nil, cli.Usagef("--%s is %q, which is not an instant; give %s", flag, o[flag], example)
			}
			members[member], o[flag] = exactly(t), exactly(t)
		}
		return members, nil
	}
}

// asked is the change as the product reads it, and why the sale would refuse it, by the product's own rules, as far as
// they need no ledger.
func (c change) asked(s listedSale, members map[string]any) (asks sale.Change, err error) {
	request := map[string]any{"action": c.action, "saleId": s.SaleID}
	maps.Copy(request, members)
	text, _ := json.Marshal(request) // texts and a number
	r, err := requests.Decode(text)
	r.SeedID = "any"
	switch now := time.Now(); {
	case err != nil, c.action == "recall":
		asks.Action = sale.ActionRecall
	case c.needs != "":
		var a sale.Addition
		a, err = r.Addition()
		if asks = (sale.Change{Action: sale.Action(c.action), Units: a.Stock}); err == nil && c.action == "withdraw" && s.Draw.Call > 0 {
			err = sale.Refuse(sale.Conflicting, "people have been called: the units are kept for them")
		}
	case c.action == "describe":
		var d sale.Description
		d, err = r.Description()
		asks = d.Change()
	default:
		e, wrong := r.Edit(now)
		asks, err = e.Change(), cmp.Or(wrong, e.CheckExtension(s.asSold(), now), e.CheckDraw(s.asSold()))
	}
	return asks, err
}

// asSold is the sale as far as the rules of edits need it.
func (s listedSale) asSold() sale.Sale {
	one := sale.Sale{
		ID: s.SaleID, Paused: s.Paused, OpensAt: when(s.OpensAt), ClosesAt: when(s.ClosesAt), PayWithin: time.Duration(s.PayWithin) * time.Second, PayUntil: when(s.PayUntil),
	}
	if d := s.Draw; d.KeepHours > 0 {
		one.Draw = sale.Draw{
			DrawTerms: sale.DrawTerms{EnterFrom: when(d.EnterFrom), EnterUntil: when(d.EnterUntil), KeepFor: time.Duration(d.KeepHours) * time.Hour},
			BeginsAt:  one.OpensAt, EndsAt: one.ClosesAt, Call: d.Call, OpenCall: d.Open,
		}
		if d.Call > 0 {
			one.OpensAt, one.ClosesAt = when(d.From), when(d.Until)
		}
	}
	return one
}

// asksFor reports whether a change asks for the one that was made under its id.
func asksFor(asks sale.Change, made httpapi.Change) bool {
	asks.Until = time.Time{} // the trail does not show it
	return asks.Units == made.Units && asks.Asks(sale.Change{
		Action: made.Action, OpensAt: when(made.OpensAt), ClosesAt: when(made.ClosesAt), PayUntil: when(made.PayUntil),
		Name: made.Name, Image: made.Image, About: made.About, Link: made.Link,
	})
}

// follows reports whether the sale is as a change that was made asks: a later one may ask for something else.
func (s listedSale) follows(asks sale.Change) bool {
	one, paused := s.asSold(), asks.Action == sale.ActionPause
	one.Name, one.Image, one.About, one.Link = s.Name, s.Offer.Image, s.Offer.About, s.Offer.Link
	e := sale.Edit{OpensAt: asks.OpensAt, ClosesAt: asks.ClosesAt, Until: asks.Until, PayUntil: asks.PayUntil}
	if paused || asks.Action == sale.ActionResume {
		e.Paused = &paused
	}
	d := sale.Description{Name: asks.Name, Image: asks.Image, About: asks.About, Link: asks.Link}
	return e.Agrees(one) && d.Apply(one) == one
}

// stored is why the table would refuse the change, as far as it can be read: whoever may change a sale need not be
// allowed to.
func (c change) stored(ctx context.Context, p *target, s listedSale, asks sale.Change) error {
	book, err := p.ledger(ctx)
	if err != nil {
		return nil
	}
	if one, err := book.Sale(ctx, s.SaleID); err == nil && one.IsSealed() {
		return sale.RefuseSealed()
	}
	if made, err := maintenance.Of(book).Creation(ctx, s.SaleID); err == nil && c.action == "add" && made.MaxStock > 0 && asks.Units > made.MaxStock-made.Stock {
		return sale.Refusef(sale.Conflicting, "the sale's maxStock leaves room for %d more units", made.MaxStock-made.Stock)
	}
	return nil
}

// description reads what is to be shown; what is given as empty is removed.
func description(o options) (map[string]any, error) {
	members := map[string]any{}
	for _, name := range []string{"name", "image", "about", "link"} {
		if value, given := o[name]; given {
			members[name] = value
		}
	}
	if len(members) == 0 {
		return nil, cli.Usagef("nothing is given; give at least one of --name --image --about --link; an empty one is removed")
	}
	return members, nil
}

func units(o options) (map[string]any, error) {
	stock, err := strconv.ParseInt(o["stock"], 10, 64)
	if err != nil || stock < 1 || strconv.FormatInt(stock, 10) != o["stock"] { // not "+5" or "05"
		return nil, cli.Usagef("%q is not a number of units; give one such as --stock 50", o["stock"])
	}
	return map[string]any{"stock": stock}, nil
}

// reason refuses a recall of which the operator says nothing.
func reason(o options) (map[string]any, error) {
	if o["note"] == "" {
		return nil, cli.Usagef("say why, for the colleagues who are asked: --note 'the soles come off'")
	}
	return nil, nil
}

// confirmRecall says how many orders a recall ends, as the last audit counted them, and asks.
func confirmRecall(ctx context.Context, p *target, o options, out *terminal) error {
	if yes, _ := out.command.Flags().GetBool("yes"); yes {
		return nil
	}
	s, err := p.saleNow(ctx, o["sale"])
	if err != nil {
		return fmt.Errorf("the orders could not be counted (%w); --yes recalls without that", err)
	}
	return out.ask(fmt.Sprintf("%s has %s.\nA recall is final: nothing is sold any more, every order that is not paid is released, and every payment goes back.\nRecall %s?",
		s.SaleID, s.orders(), s.SaleID))
}

// withVersion is what a repeat of the command carries besides its id.
func withVersion(o options) string {
	if o["version"] == "" {
		return ""
	}
	return " --version " + o["version"]
}

func (c change) verb() verb {
	v := verb{
		use: c.action + " SALE", short: c.short, example: c.example, flags: c.flags + " note id dry-run", forms: []string{cli.JSON}, asks: c.confirm != nil, needs: c.needs, run: c.run,
	}
	if c.sees {
		v.flags += " version"
	}
	return v
}

// run requests the change and prints the resulting state and the change's id, or fails and says that it was not
// done. It may have been done if no answer came.
func (c change) run(ctx context.Context, p *target, o options, out *terminal) error {
	err := c.request(ctx, p, o, out)
	if _, may := errors.AsType[mayHappen](err); err == nil || may || cli.Code(err) == cli.ExitUsage {
		return err
	}
	return fmt.Errorf("NOT %s: %w", c.done, err)
}

// request asks for the change until there is an answer.
func (c change) request(ctx context.Context, p *target, o options, out *terminal) (err error) {
	request := map[string]any{}
	if c.members != nil {
		if request, err = c.members(o); err != nil {
			return err
		}
	}
	if version, given := o["version"]; given {
		if _, err := sale.ParseReadVersion(o["sale"], version); err != nil {
			return cli.Usagef("--version is %q, which is not what an earlier command printed for this sale", version)
		}
	}
	by := sale.Author{Note: o["note"]}
	if err := by.Check(); o["note"] != "" && err != nil {
		return cli.Usagef("--note: %w", err)
	}
	if o.has("dry-run") {
		return c.dryRun(ctx, p, o, request, out)
	}
	if o["id"] == "" {
		o["id"] = rand.Text()
	}
	var answer json.RawMessage
	if err := c.change(ctx, p, o, out, request, &answer); err != nil {
		return err
	}
	after := requests.Answer{Taken: &requests.Taken{}, Edited: &requests.Edited{}, Described: &requests.Described{}, Cancelled: &requests.Cancelled{}}
	if err := json.Unmarshal(answer, &after); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	line, err := c.say(after, o, p)
	switch {
	case err != nil:
		return err
	case out.is(cli.JSON):
		_ = cli.WriteJSON(out, answer) // it is done, also if nobody can be told
	default:
		fmt.Fprintln(out, line)
	}
	if c.needs == "" && o["group"] == "" {
		out.notef("this is change %s: with --id %s%s the same command changes nothing more", o["id"], o["id"], withVersion(o))
	}
	return nil
}

func (c change) change(ctx context.Context, p *target, o options, out *terminal, request map[string]any, answer any) error {
	var err error
	switch {
	case c.sees && o["version"] == "":
		err = p.look(ctx, o)
	case c.confirm != nil:
		err = c.confirm(ctx, p, o, out)
	}
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"id": o["id"], "action": c.action, "note": o["note"], "version": o["version"]} {
		if value != "" {
			if request == nil {
				request = map[string]any{}
			}
			request[name] = value
		}
	}
	err = p.post(ctx, "/operate/sales/{saleId}/changes", o["sale"], request, answer)
	if errors.Is(err, errNoAnswer) {
		err = mayHappen{fmt.Errorf("%w; the change may still happen: repeat the command with --id %s%s until it succeeds", err, o["id"], withVersion(o))}
	}
	return err
}

// look reads the sale as it is now, shows it, and notes what has thereby been seen of it.
func (p *target) look(ctx context.Context, o options) error {
	s, err := p.saleNow(ctx, o["sale"])
	if err != nil {
		return fmt.Errorf("the sale could not be looked at: %w", err)
	}
	o["version"] = s.Version
	p.notef("%s (--version %s)", s.stands(), s.Version)
	return nil
}

// dryRun looks at the sale and its trail and says what the change would do, or why it would be refused.
func (c change) dryRun(ctx context.Context, p *target, o options, members map[string]any, out *terminal) error {
	s, made, err := p.saleAndTrail(ctx, o["sale"])
	if err != nil {
		return err
	}
	would := "it would " + c.would
	for _, name := range strings.Fields(c.flags) {
		if value, given := o[name]; given {
			would += fmt.Sprintf(", %s %q", name, value)
		}
	}
	asks, refusal := c.asked(s, members)
	if refusal == nil {
		refusal = c.stored(ctx, p, s, asks)
	}
	recalled := s.RecalledAt != ""
	same := slices.IndexFunc(made.Changes, func(one httpapi.Change) bool { return one.ID == o["id"] })
	switch {
	case same >= 0 && !asksFor(asks, made.Changes[same]):
		return cli.Bad(errors.New("the change id was used for another change"))
	case same >= 0 && !s.follows(asks):
		return errLater
	case same >= 0:
		would = "this change was made at " + made.Changes[same].At + ", and nothing more would change"
	case recalled && c.open:
		return sale.RefuseRecalled()
	case refusal != nil:
		return refusal
	case o["version"] != "" && o["version"] != s.Version:
		return cli.Bad(errors.New("the sale was changed meanwhile; look at it again"))
	case c.action == "recall" && recalled, c.action == "pause" && s.Paused:
		would = "it is so already, and nothing would change"
	case o["id"] != "" && made.More:
		would += ", unless an older change has the id"
	}
	if out.is(cli.JSON) {
		return cli.WriteJSON(out, map[string]string{"saleId": s.SaleID, "is": s.stands(), "would": would})
	}
	_, err = fmt.Fprintf(out, "%s, and %s; %s; nothing was changed\n", s.stands(), s.orders(), would)
	return err
}
