package operator

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"flashsale/functions/operate/refundlist"
	"flashsale/functions/operate/wire"
	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

const unknownOrders = "(no such order)"

// listRefunds lists the refunds of sales, the done ones, too, and what it has found before an error. It asks for every
// sale that was ever listed: this is the list by which money goes back.
func listRefunds(ctx context.Context, p *target, o options, out *terminal) error {
	if o["for"] != "" {
		return writeBulkRefund(ctx, p, o, out)
	}
	list := out.list("sale payment amount currency order reason since refunded back money sent")
	text, word := spreadsheet.Text, spreadsheet.Word
	due, done, held, sent := 0, 0, 0, 0
	unread, err := p.eachRefund(ctx, o, func(page *wire.Refunds, r wire.Refund) error {
		refunded, back := spreadsheet.Cell{Plain: "DUE"}, spreadsheet.Cell{}
		if r.State != "" {
			back = spreadsheet.Amount(r.Back, r.Currency)
		}
		switch {
		case r.RefundedAt != "":
			refunded = text(instant(when(r.RefundedAt)))
			done++
		case r.State == sale.MoneyDisputed, r.State == sale.MoneyLost:
			refunded = word("HELD BACK")
			held++
		case r.Sent != nil && r.Sent.State != sale.SentRefused: // whoever pays it back by hand may pay twice
			refunded = word("SENT")
			sent++
		default:
			due++
		}
		return list.add(r, text(cmp.Or(page.SaleID, unknownOrders)), text(r.Payment), spreadsheet.Amount(r.Amount, r.Currency), word(r.Currency), text(r.OrderID),
			word(string(r.Reason)), text(instant(when(r.At))), refunded, back, word(string(r.State)), sentCell(r.Sent))
	})
	if err != nil {
		return err
	}
	if err := list.end(unread); err != nil {
		return err
	}
	sums := fmt.Sprintf("%d refunds due, %d done", due, done)
	for _, more := range []struct {
		n    int
		text string
	}{{held, "held back by a dispute"}, {sent, "sent by the stack"}} {
		if more.n > 0 {
			sums += fmt.Sprintf(", %d %s", more.n, more.text)
		}
	}
	out.notef("%s", sums)
	return nil
}

// eachRefund calls each with the refunds of the sales that are meant, and the answer that has them. unread is why it has not
// seen all.
func (p *target) eachRefund(ctx context.Context, o options, each func(page *wire.Refunds, r wire.Refund) error) (unread, err error) {
	ids := o.sales()
	if ids[0] == "" {
		all, err := p.saleList(ctx)
		if err != nil {
			return nil, err
		}
		ids = nil
		for _, s := range all.Sales {
			ids = append(ids, s.SaleID)
		}
		ids = append(ids, "") // the payments of unknown orders
	}
	for _, id := range ids {
		page := wire.Refunds{Next: "first"}
		for after := ""; page.Next != ""; after = page.Next {
			page = wire.Refunds{}
			err := p.read(ctx, "/operate/refunds", nil, map[string]string{"saleId": id, "after": after}, &page)
			if err == nil && page.Unreadable > 0 {
				err = sale.Refusef(sale.NewerVersion, "%d cannot be read by this version", page.Unreadable)
			}
			if _, none := errors.AsType[refusal](err); none && id == o["sale"] {
				return nil, err // that nothing is due of it would be no answer
			}
			if err != nil { // it does not hide those of the others
				unread = errors.Join(unread, fmt.Errorf("refunds of %s: %w", cmp.Or(id, unknownOrders), err))
			}
			for _, r := range page.Refunds {
				if err := each(&page, r); err != nil {
					return nil, err
				}
			}
		}
	}
	return unread, nil
}

// money is an amount as the lists have it.
func money(amount int64, currency string) string {
	return spreadsheet.Amount(amount, currency).Plain + " " + currency
}

// markAtOnce is how many requests to mark are under way at a time.
const markAtOnce = 4

