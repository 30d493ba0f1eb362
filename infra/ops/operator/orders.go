package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

const orderColumns = "sale -name order user state accepted confirmed paid payment amount currency released releasedBy labels"

// recalled is the state, in lists, of an order that is not over and whose sale was recalled.
const recalled sale.ClaimState = "RECALLED"

var orderStates = []sale.ClaimState{sale.Pending, sale.Confirmed, sale.Paid, sale.Expired, sale.Cancelled, recalled}

func stateOf(s sale.Sale, c sale.Claim) sale.ClaimState {
	if s.IsRecalled() && c.ReleasedAt.IsZero() {
		return recalled
	}
	return c.State()
}

// listOrders lists the orders of sales, all or those of a state. It holds one page of claims at a time. What cannot
// be read hides nothing else, and is an error in the end.
func listOrders(ctx context.Context, p *place, o options, out *terminal) error {
	state := sale.ClaimState(strings.ToUpper(o["state"]))
	if state != "" && !slices.Contains(orderStates, state) {
		return cli.Usagef("--state is %q; it must be pending, confirmed, paid, expired, cancelled or recalled", o["state"])
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	list := out.list(orderColumns)
	show, clear := out.progress("orders")
	read, listed := int64(0), 0
	var unread error
	for _, id := range o.sales() {
		if err := book.Claims(ctx, id, func(s sale.Sale, claims []sale.Claim) error {
			for _, c := range claims {
				if state != "" && stateOf(s, c) != state {
					continue
				}
				if err := list.add(listedOrder{s.ID, s.Name, c.User, orderOf(s, c), string(s.Labels)}, orderCells(s, c)...); err != nil {
					return err
				}
				listed++
			}
			read += int64(len(claims))
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

func orderCells(s sale.Sale, c sale.Claim) []spreadsheet.Cell {
	order, confirmed, amount := "", "", spreadsheet.Cell{}
	if c.OrderID != 0 {
		order, confirmed = orderid.String(c.OrderID), httpapi.Time(orderid.Time(c.OrderID))
	}
	if c.Currency != "" {
		amount = spreadsheet.Amount(c.Amount, c.Currency)
	}
	text, word := spreadsheet.Text, spreadsheet.Word
	return []spreadsheet.Cell{
		text(s.ID), text(s.Name), text(order), text(c.User), word(string(stateOf(s, c))), text(httpapi.Time(c.AcceptedAt)), text(confirmed), text(timeIf(c.PaidAt)),
		text(c.Payment), amount, word(c.Currency), text(timeIf(c.ReleasedAt)), word(string(c.ReleasedBy)), text(string(s.Labels)),
	}
}

func timeIf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return httpapi.Time(t)
}
