package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"flashsale/functions/operate/wire"
	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// showOrder tells what happened to an order and what support may tell the buyer: to the order of that id, or to
// those of a buyer in the sales that are meant.
func showOrder(ctx context.Context, p *target, o options, out *terminal) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	_, inGroup := o["group"]
	var answer json.RawMessage
	var err error
	switch bySale := o["sale"] != "" || inGroup; {
	case o["order"] != "" && (bySale || o["buyer"] != ""), o["order"] == "" && !(bySale && o["buyer"] != ""):
		return cli.Usagef("give the id of the order, or --buyer with --sale or --group")
	case o["order"] != "":
		answer, err = p.order(ctx, o["order"])
	default:
		err = p.read(ctx, "/operate/sales/{saleId}/buyers/{user}", map[string]string{"saleId": o["sale"], "user": o["buyer"]}, nil, &answer)
	}
	if err != nil {
		return err
	}
	if out.is(cli.JSON) {
		return cli.WriteJSON(out, answer)
	}
	told, err := readStory(answer)
	if err != nil {
		return err
	}
	if o["order"] != "" || inGroup {
		fmt.Fprintf(out, "%s in sale %s\n", told.field("user"), told.field("saleId"))
	}
	told.print(out, func() string { return p.whyPending(ctx, told.field("saleId")) })
	return nil
}

func (p *target) order(ctx context.Context, given string) (story json.RawMessage, err error) {
	id, err := orderid.Parse(given)
	if err != nil {
		return nil, cli.Usagef("%q is not an order id; %s lists them", given, p.flashsale("order list --sale moutai"))
	}
	err = p.read(ctx, "/operate/orders/{orderId}", map[string]string{"orderId": orderid.String(id)}, nil, &story)
	if no, refused := errors.AsType[refusal](err); refused && no.code == sale.OrderNotFound {
		err = noSuch("there is no order %s", given)
	}
	return story, err
}

// whyPending says where the claim's message is, as far as the queue shows.
func (p *target) whyPending(ctx context.Context, saleID string) string {
	repair := "reconcile sends its message again, " + p.flashsale("order resend --sale "+saleID) + " at once"
	var health wire.Health
	if p.read(ctx, "/operate/health", nil, nil, &health) != nil {
		return repair
	}
	for _, s := range health.Signs {
		if s.Sign == wire.SignWaiting && s.Count != nil {
			repair = fmt.Sprintf("the order queue has %d messages waiting or being processed; %s", *s.Count, repair)
		}
	}
	return repair
}

// resend has ReconcileFunction send the messages of orders without an id again.
func resend(ctx context.Context, p *target, o options, out *terminal) error {
	if o.has("dry-run") {
		s, err := p.saleNow(ctx, o["sale"])
		if err == nil {
			_, err = fmt.Fprintf(out, "%s has %s; the messages of those without an id would be sent again; nothing was sent\n", s.SaleID, s.orders())
		}
		return err
	}
	answer := wire.Repaired{Reconciled: &wire.Reconciled{}}
	if err := p.post(ctx, "/operate/repairs", "", wire.Repair{Action: wire.Resend, SaleID: o["sale"]}, &answer); err != nil {
		if _, refused := errors.AsType[refusal](err); refused {
			return fmt.Errorf("NOT RESENT: %w", err)
		}
		return fmt.Errorf("%w; messages may have been sent: repeat the command until it succeeds", err)
	}
	if out.is(cli.JSON) {
		return cli.WriteJSON(out, answer)
	}
	text := fmt.Sprintf("%s: %d order messages were sent again; %d orders had no id", o["sale"], answer.Resent, answer.Pending)
	if !answer.Done {
		text = o["sale"] + ": messages are being sent again, and not every order was looked at yet: repeat the command for the others"
	} else if answer.Pending > answer.Resent {
		text += ": the command may be repeated for the others when the last message of each is 30 s old"
	}
	_, err := fmt.Fprintf(out, "%s; %s counts them\n", text, p.flashsale("books receipt "+o["sale"]))
	return err
}