// mark marks refunds as done in the operator's name, each once. It moves no money: the operator refunds at the
// payment provider. Without a sale it looks for them in every sale, and among those of unknown orders.
func mark(ctx context.Context, p *target, o options, out *terminal) error {
	text, err := listOf(o["payment"]), error(nil)
	switch {
	case (o["payment"] == "") == (o["file"] == ""):
		return cli.Usagef("give the payment, such as 'stripe#pi_1', or --file with one on each line")
	case o["file"] == "-":
		text, err = io.ReadAll(out.command.InOrStdin())
	case o["file"] != "":
		text, err = os.ReadFile(o["file"])
	}
	if err != nil {
		return cli.Usagef("read the file: %w", err)
	}
	m := &marking{o: o, p: p, out: out, counts: map[string]int{}}
	if err := m.readList(ctx, text); err != nil {
		return err
	}
	var due []*wire.Row
	for _, one := range m.rows {
		if one.Outcome == refundlist.Due {
			due = append(due, one)
		} else {
			m.tell(one)
		}
	}
	var failed error
	if !o.has("dry-run") {
		if o["file"] != "" && len(due) > 0 {
			if err := out.ask(fmt.Sprintf("Mark %d as refunded, %s? A mark moves no money.", len(due), total(due))); err != nil {
				return err
			}
		}
		failed = m.markAll(ctx, due)
	}
	for _, one := range due {
		m.tell(one)
	}
	return m.sum(failed)
}

// listOf is a list of one payment: under a title a payment is one, whatever it is called.
func listOf(payment string) []byte {
	return []byte("payment\n\"" + strings.ReplaceAll(payment, `"`, `""`) + "\"\n")
}

// unmark takes the mark of a refund back that an operator has made wrongly: it is due again. So is one that was sent, of
// which the operator has seen at a provider that cannot be asked that nothing came of it. It moves no money.
func unmark(ctx context.Context, p *target, o options, out *terminal) error {
	if o["payment"] == "" || o["note"] == "" {
		return cli.Usagef("give the payment, such as 'stripe#pi_1', and why its mark is wrong, in --note")
	}
	m := &marking{o: o, p: p, out: out}
	if err := m.readList(ctx, listOf(o["payment"])); err != nil {
		return err
	}
	one := m.rows[0]
	if one.Outcome == refundlist.Unknown {
		return noSuch("NOT UNMARKED: there is no refund of %s", o["payment"])
	}
	what := one.Refund.Payment + ", " + money(one.Refund.Amount, one.Refund.Currency) + ", "
	was := "is marked as refunded by " + cmp.Or(one.Refund.RefundedBy, "its provider") + ". Take the mark back"
	isUnknown := one.Outcome == refundlist.Due && one.Refund.Sent != nil && one.Refund.Sent.State == sale.SentUnknown
	if isUnknown {
		was = "was sent, and what became of it is unknown. Does its provider show that nothing came of it, and take the request back"
	}
	switch {
	case one.Outcome != refundlist.Already && !isUnknown:
		_, err := fmt.Fprintln(out, what+"is not marked, and nothing was changed")
		return err
	case o.has("dry-run"):
		_, err := fmt.Fprintln(out, what+"would be due again; nothing was changed")
		return err
	}
	if err := out.ask(what + was + ", so that it is due again?"); err != nil {
		return err
	}
	var answer wire.Marks
	request := wire.Mark{SaleID: one.Refund.SaleID, Payments: []string{one.Refund.Payment}, Action: wire.Unmark, Note: o["note"]}
	if err := p.post(ctx, "/operate/refunds", "", request, &answer); err != nil {
		return err
	}
	if len(answer.Refunds) != 1 {
		return errUnsaid
	}
	switch answer.Refunds[0].Outcome {
	case wire.Unmarked:
		what += "is due again"
	case wire.Sent:
		return cli.Bad(fmt.Errorf("NOT UNMARKED: %s", sentSays(what, cmp.Or(answer.Refunds[0].Refund, one.Refund))))
	case wire.Unchanged:
		return cli.Bad(fmt.Errorf("NOT UNMARKED: %sis not marked by hand: its provider says that it is back", what))
	default:
		return fmt.Errorf("not unmarked: %s; repeat the command", answer.Refunds[0].Outcome)
	}
	_, err := fmt.Fprintln(out, what)
	return err
}

