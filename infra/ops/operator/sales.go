package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// listedSale is a sale as OperateFunction shows it.
type listedSale struct {
	SaleID     string    `json:"saleId"`
	Name       string    `json:"name"`
	State      string    `json:"state"` // as on the sale's page, or DRAFT
	Paused     bool      `json:"paused"`
	OpensAt    time.Time `json:"opensAt"`
	ClosesAt   time.Time `json:"closesAt"`
	RecalledAt time.Time `json:"recalledAt"`
	RecallNote string    `json:"recallNote"`
	LimitGroup string    `json:"limitGroup"`
	Shards     int       `json:"shards"`
	PayWithin  int64     `json:"payWithin"` // seconds
	Drained    bool      `json:"drained"`
	Seeded     int64     `json:"seeded"`
	Error      string    `json:"error"` // why it could not be read
	Books      *audited  `json:"books"` // nil before its first audit
	// Of one sale only.
	Seen      string `json:"seen"`
	Remaining *struct {
		Units int64 `json:"units"`
	} `json:"remaining"`
}

// audited is the last audit of a sale that counted all of it.
type audited struct {
	AsOf       time.Time `json:"asOf"`
	Stock      int64     `json:"stock"`
	Seeded     int64     `json:"seeded"`
	Pending    int64     `json:"pending"`
	Confirmed  int64     `json:"confirmed"`
	Paid       int64     `json:"paid"`
	Unpaid     int64     `json:"unpaid"`
	Released   int64     `json:"released"`
	RefundsDue int64     `json:"refundsDue"`
	Balanced   bool      `json:"balanced"`
}

// saleList is every sale, as of an instant of the function's clock.
type saleList struct {
	AsOf    time.Time    `json:"asOf"`
	Version string       `json:"version"` // of the function's release
	Sales   []listedSale `json:"sales"`
}

// saleList asks for every sale, and returns the answer as it is, too.
func (p *place) saleList(ctx context.Context) (list saleList, answer json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	if err = p.read(ctx, "/operate/sales", nil, map[string]string{"drained": "1"}, &answer); err == nil {
		err = json.Unmarshal(answer, &list)
	}
	return list, answer, err
}

// saleNow asks for one sale.
func (p *place) saleNow(ctx context.Context, saleID string) (s listedSale, answer json.RawMessage, err error) {
	if err = p.read(ctx, "/operate/sales/{saleId}", map[string]string{"saleId": saleID}, nil, &answer); err == nil {
		err = json.Unmarshal(answer, &s)
	}
	return s, answer, err
}

// trail asks for the newest changes of a sale, the newest first.
func (p *place) trail(ctx context.Context, saleID string) ([]httpapi.Change, error) {
	var page struct {
		Changes []httpapi.Change `json:"changes"`
	}
	err := p.read(ctx, "/operate/sales/{saleId}/changes", map[string]string{"saleId": saleID}, nil, &page)
	return page.Changes, err
}

// sales tells the release, and lists every sale with its state and what its last audit counted. It fails if one cannot
// be read, and with errBroken if the books of one do not balance.
func sales(ctx context.Context, p *place, o options, out *terminal) error {
	list, answer, err := p.saleList(ctx)
	if err == nil && o["group"] != "" {
		answer, err = list.keep(o.sales(), answer)
	}
	switch {
	case err != nil:
		return err
	case out.is(cli.JSON):
		return cmp.Or(cli.WriteJSON(out, answer), list.verdict())
	case out.is(cli.CSV):
		return cmp.Or(list.sheet(out), list.verdict())
	}
	out.notef("release %s", list.Version)
	if len(list.Sales) == 0 {
		fmt.Fprintln(out, "there is no sale")
		return nil
	}
	return cmp.Or(list.print(out, p), list.verdict())
}

