package operator

import (
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
		mark("moutai", "stripe#pi_other", cli.ExitBad, "no refund of stripe#pi_other is due")
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
		told := "line 2: no refund of stripe#pi_none is due\n" +
			"line 5: stripe#pi_001, 0.05 CNY, was marked as refunded at 2026-11-11T12:00:00Z, and nothing changed now: do not pay it back again\n" +
			"line 254: stripe#pi_007 is in line 11, too\n" +
			"line 255: pi_008 is in line 12, too\n"
		ends := func(code int, want ...string) {
			t.Helper()
			said, got := at.does(t, "refund mark --sale moutai --file "+file)
			if got != code {
				t.Errorf("exit %d, want %d", got, code)
			}
			contains(t, said, want...)
		}
		if said, code := at.does(t, "refund mark --dry-run --file "+file); code != cli.ExitBad || !strings.HasPrefix(said, told+"of 253 payments 249 would be marked as refunded; ") {
			t.Errorf("exit %d, %q", code, said)
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
