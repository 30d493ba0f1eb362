package operator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flashsale/functions/operate/wire"
	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

const sendsNone = "this stack sends no refunds: it was deployed without RefundKeysArn"

// pressing is what a press would send, and what not.
type pressing struct {
	press wire.Send
	due   map[string][]*wire.Row // by provider
	not   map[string][]*wire.Row // by why
	done  *wire.Refund           // of the payment that was asked for
}

// sendRefunds has the stack give back what is due and can be sent, after showing it.
func sendRefunds(ctx context.Context, p *target, o options, out *terminal) error {
	by := sale.Author{Note: o["note"]}
	if err := by.Check(); err != nil {
		return cli.Usagef("--note: %w", err)
	}
	s, err := p.readDue(ctx, o)
	if err != nil {
		return fmt.Errorf("nothing is sent: %w", err)
	}
	whole := s.tell(out)
	switch _, named := o["payment"]; {
	case named && s.done != nil:
		return cli.Bad(fmt.Errorf("NOT SENT: %s is back since %s", s.done.Payment, instant(when(s.done.RefundedAt))))
	case named && s.press.Count == 0 && len(s.not) == 0:
		return noSuch("NOT SENT: there is no refund of %s", o["payment"])
	case named && s.press.Count == 0:
		return cli.Bad(fmt.Errorf("NOT SENT: %s", strings.Join(slices.Sorted(maps.Keys(s.not)), ", ")))
	case s.press.Count == 0:
		_, err := fmt.Fprintln(out, "nothing is due that the stack can send; of a sale that was just recalled, ask again in a minute")
		return err
	}
	var begun wire.Sendings
	switch err := p.read(ctx, "/operate/sendings", nil, nil, &begun); {
	case err != nil:
		return fmt.Errorf("nothing is sent: %w", err)
	case !begun.Sends:
		return cli.Bad(errors.New("NOT SENT: " + sendsNone))
	case o.has("dry-run"):
		_, err := fmt.Fprintf(out, "%s would be given back; nothing was sent\n", whole)
		return err
	}
	const what = "Give back %s? The stack asks their providers for it, and what they have accepted cannot be called back."
	if err := out.ask(fmt.Sprintf(what, whole)); err != nil {
		return err
	}
	var answer wire.Begun
	if err := p.post(ctx, "/operate/sendings", "", s.press, &answer); err != nil {
		if isAnswer(err) {
			return fmt.Errorf("NOT SENT: %w", err)
		}
		return fmt.Errorf("%w; it may have begun: %s lists it then, and a new press sends nothing twice", err, p.flashsale("refund sendings"))
	}
	id := answer.Sending.ID
	if !strings.HasSuffix(id, "#"+s.press.ID) {
		return errUnsaid
	}
	_, err = fmt.Fprintf(out, "sending %s has begun: %s; %s says how far it has come, %s stops it\n", id, whole, p.flashsale("refund sendings"), p.flashsale("refund stop", id))
	return err
}

// readDue reads what is due of the sales that are meant, or of one payment. The press is of what was due when the first
// answer was read. What cannot be read might be part of it, so that there is none without it.
func (p *target) readDue(ctx context.Context, o options) (*pressing, error) {
	if o["group"] != "" {
		members, err := p.members(ctx, true, o["group"])
		if err != nil {
			return nil, err
		}
		o["sales"] = strings.Join(members, " ")
	}
	s := &pressing{due: map[string][]*wire.Row{}, not: map[string][]*wire.Row{}}
	s.press = wire.Send{ID: rand.Text(), Sums: map[string]int64{}, Note: o["note"], SaleID: o["sale"], Group: o["group"]}
	var found []wire.Refund
	payment, named := o["payment"]
	unread, err := p.eachRefund(ctx, o, func(page *wire.Refunds, r wire.Refund) error {
		if s.press.AsOf == "" || page.AsOf < s.press.AsOf {
			s.press.AsOf = page.AsOf
		}
		if _, reference, _ := strings.Cut(r.Payment, "#"); !named || payment == r.Payment || payment == reference {
			found = append(found, r)
		}
		return nil
	})
	if err == nil {
		err = unread
	}
	if named && len(found) > 1 {
		err = cli.Usagef("%s names several payments: give it with its provider, such as %s", payment, found[0].Payment)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		switch why := unsendable(&r, s.press.AsOf); {
		case r.RefundedAt != "" && named:
			s.done = &r
		case r.RefundedAt != "":
		case why != "":
			s.not[why] = append(s.not[why], &wire.Row{Refund: &r})
		default:
			provider := sale.ProviderOf(r.Payment)
			s.due[provider] = append(s.due[provider], &wire.Row{Refund: &r})
			s.press.Count++
			s.press.Sums[r.Currency] += r.Amount
			if named {
				s.press.SaleID, s.press.Group = "", ""
				s.press.Payments = []sale.SalePayment{{SaleID: r.SaleID, Payment: r.Payment}}
			}
		}
	}
	return s, nil
}

