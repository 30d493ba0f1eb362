package refundlist

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/sale"
)

// against says of each row of a file what it means, if each of these payments of 1499.00 CNY is to go back.
func against(file []byte, due ...string) (told []string, l List) {
	l = Read(file)
	var refunds []sale.Refund
	for _, payment := range due {
		one := sale.Refund{Payment: payment, Amount: 149900, Currency: "CNY"}
		if _, isDone := strings.CutSuffix(payment, "done"); isDone {
			one.RefundedAt = time.Unix(1, 0)
		}
		refunds = append(refunds, one)
	}
	l.Match(refunds)
	for _, a := range l.Rows {
		told = append(told, strings.TrimSpace(fmt.Sprintf("%d %s %s %s", a.Line, a.Payment, a.Outcome, a.Back)))
	}
	return told, l
}

func TestAListPaysBackWhatWentBackWhole(t *testing.T) {
	for _, list := range lists() {
		told, l := against(list.file, "stripe#WHOLE", "stripe#PAID", "stripe#FAILED", "stripe#PART", "stripe#HALVES")
		var got []string
		for _, one := range told {
			if _, text, _ := strings.Cut(one, " "); !strings.HasSuffix(text, " unknown") {
				got = append(got, strings.TrimPrefix(text, "stripe#"))
			}
		}
		want := []string{"WHOLE due"}
		if list.says {
			want = []string{"HALVES due", "PART part 749.50 CNY", "WHOLE due"}
		}
		if strings.Contains(list.name, "account in euros") {
			want[1] = "PART part 749.50 EUR"
		}
		if slices.Sort(got); !slices.Equal(got, want) || l.Problem != "" || list.says && l.Others == 0 {
			t.Errorf("%s: %q, others %d, problem %q, want %q", list.name, got, l.Others, l.Problem, want)
		}
	}
}

