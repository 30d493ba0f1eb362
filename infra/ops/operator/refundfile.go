package operator

import (
	"bytes"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"flashsale/shared/currency"
)

// A sheet is a list of payments with a line of titles, which are given here in small letters. A provider's has all that
// happened to them, so that a row counts only if it says that money went back.
type sheet struct {
	payment      string   // the column of the provider's reference of the payment
	kind         string   // that of what a row is
	done, undone string   // of these, what went back, and what came again because that failed
	amount       []string // that of what went back; the first that is not empty
	currency     []string // that of its currency, likewise; without one it is that of what is due
}

// sheets are Stripe's reports with items (docs.stripe.com/reports/reporting-categories) and its Dashboard's payments,
// Adyen's settlement details and payment accounting (docs.adyen.com/reporting), Alipay's bill "trade" and WeChat Pay's
// trade bill (pay.weixin.qq.com, /v3/bill/tradebill), read on 2026-11-28. Stripe's gross is what its account has paid, in
// the account's currency, which may be another than the buyer's. What went back without a column that says so is the last
// ones' and this system's own. The first one of which a file has all titles is taken. The page has the same in refundfile.js.
var sheets = []sheet{
	{"payment_intent_id", "reporting_category", "refund", "refund_failure", []string{"customer_facing_amount", "gross"}, []string{"customer_facing_currency", "currency"}},
	{"paymentintent id", "status", "refunded", "", []string{"amount refunded"}, []string{"currency"}},
	{"psp reference", "type", "refunded", "refundedreversed", []string{"gross debit (gc)"}, []string{"gross currency"}},
	{"psp reference", "record type", "refunded", "refundedreversed", []string{"captured (pc)"}, []string{"payment currency"}},
	{"支付宝交易号", "业务类型", "退款", "", []string{"订单金额（元）"}, nil},
	{"微信订单号", "退款状态", "success", "", []string{"申请退款金额", "退款金额"}, []string{"货币种类"}},
	{"微信订单号", "交易状态", "refund", "", nil, nil},
	{payment: "payment_intent_id"}, {payment: "paymentintent id"}, {payment: "psp reference"},
	{payment: "payment"}, {payment: "reference"}, {payment: "id"},
}

// separators are those that a file may have; a tab before another one fills up a value, as in Alipay's bill.
var separators = regexp.MustCompile(`[ \t]*([,;])|\t`)

var quoted = regexp.MustCompile(`"[^"]*"`)

// rows are the lines of cells of a file with their numbers. What separates the cells is what the first one is separated
// by from the next, in the first line that is no comment. A cell in quotes may have line breaks; a quote that is not
// closed is a quote.
func rows(text string, each func(line int, cells []string)) {
	separator := ","
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) { // Excel's CSV (Macintosh) has carriage returns alone
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if found := separators.FindString(quoted.ReplaceAllString(line, "")); found != "" {
			separator = found[len(found)-1:]
		}
		break
	}
	cell := regexp.MustCompile(`("[^"]*(?:""[^"]*)*"|[^` + separator + `\r\n]*)[ \t]*?(` + separator + `|\r\n|\r|\n|$)`)
	n, first, cells := 1, 1, []string{}
	for text != "" {
		at := cell.FindStringSubmatchIndex(text)
		found, end := text[:at[3]], text[at[4]:at[5]]
		cells = append(cells, strings.Trim(found, " \t\"'`")) // WeChat Pay's bill has a backtick before each value
		n += strings.Count(found, "\n")
		if text = text[at[1]:]; end == separator && text != "" {
			continue
		}
		if strings.Join(cells, "") != "" && !strings.HasPrefix(cells[0], "#") { // a spreadsheet saves separators of an empty row
			each(first, cells)
		}
		n++
		first, cells = n, nil
	}
}

// isPacked tells whether a file is a ZIP, as Alipay's bills and workbooks are, or compressed, as WeChat Pay's may be.
func isPacked(file []byte) bool {
	return bytes.HasPrefix(file, []byte("PK\x03\x04")) || bytes.HasPrefix(file, []byte{0x1f, 0x8b})
}