// marking is what is told of a list.
type marking struct {
	wire.List // its last part, without its rows
	rows      []*wire.Row
	o         options
	p         *target
	out       *terminal
	counts    map[string]int
}

// readList asks what a file means, and marks nothing.
func (m *marking) readList(ctx context.Context, text []byte) error {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	request := wire.ReadList{List: base64.StdEncoding.EncodeToString(packed.Bytes()), SaleID: m.o["sale"], Group: m.o["group"]}
	name := cmp.Or(m.o["file"], m.o["payment"])
	if name == "-" {
		name = "stdin"
	}
	for more := true; more; more = m.Next != 0 {
		request.After, m.List = m.Next, wire.List{Problem: "too-long"}
		if len(request.List) < wire.MaxList-1024 { // the rest of the request
			m.List = wire.List{}
			if err := m.p.post(ctx, "/operate/refunds/list", "", request, &m.List); err != nil {
				return err
			}
		}
		switch m.Problem {
		case "":
		case refundlist.Packed:
			return cli.Usagef("%s is packed, or a workbook: unpack it, or save it as CSV", name)
		case "too-long", refundlist.TooMany:
			return cli.Usagef("%s is longer than 32 MB, or 5 MB packed, or names more than 200,000 payments: split it, each part with the line of titles", name)
		default:
			return cli.Usagef("nothing is marked: %s is a provider's list without its columns %s", name, strings.Join(m.Missing, ", "))
		}
		for _, raw := range m.Rows {
			row := wire.Row{Refund: &wire.Refund{}}
			if err := json.Unmarshal(raw, &row); err != nil {
				return fmt.Errorf("read the answer: %w", err)
			}
			m.rows = append(m.rows, &row)
		}
	}
	if len(m.rows) == 0 {
		return cli.Usagef("%s names no payment that went back; there must be one on each line, such as stripe#pi_1, or a provider's list", name)
	}
	return nil
}

func (m *marking) markAll(ctx context.Context, all []*wire.Row) error {
	bySale := map[string][]*wire.Row{}
	for _, one := range all {
		bySale[one.Refund.SaleID] = append(bySale[one.Refund.SaleID], one)
	}
	if _, err := m.p.operator(ctx); err != nil {
		return err
	}
	show, clear := m.out.progress("refunds")
	defer clear()
	var group errgroup.Group
	group.SetLimit(markAtOnce)
	var lock sync.Mutex
	done := 0
	for saleID, ofSale := range bySale {
		for some := range slices.Chunk(ofSale, wire.MostMarks) {
			group.Go(func() error {
				err := m.markSome(ctx, saleID, some)
				lock.Lock()
				defer lock.Unlock()
				done += len(some)
				show(int64(done), int64(len(all)))
				return err
			})
		}
	}
	return group.Wait()
}

func (m *marking) markSome(ctx context.Context, saleID string, some []*wire.Row) error {
	request := wire.Mark{SaleID: saleID}
	for _, one := range some {
		request.Payments = append(request.Payments, one.Refund.Payment)
	}
	var answer wire.Marks
	if err := m.p.post(ctx, "/operate/refunds", "", request, &answer); err != nil {
		return err
	}
	if len(answer.Refunds) != len(some) {
		return errUnsaid
	}
	for i, a := range answer.Refunds { // in the order in which it was asked
		if some[i].Outcome = a.Outcome; a.Refund == nil {
			continue
		}
		// It was due a moment ago: an answer was lost.
		if some[i].Refund = a.Refund; a.Outcome == wire.Already && a.Refund.RefundedBy == m.p.asker.Actor {
			some[i].Outcome = wire.Done
		}
	}
	return nil
}

// tell says what became of a payment: of a file's only if it is not as was asked for, or not yet.
func (m *marking) tell(one *wire.Row) {
	text, outcome := says(one, m.o)
	if m.counts[outcome]++; m.o["file"] == "" {
		fmt.Fprintln(m.out, text)
	} else if outcome != wire.Done && outcome != refundlist.Due {
		fmt.Fprintf(m.out, "line %d: %s\n", one.Line, text)
	}
}

