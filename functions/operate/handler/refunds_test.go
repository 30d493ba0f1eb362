package handler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// owing runs a test of a function over a sale of which alice has paid her order and two payments more.
func owing(t *testing.T, test func(t *testing.T, f *function)) {
	t.Helper()
	selling(t, func(t *testing.T, f *function) {
		for n := range 3 {
			f.Pay("alice", fmt.Sprint("pi_", n+1), 149900)
		}
		test(t, f)
	}, asksForPayment)
}

// due is what the list says of a refund that is due.
func due(payment string) map[string]any {
	return map[string]any{
		"payment": payment, "reason": "other-payment", "amount": 149900.0, "currency": "CNY", "digits": 2.0, "saleId": "moutai",
		"orderId": "406709376884146177", "user": "alice", "at": "2026-01-01T00:00:08.000Z",
	}
}

func TestTheListOfRefundsSaysWhatIsDueAndWhoHasPaidItBack(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		f.answered(t, event(t, "operate-mark.json"))
		done := due("stripe#pi_2")
		done["refundedAt"], done["refundedBy"] = "2026-01-01T00:00:08.000Z", "kim"
		want := map[string]any{"saleId": "moutai", "asOf": "2026-01-01T00:00:08.000Z", "refunds": []any{done, due("stripe#pi_3")}, "unreadable": 0.0}
		if diff := cmp.Diff(want, f.answered(t, event(t, "operate-refunds.json"))); diff != "" {
			t.Errorf("list (-want +got):\n%s", diff)
		}
		if f.Logged(t, "actor") != "vera" {
			t.Errorf("the line is %s", f.Log.String())
		}
		f.Newer("REFUND#moutai", "stripe#pi_2")
		got := f.answered(t, event(t, "operate-refunds.json"))
		if got["unreadable"] != 1.0 || len(got["refunds"].([]any)) != 1 {
			t.Errorf("with one that cannot be read the list is %v", got)
		}
		unknown := f.answered(t, event(t, "operate-refunds.json", inQuery("after", "")))
		if unknown["saleId"] != "" || len(unknown["refunds"].([]any)) != 0 {
			t.Errorf("those of unknown orders are %v", unknown)
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-refunds.json", inQuery("saleId", "nothing"))), 404, sale.SaleNotFound)
		refused(t, f.Ask(t, t.Context(), event(t, "operate-refunds.json", inQuery("saleId", "a#b"))), 400, sale.InvalidRequest)
		refused(t, f.Ask(t, t.Context(), event(t, "operate-refunds.json", inQuery("after", strings.Repeat("x", 1025)))), 400, sale.InvalidRequest)
		f.answered(t, event(t, "operate-refunds.json", inQuery("after", strings.Repeat("x", 1024))))
	})
}

// The file of a provider has lines of everything.
func TestEachPaymentToMarkIsAnswered(t *testing.T) {
	for _, saleID := range []string{`"saleId":"moutai",`, ""} { // the guards say which sale
		owing(t, func(t *testing.T, f *function) {
			f.answered(t, event(t, "operate-mark.json", user("lee")))
			time.Sleep(time.Minute)
			text := `{` + saleID + `"payments":["stripe#pi_2","stripe#pi_3","stripe#pi_3","stripe#pi_1","stripe#pi_9","pi_3","","#","a#\n","stripe#` + strings.Repeat("x", 201) + `"]}`
			var got []string
			for _, one := range f.answered(t, event(t, "operate-mark.json", body(text)))["refunds"].([]any) {
				m := one.(map[string]any)
				refund, _ := m["refund"].(map[string]any)
				got = append(got, strings.TrimSpace(fmt.Sprintf("%v %v %v %v", m["outcome"], refund["payment"], refund["refundedAt"], refund["refundedBy"])))
			}
			none := " <nil> <nil> <nil>"
			want := []string{"already stripe#pi_2 2026-01-01T00:00:08.000Z lee", "marked stripe#pi_3 2026-01-01T00:01:08.000Z kim", "doubled" + none,
				"unknown" + none, "unknown" + none, "unknown" + none, "unknown" + none, "unknown" + none, "unknown" + none, "unknown" + none}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", saleID, diff)
			}
			if f.Logged(t, "marked") != 1.0 || f.Logged(t, "actor") != "kim" {
				t.Errorf("the line is %s", f.Log.String())
			}
		})
	}
}

