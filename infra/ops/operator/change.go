package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/kit/client"
	system "flashsale/infra/ops/place"
	"flashsale/shared/sale"
)

// errNotDone means that the change failed and the line that says so has been printed.
var errNotDone = errors.New("the sale is not in the requested state")

// notDone prints why the ledger refuses what an operator asked for, and then returns errNotDone. Any other
// error is that of a command that could not find out.
func notDone(what string, err error, out io.Writer) error {
	refused, ok := errors.AsType[*sale.Error](err)
	switch {
	case ok && (refused.Code == sale.Conflicting || refused.Code == sale.Poison):
		fmt.Fprintf(out, "NOT %s: %s\n", what, refused.Detail)
		return errNotDone
	case err != nil:
		return errors.New(oneLine(err))
	}
	return nil
}

// changed is a function's answer to a change of a sale. Which fields are set depends on
// the action.
type changed struct {
	SaleID    string    `json:"saleId"`
	Seeded    int64     `json:"seeded"`
	Applied   bool      `json:"applied"`
	Withdrawn int64     `json:"withdrawn"`
	Paused    bool      `json:"paused"`
	OpensAt   time.Time `json:"opensAt"`
	ClosesAt  time.Time `json:"closesAt"`
	ChangedAt time.Time `json:"changedAt"`
	Name      string    `json:"name"`
	Image     string    `json:"image"`
	About     string    `json:"about"`
	Link      string    `json:"link"`
	// RecalledAt is of a recall.
	RecalledAt time.Time `json:"recalledAt"`
	// Of ReconcileFunction: a sale without a receipt was not read to its end.
	Resent   int64 `json:"resent"`
	Receipts []struct {
		Pending int64 `json:"pending"`
	} `json:"receipts"`
}

// A change is a command that asks OperateFunction to change a sale.
// It applies once for each id: a repeat of the request with the same id changes nothing, and the
// command prints the state from the last answer. If it carries what the operator has seen of the
// sale, it is refused if somebody else has changed that since.
type change struct {
	action string // of the request
	sees   bool   // the request carries what the operator has seen of the sale
	done   string // past participle of the action
	takes  string // the names of its options besides the sale, as in command
	// members returns the request's members besides id, action, note and sale; nil: there are none.
	members func(values map[string]string) (map[string]any, error)
	// confirm, if not nil, asks the operator before the function is asked, unless -yes is given.
	confirm func(ctx context.Context, with client.Operator, saleID string, out io.Writer) error
	// ask, if not nil, takes the place of the request to OperateFunction.
	ask func(ctx context.Context, where system.Place, saleID string) (changed, error)
	// say describes the sale as it is now, or fails if it is not as asked. where is
	// "ENV=prod ", or empty for the local stack.
	say func(c changed, values map[string]string, where string) (string, error)
}

var errUnsaid = errors.New("OperateFunction's answer does not confirm it")

