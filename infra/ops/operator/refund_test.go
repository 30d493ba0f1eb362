package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func TestRefundsAreListedAndMarkedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 2, Price: 129900})
		order := ordered(t, book, "alice")
		for _, payment := range []sale.Payment{
			{Provider: "stripe", Reference: "pi_cheap", SaleID: "moutai", OrderID: order, Amount: 5, Currency: "CNY"},
			{Provider: "standard", Reference: "none", Amount: 700, Currency: "EUR"},
		} {
			if done, err := book.Pay(t.Context(), payment); err != nil || done.Refund == nil {
				t.Fatalf("got %+v (%v)", done, err)
			}
		}
		at := desk(t, db, book)
		list := func(want ...string) {
			t.Helper()
			said, code := does(t, db, "refund list")
			if code != cli.ExitFine {
				t.Errorf("exit %d", code)
			}
			contains(t, strings.Join(strings.Fields(said), " "), want...)
		}
		mark := func(saleID, payment string, code int, want string) {
			t.Helper()
			command := "refund mark " + payment
			if saleID != "" {
				command += " --sale " + saleID
			}
			if said, got := at.does(t, command); got != code || !strings.Contains(said, want) {
				t.Errorf("%s: exit %d, %q, want %d, %q", command, got, said, code, want)
			}
		}
		list("moutai stripe#pi_cheap 0.05 CNY "+orderid.String(order)+" amount 2026-11-11T12:00:00Z DUE",
			"(no such order) standard#none 7.00 EUR - unknown-order 2026-11-11T12:00:00Z DUE", "2 refunds due, 0 done")
		mark("moutai", "stripe#pi_other", cli.ExitBad, "no refund of stripe#pi_other is due in moutai\n")
		mark("moutai", "standard#none", cli.ExitBad, "no refund of standard#none is due in moutai\n")
		mark("", "pi_cheap --dry-run", cli.ExitFine, "stripe#pi_cheap, 0.05 CNY, would be marked as refunded; nothing was changed")
		mark("moutai", "stripe#pi_cheap --dry-run", cli.ExitFine, "stripe#pi_cheap, 0.05 CNY, would be marked as refunded; nothing was changed")
		time.Sleep(time.Minute)
		mark("", "stripe#pi_cheap", cli.ExitFine, "stripe#pi_cheap, 0.05 CNY, is marked as refunded at 2026-11-11T12:01:00Z by "+at.asker.Actor)
		time.Sleep(time.Minute)
		mark("moutai", "stripe#pi_cheap", cli.ExitFine, "was marked as refunded at 2026-11-11T12:01:00Z by "+at.asker.Actor+", and nothing changed now: do not pay it back again")
		mark("", "standard#none", cli.ExitFine, "is marked as refunded")
		list("amount 2026-11-11T12:00:00Z 2026-11-11T12:01:00Z", "0 refunds due, 2 done")
		tells(t, db, "refund list --sale mutai", cli.ExitBad, "no such sale")
	})
}