// sum says how many were marked, and why not all were.
func (m *marking) sum(failed error) error {
	n, done := m.counts[wire.Done], "are marked as refunded now"
	open := m.counts[refundlist.Due]
	if m.o.has("dry-run") {
		n, done, open = open, "would be marked as refunded", 0
	}
	if m.o["file"] != "" {
		fmt.Fprintf(m.out, "of %d payments %d %s; marked before: %d, named twice: %d, unknown: %d, open: %d\n",
			len(m.rows), n, done, m.counts[refundlist.Already], m.counts[refundlist.Doubled], m.counts[refundlist.Unknown], open)
		if m.Others > 0 {
			fmt.Fprintf(m.out, "the file has %d rows of other kinds, which mark nothing: what was paid, and refunds that failed or are not finished\n", m.Others)
		}
	}
	if m.Unreadable > 0 {
		m.out.notef("%d refunds cannot be read by this version; they are told as unknown", m.Unreadable)
	}
	switch parts := m.counts[refundlist.Part] + m.counts[refundlist.Unsaid]; {
	case failed != nil || open > 0:
		return fmt.Errorf("not all are marked: %w; repeat the command: it marks a refund once", cmp.Or(failed, errNoAnswer))
	case m.counts[wire.Sent] > 0:
		return cli.Bad(fmt.Errorf("NOT MARKED: %d of them, which the stack has sent; pay none of them back by hand", m.counts[wire.Sent]))
	case parts > 0:
		return cli.Bad(fmt.Errorf("NOT MARKED: %d of them, of which the file pays back a part, in another currency, or does not say how much; pay back the rest, and mark them by name", parts))
	case m.counts[refundlist.Unknown] > 0:
		return cli.Bad(fmt.Errorf("NOT MARKED: %d of them, without a refund; %s lists those that are due, each with its sale",
			m.counts[refundlist.Unknown], m.p.flashsale("refund list")))
	}
	return nil
}

// says is what is told of a payment, and as what it counts: any outcome that is not told here is of a refund that may
// be marked later.
func says(r *wire.Row, o options) (text, outcome string) {
	what := r.Refund.Payment + ", " + money(r.Refund.Amount, r.Refund.Currency) + ", "
	since := instant(when(r.Refund.RefundedAt))
	if r.Refund.RefundedBy != "" {
		since += " by " + r.Refund.RefundedBy
	}
	switch r.Outcome {
	case refundlist.Doubled:
		return fmt.Sprintf("%s is in line %d, too", r.Payment, r.First), r.Outcome
	case refundlist.Unknown:
		text = "no refund of " + r.Payment + " is due"
		if of := cmp.Or(o["sale"], o["group"]); of != "" {
			text += " in " + of
		}
		return text, r.Outcome
	case refundlist.Part:
		return what + "is not marked: the file pays " + r.Back + " of it back", r.Outcome
	case refundlist.Unsaid:
		return what + "is not marked: the file does not say how much of it went back", r.Outcome
	case wire.Sent:
		return sentSays(what, r.Refund), r.Outcome
	case wire.Done:
		return what + "is marked as refunded at " + since, r.Outcome
	case refundlist.Already:
		return what + "was marked as refunded at " + since + ", and nothing changed now: do not pay it back again", r.Outcome
	}
	if o.has("dry-run") {
		return what + "would be marked as refunded; nothing was changed", refundlist.Due
	}
	return what + "is not marked: ask again", refundlist.Due
}

// sentSays is told of a refund that cannot be marked, because its provider was asked for it.
func sentSays(what string, r *wire.Refund) string {
	if r.Sent != nil && r.Sent.State == sale.SentAccepted {
		return what + "was sent and accepted: do not pay it back, the provider's report marks it"
	}
	return what + "was sent, and what became of it is not known yet: do not pay it back"
}

func total(all []*wire.Row) string {
	sums, texts := map[string]int64{}, []string{}
	for _, one := range all {
		sums[one.Refund.Currency] += one.Refund.Amount
	}
	for code, sum := range sums {
		texts = append(texts, money(sum, code))
	}
	slices.Sort(texts)
	return strings.Join(texts, " + ")
}