var changes = []change{
	{action: "pause", takes: "note= id=", done: "PAUSED", say: func(c changed, _ map[string]string, where string) (string, error) {
		if !c.Paused {
			return "", errUnsaid
		}
		return fmt.Sprintf("%s has been paused since %s: no unit is sold until `make resume %sSALE=%s`", c.SaleID, at(c.ChangedAt), where, c.SaleID), nil
	}},
	{action: "resume", sees: true, takes: "note= id= seen=", done: "RESUMED", say: func(c changed, _ map[string]string, _ string) (string, error) {
		if c.Paused {
			return "", errUnsaid
		}
		return fmt.Sprintf("%s was resumed at %s: it sells from %s to %s", c.SaleID, at(c.ChangedAt), instant(c.OpensAt), instant(c.ClosesAt)), nil
	}},
	{action: "reschedule", sees: true, takes: "opens= closes= until= note= id= seen=", done: "RESCHEDULED", members: window, say: func(c changed, values map[string]string, where string) (string, error) {
		if instant(c.OpensAt) != values["opens"] || instant(c.ClosesAt) != values["closes"] {
			return "", errUnsaid
		}
		text := fmt.Sprintf("%s was rescheduled at %s: it sells from %s to %s", c.SaleID, at(c.ChangedAt), instant(c.OpensAt), instant(c.ClosesAt))
		if until, given := values["until"]; given {
			text += ", and its newest call lasts until " + until
		}
		if c.Paused {
			text += fmt.Sprintf(", but it is paused: `make resume %sSALE=%s`", where, c.SaleID)
		}
		return text, nil
	}},
	{action: "describe", sees: true, takes: "name= image= about= link= note= id= seen=", done: "DESCRIBED", members: description, say: func(c changed, values map[string]string, _ string) (string, error) {
		shown := map[string]string{"name": c.Name, "image": c.Image, "about": c.About, "link": c.Link}
		for name, asked := range values {
			if shown, known := shown[name]; known && shown != asked && (name != "name" || asked != "") {
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
	}},
	{action: "add", sees: true, takes: "stock= seed-id= note= seen=", done: "ADDED", members: units, say: func(c changed, values map[string]string, where string) (string, error) {
		if !c.Applied {
			return fmt.Sprintf("%s: %s units were added earlier under the name %s, and nothing changed now; %d units have been seeded in total", c.SaleID,
				values["stock"], values["seed-id"], c.Seeded), nil
		}
		return fmt.Sprintf("%s got %s more units, %d have been seeded in total; repeating `make add` with SEED_ID=%s changes nothing; `make receipt %sSALE=%s` counts them",
			c.SaleID, values["stock"], c.Seeded, values["seed-id"], where, c.SaleID), nil
	}},
	{action: "withdraw", sees: true, takes: "stock= seed-id= note= seen=", done: "WITHDRAWN", members: units, say: func(c changed, values map[string]string, where string) (string, error) {
		text := fmt.Sprintf("%s: %d of %s units were withdrawn, %d stay seeded", c.SaleID, c.Withdrawn, values["stock"], c.Seeded)
		if !c.Applied {
			text = fmt.Sprintf("%s: %d of %s units were withdrawn earlier under the name %s, and nothing changed now; %d stay seeded", c.SaleID,
				c.Withdrawn, values["stock"], values["seed-id"], c.Seeded)
		}
		if fmt.Sprint(c.Withdrawn) != values["stock"] {
			text += "; no other unit was left"
		}
		return text + fmt.Sprintf("; `make receipt %sSALE=%s` counts them", where, c.SaleID), nil
	}},
	{action: "recall", takes: "note= id= yes", done: "RECALLED", members: reason, confirm: confirmRecall, say: func(c changed, _ map[string]string, where string) (string, error) {
		if c.RecalledAt.IsZero() || !c.Paused {
			return "", errUnsaid
		}
		text := fmt.Sprintf("%s was recalled at %s: no unit is sold any more, and within minutes each order is cancelled or its payment is a refund due; ", c.SaleID, instant(c.RecalledAt))
		if !c.Applied {
			text = fmt.Sprintf("%s was recalled at %s, and nothing changed now; ", c.SaleID, instant(c.RecalledAt))
		}
		return text + fmt.Sprintf("`make refunds %sSALE=%s` lists what must be paid back", where, c.SaleID), nil
	}},
	{action: "resend", done: "RESENT", ask: resend, say: func(c changed, values map[string]string, where string) (string, error) {
		text := fmt.Sprintf("%s: %d order messages were sent again", values["sale"], c.Resent)
		if len(c.Receipts) == 0 {
			return text + ", and not every order was looked at: repeat the command for the others", nil
		}
		if text += fmt.Sprintf("; %d orders had no id", c.Receipts[0].Pending); c.Receipts[0].Pending > c.Resent {
			text += ": the command may be repeated for the others when the last message of each is 30 s old"
		}
		return text + fmt.Sprintf("; `make receipt %sSALE=%s` counts them", where, values["sale"]), nil
	}},
}

func at(t time.Time) string { return t.UTC().Format("15:04:05Z") }

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// window reads the new schedule and rewrites its instants in the format of instant.
func window(values map[string]string) (map[string]any, error) {
	members := map[string]any{}
	for flag, member := range map[string]string{"opens": "opensAt", "closes": "closesAt", "until": "until"} {
		if _, given := values[flag]; flag == "until" && !given {
			continue // only a call that a draw has made has an end of its own
		}
		t, err := time.Parse(time.RFC3339, values[flag])
		if err != nil {
			return nil, fmt.Errorf("%s=%q is not an instant; give both: OPENS=2026-11-11T12:00:00Z CLOSES=2026-11-11T14:00:00Z", strings.ToUpper(flag), values[flag])
		}
		members[member], values[flag] = instant(t), instant(t)
	}
	return members, nil
}

// description reads what is to be shown; what is given as empty is removed.
func description(values map[string]string) (map[string]any, error) {
	members := map[string]any{}
	for _, name := range []string{"name", "image", "about", "link"} {
		if value, given := values[name]; given {
			members[name] = value
		}
	}
	if len(members) == 0 {
		return nil, errors.New("nothing is given; give at least one of NAME=… IMAGE=… ABOUT=… LINK=…; an empty one is removed")
	}
	return members, nil
}

// units reads the number of units and the name by which a repeated request counts once.
func units(values map[string]string) (map[string]any, error) {
	stock, err := strconv.ParseInt(values["stock"], 10, 64)
	if err != nil || stock < 1 || strconv.FormatInt(stock, 10) != values["stock"] { // not "+5" or "05"
		return nil, fmt.Errorf("%q is not a number of units; give one such as STOCK=50", values["stock"])
	}
	values["id"] = values["seed-id"]
	return map[string]any{"stock": stock}, nil
}

// reason refuses a recall of which the operator says nothing.
func reason(values map[string]string) (map[string]any, error) {
	if values["note"] == "" {
		return nil, errors.New("say why, for the colleagues who are asked: NOTE='the soles come off'")
	}
	return nil, nil
}

// stdin is where an operator answers.
var stdin io.Reader = os.Stdin

// confirmRecall says how many orders a recall ends, as the last audit counted them, and asks once.
func confirmRecall(ctx context.Context, with client.Operator, saleID string, out io.Writer) error {
	var s listedSale
	if err := read(ctx, with, "/operate/sales/{saleId}", map[string]string{"saleId": saleID}, nil, &s); err != nil {
		return fmt.Errorf("the orders could not be counted (%w); YES=1 recalls without that", err)
	}
	orders := "orders that nobody has counted yet"
	if b := s.Books; b != nil {
		orders = fmt.Sprintf("%d orders without an id yet, %d confirmed and not paid, %d paid and %d released, as counted at %s",
			b.Pending, b.Confirmed-b.Paid-b.Released, b.Paid, b.Released, instant(b.AsOf))
	}
	fmt.Fprintf(out, "%s has %s.\nA recall is final: nothing is sold any more, every order that is not paid is released, and every payment goes back.\nRecall %s? [y/N] ",
		saleID, orders, saleID)
	answer, _ := bufio.NewReader(stdin).ReadString('\n') // no answer is no
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// resend asks ReconcileFunction.
func resend(ctx context.Context, where system.Place, saleID string) (after changed, err error) {
	err = where.Ask(ctx, client.ReconcileFunction, map[string]any{"action": "resend", "saleId": saleID}, &after)
	if refusal, ok := errors.AsType[*client.Refusal](err); ok && refusal.Code != string(sale.Busy) {
		return after, errors.New(refusal.Detail)
	}
	if err != nil {
		err = fmt.Errorf("%w; the change may still happen: repeat the command until it succeeds", err)
	}
	return after, err
}

// withSeen is what a repeat of the command carries besides its id.
func withSeen(values map[string]string) string {
	if values["seen"] == "" {
		return ""
	}
	return " SEEN=" + values["seen"]
}

// look reads the sale as it is now, shows it, and notes what has thereby been seen of it.
func look(ctx context.Context, with client.Operator, values map[string]string) error {
	var s listedSale
	if err := read(ctx, with, "/operate/sales/{saleId}", map[string]string{"saleId": values["sale"]}, nil, &s); err != nil {
		return fmt.Errorf("the sale could not be looked at: %w", err)
	}
	values["seen"] = s.Seen
	_, err := fmt.Fprintf(os.Stderr, "%s is %s, sells from %s to %s, and has %d units in all (SEEN=%s)\n", s.SaleID, s.State, instant(s.OpensAt), instant(s.ClosesAt), s.Seeded, s.Seen)
	return err
}

// command is the change as a command.
func (c change) command() command {
	needs := "sale"
	if strings.Contains(c.takes, "seed-id") {
		needs = "sale seed-id"
	}
	return command{run: c.run, takes: "sale= " + c.takes, needs: needs, example: "make " + c.action + " SALE=moutai", done: c.done}
}

// run requests the change and prints the resulting state and the change's id or, with
// errNotDone, why the change failed.
func (c change) run(ctx context.Context, p *place, values options, out io.Writer) error {
	if values.has("yes") {
		c.confirm = nil
	}
	after, err := c.request(ctx, p, values, out)
	where, line := "", ""
	if p.env != "" {
		where = "ENV=" + p.env + " "
	}
	if err == nil {
		line, err = c.say(after, values, where)
	}
	if err != nil {
		fmt.Fprintf(out, "NOT %s: %v\n", c.done, err)
		return errNotDone
	}
	fmt.Fprintln(out, line)
	if c.ask == nil && values["seed-id"] == "" {
		fmt.Fprintf(out, "this is change %s: with ID=%s%s the same command changes nothing more\n", values["id"], values["id"], withSeen(values))
	}
	return nil
}

// request asks for the change until there is an answer.
func (c change) request(ctx context.Context, p *place, values map[string]string, out io.Writer) (after changed, err error) {
	saleID := values["sale"]
	if _, given := values["id"]; !given {
		values["id"] = rand.Text()
	}
	request := map[string]any{}
	if c.members != nil {
		members, err := c.members(values)
		if err != nil {
			return after, err
		}
		maps.Copy(request, members)
	}
	request["id"], request["action"] = values["id"], c.action
	if seen, given := values["seen"]; given {
		if _, err := sale.ParseSeen(saleID, seen); err != nil {
			return after, fmt.Errorf("SEEN=%q is not what an earlier command printed for this sale", seen)
		}
	}
	if values["note"] != "" {
		by := sale.Author{Note: values["note"]}
		if err := by.Check(); err != nil {
			return after, fmt.Errorf("NOTE: %w", err)
		}
		request["note"] = by.Note
	}
	if c.ask != nil {
		where, err := p.system(ctx)
		if err != nil {
			return after, err
		}
		return c.ask(ctx, where, saleID)
	}
	with, _, err := p.operator(ctx)
	if err == nil && c.sees && values["seen"] == "" {
		err = look(ctx, with, values)
	}
	if err == nil && c.confirm != nil {
		err = c.confirm(ctx, with, saleID, out)
	}
	if err != nil {
		return after, err
	}
	if values["seen"] != "" {
		request["seen"] = values["seen"]
	}
	body, err := json.Marshal(request)
	if err != nil {
		return after, fmt.Errorf("write request: %w", err)
	}
	err = ask(ctx, with, client.OperatorRequest{
		Method: http.MethodPost, Route: "/operate/sales/{saleId}/changes", Path: map[string]string{"saleId": saleID}, Body: string(body),
	}, &after)
	switch {
	case errors.Is(err, errNoAnswer) && values["seed-id"] == "":
		err = fmt.Errorf("%w; the change may still happen: repeat the command with ID=%s%s until it succeeds", err, values["id"], withSeen(values))
	case errors.Is(err, errNoAnswer):
		err = fmt.Errorf("%w; the change may still happen: repeat the command%s until it succeeds", err, withSeen(values))
	}
	return after, err
}