// keep leaves the sales of these ids in the list and in the answer that it was read from.
func (l *saleList) keep(ids []string, answer json.RawMessage) (json.RawMessage, error) {
	var page map[string]json.RawMessage
	var all, kept []json.RawMessage
	err := json.Unmarshal(answer, &page)
	if err == nil {
		err = json.Unmarshal(page["sales"], &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	for i, s := range l.Sales {
		if slices.Contains(ids, s.SaleID) {
			kept = append(kept, all[i])
		}
	}
	if page["sales"], err = json.Marshal(kept); err != nil {
		return nil, fmt.Errorf("write the list: %w", err)
	}
	l.Sales = slices.DeleteFunc(l.Sales, func(s listedSale) bool { return !slices.Contains(ids, s.SaleID) })
	return json.Marshal(page)
}

// shown is how many changes of a sale are shown.
const shown = 5

// showSale tells how one sale stands, and who changed it last.
func showSale(ctx context.Context, p *place, o options, out *terminal) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	s, answer, err := p.saleNow(ctx, o["sale"])
	switch {
	case err != nil:
		return err
	case out.is(cli.JSON):
		return cli.WriteJSON(out, answer)
	}
	made, err := p.trail(ctx, o["sale"])
	if err != nil {
		return err
	}
	line := func(name, format string, values ...any) {
		fmt.Fprintf(out, "  %-9s %s\n", name, fmt.Sprintf(format, values...))
	}
	fmt.Fprintf(out, "%s: %s\n", s.SaleID, s.Name)
	line("state", "%s", s.state())
	line("sells", "from %s to %s", instant(s.OpensAt), instant(s.ClosesAt))
	if s.LimitGroup != "" {
		line("group", "%s: one order for each buyer in all its sales", s.LimitGroup)
	}
	if s.Remaining != nil {
		line("units", "%d left of %d", s.Remaining.Units, s.Seeded)
	}
	if b := s.Books; b != nil {
		verdict := "balanced"
		if !b.Balanced {
			verdict = "NOT BALANCED"
		}
		line("books", "%s: %s", verdict, s.orders())
	}
	for i, c := range made[:min(shown, len(made))] {
		name, units, note := "", "", ""
		if i == 0 {
			name = "changes"
		}
		if c.Units != 0 {
			units = fmt.Sprintf(" %d units", c.Units)
		}
		if c.Note != "" {
			note = ": " + c.Note
		}
		line(name, "%s  %s%s by %s (%s)%s", c.At, c.Action, units, c.Actor, c.ID, note)
	}
	if more := len(made) - shown; more > 0 {
		line("", "and %d before", more)
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
	if !s.RecalledAt.IsZero() {
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
	return fmt.Sprintf("%d orders without an id yet, %d confirmed and not paid, %d paid and %d released, as counted at %s",
		b.Pending, b.Confirmed-b.Paid-b.Released, b.Paid, b.Released, instant(b.AsOf))
}

func (s listedSale) refuseRecalled() error {
	if s.RecalledAt.IsZero() {
		return nil
	}
	return sale.RefuseRecalled()
}

// verdict fails if a sale could not be read, and else with errBroken if the books of one do not balance.
func (l saleList) verdict() error {
	unread := 0
	var broken error
	for _, s := range l.Sales {
		if s.Error != "" {
			unread++
		} else if s.Books != nil && !s.Books.Balanced {
			broken = errBroken
		}
	}
	if unread > 0 {
		return fmt.Errorf("the list is not complete: %d of %d sales could not be read", unread, len(l.Sales))
	}
	return broken
}

// sheet writes a line for each sale as CSV.
func (l saleList) sheet(out *terminal) error {
	text, number := spreadsheet.Text, func(n int64) spreadsheet.Cell { return spreadsheet.Word(strconv.FormatInt(n, 10)) }
	list := out.list(nil, "sale", "name", "group", "state", "opens", "closes", "seeded", "audited", "left", "pending", "confirmed", "paid", "released", "refundsDue", "balanced", "error")
	for _, s := range l.Sales {
		books := make([]spreadsheet.Cell, 8)
		if b := s.Books; b != nil {
			books = []spreadsheet.Cell{text(timeIf(b.AsOf)), number(b.Stock), number(b.Pending), number(b.Confirmed), number(b.Paid), number(b.Released), number(b.RefundsDue),
				spreadsheet.Word(strconv.FormatBool(b.Balanced))}
		}
		if err := list.add(slices.Concat([]spreadsheet.Cell{
			text(s.SaleID), text(s.Name), text(s.LimitGroup), spreadsheet.Word(s.State), text(timeIf(s.OpensAt)), text(timeIf(s.ClosesAt)), number(s.Seeded),
		}, books, []spreadsheet.Cell{text(s.Error)}), nil); err != nil {
			return err
		}
	}
	return list.end(nil)
}

// print writes a line for each sale, for one that cannot be read the reason: first how it is now, and then
// what its last audit found, which may be older than an addition or a recall beside it.
func (l saleList) print(out io.Writer, p *place) error {
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "SALE\tSTATE\tCLOSES\tSEEDED\tLAST AUDIT\tLEFT THEN\tPENDING THEN\tBOOKS THEN")
	for _, s := range l.Sales {
		if s.Error != "" {
			fmt.Fprintf(lines, "%s\tnot read: %s\n", s.SaleID, s.Error)
			continue
		}
		then := "none yet"
		if b := s.Books; b != nil {
			verdict := "balanced"
			if !b.Balanced {
				verdict = "NOT BALANCED: " + p.flashsale("books receipt "+s.SaleID)
			}
			then = fmt.Sprintf("%s\t%d of %d\t%d\t%s%s", ago(l.AsOf.Sub(b.AsOf)), b.Stock, b.Seeded, b.Pending, verdict, b.payments())
		}
		fmt.Fprintf(lines, "%s\t%s\t%s\t%d\t%s\n", s.SaleID, s.state(), instant(s.ClosesAt), s.Seeded, then)
	}
	return lines.Flush()
}

// ago is how old an audit is, for people.
func ago(age time.Duration) string {
	switch age = max(age, 0); {
	case age < 2*time.Minute:
		return fmt.Sprintf("%d s ago", int(age.Seconds()))
	case age < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(age.Minutes()))
	}
	return fmt.Sprintf("%d h ago", int(age.Hours()))
}

// payments says how the orders of a sale that asks for payment stand; "" of any other.
func (b *audited) payments() string {
	if b.Paid+b.Unpaid+b.Released+b.RefundsDue == 0 {
		return ""
	}
	text := fmt.Sprintf("; %d paid, %d unpaid, %d released", b.Paid, b.Unpaid, b.Released)
	if b.RefundsDue > 0 {
		text += fmt.Sprintf(", %d REFUNDS DUE", b.RefundsDue)
	}
	return text
}
