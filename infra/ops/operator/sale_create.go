package operator

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/target"
	requests "flashsale/shared/change"
	"flashsale/shared/currency"
	"flashsale/shared/sale"
)

// createVerb creates sales, and is also a command by itself.
var createVerb = verb{
	use: "create FILE", short: "Create a sale, or the sales of a group, from a file (- is stdin)", one: true,
	example: "flashsale sale create drop.yaml --dry-run\nflashsale sale create drop.yaml",
	flags:   "dry-run", forms: []string{cli.JSON}, run: create,
	again: "repeat the command: it creates those that are not there yet",
}

// maxFile is the longest file of create, in bytes: a group's sales have less.
const maxFile = 1 << 20

func create(ctx context.Context, p *target, o options, out *terminal) error {
	text, err := cli.ReadFile(out.command, o["file"], maxFile)
	if err != nil {
		return err
	}
	name := o["file"]
	if name == "-" {
		name = "stdin"
	}
	sales, err := readSales(name, text)
	if err != nil {
		return err
	}
	for _, w := range sales {
		if !time.Now().Before(w.ClosesAt) {
			out.notef("%s is over from the start: it closes at %s", w.SaleID, instant(w.ClosesAt))
		}
	}
	if o.has("dry-run") {
		return preview(ctx, p, sales, out)
	}
	where, err := p.system(ctx)
	if err != nil {
		return err
	}
	var all *list
	if out.is(cli.JSON) {
		all = out.list("")
	}
	err = p.createAll(ctx, sales, func(w wanted, m requests.Answer) {
		switch {
		case out.is(cli.JSON):
			m.ChangeID = ""
			_ = all.add(m) // end has its error
		case m.Applied:
			fmt.Fprintf(out, "%s: %d units, from %s to %s\n", m.SaleID, m.Seeded, instant(w.OpensAt), instant(w.ClosesAt))
		default:
			fmt.Fprintf(out, "%s: was there already, with the same contents\n", m.SaleID)
		}
	})
	if out.is(cli.JSON) {
		return cmp.Or(err, all.end(err))
	}
	if err != nil {
		return err
	}
	page := "/s/" + sales[0].SaleID
	if group := sales[0].LimitGroup; group != "" {
		page = "/g/" + group
	}
	fmt.Fprintf(out, "%s; the page on which people buy: %s%s\n", summed(sales), where.API, page)
	return nil
}

func preview(ctx context.Context, p *target, sales []wanted, out *terminal) error {
	now, text := time.Now(), spreadsheet.Text
	var refused, unknown error
	exist, failure := p.saleList(ctx)
	list := out.list("sale units shards price opens closes in exists name")
	for _, w := range sales {
		exists := "unknown"
		if failure == nil {
			exists = w.among(exist.Sales)
		}
		if exists != "unknown" && exists != "no" {
			book, err := p.ledger(ctx)
			if err == nil {
				err = book.CompareCreation(ctx, w.Creation)
			}
			if other, _ := errors.AsType[*sale.Error](err); sale.CodeOf(err) == sale.Conflicting && refused == nil {
				refused = cli.Bad(fmt.Errorf("NOT CREATED: %s: %s (%s prints what is there)", w.SaleID, other.Detail, p.flashsale("sale export "+w.SaleID)))
			} else if err != nil && sale.CodeOf(err) != sale.Conflicting {
				unknown = fmt.Errorf("whether %s was created so could not be found out: %w", w.SaleID, err)
			}
		}
		price, known := currency.Decimal(w.Price, w.Currency)
		if price += " " + w.Currency + " within " + short(w.PayWithin); !known {
			price = ""
		}
		value := maps.Clone(w.request)
		value["shards"], value["exists"] = w.Shards, exists
		if err := list.add(value, text(w.SaleID), number(w.Stock), number(int64(w.Shards)), text(price),
			text(instant(w.OpensAt)), text(instant(w.ClosesAt)), text(short(max(0, w.OpensAt.Sub(now).Truncate(time.Minute)))), text(exists), text(w.Name)); err != nil {
			return err
		}
	}
	if err := list.end(nil); err != nil {
		return err
	}
	for _, w := range sales {
		if w.HasDraw() {
			out.notef("%s has a draw: people enter from %s to %s, and a unit is kept for %v",
				w.SaleID, instant(w.EnterFrom), instant(w.EnterUntil), w.KeepFor)
		}
		if w.MaxPerOrder > 0 {
			out.notef("%s: an order may have up to %d units", w.SaleID, w.MaxPerOrder)
		}
		if w.LateFor > 0 {
			out.notef("%s: an order that is not paid in time stays for %d days more, while units are left", w.SaleID, w.LateFor/day)
		}
	}
	out.notef("%s; nothing was created", summed(sales))
	if failure != nil {
		return fmt.Errorf("which of them exist could not be found out: %w", failure)
	}
	if group := sales[0].LimitGroup; group != "" && refused == nil {
		of := exist.of(group)
		for _, w := range sales {
			if w.among(of) == "no" {
				of = append(of, listedSale{})
			}
		}
		if len(of) > sale.MaxGroup {
			refused = cli.Bad(fmt.Errorf("NOT CREATED: the group %s would have %d sales, and cannot have more than %d", group, len(of), sale.MaxGroup))
		}
	}
	return cmp.Or(refused, unknown)
}

