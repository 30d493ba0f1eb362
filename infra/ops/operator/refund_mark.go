package operator

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
)

// OperateFunction takes a list of at most maxList bytes of JSON, and is asked by atATime requests at a time to mark
// perRequest refunds each.
const maxList, perRequest, atATime = 5 << 20, 100, 4

// reported is a payment of which its operator says that it was paid back, as OperateFunction answers.
type reported struct {
	Line, First int // of the file, and of the line that names the payment before
	Payment     string
	Outcome     string // of the list, and then of the mark
	Back        string // what went back by the file
	Refund      struct {
		Payment, SaleID, Currency string
		Amount                    int64
		RefundedAt                time.Time
		RefundedBy                string
	}
}

type listAnswer struct {
	Rows                     []*reported
	Others, Unreadable, Next int
	Problem                  string
	Missing                  []string
}

// mark marks refunds as done in the operator's name, each once. It moves no money: the operator refunds at the
// payment provider. Without a sale it looks for them in every sale, and among those of unknown orders.
func mark(ctx context.Context, p *place, o options, out *terminal) error {
	// Under a title a payment is one, whatever it is called.
	text, err := []byte("payment\n\""+strings.ReplaceAll(o["payment"], `"`, `""`)+"\"\n"), error(nil)
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
	list, err := p.readList(ctx, text, o)
	if err != nil {
		return err
	}
	m := &marking{listAnswer: list, o: o, p: p, out: out, counts: map[string]int{}}
	for _, one := range list.Rows {
		if one.Outcome == due {
			m.due = append(m.due, one)
		} else {
			m.tell(one)
		}
	}
	var failed error
	if !o.has("dry-run") {
		if o["file"] != "" && len(m.due) > 0 {
			if err := out.ask(fmt.Sprintf("Mark %d as refunded, %s? A mark moves no money, and cannot be taken back.", len(m.due), total(m.due))); err != nil {
				return err
			}
		}
		failed = p.markAll(ctx, m.due, out)
	}
	for _, one := range m.due {
		m.tell(one)
	}
	return m.sum(failed)
}

// readList asks what a file means, and marks nothing.
func (p *place) readList(ctx context.Context, text []byte, o options) (listAnswer, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		return listAnswer{}, err
	}
	request := struct {
		List   []byte `json:"list"`
		SaleID string `json:"saleId,omitempty"`
		Group  string `json:"group,omitempty"`
		After  int    `json:"after,omitempty"`
	}{packed.Bytes(), o["sale"], o["group"], 0}
	var all listAnswer
	name := cmp.Or(o["file"], o["payment"])
	if name == "-" {
		name = "stdin"
	}
	for {
		body, err := json.Marshal(request)
		if err != nil {
			return all, err
		}
		answer := listAnswer{Problem: "too-long"}
		if len(body) <= maxList {
			answer.Problem = ""
			if err := p.ask(ctx, client.OperatorRequest{Method: http.MethodPost, Route: "/operate/refunds/list", Body: string(body)}, &answer); err != nil {
				return all, err
			}
		}
		switch answer.Problem {
		case "":
		case "packed":
			return all, cli.Usagef("%s is packed, or a workbook: unpack it, or save it as CSV", name)
		case "too-long", "too-many":
			return all, cli.Usagef("%s is longer than 32 MB, or 5 MB packed, or names more than 200,000 payments: split it, each part with the line of titles", name)
		default:
			return all, cli.Usagef("nothing is marked: %s is a provider's list without its columns %s", name, strings.Join(answer.Missing, ", "))
		}
		rows := append(all.Rows, answer.Rows...)
		all, all.Rows = answer, rows
		if request.After = answer.Next; request.After == 0 {
			break
		}
	}
	if len(all.Rows) == 0 {
		return all, cli.Usagef("%s names no payment that went back; there must be one on each line, such as stripe#pi_1, or a provider's list", name)
	}
	return all, nil
}

