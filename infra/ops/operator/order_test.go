package operator

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

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
		tells(t, db, "order list none -o csv", cli.ExitBad, "no such sale")
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

// leaving is a reader of a pipe that leaves after so many bytes.
type leaving struct{ after int }

func (l *leaving) Write(b []byte) (int, error) {
	if l.after -= len(b); l.after < 0 {
		return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
	}
	return len(b), nil
}

func TestAReaderThatLeavesEndsEveryCommandQuietlyAndNoneInTheMiddleOfAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(noon))
		s := newShop(t)
		s.ofSizes(t)
		for i := range 300 {
			if _, err := s.book.Purchase(t.Context(), ledger.Request{SaleID: []string{"moutai", "boots-41"}[i/298], User: fmt.Sprint("user-", i)}); err != nil && sale.CodeOf(err) != sale.SoldOut {
				t.Fatal(err)
			}
		}
		s.place.db = s.db
		file := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(file, []byte(drop), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{
			"order list moutai", "order list moutai -o csv", "order list moutai -o json", "order list --group boots", "order show --sale moutai --buyer user-1",
			"sale list", "sale list -o csv", "sale list -o json", "sale show moutai", "sale show moutai -o json", "sale show --group boots", "sale export moutai",
			"books list", "books list -o csv", "books receipt moutai", "books receipt --all -o json", "refund list", "refund list -o csv", "buyer show user-1",
			"create " + file + " --dry-run", "sale pause --group boots", "sale pause moutai", "sale resume moutai --dry-run", "order resend moutai --dry-run",
		} {
			for _, after := range []int{0, 1000, 9000} {
				said, code := s.place.at(t, nil, &leaving{after}, strings.Fields(command)...)
				if code != cli.ExitFine || strings.Contains(said, "flashsale: ") || strings.Contains(said, "the reader") {
					t.Errorf("%s, read for %d bytes: exit %d, %s", command, after, code, said)
				}
			}
		}
		for _, id := range []string{"moutai", "boots-41", "boots-42"} {
			if one, _, err := s.book.Standing(t.Context(), id); err != nil || !one.Sale.Paused {
				t.Errorf("%s is not paused (%v)", id, err)
			}
		}
	})
}