const orderColumns = "sale -name order user state accepted confirmed paid payment amount currency released releasedBy labels refunded back money units"

// recalled is the state, in lists, of an order that is not over and whose sale was recalled.
const recalled sale.ClaimState = "RECALLED"

var orderStates = []sale.ClaimState{sale.Pending, sale.Confirmed, sale.Paid, sale.Expired, sale.Cancelled, recalled}

func stateOf(s sale.Sale, c sale.Claim) sale.ClaimState {
	if s.IsRecalled() && c.ReleasedAt.IsZero() && c.CancelledAt.IsZero() {
		return recalled
	}
	return c.State()
}

// listOrders lists the orders of sales, all or those of a state. It holds one page of claims at a time. What cannot
// be read hides nothing else, and is an error in the end.
func listOrders(ctx context.Context, p *target, o options, out *terminal) error {
	state := sale.ClaimState(strings.ToUpper(o["state"]))
	if state != "" && !slices.Contains(orderStates, state) {
		return cli.Usagef("--state is %q; it must be pending, confirmed, paid, expired, cancelled or recalled", o["state"])
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	list, isJSON := out.list(orderColumns), out.is(cli.JSON)
	show, clear := out.progress("orders")
	read, listed := int64(0), 0
	var unread error
	for _, id := range o.sales() {
		if err := book.Claims(ctx, id, func(s sale.Sale, claims []sale.Claim) error {
			read += int64(len(claims))
			claims = slices.DeleteFunc(claims, func(c sale.Claim) bool { return state != "" && stateOf(s, c) != state })
			money, err := book.MoneyOf(ctx, claims)
			if money == nil {
				return err
			}
			unread = errors.Join(unread, err)
			for i, c := range claims {
				var value any // its instants take as long as all the rest
				if isJSON {
					value = listedOrder{s.ID, s.Name, c.User, orderOf(s, c, money[i]), string(s.Labels)}
				}
				if err := list.add(value, orderCells(s, c, money[i])...); err != nil {
					return err
				}
			}
			listed += len(claims)
			show(read, -1)
			return nil
		}); err != nil {
			unread = errors.Join(unread, fmt.Errorf("sale %s: %w", id, err))
		}
	}
	clear()
	if err := list.end(unread); err != nil {
		return err
	}
	out.notef("%d orders", listed)
	return nil
}

type listedOrder struct {
	SaleID string `json:"saleId"`
	Name   string `json:"name"`
	User   string `json:"user"`
	orderJSON
	Labels string `json:"labels,omitempty"`
}

func orderCells(s sale.Sale, c sale.Claim, m sale.Money) []spreadsheet.Cell {
	order, confirmed, amount, back, is := "", "", spreadsheet.Cell{}, spreadsheet.Cell{}, ""
	if c.OrderID != 0 {
		order, confirmed = orderid.String(c.OrderID), httpapi.Time(orderid.Time(c.OrderID))
	}
	if c.Currency != "" {
		amount = spreadsheet.Amount(c.Amount, c.Currency)
	}
	if m.State != sale.MoneyNone {
		is = string(m.State)
		if m.Currency != "" {
			back = spreadsheet.Amount(m.Back, m.Currency)
		}
	}
	text, word := spreadsheet.Text, spreadsheet.Word
	return []spreadsheet.Cell{
		text(s.ID), text(s.Name), text(order), text(c.User), word(string(stateOf(s, c))), text(httpapi.Time(c.AcceptedAt)), text(confirmed), text(timeIf(c.PaidAt)),
		text(c.Payment), amount, word(c.Currency), text(timeIf(c.ReleasedAt)), word(string(c.ReleasedBy)), text(string(s.Labels)), text(timeIf(m.At)),
		back, word(is), number(c.UnitCount()),
	}
}

func timeIf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return httpapi.Time(t)
}
