package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

// OperateFunction is asked by atATime requests at a time to mark perRequest refunds each.
const perRequest, atATime = 100, 4

// reported is a payment of which its operator says that it was paid back.
type reported struct {
	payment  string
	line     int         // of the file
	first    int         // the line that names the payment before; 0: none does
	refund   sale.Refund // without a payment if there is none
	back     *big.Rat    // what went back by the file; nil if it does not say
	currency string      // of that
	outcome  string      // what OperateFunction answers; "" if it is not asked
	odd      string      // an amount of the file that cannot be read
}

// mark marks refunds as done in the operator's name, each once. It moves no money: the operator refunds at the
// payment provider. Without a sale it looks for them in every sale, and among those of unknown orders.
func mark(ctx context.Context, p *place, o options, out *terminal) error {
	var all []*reported
	others := 0
	switch {
	case (o["payment"] == "") == (o["file"] == ""):
		return cli.Usagef("give the payment, such as 'stripe#pi_1', or --file with one on each line")
	case o["payment"] != "":
		all = []*reported{{payment: o["payment"]}}
	default:
		text, err := os.ReadFile(o["file"])
		if err != nil {
			return cli.Usagef("read the file: %w", err)
		}
		if isPacked(text) {
			return cli.Usagef("%s is packed, or a workbook: unpack it, or save it as CSV", o["file"])
		}
		if all, others = reportedIn(text); len(all) == 0 {
			return cli.Usagef("%s names no payment that went back; there must be one on each line, such as stripe#pi_1, or a provider's list", o["file"])
		}
	}
	if err := p.lookFor(ctx, all, o.sales()); err != nil {
		return err
	}
	var failed error
	if !o.has("dry-run") {
		failed = p.markAll(ctx, all, out)
	}
	return tell(all, others, o, p, out, failed)
}

// lookFor finds the refunds of the payments in the sales, or in all of them if the first is "". A payment may be without
// its provider if no other one has its reference.
func (p *place) lookFor(ctx context.Context, all []*reported, ids []string) error {
	book, err := p.ledger(ctx)
	if err == nil {
		ids, err = p.refundable(ctx, book, ids)
	}
	if err != nil {
		return err
	}
	found := map[string]sale.Refund{}
	for _, id := range ids {
		refunds, err := book.Refunds(ctx, id)
		if err != nil {
			return fmt.Errorf("refunds of %s: %w", cmp.Or(id, unknownOrders), err)
		}
		for _, r := range refunds {
			_, reference, _ := strings.Cut(r.Payment, "#")
			found[r.Payment] = r
			if _, several := found[reference]; several {
				r = sale.Refund{}
			}
			found[reference] = r
		}
	}
	lines := map[string]int{}
	for _, one := range all {
		one.refund = found[one.payment]
		name := cmp.Or(one.refund.Payment, one.payment)
		if one.first = lines[name]; one.first == 0 {
			lines[name] = one.line
		}
	}
	return nil
}

func (r *reported) isDue() bool {
	return r.refund.Payment != "" && r.refund.RefundedAt.IsZero() && r.first == 0 && r.part() == ""
}

// markAll has OperateFunction mark the refunds that are due.
func (p *place) markAll(ctx context.Context, all []*reported, out *terminal) error {
	bySale, todo := map[string][]*reported{}, 0
	for _, one := range all {
		if one.isDue() {
			bySale[one.refund.SaleID] = append(bySale[one.refund.SaleID], one)
			todo++
		}
	}
	if _, err := p.operator(ctx); err != nil {
		return err
	}
	show, clear := out.progress("refunds")
	defer clear()
	var group errgroup.Group
	group.SetLimit(atATime)
	var lock sync.Mutex
	done := 0
	for saleID, ofSale := range bySale {
		for some := range slices.Chunk(ofSale, perRequest) {
			group.Go(func() error {
				err := p.markSome(ctx, saleID, some)
				lock.Lock()
				defer lock.Unlock()
				done += len(some)
				show(int64(done), int64(todo))
				return err
			})
		}
	}
	return group.Wait()
}