// markAll has OperateFunction mark refunds.
func (p *place) markAll(ctx context.Context, all []*reported, out *terminal) error {
	bySale := map[string][]*reported{}
	for _, one := range all {
		bySale[one.Refund.SaleID] = append(bySale[one.Refund.SaleID], one)
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
				show(int64(done), int64(len(all)))
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
		request.Payments = append(request.Payments, one.Refund.Payment)
	}
	var body strings.Builder
	to := json.NewEncoder(&body)
	to.SetEscapeHTML(false) // so that 100 of the longest references are below the 96 KiB that it takes
	if err := to.Encode(request); err != nil {
		return err
	}
	var answer struct{ Refunds []*reported }
	if err := p.ask(ctx, client.OperatorRequest{Method: http.MethodPost, Route: "/operate/refunds", Body: body.String()}, &answer); err != nil {
		return err
	}
	if len(answer.Refunds) != len(some) {
		return errUnsaid
	}
	for i, a := range answer.Refunds { // in the order in which it was asked
		// It was due a moment ago: an answer was lost.
		if some[i].Outcome = a.Outcome; a.Outcome == already && a.Refund.RefundedBy == p.asker.Actor {
			some[i].Outcome = marked
		}
		some[i].Refund.RefundedAt, some[i].Refund.RefundedBy = a.Refund.RefundedAt, a.Refund.RefundedBy
	}
	return nil
}

// Outcomes that are told; any other is that of a refund which may be marked later.
const due, marked, already, doubled, unknown, part, unsaid = "due", "marked", "already", "doubled", "unknown", "part", "unsaid"

// marking is what is told of a list.
type marking struct {
	listAnswer
	o      options
	p      *place
	out    *terminal
	due    []*reported
	counts map[string]int
}

// tell says what became of a payment: of a file's only if it is not as was asked for, or not yet.
func (m *marking) tell(one *reported) {
	text, outcome := one.says(m.o)
	if m.counts[outcome]++; m.o["file"] == "" {
		fmt.Fprintln(m.out, text)
	} else if outcome != marked && outcome != due {
		fmt.Fprintf(m.out, "line %d: %s\n", one.Line, text)
	}
}

// sum says how many were marked, and why not all were.
func (m *marking) sum(failed error) error {
	n, done := m.counts[marked], "are marked as refunded now"
	open := m.counts[due]
	if m.o.has("dry-run") {
		n, done, open = open, "would be marked as refunded", 0
	}
	if m.o["file"] != "" {
		fmt.Fprintf(m.out, "of %d payments %d %s; marked before: %d, named twice: %d, unknown: %d, open: %d\n",
			len(m.Rows), n, done, m.counts[already], m.counts[doubled], m.counts[unknown], open)
		if m.Others > 0 {
			fmt.Fprintf(m.out, "the file has %d rows of other kinds, which mark nothing: what was paid, and refunds that failed or are not finished\n", m.Others)
		}
	}
	if m.Unreadable > 0 {
		m.out.notef("%d refunds cannot be read by this release; they are told as unknown", m.Unreadable)
	}
	switch parts := m.counts[part] + m.counts[unsaid]; {
	case failed != nil || open > 0:
		return fmt.Errorf("not all are marked: %w; repeat the command: it marks a refund once", cmp.Or(failed, errNoAnswer))
	case parts > 0:
		return cli.Bad(fmt.Errorf("NOT MARKED: %d of them, of which the file pays back a part, in another currency, or does not say how much; pay back the rest, and mark them by name", parts))
	case m.counts[unknown] > 0:
		return cli.Bad(fmt.Errorf("NOT MARKED: %d of them, without a refund; %s lists those that are due, each with its sale",
			m.counts[unknown], m.p.flashsale("refund list")))
	}
	return nil
}

// says is what is told of a payment, and as what it counts.
func (r *reported) says(o options) (text, outcome string) {
	what := r.Refund.Payment + ", " + money(r.Refund.Amount, r.Refund.Currency) + ", "
	since := instant(r.Refund.RefundedAt)
	if r.Refund.RefundedBy != "" {
		since += " by " + r.Refund.RefundedBy
	}
	switch r.Outcome {
	case doubled:
		return fmt.Sprintf("%s is in line %d, too", r.Payment, r.First), doubled
	case unknown:
		text = "no refund of " + r.Payment + " is due"
		if of := cmp.Or(o["sale"], o["group"]); of != "" {
			text += " in " + of
		}
		return text, unknown
	case part:
		return what + "is not marked: the file pays " + r.Back + " of it back", part
	case unsaid:
		return what + "is not marked: the file does not say how much of it went back", unsaid
	case marked:
		return what + "is marked as refunded at " + since, marked
	case already:
		return what + "was marked as refunded at " + since + ", and nothing changed now: do not pay it back again", already
	}
	if o.has("dry-run") {
		return what + "would be marked as refunded; nothing was changed", due
	}
	return what + "is not marked: ask again", due
}

// total sums refunds by currency.
func total(all []*reported) string {
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
