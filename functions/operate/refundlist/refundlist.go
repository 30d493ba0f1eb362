// Package refundlist reads which payments a list says were paid back: a payment provider's list, one of this system's,
// or references, one a line. It knows no ledger: its caller finds the refunds.
package refundlist

import (
	"bytes"
	"cmp"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"flashsale/shared/currency"
	"flashsale/shared/sale"
)

// MaxPayments is how many payments a list may name, maxName how many bytes of a name are kept.
const MaxPayments, maxName = 200_000, 1 << 10

// sheet is a provider's list, by its titles in small letters. It has all that happened to a payment, so that a row
// counts only if it says that money went back, and how much.
type sheet struct {
	payment      string   // the column of the provider's reference of the payment
	kind         string   // that of what a row is
	done, undone string   // of these, what went back, and what came again because that failed
	amount       []string // those of what went back: the first counts that is not empty, nor its currency
	currency     []string // those of their currencies; without one it is CNY
}

// sheets are Stripe's reports with items (docs.stripe.com/reports/reporting-categories) and its Dashboard's payments,
// Adyen's settlement details and payment accounting (docs.adyen.com/reporting), Alipay's bill "trade" and WeChat Pay's
// trade bill (pay.weixin.qq.com, format-trade), read on 2026-11-28. Stripe's gross is what its account has paid, in the
// account's currency, which may be another than the buyer's.
var sheets = []sheet{
	{"payment_intent_id", "reporting_category", "refund", "refund_failure",
		[]string{"customer_facing_amount", "gross"}, []string{"customer_facing_currency", "currency"}},
	{"paymentintent id", "status", "refunded", "", []string{"amount refunded"}, []string{"currency"}},
	{"psp reference", "type", "refunded", "refundedreversed", []string{"gross debit (gc)"}, []string{"gross currency"}},
	{"psp reference", "record type", "refunded", "refundedreversed",
		[]string{"captured (pc)"}, []string{"payment currency"}},
	{"支付宝交易号", "业务类型", "退款", "", []string{"订单金额（元）"}, nil},
	{"微信订单号", "退款状态", "success", "", []string{"申请退款金额", "退款金额"}, []string{"货币种类"}},
}

// own are the titles of the column of payments in lists without a kind: this system's, or a person's.
var own = []string{"payment", "reference", "id"}

// Why a list as a whole marks nothing: it is a ZIP, as Alipay's bills and workbooks are, or compressed; it names more
// than MaxPayments; it is a provider's and lacks the column of the payment, the kind, the amount or the currency.
const Packed, TooMany, Untitled = "packed", "too-many", "untitled"

// List is what a file says.
type List struct {
	Rows    []*Row // each payment that went back, in the order of the file
	Others  int    // rows of a provider's list that are no refunds, or whose refund failed
	Problem string
	Missing []string // the titles that an untitled list lacks
}

// What a row means for its refund: it may be marked; it was marked before; a line before names it; less than is due
// went back, or what cannot be compared; the list does not say how much; there is no such refund, or two.
const Due, Already, Doubled, Part, Unsaid, Unknown = "due", "already", "doubled", "part", "unsaid", "unknown"

// Row is a payment that went back.
type Row struct {
	Line    int // of the file, where it is named first
	Payment string

	whole    string   // in a list without a kind, the payment with the marks around it, which may be a part of it
	sheet    *sheet   // nil if the list has no amounts that count
	back     *big.Rat // what went back by the last report that names it, nil if that is not said
	report   int      // which that is
	most     big.Rat  // what went back by the report that says the most: another one has the same in another form
	currency string   // of that
	odd      string   // an amount that cannot be read, or is of another currency than those before

	// Set by Match.
	Outcome string
	Refund  *sale.Refund // nil if it is unknown
	First   int          // the line that names it before
	Back    string       // what went back, if it is a part
}

