package operator

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func (w *world) listOf(state sale.ClaimState) [][]string {
	w.Helper()
	lines, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(w.data("order list moutai -o csv --state="+string(state)), "\ufeff"))).ReadAll()
	w.ok(lines, err)
	return lines
}

func TestEveryOrderIsListedInItsState(t *testing.T) {
	selling(t, sale.Creation{Labels: "sku=A-38,erp=4711", MaxPerOrder: 2}, func(t *testing.T, w *world) {
		orders := map[string]string{}
		for _, user := range []string{"=cmd()", "-2", "alice", "'bob"} {
			orders[user] = w.ordered(user)
		}
		w.ok(w.book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: "pending", Units: 2}))
		w.pay("pi_=cmd()", orders["=cmd()"], 89900)
		w.pay("pi_alice", orders["alice"], 89900)
		w.ok(w.book.ReportMoney(t.Context(), sale.MoneyReport{
			Provider: "stripe", Reference: "pi_alice", Refund: &sale.RefundReport{ID: "re_1", State: sale.RefundDone, Whole: true},
		}))
		w.ok(w.book.Cancel(t.Context(), "moutai", "-2"))
		const at, labels, goods = "'2026-11-11T12:00:00.000Z", "'sku=A-38,erp=4711", "'Moutai"
		number := func(user string) string { return "'" + orders[user] }
		all := [][]string{
			strings.Fields(strings.ReplaceAll(orderColumns, "-", "")),
			{"'moutai", goods, number("'bob"), "''bob", "CONFIRMED", at, at, "", "", "", "", "", "", labels, "", "", "", "1"},
			{"'moutai", goods, number("-2"), "'-2", "CANCELLED", at, at, "", "", "", "", at, "buyer", labels, "", "", "", "1"},
			{"'moutai", goods, number("=cmd()"), "'=cmd()", "PAID", at, at, at, "'stripe#pi_=cmd()", "899.00", "CNY", "", "", labels, "", "", "", "1"},
			{"'moutai", goods, number("alice"), "'alice", "PAID", at, at, at, "'stripe#pi_alice", "899.00", "CNY", "", "", labels, at, "899.00", "whole", "1"},
			{"'moutai", goods, "", "'pending", "PENDING", at, "", "", "", "", "", "", "", labels, "", "", "", "2"},
		}
		for state, want := range map[sale.ClaimState][][]string{
			"": all, sale.Paid: {all[0], all[3], all[4]}, sale.Pending: {all[0], all[5]}, sale.Confirmed: {all[0], all[1]}, sale.Cancelled: {all[0], all[2]}, sale.Expired: {all[0]},
		} {
			if diff := cmp.Diff(want, w.listOf(state)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", state, diff)
			}
		}
		w.says("order list --sale moutai --state paid", 0, orders["alice"]+" alice PAID "+strings.ReplaceAll(at+" "+at+" "+at+" stripe#pi_alice 899.00 CNY - - "+labels+" "+at+" 899.00 whole 1", "'", ""), "2 orders\n")
		w.ok(w.book.Recall(t.Context(), sale.Recall{SaleID: "moutai"}))
		var states []string
		for _, line := range w.listOf("")[1:] {
			states = append(states, line[3]+" "+line[4]+" "+line[9])
		}
		if diff := cmp.Diff([]string{"''bob RECALLED ", "'-2 CANCELLED ", "'=cmd() RECALLED 899.00", "'alice RECALLED 899.00", "'pending RECALLED "}, states); diff != "" {
			t.Errorf("states after a recall (-want +got):\n%s", diff)
		}
		if paid, all := w.listOf(sale.Paid), w.listOf(recalled); len(paid) != 1 || len(all) != 5 {
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
	selling(t, sale.Creation{Stock: 300}, func(t *testing.T, w *world) {
		w.sizes()
		for i := range 290 {
			w.ok(w.book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: fmt.Sprint("user-", i)}))
		}
		for _, command := range []string{
			"order list moutai", "order list moutai -o csv", "order list moutai -o json", "order show --sale moutai --buyer user-1",
			"sale list", "sale list -o csv", "sale list -o json", "sale show --group boots", "sale export moutai",
			"books list -o csv", "books receipt moutai", "books receipt --all -o json", "refund list", "refund list -o csv", "buyer show user-1",
			"create " + file(t, drop) + " --dry-run", "sale pause --group boots", "sale pause moutai", "sale resume moutai --dry-run", "order resend moutai --dry-run",
		} {
			for _, after := range []int{0, 1000, 9000} {
				said, code := w.target.at(t.Context(), nil, &leaving{after}, strings.Fields(command)...)
				if code != cli.ExitFine || strings.Contains(said, "flashsale: ") || strings.Contains(said, "the reader") {
					t.Errorf("%s, read for %d bytes: exit %d, %s", command, after, code, said)
				}
			}
		}
		for _, id := range []string{"moutai", "boots-41", "boots-42"} {
			if one, _, err := w.book.Standing(t.Context(), id); err != nil || !one.Sale.Paused {
				t.Errorf("%s is not paused (%v)", id, err)
			}
		}
	})
}