func TestAFileOfPaymentsIsMarkedAndARepeatFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 2, Price: 129900})
		order, file := ordered(t, book, "alice"), filepath.Join(t.TempDir(), "refunded.txt")
		text := "\ufeffPayment;Amount\r\nstripe#pi_none\r\n# paid back today\r\n"
		for i := range 250 {
			reference := fmt.Sprintf("pi_%03d", i)
			pay(t, book, reference, order, 5)
			text += "\"'stripe#" + reference + "\";0.05\r\n"
		}
		if err := os.WriteFile(file, []byte(text+"stripe#pi_007\r\npi_008"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := book.MarkRefunded(t.Context(), "moutai", "stripe#pi_001"); err != nil {
			t.Fatal(err)
		}
		at := desk(t, db, book)
		told := "line 2: no refund of stripe#pi_none is due in moutai\n" +
			"line 5: stripe#pi_001, 0.05 CNY, was marked as refunded at 2026-11-11T12:00:00Z, and nothing changed now: do not pay it back again\n" +
			"line 254: stripe#pi_007 is in line 11, too\n" +
			"line 255: pi_008 is in line 12, too\n"
		ends := func(code int, want ...string) {
			t.Helper()
			said, got := at.does(t, "refund mark --yes --sale moutai --file "+file)
			if got != code {
				t.Errorf("exit %d, want %d", got, code)
			}
			contains(t, said, want...)
		}
		if said, code := at.does(t, "refund mark --dry-run --sale moutai --file "+file); code != cli.ExitBad || !strings.HasPrefix(said, told+"of 253 payments 249 would be marked as refunded; ") {
			t.Errorf("exit %d, %q", code, said)
		}
		said, code := at.at(t, seat{strings.NewReader("no\n")}, nil, "refund", "mark", "--file", file)
		if contains(t, said, "Mark 249 as refunded, 12.45 CNY? "); code != cli.ExitBad {
			t.Errorf("exit %d after no", code)
		}
		db.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("UpdateItem", "REFUND#moutai")
		ends(cli.ExitUnknown, "of 253 payments 0 are marked as refunded now; ", "open: 249", "not all are marked: ", "repeat the command: it marks a refund once")
		db.Fault = nil
		ends(cli.ExitBad, told+"of 253 payments 249 are marked as refunded now; marked before: 1, named twice: 2, unknown: 1, open: 0\n", "NOT MARKED: 1 ")
		refunds, err := book.Refunds(t.Context(), "moutai")
		if err != nil || len(refunds) != 250 || slices.ContainsFunc(refunds, func(r sale.Refund) bool { return r.RefundedAt.IsZero() }) {
			t.Errorf("%d refunds, and some are still due (%v)", len(refunds), err)
		}
		if said, code := at.does(t, "refund mark stripe#pi_1 --file "+file); code != cli.ExitUsage {
			t.Errorf("exit %d, %q", code, said)
		}
		// What the command lists as CSV, it reads.
		listed, _ := at.does(t, "refund list --sale moutai -o csv")
		if err := os.WriteFile(file, []byte(strings.TrimSuffix(listed, "0 refunds due, 250 done\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		ends(cli.ExitFine, "of 250 payments 0 are marked as refunded now; marked before: 250, named twice: 0, unknown: 0, open: 0\n")
	})
}

// markList gives a list on stdin to a command that cannot read the table. Of each request that marks, before may do
// something first, and loses its answer by true.
func markList(t *testing.T, book *ledger.Ledger, list string, before func(body string) (lost bool), words ...string) (said string, code int) {
	t.Helper()
	function := desk(t, nil, book).found.Client
	p := invoking(func(name string, payload []byte) ([]byte, error) {
		var event struct{ RouteKey, Body string }
		if err := json.Unmarshal(payload, &event); err != nil {
			t.Error(err)
		}
		lost := before != nil && event.RouteKey == "POST /operate/refunds" && before(event.Body)
		answer, err := function.Invoke(t.Context(), name, payload)
		if err == nil && lost {
			err = errors.New("the connection is gone")
		}
		return answer.Body, err
	})
	return p.at(t, strings.NewReader(list), nil, append([]string{"refund", "mark", "--file", "-"}, words...)...)
}

func TestAListMarksWhatIsDueInItsSaleAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 2, Price: 129900})
		order := ordered(t, book, "alice")
		pay(t, book, "pi_0", order, 129900)
		for _, reference := range []string{"pi_1", "pi_2", "pi_3", "pi_4", "pi_5", "pi_6"} {
			pay(t, book, reference, order, 8)
		}
		if _, err := book.Pay(t.Context(), sale.Payment{Provider: "standard", Reference: "none", Amount: 700, Currency: "EUR"}); err != nil {
			t.Fatal(err)
		}
		const titles = "payment_intent_id,reporting_category,gross,currency\n"
		const list = titles + "pi_1,refund,0.08,cny\nnone,refund,7.00,eur\npi_2,refund,0.07,cny\npi_3,charge,0.08,cny\npi_4,refund,,cny\n"
		told := "line 3: no refund of none is due in moutai\nline 4: stripe#pi_2, 0.08 CNY, is not marked: the file pays 0.07 CNY of it back\n" +
			"line 6: stripe#pi_4, 0.08 CNY, is not marked: the file does not say how much of it went back\n"
		does := func(want string, wantCode int, list string, before func(string) bool, words ...string) {
			t.Helper()
			said, code := markList(t, book, list, before, words...)
			if code != wantCode {
				t.Errorf("%v: exit %d, want %d", words, code, wantCode)
			}
			contains(t, said, strings.Split(want, "…")...)
		}
		does(told+"flashsale: refund mark asks before it goes on, and there is no terminal: give --yes", cli.ExitUsage, list, nil, "--sale", "moutai")
		does("flashsale: nothing is marked: stdin is a provider's list without its columns type, gross debit (gc), gross currency\n", cli.ExitUsage, "PSP Reference,Status,Amount\npi_1,Settled,0.08\n", nil, "--yes")
		does("flashsale: stdin is packed, or a workbook: unpack it, or save it as CSV\n", cli.ExitUsage, "PK\x03\x04\n1,2\n", nil)
		does("flashsale: stdin is longer than 32 MB", cli.ExitUsage, strings.Repeat("x", 33<<20), nil)
		does("flashsale: stdin names no payment that went back", cli.ExitUsage, titles, nil)
		does("flashsale: group-not-found: no such group\n", cli.ExitBad, list, nil, "--group", "shoe")
		refunds, _ := book.Refunds(t.Context(), "moutai")
		if slices.ContainsFunc(refunds, func(r sale.Refund) bool { return !r.RefundedAt.IsZero() }) {
			t.Errorf("marked without a yes: %+v", refunds)
		}
		// The answer is lost, and comes again after somebody else's mark.
		tries := 0
		does(told+"…line 7: stripe#pi_5, 0.08 CNY, was marked as refunded at 2026-11-11T12:00:00Z by carol, and nothing changed now: do not pay it back again\n"+
			"of 5 payments 1 are marked as refunded now; marked before: 1, named twice: 0, unknown: 1, open: 0\nthe file has 1 rows of other kinds, which mark nothing", cli.ExitBad, list+"pi_5,refund,0.08,cny\n",
			func(string) bool {
				if tries++; tries == 1 {
					book.MarkRefunds(t.Context(), "moutai", []string{"stripe#pi_5"}, "carol")
				}
				return tries == 1
			}, "--sale", "moutai", "--yes")
		db.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("UpdateItem", "REFUND#moutai|stripe#pi_4")
		does("of 3 payments 2 are marked as refunded now; marked before: 0, named twice: 0, unknown: 0, open: 1\nflashsale: not all are marked", cli.ExitUnknown, "pi_3\npi_4\nnone\n", nil, "--yes")
		drained(t, book)
		does("of 1 payments 1 are marked as refunded now", cli.ExitFine, "pi_6\n", nil, "--yes")
	})
}