// Read reads the payments of a file: of a provider's list those that went back whole or in part, else the first cell of
// each line, or that under one of our titles. Blank lines, and those that begin with #, name none.
func Read(file []byte) List {
	if bytes.HasPrefix(file, []byte("PK\x03\x04")) || bytes.HasPrefix(file, []byte{0x1f, 0x8b}) {
		return List{Problem: Packed}
	}
	r := &reader{named: map[string]*Row{}, failed: map[string]bool{}, seen: map[string]bool{}}
	rows(textOf(file), r.row)
	if r.Problem != "" {
		return List{Problem: r.Problem, Missing: r.Missing}
	}
	n := len(r.Rows)
	r.Rows = slices.DeleteFunc(r.Rows, func(row *Row) bool { return r.failed[row.Payment] })
	r.Others += n - len(r.Rows)
	return r.List
}

type reader struct {
	List
	titles []string // nil before the first line
	report int      // how many lines of titles, each unlike the one before it, there were
	sheet  *sheet   // nil of a list without a kind
	column int      // of such a list, that of the payments
	isOwn  bool     // whether it has a title of ours

	named  map[string]*Row // of a provider's list
	failed map[string]bool // the payments whose money came again
	seen   map[string]bool // the rows that said of a payment that it went back
}

// row takes a line; false ends the reading.
func (r *reader) row(line int, cells, whole []string) bool {
	lower := make([]string, len(cells))
	for i, cell := range cells {
		lower[i] = strings.ToLower(cell)
	}
	has := func(title string) bool { return slices.Contains(lower, title) }
	// A provider's titles may come after other lines, or again after those of another report.
	if slices.ContainsFunc(sheets, func(s sheet) bool { return has(s.payment) }) {
		return r.provider(lower, has)
	}
	isTheirs := func(s sheet) bool { return has(s.kind) || slices.ContainsFunc(s.amount, has) }
	if at := slices.IndexFunc(sheets, isTheirs); at >= 0 && r.sheet == nil && !r.isOwn {
		r.Problem, r.Missing = Untitled, []string{sheets[at].payment}
		return false
	}
	if r.titles == nil {
		r.titles = lower
		if at := slices.IndexFunc(own, has); at >= 0 {
			r.column, r.isOwn = slices.Index(lower, own[at]), true
			return true
		}
	}
	if r.sheet != nil {
		r.refund(line, cells)
	} else if r.column < len(cells) && cells[r.column] != "" {
		r.name(line, cells[r.column]).whole = strings.Trim(whole[r.column], " \t")
	}
	if len(r.Rows) > MaxPayments {
		r.Problem = TooMany
	}
	return r.Problem == ""
}

// provider begins a provider's list. What was read before it by no kind is no refund.
func (r *reader) provider(titles []string, has func(string) bool) bool {
	if r.sheet == nil {
		r.Others, r.Rows = len(r.Rows), nil
	}
	if !slices.Equal(r.titles, titles) {
		r.report++
	}
	r.titles, r.Problem = titles, Untitled
	for i, s := range sheets {
		if !has(s.payment) {
			continue
		}
		var missing []string
		for _, some := range [][]string{{s.kind}, s.amount, s.currency} {
			if some != nil && !slices.ContainsFunc(some, has) {
				missing = append(missing, some[0])
			}
		}
		if missing == nil {
			r.sheet, r.Problem, r.Missing = &sheets[i], "", nil
			return true
		}
		if r.Missing == nil || len(missing) < len(r.Missing) {
			r.Missing = missing
		}
	}
	return false
}

// name adds a payment that the list names.
func (r *reader) name(line int, payment string) *Row {
	if len(payment) > maxName {
		payment = strings.ToValidUTF8(payment[:maxName], "") + "…"
	}
	row := &Row{Line: line, Payment: payment, whole: payment, sheet: r.sheet}
	r.Rows = append(r.Rows, row)
	return row
}

// of is what a row has under a title, "" if the title is there twice with different cells.
func (r *reader) of(cells []string, title string) (found string) {
	for at, cell := range cells[:min(len(cells), len(r.titles))] {
		switch {
		case r.titles[at] != title || cell == "":
		case found != "" && found != cell:
			return ""
		default:
			found = cell
		}
	}
	return found
}

// paid is what a row says that went back, and its currency: both of the same columns, of which one may be empty.
func (r *reader) paid(cells []string) (amount, code string) {
	for i, title := range r.sheet.amount {
		if amount, code = r.of(cells, title), "CNY"; r.sheet.currency != nil {
			code = strings.ToUpper(r.of(cells, r.sheet.currency[min(i, len(r.sheet.currency)-1)]))
		}
		if amount != "" && code != "" {
			break
		}
	}
	return amount, code
}

