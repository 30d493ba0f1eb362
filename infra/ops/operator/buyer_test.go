package operator

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func TestEverythingThatIsHeldOfAPersonIsPrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 9, Price: 89900, LimitGroup: "shoe"})
		order := ordered(t, book, "alice")
		for _, amount := range []int64{89900, 5} {
			pay(t, book, fmt.Sprint("pi_", amount), order, amount)
		}
		const at = "2026-11-11T12:00:00.000Z"
		tells(t, db, "buyer show alice", cli.ExitFine,
			"saleId: moutai\n", "orderId: \""+orderid.String(order)+"\"\n", "state: PAID\n", "acceptedAt: \""+at+"\"\n", "payment: stripe#pi_89900\n", "group: shoe\n",
			"- payment: stripe#pi_5\n", "reason: amount\n", "1 of 1 sales hold something of alice")
		text, code := data(t, db, "buyer show alice -o json")
		var said struct {
			User      string
			SalesRead int
			Complete  bool
			Sales     []heldJSON
		}
		if code != cli.ExitFine || json.Unmarshal([]byte(text), &said) != nil || said.User != "alice" || said.SalesRead != 1 || !said.Complete || len(said.Sales) != 1 ||
			said.Sales[0].Order.OrderID != orderid.String(order) || said.Sales[0].Group != "shoe" || len(said.Sales[0].Refunds) != 1 {
			t.Errorf("exit %d in\n%s", code, text)
		}
	})
}

func TestWhoHasCancelledABuyersOrderIsPrintedUntilTheBuyerIsErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 9, Price: 89900})
		order := ordered(t, book, "alice")
		pay(t, book, "pi_1", order, 89900)
		if _, err := book.CancelOrder(t.Context(), sale.Cancellation{
			SaleID: "moutai", OrderID: order, ChangeID: "c1", Author: sale.Author{Actor: "ana", Note: "alice has moved"}, Saw: sale.Paid, Unit: sale.UnitKept,
		}); err != nil {
			t.Fatal(err)
		}
		const at = "2026-11-11T12:00:00.000Z"
		tells(t, db, "buyer show alice", cli.ExitFine, "state: CANCELLED\n", "cancelledAt: \""+at+"\"\n", "reason: cancelled\n",
			"cancelled:\n      at: \""+at+"\"\n      by: ana\n      note: alice has moved\n      saw: PAID\n      unit: kept\n      id: c1\n")
		if _, _, err := book.MarkRefunded(t.Context(), "moutai", "stripe#pi_1"); err != nil {
			t.Fatal(err)
		}
		drained(t, book)
		tells(t, db, "buyer erase alice --yes", cli.ExitFine, "note: alice has moved\n", "alice was erased in 1 sales")
		it := db.Item("T", "CANCELLED#moutai", orderid.String(order))
		if it["actor"] == nil || it["unit"] == nil || it["note"] != nil {
			t.Errorf("of the cancellation is stored %v, want it without its note", it)
		}
	})
}

func TestAnAnswerThatMayLackASaleSaysSo(t *testing.T) {
	db, _ := listed(t, "a", "newer", "z")
	if err := db.Tamper(t.Context(), "T", "SALE#newer", "SALE", "minReader", 1000); err != nil {
		t.Fatal(err)
	}
	tells(t, db, "buyer show alice -o json", cli.ExitUnknown, "the answer is not complete: sale newer: ", `"complete": false`)
}

func TestAPersonIsErasedOnceTheirSalesAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 9, Price: 89900})
		order := ordered(t, book, "alice")
		const asks, erases = "buyer erase alice --dry-run", "buyer erase alice --yes"
		tells(t, db, asks, cli.ExitBad, "NOT ERASED: the sale moutai is not drained")
		tells(t, db, erases, cli.ExitBad, "NOT ERASED: the sale moutai is not drained")
		pay(t, book, "pi_1", order, 89900)
		drained(t, book)
		tells(t, db, asks, cli.ExitFine, "saleId: moutai\n", "alice would be erased in these 1 sales, for ever")
		tells(t, db, erases, cli.ExitFine, "moutai  erased\n", "alice was erased in 1 sales")
		tells(t, db, asks, cli.ExitBad, "NOT ERASED: no sale holds anything of alice")
		tells(t, db, erases, cli.ExitBad, "NOT ERASED: no sale holds anything of alice")
	})
}

func TestAnErasureThatStopsHalfWaySaysThatARepeatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 9})
		if _, err := book.Create(t.Context(), sale.Creation{SaleID: "second", Name: "x", OpensAt: noon, ClosesAt: noon.Add(time.Hour), Stock: 1, Shards: 1}); err != nil {
			t.Fatal(err)
		}
		ordered(t, book, "alice")
		p, err := book.Purchase(t.Context(), ledger.Request{SaleID: "second", User: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		book.Confirm(t.Context(), []ledger.ClaimRef{{SaleID: "second", User: "alice", ClaimID: p.Claim.ID}})
		drained(t, book)
		if r, err := book.Step(t.Context(), &ledger.Audit{SaleID: "second"}, func(sale.Claim) {}); err != nil {
			t.Fatal(err)
		} else if done, err := book.Drain(t.Context(), r); !done || err != nil {
			t.Fatal(err)
		}
		db.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("TransactWriteItems", "second")
		tells(t, db, "buyer erase alice --yes", cli.ExitUnknown, "moutai  erased\n", "; repeat the command: it erases what is left")
		db.Fault = nil
		tells(t, db, "buyer erase alice --yes", cli.ExitFine, "alice was erased in 1 sales")
	})
}