// reportedIn reads the payments of a file as the operators' page does: of a sheet those that went back, else the first
// cell of each line, with or without quotes and the mark at its start; so what `refund list` wrote is read, too. Blank
// lines, and those that begin with #, name none. others are the rows of a sheet that are no refunds.
func reportedIn(file []byte) (all []*reported, others int) {
	fallback := unicode.UTF8.NewDecoder()
	if !utf8.Valid(file) {
		fallback = simplifiedchinese.GB18030.NewDecoder() // Alipay's bill, and what a Chinese Excel saves
	}
	text, _, err := transform.Bytes(unicode.BOMOverride(fallback), file)
	if err != nil {
		text = file
	}
	var titles []string
	var is *sheet
	of := func(cells []string, names ...string) string {
		for _, name := range names {
			if at := slices.Index(titles, name); at >= 0 && at < len(cells) && cells[at] != "" {
				return cells[at]
			}
		}
		return ""
	}
	named, came, seen := map[string]*reported{}, map[string]bool{}, map[string]bool{}
	rows(string(text), func(line int, cells []string) {
		if titles == nil {
			for _, cell := range cells {
				titles = append(titles, strings.ToLower(cell))
			}
			has := func(title string) bool { return title == "" || slices.Contains(titles, title) }
			if at := slices.IndexFunc(sheets, func(s sheet) bool { return has(s.payment) && has(s.kind) }); at >= 0 {
				is = &sheets[at]
				return
			}
		}
		one := &reported{payment: cells[0], line: line}
		if is != nil {
			one.payment = of(cells, is.payment)
		}
		if is == nil || is.kind == "" {
			if one.payment != "" {
				all = append(all, one)
			}
			return
		}
		text := strings.Join(cells, "\n")
		switch kind := strings.ToLower(of(cells, is.kind)); {
		case seen[text]: // of two reports that overlap
		case one.payment == "" || kind != is.done:
			others++
			came[one.payment] = came[one.payment] || is.undone != "" && kind == is.undone
		case named[one.payment] != nil: // in several parts
			named[one.payment].adds(of(cells, is.amount...), of(cells, is.currency...))
		default:
			named[one.payment], all = one, append(all, one)
			one.back, one.currency = new(big.Rat), of(cells, is.currency...)
			one.adds(of(cells, is.amount...), one.currency)
		}
		seen[text] = true
	})
	back := slices.DeleteFunc(all, func(r *reported) bool { return came[r.payment] })
	return back, others + len(all) - len(back)
}

// amountText is what an amount is like. A comma is a decimal one if other than three digits follow it.
var amountText = regexp.MustCompile(`^[-+]?(\d+(?:\.\d+)?|\d+,(?:\d{1,2}|\d{4}))$`)

// adds adds an amount of either sign to what went back. If there is none, that is not known.
func (r *reported) adds(amount, currency string) {
	switch found := amountText.FindStringSubmatch(amount); {
	case amount == "":
		r.back = nil
	case found == nil:
		r.odd = amount
	case currency != r.currency:
		r.odd = amount + " " + strings.ToUpper(currency)
	case r.back != nil:
		more, _ := new(big.Rat).SetString(strings.Replace(found[1], ",", ".", 1))
		r.back.Add(r.back, more)
	}
}

// part is what went back, if the file says that it is less than what is due, or says what cannot be compared with it.
func (r *reported) part() string {
	if r.odd != "" || r.back == nil {
		return r.odd
	}
	digits, _ := currency.Digits(r.refund.Currency)
	if r.currency != "" && !strings.EqualFold(r.currency, r.refund.Currency) {
		return r.back.FloatString(2) + " " + strings.ToUpper(r.currency)
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	if r.back.Cmp(new(big.Rat).SetFrac(big.NewInt(r.refund.Amount), unit)) >= 0 {
		return ""
	}
	return r.back.FloatString(digits)
}