func TestAFailureOfOneMarkHidesNoOther(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		f.Newer("REFUND#moutai", "stripe#pi_2")
		got := f.answered(t, event(t, "operate-mark.json", body(`{"payments":["stripe#pi_2","stripe#pi_3"]}`)))["refunds"].([]any)
		if got[0].(map[string]any)["outcome"] != "failed" || got[1].(map[string]any)["outcome"] != "marked" || f.Logged(t, "failure") == nil {
			t.Errorf("got %v, the line is %s", got, f.Log.String())
		}
		f.BusyFor(time.Minute, "UpdateItem", "REFUND#moutai")
		got = f.answered(t, event(t, "operate-mark.json", body(`{"payments":["stripe#pi_3","stripe#pi_9","#"]}`)))["refunds"].([]any)
		if got[0].(map[string]any)["outcome"] != "busy" {
			t.Errorf("with a busy table got %v", got)
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-mark.json", body(`{"payments":["stripe#pi_3"]}`))), 503, sale.Busy)
	})
}

func TestABodyThatMarksNothingIsRefused(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		before := f.DB.Dump()
		many := `{"payments":["stripe#pi_2"` + strings.Repeat(`,"x"`, 100) + `]}`
		for _, text := range []string{``, `null`, `[]`, `{}`, `{"payments":[]}`, `{"payments":"stripe#pi_2"}`, `{"payments":["stripe#pi_2"],"actor":"vera"}`,
			`{"payments":["stripe#pi_2"]} {}`, `{"payments":[2]}`, `{"saleId":"a#b","payments":["stripe#pi_2"]}`, many} {
			refused(t, f.Ask(t, t.Context(), event(t, "operate-mark.json", body(text))), 400, sale.InvalidRequest)
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-mark.json", body(`{"saleId":"nothing","payments":["stripe#pi_2"]}`))), 404, sale.SaleNotFound)
		if f.DB.Dump() != before {
			t.Error("the table has changed")
		}
		f.answered(t, event(t, "operate-mark.json", body(strings.Replace(many, `,"x"`, "", 1))))
	})
}

// Reconciliation reads every claim and refund anyway; the sums are what it has seen.
func TestTheBooksSumTheMoneyOfASale(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		f.Confirm(ledger.ClaimRef{SaleID: testledger.SaleID, User: testledger.Bob, ClaimID: testledger.BobsClaim})
		f.answered(t, event(t, "operate-mark.json"))
		r := f.Receipt()
		var books map[string]any
		for _, p := range []struct {
			ledger.Pace
			want any
		}{{ledger.Pace{}, nil}, {ledger.Pace{Every: 60, First: 29453760, Counts: []int64{2}}, map[string]any{"from": "2026-01-01T00:00:00.000Z", "every": 60.0, "counts": []any{2.0}}}} {
			r.Accepted = p.Pace
			if err := f.Ledger().SaveCursor(t.Context(), &ledger.Audit{SaleID: "moutai"}, r); err != nil {
				t.Fatal(err)
			}
			books = f.answered(t, event(t, "operate-sale.json"))["books"].(map[string]any)
			if diff := cmp.Diff(p.want, books["accepted"]); diff != "" {
				t.Errorf("accepted (-want +got):\n%s", diff)
			}
		}
		want := []any{map[string]any{"currency": "CNY", "digits": 2.0, "taken": 149900.0, "outstanding": 149900.0, "due": 149900.0, "refunded": 149900.0}}
		if diff := cmp.Diff(want, books["money"]); diff != "" {
			t.Errorf("money (-want +got):\n%s", diff)
		}
	})
}