func (p *place) markSome(ctx context.Context, saleID string, some []*reported) error {
	request := struct {
		SaleID   string   `json:"saleId,omitempty"`
		Payments []string `json:"payments"`
	}{SaleID: saleID}
	for _, one := range some {
		request.Payments = append(request.Payments, one.refund.Payment)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	var answer struct {
		Refunds []struct {
			Outcome string `json:"outcome"`
			Refund  struct {
				RefundedAt time.Time `json:"refundedAt"`
				RefundedBy string    `json:"refundedBy"`
			} `json:"refund"`
		} `json:"refunds"`
	}
	if err := p.ask(ctx, client.OperatorRequest{Method: http.MethodPost, Route: "/operate/refunds", Body: string(body)}, &answer); err != nil {
		return err
	}
	if len(answer.Refunds) != len(some) {
		return errUnsaid
	}
	for i, a := range answer.Refunds { // in the order in which it was asked
		some[i].outcome, some[i].refund.RefundedAt, some[i].refund.RefundedBy = a.Outcome, a.Refund.RefundedAt, a.Refund.RefundedBy
	}
	return nil
}

// tell says of each payment that was not due why it was not, and how many were marked.
func tell(all []*reported, others int, o options, p *place, out *terminal, failed error) error {
	isFile, counts := o["file"] != "", map[string]int{}
	for _, one := range all {
		text, kind := one.says(o.has("dry-run"))
		if counts[kind]++; !isFile {
			fmt.Fprintln(out, text)
		} else if kind != fresh && kind != open {
			fmt.Fprintf(out, "line %d: %s\n", one.line, text)
		}
	}
	if isFile {
		done := "are marked as refunded now"
		if o.has("dry-run") {
			done = "would be marked as refunded"
		}
		fmt.Fprintf(out, "of %d payments %d %s; marked before: %d, named twice: %d, unknown: %d, open: %d\n",
			len(all), counts[fresh], done, counts[before], counts[twice], counts[none], counts[open])
		if others > 0 {
			fmt.Fprintf(out, "the file has %d rows of other kinds, which mark nothing: what was paid, and refunds that failed or are not finished\n", others)
		}
	}
	switch {
	case failed != nil || counts[open] > 0:
		return fmt.Errorf("not all are marked: %w; repeat the command: it marks a refund once", cmp.Or(failed, errNoAnswer))
	case counts[part] > 0:
		return cli.Bad(fmt.Errorf("NOT MARKED: %d of them, of which the file pays back a part or in another currency; pay back the rest, and mark them by name", counts[part]))
	case counts[none] > 0:
		return cli.Bad(fmt.Errorf("NOT MARKED: %d of them, without a refund; %s lists those that are due, each with its sale",
			counts[none], p.flashsale("refund list")))
	}
	return nil
}

// kinds of what is said of a payment.
const fresh, before, twice, none, part, open = "fresh", "before", "twice", "none", "part", "open"

// says is what is told of a payment, and what kind of news that is.
func (r *reported) says(dryRun bool) (text, kind string) {
	what := cmp.Or(r.refund.Payment, r.payment) + ", " + money(r.refund.Amount, r.refund.Currency) + ", "
	since := instant(r.refund.RefundedAt)
	if r.refund.RefundedBy != "" {
		since += " by " + r.refund.RefundedBy
	}
	switch {
	case r.first > 0:
		return fmt.Sprintf("%s is in line %d, too", r.payment, r.first), twice
	case r.refund.Payment == "" || r.outcome == "unknown":
		return "no refund of " + r.payment + " is due", none
	case r.part() != "" && r.refund.RefundedAt.IsZero():
		return what + "is not marked: the file pays " + r.part() + " of it back", part
	case dryRun && r.isDue():
		return what + "would be marked as refunded; nothing was changed", fresh
	case r.outcome == "marked":
		return what + "is marked as refunded at " + since, fresh
	case !r.refund.RefundedAt.IsZero():
		return what + "was marked as refunded at " + since + ", and nothing changed now: do not pay it back again", before
	}
	return what + "is not marked: ask again", open
}
