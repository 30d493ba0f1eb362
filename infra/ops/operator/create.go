package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/place"
	"flashsale/shared/currency"
	"flashsale/shared/sale"
)

// made is what SeedFunction answers of a creation. Applied: it was this request that created the sale.
type made struct {
	SaleID  string `json:"saleId"`
	Seeded  int64  `json:"seeded"`
	Shards  int    `json:"shards"`
	Applied bool   `json:"applied"`
}

// createVerb creates sales, and is also a command by itself.
var createVerb = verb{
	use: "create FILE", short: "Create a sale, or the sales of a group, from a file (- is stdin)", one: true,
	example: "flashsale sale create drop.yaml --dry-run\nflashsale sale create drop.yaml",
	flags:   "dry-run", forms: []string{cli.JSON}, run: create,
	again: "repeat the command: it creates those that are not there yet",
}

// create creates the sales of a file.
func create(ctx context.Context, p *place, o options, out *terminal) error {
	sales, err := readFile(o["file"], out.command.InOrStdin())
	switch {
	case err != nil:
		return err
	case o.has("dry-run"):
		return preview(ctx, p, sales, out)
	}
	where, err := p.system(ctx)
	if err != nil {
		return err
	}
	now, array := time.Now(), cli.NewArray(out)
	for _, w := range sales {
		if !now.Before(w.ClosesAt) {
			out.notef("%s is over from the start: it closes at %s", w.SaleID, instant(w.ClosesAt))
		}
	}
	err = createAll(ctx, where.Ask, sales, func(w wanted, m made) {
		switch {
		case out.is(cli.JSON):
			_ = array.Add(m)
		case m.Applied:
			fmt.Fprintf(out, "%s: %d units, from %s to %s\n", m.SaleID, m.Seeded, instant(w.OpensAt), instant(w.ClosesAt))
		default:
			fmt.Fprintf(out, "%s: was there already, with the same contents\n", m.SaleID)
		}
	})
	switch {
	case err != nil:
		return err
	case out.is(cli.JSON):
		return array.Close()
	}
	fmt.Fprintf(out, "%s; the page on which people buy: %s%s\n", summed(sales), where.API, pageOf(sales))
	return nil
}

// pageOf is the path of the page on which people buy.
func pageOf(sales []wanted) string {
	if group := sales[0].LimitGroup; group != "" {
		return "/g/" + group
	}
	return "/s/" + sales[0].SaleID
}

// readFile reads the sales of a file, "-" for stdin.
func readFile(name string, stdin io.Reader) ([]wanted, error) {
	read := func() ([]byte, error) { return os.ReadFile(name) }
	if name == "-" {
		name = "stdin"
		read = func() ([]byte, error) { return io.ReadAll(stdin) }
	}
	text, err := read()
	if err != nil {
		return nil, cli.Usagef("read the file: %w", err)
	}
	return readSales(name, text)
}

// preview shows what create would do.
func preview(ctx context.Context, p *place, sales []wanted, out *terminal) error {
	list, _, err := p.saleList(ctx)
	all := plan(sales, list.Sales, err == nil)
	if out.is(cli.JSON) {
		if err := cli.WriteJSON(out, all); err != nil {
			return err
		}
	} else {
		if err := printPlan(out, all, time.Now()); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s; nothing was created\n", summed(sales))
	}
	if err != nil {
		return fmt.Errorf("which of them exist could not be found out: %w", err)
	}
	return nil
}

// createAll creates sales in turn and passes what becomes of each to report. It stops at the first that fails; the
// same again goes on there.
func createAll(ctx context.Context, ask func(ctx context.Context, function string, request, answer any) error,
	sales []wanted, report func(wanted, made),
) error {
	for i, w := range sales {
		var m made
		err := ask(ctx, client.SeedFunction, w.request, &m)
		if err == nil {
			report(w, m)
			continue
		}
		refusal, refused := errors.AsType[*client.Refusal](err)
		refused = refused && (refusal.Code == string(sale.Conflicting) || refusal.Code == string(sale.InvalidRequest))
		if refused {
			err = errors.New(strings.TrimPrefix(refusal.Detail, refusal.Code+": "))
			if refusal.Code == string(sale.Conflicting) {
				err = fmt.Errorf("%w (--dry-run compares)", err)
			}
		}
		err = fmt.Errorf("NOT CREATED: %s: %w", w.SaleID, system.Explain(err))
		if i > 0 {
			err = fmt.Errorf("%w; what comes before it in the file is there", err)
		}
		if refused {
			return cli.Bad(err)
		}
		return fmt.Errorf("%w; it may still be created: repeat the command until it succeeds", err)
	}
	return nil
}

