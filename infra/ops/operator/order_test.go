package operator

import (
	"encoding/csv"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func listOf(t *testing.T, db *dynamotest.DB, state sale.ClaimState) [][]string {
	t.Helper()
	said, code := data(t, db, "order list moutai -o csv --state="+string(state))
	if code != cli.ExitFine {
		t.Fatalf("exit %d", code)
	}
	lines, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(said, "\ufeff"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestEveryOrderIsListedInItsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Name: "Feitian Moutai", Stock: 9, Price: 89900, Labels: "sku=A-38,erp=4711"})
		orders := map[string]uint64{}
		for _, user := range []string{"=cmd()", "-2", "alice", "'bob"} {
			orders[user] = ordered(t, book, user)
		}
		if _, err := book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: "pending"}); err != nil {
			t.Fatal(err)
		}
		for _, user := range []string{"=cmd()", "alice"} {
			pay(t, book, "pi_"+user, orders[user], 89900)
		}
		if _, err := book.PaidBack(t.Context(), sale.Payment{Provider: "stripe", Reference: "pi_alice", Amount: 89900, Currency: "CNY"}); err != nil {
			t.Fatal(err)
		}
		if _, err := book.Cancel(t.Context(), "moutai", "-2"); err != nil {
			t.Fatal(err)
		}
		const at, labels, goods = "'2026-11-11T12:00:00.000Z", "'sku=A-38,erp=4711", "'Feitian Moutai"
		number := func(user string) string { return "'" + orderid.String(orders[user]) }
		all := [][]string{
			strings.Fields(strings.ReplaceAll(orderColumns, "-", "")),
			{"'moutai", goods, number("'bob"), "''bob", "CONFIRMED", at, at, "", "", "", "", "", "", labels, ""},
			{"'moutai", goods, number("-2"), "'-2", "CANCELLED", at, at, "", "", "", "", at, "buyer", labels, ""},
			{"'moutai", goods, number("=cmd()"), "'=cmd()", "PAID", at, at, at, "'stripe#pi_=cmd()", "899.00", "CNY", "", "", labels, ""},
			{"'moutai", goods, number("alice"), "'alice", "PAID", at, at, at, "'stripe#pi_alice", "899.00", "CNY", "", "", labels, at},
			{"'moutai", goods, "", "'pending", "PENDING", at, "", "", "", "", "", "", "", labels, ""},
		}
		if diff := cmp.Diff(all, listOf(t, db, "")); diff != "" {
			t.Errorf("orders (-want +got):\n%s", diff)
		}
		for state, want := range map[sale.ClaimState][][]string{
			sale.Paid: {all[0], all[3], all[4]}, sale.Pending: {all[0], all[5]}, sale.Confirmed: {all[0], all[1]}, sale.Cancelled: {all[0], all[2]}, sale.Expired: {all[0]},
		} {
			if diff := cmp.Diff(want, listOf(t, db, state)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", state, diff)
			}
		}
		said, code := does(t, db, "order list --sale moutai --state paid")
		if code != cli.ExitFine || !strings.HasSuffix(said, "\n2 orders\n") {
			t.Errorf("exit %d: %s", code, said)
		}
		contains(t, strings.Join(strings.Fields(said), " "),
			strings.ReplaceAll(number("alice")+" alice PAID "+at+" "+at+" "+at+" stripe#pi_alice 899.00 CNY - - "+labels+" "+at, "'", ""))
		tells(t, db, "order list none -o csv", cli.ExitUnknown, "no such sale")
		if _, err := book.Recall(t.Context(), sale.Recall{SaleID: "moutai"}); err != nil {
			t.Fatal(err)
		}
		var states []string
		for _, line := range listOf(t, db, "")[1:] {
			states = append(states, line[3]+" "+line[4]+" "+line[9])
		}
		if diff := cmp.Diff([]string{"''bob RECALLED ", "'-2 CANCELLED ", "'=cmd() RECALLED 899.00", "'alice RECALLED 899.00", "'pending RECALLED "}, states); diff != "" {
			t.Errorf("states after a recall (-want +got):\n%s", diff)
		}
		if paid, all := listOf(t, db, sale.Paid), listOf(t, db, recalled); len(paid) != 1 || len(all) != 5 {
			t.Errorf("after a recall %d orders are listed as paid and %d as recalled", len(paid)-1, len(all)-1)
		}
	})
}

func TestAReaderThatLeavesIsNoFailure(t *testing.T) {
	db, _ := listed(t, "moutai")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer w.Close()
	for _, command := range []string{"order list moutai", "order list moutai -o csv", "order list moutai -o json"} {
		if said, code := (&place{db: db}).at(t, nil, w, strings.Fields(command)...); code != cli.ExitFine {
			t.Errorf("%s: exit %d, %s", command, code, said)
		}
	}
}