// refund takes a row of a provider's list.
func (r *reader) refund(line int, cells []string) {
	s := r.sheet
	payment, kind := r.of(cells, s.payment), strings.ToLower(r.of(cells, s.kind))
	if payment == "" || kind != s.done {
		r.Others++
		if kind != "" && kind == s.undone {
			r.failed[payment] = true
		}
		return
	}
	text := strings.Join(cells, "\n")
	if r.seen[text] { // of two reports that overlap
		return
	}
	r.seen[text] = true
	row := r.named[payment]
	if row == nil {
		row = r.name(line, payment)
		r.named[payment], row.back, row.report = row, new(big.Rat), r.report
	}
	if row.report != r.report {
		row.report = r.report
		row.settle()
	}
	amount, code := r.paid(cells)
	// A separator in a name without quotes moves the cells.
	isMoved := slices.ContainsFunc(cells[min(len(r.titles), len(cells)):], func(cell string) bool { return cell != "" })
	if row.currency == "" {
		row.currency = code
	}
	switch {
	case amount == "" || code == "" || isMoved:
		row.back = nil
	case !amountText.MatchString(amount):
		row.odd = amount
	case code != row.currency:
		row.odd = amount + " " + code
	case row.back != nil:
		more, _ := new(big.Rat).SetString(strings.Replace(amount, ",", ".", 1))
		row.back.Add(row.back, more)
	}
}

// settle ends the sum of a report.
func (row *Row) settle() {
	if row.back == nil {
		return
	}
	if row.back.Abs(row.back).Cmp(&row.most) > 0 {
		row.most.Set(row.back)
	}
	row.back.SetInt64(0)
}

// amountText is what an amount of either sign is like. A comma is a decimal one if other than three digits follow it.
var amountText = regexp.MustCompile(`^[-+]?(?:\d{1,18}(?:\.\d{1,18})?|\d{1,18},(?:\d{1,2}|\d{4}))$`)

// guards are the apostrophes that keep our lists' texts from being formulas in a spreadsheet.
var guards = regexp.MustCompile(`(^|[;\t\r\n])'`)

// Match says of each row what it means, if these are the refunds. A list may name a payment without its provider, if no
// other one has its reference.
func (l *List) Match(refunds []sale.Refund) {
	named, referenced, lines := map[string]*sale.Refund{}, map[string]*sale.Refund{}, map[string]int{}
	for i := range refunds {
		one := &refunds[i]
		named[one.Payment] = one
		_, reference, _ := strings.Cut(one.Payment, "#")
		if _, several := referenced[reference]; several {
			one = nil
		}
		referenced[reference] = one
	}
	for _, row := range l.Rows {
		name := row.Payment
		for _, text := range []string{row.whole, guards.ReplaceAllString(row.whole, "$1"), row.Payment} {
			one, isThere := referenced[text]
			if one = cmp.Or(named[text], one); one != nil {
				row.Refund, row.Payment, name = one, text, one.Payment
			}
			if one != nil || isThere {
				break
			}
		}
		if row.First = lines[name]; row.First == 0 {
			lines[name] = row.Line
		}
		row.judge()
	}
}

// judge compares what went back with the refund.
func (row *Row) judge() {
	due := row.Refund
	switch {
	case row.First > 0:
		row.Outcome = Doubled
	case due == nil:
		row.Outcome = Unknown
	case !due.RefundedAt.IsZero():
		row.Outcome = Already
	case row.sheet == nil:
		row.Outcome = Due
	case row.odd != "":
		row.Outcome, row.Back = Part, row.odd
	case row.back == nil:
		row.Outcome = Unsaid
	default:
		row.settle()
		digits, known := currency.Digits(row.currency)
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
		whole := new(big.Rat).SetFrac(big.NewInt(due.Amount), unit)
		if known && row.currency == due.Currency && row.most.Cmp(whole) >= 0 {
			row.Outcome = Due
			return
		}
		exact, _ := row.most.FloatPrec()
		row.Outcome, row.Back = Part, row.most.FloatString(max(digits, exact))+" "+row.currency
	}
}