// unsendable is why a refund that is not back is not sent, "" if it is. What is unknown or was refused is.
func unsendable(r *wire.Refund, asOf string) string {
	rule, known := sale.SendingRuleOf(r.Payment)
	isUnknown := r.Sent != nil && r.Sent.State == sale.SentUnknown
	switch {
	case r.State == sale.MoneyDisputed:
		return "held back by a dispute"
	case r.State == sale.MoneyLost:
		return "given back by a dispute that was lost"
	case !known:
		return "the stack cannot ask " + sale.ProviderOf(r.Payment) + " for it"
	case r.Sent != nil && r.Sent.State == sale.SentAccepted:
		return "accepted by " + sale.ProviderOf(r.Payment) + ", which sends it"
	case r.Amount == 0, r.Currency == "XXX":
		return "of an unknown amount"
	case r.State == sale.MoneyStuck:
		return "the provider waits for the merchant"
	case r.Back > 0:
		return "a part of it is back: give the rest back at the provider"
	case isUnknown && !rule.CanAsk && when(asOf).Sub(when(r.Sent.At)) >= rule.Life:
		return "unknown for too long: look at the provider, then mark or unmark it"
	case r.At > asOf:
		return "due only since the list was read"
	}
	return ""
}

// tell says what would be sent to each provider, and what not, and why. It returns the whole.
func (s *pressing) tell(out *terminal) (whole string) {
	var all []*wire.Row
	for _, provider := range slices.Sorted(maps.Keys(s.due)) {
		all = append(all, s.due[provider]...)
		fmt.Fprintf(out, "%s: %s\n", provider, payments(s.due[provider]))
	}
	for _, why := range slices.Sorted(maps.Keys(s.not)) {
		fmt.Fprintf(out, "not sent: %s: %s\n", payments(s.not[why]), why)
	}
	return payments(all)
}

func payments(some []*wire.Row) string { return fmt.Sprintf("%d payments, %s", len(some), total(some)) }

// listSendings lists the presses of the last weeks, and how far each has come.
func listSendings(ctx context.Context, p *target, _ options, out *terminal) error {
	var page wire.Sendings
	if err := p.read(ctx, "/operate/sendings", nil, nil, &page); err != nil {
		return err
	}
	list := out.list("sending at by scope count sum taken left state halted")
	text, open := spreadsheet.Text, 0
	for _, s := range page.Sendings {
		state := "going on"
		switch {
		case s.StoppedAt != "":
			state = "stopped " + instant(when(s.StoppedAt)) + " by " + s.StoppedBy
		case s.EndedAt != "":
			state = "ended " + instant(when(s.EndedAt))
		default:
			if open++; s.NextAt > page.AsOf {
				state += ", next at " + instant(when(s.NextAt))
			}
		}
		scope := "all"
		switch {
		case s.SaleID != "":
			scope = s.SaleID
		case s.Group != "":
			scope = "group " + s.Group
		case len(s.Payments) == 1:
			scope = s.Payments[0].Payment
		case len(s.Payments) > 1:
			scope = fmt.Sprint(len(s.Payments), " payments")
		}
		var sums, halted []string
		for _, code := range slices.Sorted(maps.Keys(s.Sums)) {
			sums = append(sums, money(s.Sums[code], code))
		}
		for _, provider := range slices.Sorted(maps.Keys(s.Halted)) {
			why := s.Halted[provider]
			halted = append(halted, strings.TrimSpace(provider+": "+why.Code+" "+why.Words))
		}
		if err := list.add(s, text(s.ID), text(instant(when(s.At))), text(s.Actor), text(scope), number(s.Count), text(strings.Join(sums, " + ")),
			number(s.Taken), number(s.Left), text(state), text(strings.Join(halted, "; "))); err != nil {
			return err
		}
	}
	var unread error
	if page.Unreadable {
		unread = sale.Refuse(sale.NewerVersion, "some sendings cannot be read by this version")
	}
	if err := list.end(unread); err != nil {
		return err
	}
	out.notef("%d sendings, %d going on", len(page.Sendings), open)
	if !page.Sends {
		out.notef(sendsNone)
	}
	return nil
}

// stopSending stops a press. It does not ask: what was not sent stays due.
func stopSending(ctx context.Context, p *target, o options, out *terminal) error {
	if !sale.ValidSendingID(o["sending"]) {
		return cli.Usagef("%q is not the id of a sending; %s lists them", o["sending"], p.flashsale("refund sendings"))
	}
	var answer wire.Begun
	err := p.post(ctx, "/operate/sendings/stop", "", wire.StopSending{ID: o["sending"]}, &answer)
	s := answer.Sending
	switch {
	case err != nil:
		return fmt.Errorf("not stopped: %w", err)
	case s.ID != o["sending"]:
		return errUnsaid
	case s.StoppedAt == "":
		_, err = fmt.Fprintf(out, "sending %s had ended at %s\n", s.ID, instant(when(s.EndedAt)))
	default:
		_, err = fmt.Fprintf(out, "sending %s was stopped at %s by %s: %d of %d were taken before; what their providers have accepted goes on, and what is unknown waits for the next press\n", s.ID, instant(when(s.StoppedAt)), s.StoppedBy, s.Taken, s.Count)
	}
	return err
}

// sentCell is what became of a refund that was sent.
func sentCell(t *wire.SentRefund) spreadsheet.Cell {
	if t == nil {
		return spreadsheet.Cell{}
	}
	return spreadsheet.Text(strings.Join(strings.Fields(string(t.State)+" "+t.Code+" "+t.Words), " "))
}