func TestALineThatIsNotCertainPaysNothingBack(t *testing.T) {
	const stripe = "payment_intent_id;reporting_category;gross;currency\n"
	due := []string{"stripe#pi_1", "stripe#pi_2", "alipay#one", "adyen#one", "stripe#pi_done", "stripe#a", "standard#stripe#a", "standard#x", "standard#x'", "standard#y;z", "stripe#w'", "standard#w'", "standard#w", "bare"}
	for name, tt := range map[string]struct {
		text    string
		want    string // the rows
		problem string // with what is missing
	}{
		"an empty file":                              {"", "", ""},
		"only titles":                                {stripe, "", ""},
		"an amount that cannot be read":              {stripe + "pi_1;refund;1,500;cny\n", "2 pi_1 part 1,500", ""},
		"an amount that is longer than any":          {stripe + "pi_1;refund;" + strings.Repeat("9", 19) + ";cny\n", "2 pi_1 part " + strings.Repeat("9", 19), ""},
		"no amount":                                  {stripe + "pi_1;refund;;cny\n", "2 pi_1 unsaid", ""},
		"no amount, and then one":                    {stripe + "pi_1;refund;;cny\npi_1;refund;1499.00;cny\n", "2 pi_1 unsaid", ""},
		"an amount, and then none":                   {stripe + "pi_1;refund;1499.00;cny\npi_1;refund;;cny\n", "2 pi_1 unsaid", ""},
		"no amount, and then one that is not read":   {stripe + "pi_1;refund;;cny\npi_1;refund;1,500;cny\n", "2 pi_1 part 1,500", ""},
		"a payment that is not there":                {stripe + "pi_none;refund;1499.00;cny\n", "2 pi_none unknown", ""},
		"no currency":                                {stripe + "pi_1;refund;1499.00;\n", "2 pi_1 unsaid", ""},
		"no kind":                                    {stripe + "pi_1;;1499.00;cny\n", "", ""},
		"another currency":                           {stripe + "pi_1;refund;1499.00;eur\n", "2 pi_1 part 1499.00 EUR", ""},
		"parts in two currencies":                    {stripe + "pi_1;refund;749.50;cny\npi_1;refund;749.50;eur\n", "2 pi_1 part 749.50 EUR", ""},
		"nearly the whole":                           {stripe + "pi_1;refund;1498.996;cny\n", "2 pi_1 part 1498.996 CNY", ""},
		"the whole and a little more":                {stripe + "pi_1;refund;-1499.001;cny\n", "2 pi_1 due", ""},
		"parts that are the whole":                   {stripe + "pi_1;refund;0.1;cny\npi_1;refund;0.2;cny\npi_1;refund;1498.7;cny\n", "2 pi_1 due", ""},
		"a part of what is marked":                   {stripe + "pi_done;refund;1.00;cny\n", "2 pi_done already", ""},
		"a refund that failed":                       {stripe + "pi_1;refund;1499.00;cny\npi_1;refund_failure;1499.00;cny\n", "", ""},
		"a name whose separator has moved the cells": {"name;" + stripe + "a;b;pi_1;refund;1499.00;cny\nx;pi_2;refund;1499.00;cny;y\n", "3 pi_2 unsaid", ""},
		"coupons are paid back, too":                 {"微信订单号,退款状态,退款金额,申请退款金额,货币种类\n`pi_1,`SUCCESS,`1400.00,`1499.00,`CNY\n", "2 pi_1 due", ""},
		"a list without its amounts":                 {"payment_intent_id,reporting_category,currency\npi_1,refund,cny\n", "", "untitled customer_facing_amount"},
		"a list without its currencies":              {"payment_intent_id,reporting_category,gross\npi_1,refund,1499.00\n", "", "untitled customer_facing_currency"},
		"a list without its kinds":                   {"PSP Reference,Status,Amount\none,Settled,1499.00\n", "", "untitled type gross debit (gc) gross currency"},
		"a list with its payments alone":             {"payment_intent_id\npi_1\n", "", "untitled reporting_category customer_facing_amount customer_facing_currency"},
		"another list with a provider's kinds":       {"id,Amount,Amount Refunded,Currency,Status\npi_1,1499.00,0.00,cny,Paid\n", "", "untitled paymentintent id"},
		"a provider's title in a list of ours":       {"payment,what\npi_1,Status\n", "2 pi_1 due", ""},
		"a provider's list with another title":       {"Payment Intent,reporting_category,gross,currency\npi_1,charge,1499.00,cny\n", "", "untitled payment_intent_id"},
		"what an account paid, in what a buyer got":  {"payment_intent_id,reporting_category,gross,currency,customer_facing_currency\npi_1,refund,-1499.00,eur,cny\n", "2 pi_1 part 1499.00 EUR", ""},
		"the same beside an empty amount":            {"payment_intent_id,reporting_category,gross,currency,customer_facing_amount,customer_facing_currency\npi_1,refund,-1499.00,eur,,cny\n", "2 pi_1 part 1499.00 EUR", ""},
		"what a buyer got, without its currency":     {"payment_intent_id,reporting_category,gross,currency,customer_facing_amount\npi_1,refund,-1.00,cny,1499.00\n", "2 pi_1 part 1.00 CNY", ""},
		"a mark of the order of bytes in the middle": {stripe + "pi_1;charge;1499.00;cny\n\ufeffpayment_intent_id;reporting_category;net;currency\npi_1;refund;1499.00;cny\n", "", "untitled customer_facing_amount"},
		"blanks of other kinds around titles":        {"payment_intent_id\u00a0;\u3000reporting_category;gross;currency\npi_1;charge;1499.00;cny\npi_2;refund;1499.00;cny\n", "3 pi_2 due", ""},
		"a part in reports of two forms":             {stripe + "pi_1;refund;-749.50;cny\nPaymentIntent ID;Status;Amount Refunded;Currency\npi_1;Refunded;749.50;cny\n", "2 pi_1 part 749.50 CNY", ""},
		"the whole, and again in another form":       {stripe + "pi_1;refund;-1499.00;cny\nPaymentIntent ID;Status;Amount Refunded;Currency\npi_1;Refunded;1.00;cny\n", "2 pi_1 due", ""},
		"money that came again as a refund":          {stripe + "pi_1;refund;-1499.00;cny\npi_1;refund;1000.00;cny\n", "2 pi_1 part 499.00 CNY", ""},
		"two columns of one title that differ":       {"payment_intent_id;reporting_category;gross;gross;currency\npi_1;refund;-1499.00;-1.00;cny\npi_2;refund;-1499.00;-1499.00;cny\n", "2 pi_1 unsaid|3 pi_2 due", ""},
		"a second list without its kinds":            {stripe + "pi_1;refund;1499.00;cny\npayment_intent_id;gross;currency\npi_2;1499.00;cny\n", "", "untitled reporting_category"},
		"WeChat Pay's bill of what was paid":         {"微信订单号,交易状态,货币种类\n`pi_1,`REFUND,`CNY\n", "", "untitled 退款状态 申请退款金额"},
		"a workbook":                                 {"PK\x03\x04\npi_1\n", "", "packed"},
		"what is packed twice":                       {"\x1f\x8b\x08\npi_1\n", "", "packed"},
		"a reference that two have":                  {"one\nadyen#one\n", "1 one unknown|2 adyen#one due", ""},
		"a reference that is another's name":         {"stripe#a\nstandard#stripe#a\n", "1 stripe#a due|2 standard#stripe#a due", ""},
		"a quote in a name":                          {"reference\n\"a\"\"b\"\n", "2 a\"b unknown", ""},
		"marks around a name and in it":              {"payment\n\"standard#x'\"\n\"'standard#x'\"\n'standard#x\n'pi_1'\n`pi_2`\n", "2 standard#x' due|3 standard#x' doubled|4 standard#x due|5 pi_1 due|6 pi_2 due", ""},
		"a reference with a mark that two have":      {"w'\nw\n", "1 w unknown|2 w due", ""},
		"a semicolon in a list of ours":              {"sale,payment\n\"'moutai\",\"'standard#y;'z\"\n", "2 standard#y;z due", ""},
		"named twice":                                {"pi_1\n\n# a comment\nstripe#pi_1\nno\nno\n", "1 pi_1 due|4 stripe#pi_1 doubled|5 no unknown|6 no doubled", ""},
		"a name that is longer than any":             {strings.Repeat("贵", 400) + "\n", "1 " + strings.Repeat("贵", 341) + "… unknown", ""},
	} {
		told, l := against([]byte(tt.text), due...)
		if got := strings.Join(told, "|"); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if got := strings.Join(append([]string{l.Problem}, l.Missing...), " "); strings.TrimSpace(got) != tt.problem {
			t.Errorf("%s: problem %q, want %q", name, got, tt.problem)
		}
	}
}

