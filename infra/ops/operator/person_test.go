package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

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
		tells(t, db, "person -user alice", nil,
			"moutai  order "+orderid.String(order)+", PAID, claim ", ", accepted at "+at, "moutai    paid at "+at+" by stripe#pi_89900, 89900 CNY",
			"moutai  the user has ordered in the group shoe", "moutai  refund of stripe#pi_5, 5 CNY, because: amount, of "+at+", due", "1 of 1 sales hold something of alice")
		text, err := does(t, db, "person -user alice -json")
		var said struct {
			User      string
			SalesRead int
			Complete  bool
			Sales     []heldJSON
		}
		if err != nil || json.Unmarshal([]byte(text), &said) != nil || said.User != "alice" || said.SalesRead != 1 || !said.Complete || len(said.Sales) != 1 ||
			said.Sales[0].Order.OrderID != orderid.String(order) || said.Sales[0].Group != "shoe" || len(said.Sales[0].Refunds) != 1 {
			t.Errorf("%v in\n%s", err, text)
		}
	})
}

func TestAnAnswerThatMayLackASaleSaysSo(t *testing.T) {
	db, _ := listed(t, "a", "newer", "z")
	if err := db.Tamper(t.Context(), "T", "SALE#newer", "SALE", "minReader", 1000); err != nil {
		t.Fatal(err)
	}
	tells(t, db, "person -user alice -json", errOther, "the answer is not complete: sale newer: ", `"complete": false`)
}
