package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func TestEverythingThatIsHeldOfAPersonIsPrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, book := opened(t, sale.Creation{Stock: 9, Price: 89900, LimitGroup: "shoe"})
		order := ordered(t, book, "alice")
		for _, amount := range []int64{89900, 5} {
			pay(t, book, fmt.Sprint("pi_", amount), order, amount)
		}
		const at = "2026-11-11T12:00:00.000Z"
		var lines, text bytes.Buffer
		if err := showPerson(t.Context(), book, "alice", false, &lines); err != nil {
			t.Fatal(err)
		}
		contains(t, lines.String(),
			"moutai  order "+orderid.String(order)+", PAID, claim ", ", accepted at "+at, "moutai    paid at "+at+" by stripe#pi_89900, 89900 CNY",
			"moutai  the user has ordered in the group shoe", "moutai  refund of stripe#pi_5, 5 CNY, because: amount, of "+at+", due", "1 of 1 sales hold something of alice")
		if err := showPerson(t.Context(), book, "alice", true, &text); err != nil {
			t.Fatal(err)
		}
		var said struct {
			User      string
			SalesRead int
			Complete  bool
			Sales     []heldJSON
		}
		if err := json.Unmarshal(text.Bytes(), &said); err != nil || said.User != "alice" || said.SalesRead != 1 || !said.Complete || len(said.Sales) != 1 ||
			said.Sales[0].Order.OrderID != orderid.String(order) || said.Sales[0].Group != "shoe" || len(said.Sales[0].Refunds) != 1 {
			t.Errorf("%v in\n%s", err, &text)
		}
	})
}

func TestAnAnswerThatMayLackASaleSaysSo(t *testing.T) {
	db, book := listed(t, "a", "newer", "z")
	tamper(t, db, "SALE#newer", "SALE", "minReader", 1000)
	var out bytes.Buffer
	err := showPerson(t.Context(), book, "alice", true, &out)
	if err == nil || !strings.Contains(err.Error(), "the answer is not complete: sale newer: ") || !strings.Contains(out.String(), `"complete": false`) {
		t.Errorf("%v after\n%s", err, &out)
	}
}