func TestALongListOfLongNamesIsAnsweredInPartsAndMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, book := opened(t, sale.Creation{Stock: 2, Price: 129900})
		order, list := ordered(t, book, "alice"), ""
		for n := range 100 {
			reference := fmt.Sprint(n, strings.Repeat("<𠮷", 98))
			pay(t, book, reference, order, 8)
			list += reference + "\n"
		}
		list = strings.Repeat(strings.Repeat("x", 1000)+"\n", 3000) + list
		if said, code := markList(t, book, list, nil, "--yes"); code != cli.ExitBad || !strings.Contains(said, "of 3100 payments 100 are marked as refunded now; marked before: 0, named twice: 2999, unknown: 1, open: 0") {
			t.Errorf("exit %d, %q", code, said[len(said)-400:])
		}
	})
}

func TestRefundsAreListedAlsoIfThoseOfASaleCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 2, Price: 129900})
		pay(t, book, "cheap", ordered(t, book, "alice"), 5)
		if _, err := book.Create(t.Context(), sale.Creation{SaleID: "unread", Name: "x", OpensAt: noon, ClosesAt: noon.Add(time.Hour), Stock: 1, Shards: 1}); err != nil {
			t.Fatal(err)
		}
		for _, fault := range []dynamotest.Fault{{Kind: dynamotest.ServerError}, {Kind: dynamotest.Throttle}} {
			db.Fault = fault.On("", "REFUND#unread")
			tells(t, db, "refund list", cli.ExitUnknown, "the list is not complete: refunds of unread: ", "moutai  stripe#cheap  0.05    CNY")
		}
	})
}
