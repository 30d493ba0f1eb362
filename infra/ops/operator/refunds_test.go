package operator

import (
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
			tells(t, db, command, code, want)
		}
		list("moutai stripe#pi_cheap 0.05 CNY "+orderid.String(order)+" amount 2026-11-11T12:00:00Z DUE",
			"(no such order) standard#none 7.00 EUR - unknown-order 2026-11-11T12:00:00Z DUE", "2 refunds due, 0 done")
		mark("moutai", "stripe#pi_other", cli.ExitBad, "no refund of stripe#pi_other is due")
		mark("", "stripe#pi_cheap", cli.ExitBad, "no refund of stripe#pi_cheap is due")
		mark("moutai", "stripe#pi_cheap --dry-run", cli.ExitFine, "stripe#pi_cheap, 0.05 CNY, would be marked as refunded; nothing was changed")
		time.Sleep(time.Minute)
		mark("moutai", "stripe#pi_cheap", cli.ExitFine, "stripe#pi_cheap, 0.05 CNY, is marked as refunded at 2026-11-11T12:01:00Z")
		time.Sleep(time.Minute)
		mark("moutai", "stripe#pi_cheap", cli.ExitFine, "was marked as refunded at 2026-11-11T12:01:00Z, and nothing changed now")
		mark("", "standard#none", cli.ExitFine, "is marked as refunded")
		list("amount 2026-11-11T12:00:00Z 2026-11-11T12:01:00Z", "0 refunds due, 2 done")
		tells(t, db, "refund list --sale mutai", cli.ExitUnknown, "no such sale")
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