// summed counts sales and their units.
func summed(all []wanted) string {
	total := int64(0)
	for _, w := range all {
		total += w.Stock
	}
	return fmt.Sprintf("sales: %d, units: %d", len(all), total)
}

// planned is what would become of a wanted sale.
type planned struct {
	SaleID     string    `json:"saleId"`
	Name       string    `json:"name"`
	LimitGroup string    `json:"limitGroup,omitempty"`
	Stock      int64     `json:"stock"`
	Shards     int       `json:"shards"`
	Price      int64     `json:"price,omitempty"` // minor units
	Currency   string    `json:"currency,omitempty"`
	PayWithin  int64     `json:"payWithin,omitempty"` // seconds
	OpensAt    time.Time `json:"opensAt"`
	ClosesAt   time.Time `json:"closesAt"`
	*terms               // of a sale with a draw
	// Exists is whether a sale of that id does: no, yes, unknown, or in part, if its creation was cut off, which the
	// same creation finishes. Other are the members in which it differs, of those that the list of sales shows: it
	// was created so, or changed since.
	Exists string   `json:"exists"`
	Other  []string `json:"other,omitempty"`
}

// terms are those of a draw.
type terms struct {
	EnterFrom  time.Time `json:"enterFrom"`
	EnterUntil time.Time `json:"enterUntil"`
	KeepHours  int64     `json:"keepHours"`
}

// plan compares wanted sales with those that exist, unless that is not known.
func plan(sales []wanted, exist []listedSale, known bool) (all []planned) {
	for _, w := range sales {
		p := planned{
			SaleID: w.SaleID, Name: w.Name, LimitGroup: w.LimitGroup, Stock: w.Stock, Shards: w.Shards, Price: w.Price, Currency: w.Currency,
			PayWithin: int64(w.PayWithin / time.Second), OpensAt: w.OpensAt.UTC(), ClosesAt: w.ClosesAt.UTC(),
			Exists: "no",
		}
		if !known {
			p.Exists = "unknown"
		}
		if w.HasDraw() {
			p.terms = &terms{w.EnterFrom.UTC(), w.EnterUntil.UTC(), int64(w.KeepFor / time.Hour)}
		}
		if i := slices.IndexFunc(exist, func(l listedSale) bool { return l.SaleID == w.SaleID }); i >= 0 {
			is := exist[i]
			if p.Exists = "yes"; is.State == string(sale.Draft) {
				p.Exists = "in part"
			}
			for name, same := range map[string]bool{
				"name": is.Name == w.Name, "opensAt": is.OpensAt.Equal(w.OpensAt), "closesAt": is.ClosesAt.Equal(w.ClosesAt),
				"limitGroup": is.LimitGroup == w.LimitGroup, "stock": is.Seeded == w.Stock, "shards": is.Shards == w.Shards,
				"payWithin": is.PayWithin == p.PayWithin,
			} {
				if !same && is.Error == "" {
					p.Other = append(p.Other, name)
				}
			}
			slices.Sort(p.Other)
		}
		all = append(all, p)
	}
	return all
}

// printPlan writes a line for each sale.
func printPlan(out io.Writer, all []planned, now time.Time) error {
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "SALE\tUNITS\tSHARDS\tPRICE\tOPENS\tCLOSES\tOPENS IN\tEXISTS\tNAME")
	for _, p := range all {
		exists := p.Exists
		if len(p.Other) > 0 {
			exists += ", with another " + strings.Join(p.Other, ", ")
		}
		fmt.Fprintf(lines, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", p.SaleID, p.Stock, p.Shards, p.price(),
			instant(p.OpensAt), instant(p.ClosesAt), opensIn(p.OpensAt, p.ClosesAt, now), exists, p.Name)
	}
	if err := lines.Flush(); err != nil {
		return fmt.Errorf("write list: %w", err)
	}
	for _, p := range all {
		if p.terms != nil {
			fmt.Fprintf(out, "%s has a draw: people enter from %s to %s, and a unit is kept for %d h\n", p.SaleID,
				instant(p.EnterFrom), instant(p.EnterUntil), p.KeepHours)
		}
	}
	return nil
}

// price is what a buyer pays, and how soon.
func (p *planned) price() string {
	text, known := currency.Decimal(p.Price, p.Currency)
	if !known {
		return "-"
	}
	return fmt.Sprintf("%s %s within %s", text, p.Currency, short(time.Duration(p.PayWithin)*time.Second))
}

// opensIn says when a sale opens, as seen from now.
func opensIn(opensAt, closesAt, now time.Time) string {
	switch left := opensAt.Sub(now).Truncate(time.Minute); {
	case !now.Before(closesAt):
		return "OVER"
	case !now.Before(opensAt):
		return "open"
	case left < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", left/time.Hour, left%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%d d %d h", left/(24*time.Hour), left%(24*time.Hour)/time.Hour)
	}
}