// What is quadratic takes minutes for these, and what keeps each cell takes a hundred times their size.
func TestALongListIsReadInOneWalk(t *testing.T) {
	const n = 1 << 20
	for name, text := range map[string]string{
		"blanks": strings.Repeat(" ", n), "quotes": strings.Repeat(`"`, n), "quotes in a cell": `"` + strings.Repeat(`""`, n), "open quotes": strings.Repeat("\"a,\n", n/4),
		"a blank after each quote": strings.Repeat(`"" `, n), "backticks": strings.Repeat("`", n), "digits": strings.Repeat("9", n), "cells": strings.Repeat(",", n), "tabs": "a\tb\n" + strings.Repeat("\"a\"\t", n),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := Read([]byte("payment_intent_id,reporting_category,gross,currency\npi_1,refund," + text + ",cny\npi_2,refund,1.00,cny\n"))
		runtime.ReadMemStats(&after)
		if all := after.TotalAlloc - before.TotalAlloc; all > 64*n {
			t.Errorf("%s: %d bytes are taken for each", name, all/n)
		}
		if len(got.Rows) == 0 && got.Others == 0 {
			t.Errorf("%s: nothing is read", name)
		}
	}
	if diff := cmp.Diff(List{Problem: TooMany}, Read([]byte(strings.Repeat("x\n", MaxPayments+1)))); diff != "" {
		t.Errorf("a list of more payments than are read (-want +got):\n%s", diff)
	}
	if got := Read([]byte(strings.Repeat("x\n", MaxPayments))); len(got.Rows) != MaxPayments {
		t.Errorf("%d rows (%s), want %d", len(got.Rows), got.Problem, MaxPayments)
	}
}
