package operator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"flashsale/functions/operate/wire"
	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// listedSale is a sale as OperateFunction shows it. Terms, draw and offer that it does not have are empty.
type listedSale struct {
	wire.Sale
	raw json.RawMessage // all that the function shows
}

func (s *listedSale) UnmarshalJSON(text []byte) error {
	s.raw = bytes.Clone(text)
	s.Terms = &wire.Terms{Draw: &wire.Draw{}, Offer: &wire.Offer{}}
	return json.Unmarshal(text, &s.Sale)
}

// when is an instant as OperateFunction writes it, zero if there is none.
func when(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

type saleList struct {
	AsOf    string
	Version string // of the function's release
	Sales   []listedSale
}

func (p *target) saleList(ctx context.Context) (list saleList, err error) {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	err = p.read(ctx, "/operate/sales", nil, map[string]string{"drained": "1"}, &list)
	return list, err
}

func (l saleList) of(group string) []listedSale {
	return slices.DeleteFunc(slices.Clone(l.Sales), func(s listedSale) bool { return s.LimitGroup != group })
}

func (p *target) saleNow(ctx context.Context, saleID string) (s listedSale, err error) {
	err = p.read(ctx, "/operate/sales/{saleId}", map[string]string{"saleId": saleID}, nil, &s)
	return s, err
}

type saleAndTrail struct {
	Sale    json.RawMessage  `json:"sale"`
	Changes []httpapi.Change `json:"changes"`        // the newest first
	More    bool             `json:"more,omitempty"` // there are older ones
}

// saleAndTrail asks for one sale and for its newest changes.
func (p *target) saleAndTrail(ctx context.Context, saleID string) (s listedSale, made saleAndTrail, err error) {
	if s, err = p.saleNow(ctx, saleID); err == nil {
		err = p.read(ctx, "/operate/sales/{saleId}/changes", map[string]string{"saleId": saleID}, nil, &made)
	}
	made.Sale = s.raw
	return s, made, err
}

// sales tells the release, and lists every sale as it is now, and then what its last audit found, which may be
// older than an addition or a recall beside it. It fails if one cannot be read, and with errBroken if the books of
// one do not balance.
func sales(ctx context.Context, p *target, o options, out *terminal) error {
	all, err := p.saleList(ctx)
	if err != nil {
		return err
	}
	if group, given := o["group"]; given {
		if all.Sales = all.of(group); len(all.Sales) == 0 {
			return p.noGroup(group)
		}
	}
	out.notef("%d sales, release %s", len(all.Sales), all.Version)
	list := out.list("sale -name -group state -opens closes seeded audited left pending -confirmed paid unpaid released refundsDue " +
		"books error -maxPerOrder")
	for _, s := range all.Sales {
		if err := list.add(s.raw, s.cells(when(all.AsOf))...); err != nil {
			return err
		}
	}
	return cmp.Or(list.end(nil), all.verdict(p))
}

func (s listedSale) cells(asOf time.Time) []spreadsheet.Cell {
	text := spreadsheet.Text
	state, books := spreadsheet.Word(s.State), make([]spreadsheet.Cell, 9)
	state.Plain = s.state()
	if b := s.Books; b != nil {
		verdict := "NOT BALANCED"
		if b.Balanced {
			verdict = "balanced"
		}
		audited := moment(when(b.AsOf))
		audited.Plain = max(asOf.Sub(when(b.AsOf)), 0).Truncate(time.Second).String() + " ago"
		books = []spreadsheet.Cell{
			audited, number(b.Stock), number(b.Pending), number(b.Confirmed), number(b.Paid), number(b.Unpaid), number(b.Released),
			number(b.RefundsDue), spreadsheet.Word(verdict),
		}
	}
	return slices.Concat([]spreadsheet.Cell{
		text(s.SaleID), text(s.Name), text(s.LimitGroup), state, moment(when(s.OpensAt)), moment(when(s.ClosesAt)), number(s.Seeded),
	}, books, []spreadsheet.Cell{text(string(s.Error)), number(int64(max(1, s.MaxPerOrder)))})
}

// showSale tells how one sale stands, and who changed it last.
func showSale(ctx context.Context, p *target, o options, out *terminal) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	s, made, err := p.saleAndTrail(ctx, o["sale"])
	if err != nil {
		return err
	}
	if err := cli.WriteRecord(out.command, out, made); err != nil {
		return err
	}
	if s.Books != nil && !s.Books.Balanced {
		return errBroken
	}
	return nil
}

// state is the sale's state with what else there is to it.
func (s listedSale) state() string {
	state := s.State
	if s.Drained {
		state += ", drained"
	}
	if s.RecalledAt != "" {
		if state != string(sale.PhaseRecalled) {
			state += ", recalled"
		}
		if s.RecallNote != "" {
			state += ": " + s.RecallNote
		}
	}
	return state
}

// orders says how many orders the sale has, as its last audit counted them.
func (s listedSale) orders() string {
	b := s.Books
	if b == nil {
		return "orders that nobody has counted yet"
	}
	open := b.Confirmed - b.Paid - b.Released
	if s.PayWithin > 0 {
		open = b.Unpaid // a cancelled order whose unit is kept is neither paid nor released
	}
	return fmt.Sprintf("%d orders without an id yet, %d confirmed and not paid, %d paid and %d over, as counted at %s",
		b.Pending, open, b.Paid, b.Confirmed-b.Paid-open, instant(when(b.AsOf)))
}

func (s listedSale) stands() string {
	text := fmt.Sprintf("%s is %s, sells from %s to %s, and has %d units in all",
		s.SaleID, s.State, exactly(when(s.OpensAt)), exactly(when(s.ClosesAt)), s.Seeded)
	if s.Remaining != nil {
		text += fmt.Sprintf(", of which %d are left", s.Remaining.Units)
	}
	return text
}

// verdict fails if a sale could not be read, and else with errBroken if the books of one do not balance.
func (l saleList) verdict(p *target) error {
	unread := 0
	var broken error
	for _, s := range l.Sales {
		if s.Error != "" {
			unread++
		} else if s.Books != nil && !s.Books.Balanced {
			broken = fmt.Errorf("%w: %s", errBroken, p.flashsale("books receipt "+s.SaleID))
		}
	}
	if unread > 0 {
		return fmt.Errorf("the list is not complete: %d of %d sales could not be read", unread, len(l.Sales))
	}
	return broken
}
