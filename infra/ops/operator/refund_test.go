package operator

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// owing runs a test of moutai, in which alice has paid n times too much: pi_000, pi_001, … of 8 fen each.
func owing(t *testing.T, n int, test func(t *testing.T, w *world)) {
	selling(t, sale.Creation{LimitGroup: "boots"}, func(t *testing.T, w *world) {
		order := w.ordered("alice")
		for i := range n {
			w.pay(fmt.Sprintf("pi_%03d", i), order, 8)
		}
		test(t, w)
	})
}

func TestAFileOfPaymentsIsMarkedAndARepeatFinishes(t *testing.T) {
	owing(t, 250, func(t *testing.T, w *world) {
		text := "\ufeffPayment;Amount\r\nstripe#pi_none\r\n# paid back today\r\n"
		for i := range 250 {
			text += fmt.Sprintf("\"'stripe#pi_%03d\";0.08\r\n", i)
		}
		marks := "refund mark --sale moutai --file " + file(t, text+"stripe#pi_007\r\npi_008")
		w.ok(nil, w.book.MarkRefunds(t.Context(), "moutai", []string{"stripe#pi_001"}, "")[0].Err)
		const told = "line 2: no refund of stripe#pi_none is due in moutai\n" +
			"line 5: stripe#pi_001, 0.08 CNY, was marked as refunded at 2026-11-11T12:00:00Z, and nothing changed now: do not pay it back again\n" +
			"line 254: stripe#pi_007 is in line 11, too\nline 255: pi_008 is in line 12, too\n"
		w.says(marks+" --dry-run", cli.ExitBad, told+"of 253 payments 249 would be marked as refunded; ")
		w.says(marks, cli.ExitUsage, "asks before it goes on")
		said, code := w.target.at(t.Context(), typing("no\n"), nil, strings.Fields(marks)...)
		if contains(t, said, "Mark 249 as refunded, 19.92 CNY? "); code != cli.ExitBad {
			t.Errorf("exit %d after no", code)
		}
		w.db.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("UpdateItem", "REFUND#moutai")
		w.says(marks+" --yes", cli.ExitUnknown, "of 253 payments 0 are marked as refunded now; ", "open: 249", "not all are marked: ", "repeat the command: it marks a refund once")
		w.db.Fault = nil
		w.says(marks+" --yes", cli.ExitBad, told+"of 253 payments 249 are marked as refunded now; marked before: 1, named twice: 2, unknown: 1, open: 0\n", "NOT MARKED: 1 ")
		refunds, err := w.book.Refunds(t.Context(), "moutai")
		if err != nil || slices.ContainsFunc(refunds, func(r sale.Refund) bool { return r.RefundedAt.IsZero() }) {
			t.Errorf("of %d refunds some are still due (%v)", len(refunds), err)
		}
		w.says("refund mark stripe#pi_001 --file "+file(t, ""), cli.ExitUsage)
		// What the command lists as CSV, it reads.
		w.says("refund mark --yes --file "+file(t, w.data("refund list --sale moutai -o csv")), cli.ExitFine, "of 250 payments 0 are marked as refunded now; marked before: 250, named twice: 0, unknown: 0, open: 0\n")
	})
}

func TestAListMarksWhatIsDueInItsSaleAloneAndALostAnswerIsToldApart(t *testing.T) {
	owing(t, 6, func(t *testing.T, w *world) {
		w.pay("none", "", 700)
		marks := func(code int, list, words string, want ...string) {
			t.Helper()
			said, got := w.target.at(t.Context(), strings.NewReader(list), nil, strings.Fields("refund mark --file - "+words)...)
			if contains(t, said, want...); got != code {
				t.Errorf("%s: exit %d, want %d", words, got, code)
			}
		}
		const titles = "payment_intent_id,reporting_category,gross,currency\n"
		const list = titles + "pi_001,refund,0.08,cny\nnone,refund,7.00,cny\npi_002,refund,0.07,cny\npi_003,charge,0.08,cny\npi_004,refund,,cny\n"
		marks(cli.ExitUsage, "PSP Reference,Status,Amount\npi_1,Settled,0.08\n", "--yes", "flashsale: nothing is marked: stdin is a provider's list without its columns type, gross debit (gc), gross currency\n")
		marks(cli.ExitUsage, "PK\x03\x04\n1,2\n", "", "flashsale: stdin is packed, or a workbook: unpack it, or save it as CSV\n")
		marks(cli.ExitUsage, strings.Repeat("x", 33<<20), "", "flashsale: stdin is longer than 32 MB")
		marks(cli.ExitUsage, titles, "", "flashsale: stdin names no payment that went back")
		marks(cli.ExitBad, list, "--group shoe", "flashsale: group-not-found: no such group\n")
		marks(cli.ExitBad, "none\n", "--group boots --yes", "no refund of none is due in boots")
		// The answer is lost, and comes again after somebody else's mark.
		answer, tries := w.invoke, 0
		w.invoke = func(payload []byte) ([]byte, error) {
			said, err := answer(payload)
			if bytes.Contains(payload, []byte(`"POST /operate/refunds"`)) {
				if tries++; tries == 1 {
					w.book.MarkRefunds(t.Context(), "moutai", []string{"stripe#pi_005"}, "carol")
					return nil, errors.New("the connection is gone")
				}
			}
			return said, err
		}
		w.ok(nil, w.book.MarkRefunds(t.Context(), "moutai", []string{"stripe#pi_005"}, "carol")[0].Err)
		marks(cli.ExitBad, list+"pi_005,refund,0.08,cny\n", "--sale moutai --yes", "line 3: no refund of none is due in moutai\nline 4: stripe#pi_002, 0.08 CNY, is not marked: the file pays 0.07 CNY of it back\n"+
			"line 6: stripe#pi_004, 0.08 CNY, is not marked: the file does not say how much of it went back\n"+
			"line 7: stripe#pi_005, 0.08 CNY, was marked as refunded at 2026-11-11T12:00:00Z by carol, and nothing changed now: do not pay it back again\n",
			"of 5 payments 1 are marked as refunded now; marked before: 1, named twice: 0, unknown: 1, open: 0\nthe file has 1 rows of other kinds, which mark nothing")
		// A part of them cannot be marked now.
		w.db.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("UpdateItem", "REFUND#moutai|stripe#pi_004")
		marks(cli.ExitUnknown, "pi_003\npi_004\nnone\n", "--yes", "of 3 payments 2 are marked as refunded now; marked before: 0, named twice: 0, unknown: 0, open: 1\nflashsale: not all are marked")
	})
}

