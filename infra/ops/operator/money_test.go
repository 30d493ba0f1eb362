package operator

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/functions/query/handler"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// saidOfMoney is what each reader says of an order of 899 CNY that was paid by stripe#pi_1.
type saidOfMoney struct {
	Claim  string // its refund
	Buyer  string // what support may say
	List   string // the columns back and money
	Sums   ledger.Sums
	Events string // of its money
}

// readers asks all who read of the money of alice's order.
func (w *world) readers(order string) (all saidOfMoney) {
	w.Helper()
	r := httpapi.Request{RouteKey: "GET /sales/{saleId}/orders/me", Sub: "alice"}
	r.Path.SaleID = "moutai"
	answer, err := handler.New(w.book, telemetry.New(io.Discard, "query", time.Now), time.Now).Handle(w.Context(), r)
	w.ok(answer, err)
	var claim struct{ Refund json.RawMessage }
	w.ok(nil, json.Unmarshal([]byte(answer.Body), &claim))
	all.Claim = string(claim.Refund)

	_, all.Buyer, _ = strings.Cut(w.data("order show "+order), "for the buyer: ")
	all.Buyer = strings.TrimSpace(all.Buyer)
	line := w.listOf("")[1]
	all.List = strings.TrimSpace(strings.Join(line[len(line)-3:len(line)-1], " "))

	receipt, err := w.book.Step(w.Context(), &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
	w.ok(receipt, err)
	all.Sums = receipt.Money["CNY"]

	var events []string
	w.ok(nil, w.book.Events(w.Context(), "moutai", func(page []sale.Event) error {
		for _, e := range page {
			if _, about, ok := strings.Cut(e.ID, ":stripe#pi_1:"); ok {
				events = append(events, fmt.Sprint(e.Type, " ", about))
				if e.SaleID != "moutai" || e.OrderID == 0 || e.User != "" {
					w.Errorf("got %+v, want its sale and order, and no user", e)
				}
			}
		}
		return nil
	}))
	slices.Sort(events)
	all.Events = strings.Join(events, ", ")
	return all
}

func TestAllReadersSayTheSameOfAnOrdersMoney(t *testing.T) {
	const due = "2026-11-11T12:00:00.000Z"
	refund := func(state sale.RefundState, amount int64) sale.MoneyReport {
		return sale.MoneyReport{Currency: "CNY", Refund: &sale.RefundReport{ID: "re_1", State: state, Amount: amount}}
	}
	dispute := func(state sale.DisputeState, rank int64) sale.MoneyReport {
		return sale.MoneyReport{Dispute: &sale.DisputeReport{ID: "dp_1", State: state, Rank: rank}}
	}
	part, whole := refund(sale.RefundDone, 39900), refund(sale.RefundDone, 89900)
	total := sale.MoneyReport{Currency: "CNY", Total: &sale.TotalReport{Amount: 89900, Grows: true}}
	said := func(state, back string) string {
		return `{"payment":"stripe#pi_1","state":"` + state + `","amount":89900` + back + `}`
	}
	const isWhole = `,"back":89900,"currency":"CNY","refundedAt":"` + due + `"`
	stands := func(refunded int64) ledger.Sums {
		return ledger.Sums{Taken: 89900, Refunded: refunded, Standing: refunded}
	}
	for name, tt := range map[string]struct {
		reports   []sale.MoneyReport
		stands    saidOfMoney
		cancelled saidOfMoney // the same, of an order that was cancelled before
		listed    string      // how its refund is listed then
	}{
		"none": {nil, saidOfMoney{"", "your order is $, and it is paid", "", stands(0), ""},
			saidOfMoney{"", "; your payment of 899.00 CNY (stripe#pi_1) will be paid back", "", ledger.Sums{Due: 89900}, ""}, "DUE"},
		"part": {[]sale.MoneyReport{part}, saidOfMoney{said("part", `,"back":39900,"currency":"CNY"`), "your order is $, and it is paid; 399.00 CNY of your payment of 899.00 CNY (stripe#pi_1) was paid back", "399.00 part", stands(39900), "RefundDone re_1"},
			saidOfMoney{said("part", `,"back":39900,"currency":"CNY"`), "; 399.00 CNY of your payment of 899.00 CNY (stripe#pi_1) was paid back", "399.00 part", ledger.Sums{Due: 50000, Refunded: 39900}, "RefundDone re_1"}, "DUE 399.00 part"},
		"whole": {[]sale.MoneyReport{whole}, saidOfMoney{said("whole", isWhole), "your order is $, and its payment was paid back", "899.00 whole", stands(89900), "RefundDone re_1"},
			saidOfMoney{said("whole", isWhole), "; your payment of 899.00 CNY (stripe#pi_1) was paid back on 2026-11-11", "899.00 whole", ledger.Sums{Refunded: 89900}, "RefundDone re_1"}, "whole"},
		"whole, as the total says": {[]sale.MoneyReport{total}, saidOfMoney{said("whole", isWhole), "your order is $, and its payment was paid back", "899.00 whole", stands(89900), "RefundDone total-89900"},
			saidOfMoney{said("whole", isWhole), "; your payment of 899.00 CNY (stripe#pi_1) was paid back on 2026-11-11", "899.00 whole", ledger.Sums{Refunded: 89900}, "RefundDone total-89900"}, "whole"},
		"failed": {[]sale.MoneyReport{whole, refund(sale.RefundFailed, 89900)}, saidOfMoney{said("failed", `,"currency":"CNY"`), "your order is $, and it is paid; paying back your payment of 899.00 CNY (stripe#pi_1) has not succeeded yet", "0.00 failed", stands(0), "RefundDone re_1, RefundFailed re_1"},
			saidOfMoney{said("failed", `,"currency":"CNY"`), "; paying back your payment of 899.00 CNY (stripe#pi_1) has not succeeded yet", "0.00 failed", ledger.Sums{Due: 89900}, "RefundDone re_1, RefundFailed re_1"}, "DUE 0.00 failed"},
		"stuck": {[]sale.MoneyReport{refund(sale.RefundStuck, 89900)}, saidOfMoney{said("stuck", `,"currency":"CNY"`), "your order is $, and it is paid; paying back your payment of 899.00 CNY (stripe#pi_1) has not succeeded yet", "0.00 stuck", stands(0), ""},
			saidOfMoney{said("stuck", `,"currency":"CNY"`), "; paying back your payment of 899.00 CNY (stripe#pi_1) has not succeeded yet", "0.00 stuck", ledger.Sums{Due: 89900}, ""}, "DUE 0.00 stuck"},
		"disputed": {[]sale.MoneyReport{dispute(sale.DisputeOpen, 1)}, saidOfMoney{said("disputed", `,"currency":"CNY"`), "your order is $, and it is paid; your payment of 899.00 CNY (stripe#pi_1) is disputed with your bank", "0.00 disputed", stands(0), "PaymentDisputed dp_1:open"},
			saidOfMoney{said("disputed", `,"currency":"CNY"`), "; your payment of 899.00 CNY (stripe#pi_1) is disputed with your bank", "0.00 disputed", ledger.Sums{}, "PaymentDisputed dp_1:open"}, "HELD BACK 0.00 disputed"},
		"whole, and disputed": {[]sale.MoneyReport{whole, dispute(sale.DisputeOpen, 1)}, saidOfMoney{said("disputed", isWhole), "your order is $, and its payment was paid back; your payment of 899.00 CNY (stripe#pi_1) is disputed with your bank", "899.00 disputed", stands(89900), "PaymentDisputed dp_1:open, RefundDone re_1"},
			saidOfMoney{said("disputed", isWhole), "; your payment of 899.00 CNY (stripe#pi_1) was paid back on 2026-11-11; your payment of 899.00 CNY (stripe#pi_1) is disputed with your bank", "899.00 disputed", ledger.Sums{Refunded: 89900}, "PaymentDisputed dp_1:open, RefundDone re_1"}, "0 refunds due, 1 done"},
		"lost": {[]sale.MoneyReport{dispute(sale.DisputeOpen, 1), dispute(sale.DisputeLost, 2)}, saidOfMoney{said("lost", `,"currency":"CNY"`), "your order is $; your payment of 899.00 CNY (stripe#pi_1) was given back to you by your bank after a dispute", "0.00 lost", stands(89900), "PaymentDisputed dp_1:lost, PaymentDisputed dp_1:open"},
			saidOfMoney{said("lost", `,"currency":"CNY"`), "; your payment of 899.00 CNY (stripe#pi_1) was given back to you by your bank after a dispute", "0.00 lost", ledger.Sums{Refunded: 89900}, "PaymentDisputed dp_1:lost, PaymentDisputed dp_1:open"}, "HELD BACK 0.00 lost"},
	} {
		for isCancelled, want := range map[bool]saidOfMoney{false: tt.stands, true: tt.cancelled} {
			selling(t, sale.Creation{}, func(t *testing.T, w *world) {
				order := w.ordered("alice")
				w.pay("pi_1", order, 89900)
				if want.Buyer = strings.ReplaceAll(want.Buyer, "$", order); isCancelled {
					w.says("order cancel "+order+" --yes --id c", 0, "a refund due")
					want.Buyer = "your order " + order + " is cancelled, and what you ordered is not yours any more" + want.Buyer
				}
				for _, r := range tt.reports {
					r.Provider, r.Reference = "stripe", "pi_1"
					w.ok(w.book.ReportMoney(t.Context(), r))
				}
				if diff := cmp.Diff(want, w.readers(order)); diff != "" {
					t.Errorf("%s, cancelled: %t (-want +got):\n%s", name, isCancelled, diff)
				}
				if isCancelled {
					w.says("refund list --sale moutai", 0, tt.listed)
				}
			})
		}
	}
}

func TestACancellationSaysWhatIsToBeGivenBack(t *testing.T) {
	for _, tt := range []struct {
		back       int64
		isDisputed bool
		want       string
	}{
		{0, true, "a refund due that a dispute holds back until it is won"},
		{89900, true, "its payment paid back at 2026-11-11T12:00:00Z"},
		{39900, false, "its payment of 899.00 CNY (stripe#pi_1), of which 399.00 CNY is back, a refund due; give it back"},
	} {
		selling(t, sale.Creation{}, func(t *testing.T, w *world) {
			order := w.ordered("alice")
			w.pay("pi_1", order, 89900)
			if tt.back > 0 {
				w.ok(w.book.ReportMoney(t.Context(), sale.MoneyReport{Provider: "stripe", Reference: "pi_1", Currency: "CNY", Refund: &sale.RefundReport{ID: "re_1", State: sale.RefundDone, Amount: tt.back}}))
			}
			if tt.isDisputed {
				w.ok(w.book.ReportMoney(t.Context(), sale.MoneyReport{Provider: "stripe", Reference: "pi_1", Dispute: &sale.DisputeReport{ID: "dp_1", State: sale.DisputeOpen}}))
			}
			said := w.says("order cancel "+order+" --yes", 0, tt.want)
			if tt.isDisputed && strings.Contains(said, "give it back at the provider") {
				t.Errorf("got %s, want nobody asked to pay", said)
			}
		})
	}
}

func TestAWrongMarkIsTakenBackByNameAndNote(t *testing.T) {
	selling(t, sale.Creation{}, func(t *testing.T, w *world) {
		order := w.ordered("alice")
		for _, reference := range []string{"pi_1", "pi_2", "pi_3"} {
			w.pay(reference, order, 89900)
		}
		w.says("refund unmark stripe#pi_2 --yes", 64, "why its mark is wrong, in --note")
		w.says("refund unmark stripe#pi_2 --note typo --yes", 0, "is not marked, and nothing was changed")
		w.says("refund mark stripe#pi_2", 0, "is marked as refunded")
		w.says("refund unmark stripe#pi_2 --note typo --dry-run", 0, "would be due again; nothing was changed")
		w.says("refund list --sale moutai", 0, "1 refunds due, 1 done")
		w.says("refund unmark stripe#pi_2 --note typo --yes", 0, "stripe#pi_2, 899.00 CNY, is due again")
		w.says("refund list --sale moutai -o json", 0, `"unmarkNote":"typo"`, "2 refunds due, 0 done")
		w.ok(w.book.ReportMoney(t.Context(), sale.MoneyReport{Provider: "stripe", Reference: "pi_3", Currency: "CNY", Refund: &sale.RefundReport{ID: "re_3", State: sale.RefundDone, Amount: 89900}}))
		w.says("refund unmark stripe#pi_3 --note typo --yes", 1, "NOT UNMARKED: stripe#pi_3, 899.00 CNY, is not marked by hand")
		w.says("refund unmark stripe#pi_9 --note typo --yes", 1, "NOT UNMARKED: there is no refund of stripe#pi_9")
	})
}