// among says whether the sale is among those that exist: in part, if its creation was cut off, which the same
// creation finishes. One that is there may differ, in what the list of sales shows: it was created so, or changed since.
func (w wanted) among(exist []listedSale) string {
	i := slices.IndexFunc(exist, func(l listedSale) bool { return l.SaleID == w.SaleID })
	if i < 0 {
		return "no"
	}
	is, text := exist[i], "yes"
	if is.State == string(sale.Draft) {
		text = "in part"
	}
	var other []string
	for name, same := range map[string]bool{
		"name": is.Name == w.Name, "opensAt": exactly(when(is.OpensAt)) == exactly(w.OpensAt), "closesAt": exactly(when(is.ClosesAt)) == exactly(w.ClosesAt),
		"limitGroup": is.LimitGroup == w.LimitGroup, "stock": is.Seeded == w.Stock, "shards": is.Shards == w.Shards,
		"maxPerOrder": is.MaxPerOrder == w.MaxPerOrder,
		"payWithin":   is.PayWithin == int64(w.PayWithin/time.Second), "lateDays": is.LateDays == int64(w.LateFor/day),
		"price": is.Price == w.Price, "currency": is.Currency == w.Currency, "extras": (is.Extras != "") == w.Extras,
	} {
		if !same && is.Error == "" {
			other = append(other, name)
		}
	}
	if slices.Sort(other); len(other) > 0 {
		text += ", with another " + strings.Join(other, ", ")
	}
	return text
}

// createAll creates sales in turn and passes what becomes of each to report. It stops at the first that fails; the
// same again goes on there.
func (p *target) createAll(ctx context.Context, sales []wanted, report func(wanted, requests.Answer)) error {
	for i, w := range sales {
		var m requests.Answer
		w.request["id"] = "create-" + rand.Text()
		err := p.post(ctx, "/operate/sales", "", w.request, &m)
		if err == nil {
			report(w, m)
			continue
		}
		refused, isRefusal := errors.AsType[refusal](err)
		if isRefusal && refused.code == sale.Conflicting {
			err = fmt.Errorf("%w (--dry-run compares; %s prints what is there)", err, p.flashsale("sale export "+w.SaleID))
		}
		err = fmt.Errorf("NOT CREATED: %s: %w", w.SaleID, system.Explain(err))
		if i > 0 {
			err = fmt.Errorf("%w; what comes before it in the file is there", err)
		}
		if isRefusal {
			return err
		}
		return fmt.Errorf("%w; it may still be created: repeat the command until it succeeds", err)
	}
	return nil
}

func summed(all []wanted) string {
	total := int64(0)
	for _, w := range all {
		total += w.Stock
	}
	return fmt.Sprintf("sales: %d, units: %d", len(all), total)
}