func TestALongListOfLongNamesIsAnsweredInPartsAndMarked(t *testing.T) {
	selling(t, sale.Creation{}, func(t *testing.T, w *world) {
		order, list := w.ordered("alice"), ""
		for n := range 100 {
			reference := fmt.Sprint(n, strings.Repeat("<𠮷", 98))
			w.pay(reference, order, 8)
			list += reference + "\n"
		}
		w.says("refund mark --yes --file "+file(t, strings.Repeat(strings.Repeat("x", 1000)+"\n", 3000)+list), cli.ExitBad,
			"of 3100 payments 100 are marked as refunded now; marked before: 0, named twice: 2999, unknown: 1, open: 0")
	})
}

func TestRefundsAreListedPageByPageAlsoIfThoseOfASaleCannotBeRead(t *testing.T) {
	owing(t, 501, func(t *testing.T, w *world) {
		w.pay("none", "", 700)
		w.create(sale.Creation{SaleID: "unread"})
		w.says("refund list", cli.ExitFine, "moutai stripe#pi_500 0.08 CNY", "(no such order) stripe#none 7.00 CNY - unknown-order 2026-11-11T12:00:00Z DUE", "502 refunds due, 0 done")
		w.db.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("", "REFUND#unread")
		w.says("refund list", cli.ExitUnknown, "the list is not complete: refunds of unread: ", "stripe#pi_000", "stripe#none")
	})
}

func TestWhatIsDueIsWrittenIntoFilesThatTheProviderTakes(t *testing.T) {
	owing(t, 1, func(t *testing.T, w *world) {
		t.Chdir(t.TempDir())
		pay := func(provider, reference, order string, amount int64) {
			id, err := orderid.Parse(order)
			w.ok(id, err)
			w.ok(w.book.Pay(t.Context(), sale.Payment{Provider: provider, Reference: reference, SaleID: "moutai", OrderID: id, Amount: amount, Currency: "CNY"}))
		}
		bobs := w.ordered("bob")
		pay("wechat-pay", "4200000000000000001", bobs, 89900)
		pay("wechat-pay", "4200000000000000002", bobs, 89900)
		for i := range 6001 {
			pay("adyen", fmt.Sprintf("A%015d", i), bobs, 100)
		}
		w.says("order cancel "+bobs+" --yes --id c1", cli.ExitFine)
		w.ok(w.book.ReportMoney(t.Context(), sale.MoneyReport{Provider: "wechat-pay", Reference: "4200000000000000002", Currency: "CNY", Refund: &sale.RefundReport{ID: "5", State: sale.RefundDone, Amount: 39900}}))
		w.says("refund list moutai --for wechat-pay", cli.ExitFine, "refunds-wechat-pay-1.csv: 1 payments, 899.00 CNY\nby hand: wechat-pay#4200000000000000002, 500.00 CNY of 899.00 CNY, other-payment\n", "1 refunds due in 1 files, 1 by hand")
		w.says("refund list --for adyen", cli.ExitFine, "refunds-adyen-1.csv: 6000 payments, 6000.00 CNY\nrefunds-adyen-2.csv: 1 payments, 1.00 CNY\n")
		for name, want := range map[string]string{
			"refunds-wechat-pay-1.csv": bobs + ",899.00,order " + bobs + ",flashsale-4200000000000000001\n", "refunds-adyen-2.csv": "A000000000006000,cancelOrRefund\n",
		} {
			if got, err := os.ReadFile(name); string(got) != want {
				t.Errorf("%s is %q (%v), want %q", name, got, err, want)
			}
		}
		w.create(sale.Creation{SaleID: "wine"})
		w.says("refund list wine --for adyen", cli.ExitFine, "0 refunds due in 0 files, 0 by hand")
		w.says("refund list --for adyen", cli.ExitBad, "refunds-adyen-1.csv: file exists") // it may be on its way
		w.sent("wechat-pay#4200000000000000001", func(s sale.Sent) sale.Sent { return s.StillUnknown("", "") })
		w.says("refund list moutai --for wechat-pay", cli.ExitFine, "0 refunds due in 0 files, 1 by hand", "1 more were sent by the stack: do not pay them back")
		w.says("refund list --for stripe", cli.ExitUsage, "Stripe takes no file of refunds")
		w.says("refund list --for paypal", cli.ExitUsage, "--for must be adyen or wechat-pay")
		w.db.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("", "REFUND#")
		w.says("refund list --for wechat-pay", cli.ExitUnknown, "no file is written: refunds of ")
	})
}
