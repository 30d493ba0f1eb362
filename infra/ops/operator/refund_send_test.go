package operator

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// sent notes what has become of a refund of moutai that a sending has taken.
func (w *world) sent(payment string, after func(sale.Sent) sale.Sent) {
	w.Helper()
	all, err := w.book.Refunds(w.Context(), "moutai")
	w.ok(all, err)
	for _, r := range all {
		if r.Payment == payment {
			r, taken, err := w.book.TakeRefund(w.Context(), r, &sale.Sending{ID: "2026-11-11T11:00:00.000Z#before"}, "live")
			w.ok(taken, err)
			w.ok(w.book.NoteSent(w.Context(), r, after(r.Sent), nil))
		}
	}
}

func sendings(w *world) []sale.Sending {
	w.Helper()
	all, err := w.book.Sendings(w.Context())
	w.ok(all, err)
	return all
}

func TestAPressShowsWhatIsSentAndWhatNotAndIsMadeOnce(t *testing.T) {
	owing(t, 7, func(t *testing.T, w *world) {
		order, err := orderid.Parse(w.ordered("bob"))
		w.ok(order, err)
		for reference, p := range map[string]sale.Payment{"adyen": {Amount: 500, Currency: "EUR"}, "standard-webhooks": {Amount: 300, Currency: "CNY"}} {
			p.Provider, p.Reference, p.SaleID, p.OrderID = reference, "x1", "moutai", order
			w.ok(w.book.Pay(t.Context(), p))
		}
		report := func(reference string, r *sale.RefundReport, d *sale.DisputeReport) {
			w.ok(w.book.ReportMoney(t.Context(), sale.MoneyReport{Provider: "stripe", Reference: reference, Currency: "CNY", Refund: r, Dispute: d}))
		}
		report("pi_001", nil, &sale.DisputeReport{ID: "dp", State: sale.DisputeOpen})
		report("pi_002", &sale.RefundReport{ID: "re_2", State: sale.RefundDone, Amount: 3}, nil)
		report("pi_003", &sale.RefundReport{ID: "re_3", State: sale.RefundFailed, Amount: 8}, nil) // is due again
		w.sent("stripe#pi_004", func(s sale.Sent) sale.Sent { return s.Accepted("re_4") })
		w.sent("stripe#pi_005", func(s sale.Sent) sale.Sent { return s.StillUnknown("", "") })
		w.sent("stripe#pi_006", func(s sale.Sent) sale.Sent {
			return s.Refused(sale.SendingRule{AfterRefusal: true}, "expired_card", "the  card has expired")
		})
		w.says("refund list", 0, "ORDER REASON SINCE REFUNDED BACK MONEY SENT moutai", "SENT - - accepted moutai", "SENT - - unknown moutai", "DUE - - refused expired_card the card has expired")
		const shows = "adyen: 1 payments, 5.00 EUR\nstripe: 4 payments, 0.32 CNY\nnot sent: 1 payments, 0.08 CNY: a part of it is back: give the rest back at the provider\n" +
			"not sent: 1 payments, 0.08 CNY: accepted by stripe, which sends it\nnot sent: 1 payments, 0.08 CNY: held back by a dispute\nnot sent: 1 payments, 3.00 CNY: the stack cannot ask standard-webhooks for it\n"
		w.says("refund send moutai", cli.ExitUsage, shows, "asks before it goes on")
		w.says("refund send moutai --dry-run", 0, shows+"5 payments, 0.32 CNY + 5.00 EUR would be given back; nothing was sent\n")
		said, code := w.target.at(t.Context(), typing("n\n"), nil, "refund", "send", "moutai")
		if contains(t, said, w.target.name()+":\nGive back 5 payments, 0.32 CNY + 5.00 EUR? "); code != cli.ExitBad || len(sendings(w)) != 0 {
			t.Errorf("exit %d and %d sendings after no", code, len(sendings(w)))
		}
		time.Sleep(1234 * time.Millisecond)
		answer, tries := w.invoke, 0
		w.invoke = func(payload []byte) ([]byte, error) { // a stack without RefundKeysArn
			said, err := answer(payload)
			return bytes.ReplaceAll(said, []byte(`\"sends\":true`), []byte(`\"sends\":false`)), err
		}
		w.says("refund send moutai --dry-run", cli.ExitBad, shows, "NOT SENT: this stack sends no refunds: it was deployed without RefundKeysArn")
		w.invoke = func(payload []byte) ([]byte, error) { // the first answer to a press is lost
			said, err := answer(payload)
			if bytes.Contains(payload, []byte(`"POST /operate/sendings"`)) {
				if tries++; tries == 1 {
					return nil, errors.New("the connection is gone")
				}
			}
			return said, err
		}
		said = w.says("refund send --group boots --note soles --yes", 0, shows)
		all := sendings(w)
		if len(all) != 1 || tries != 2 {
			t.Fatalf("%d tries began %+v, want one sending of two tries", tries, all)
		}
		s := all[0]
		if s.Scope.Group != "boots" || s.Count != 5 || s.Sums["CNY"] != 32 || s.Sums["EUR"] != 500 || s.Note != "soles" || !s.AsOf.Equal(noon.Add(1234*time.Millisecond)) {
			t.Errorf("got %+v", s)
		}
		contains(t, said, "sending "+s.ID+" has begun: 5 payments, 0.32 CNY + 5.00 EUR; `flashsale refund sendings --env dev` says how far it has come, `flashsale refund stop '"+s.ID+"' --env dev` stops it\n")
		now := s
		now.Taken, now.Left, now.NextAt, now.Halted = 3, 1, noon.Add(10*time.Minute), map[string]sale.Halt{"stripe": {Code: "api_key_expired", Words: "Expired API Key", At: noon}}
		w.ok(w.book.SaveSending(t.Context(), s, now))
		w.says("refund sendings", 0, s.ID+" 2026-11-11T12:00:", " group boots 5 0.32 CNY + 5.00 EUR 3 1 going on, next at 2026-11-11T12:10:00Z stripe: api_key_expired Expired API Key", "1 sendings, 1 going on")
		w.says("refund stop "+s.ID, 0, " was stopped at 2026-11-11T12:00:", ": 3 of 5 were taken before")
		w.says("refund stop "+s.ID, 0, " was stopped at ")
		w.says("refund sendings -o json", 0, `"stoppedAt":"2026-11-11T12:00:`)
		w.says("refund stop 2026-11-11T11:00:00.000Z#none", cli.ExitBad, "not stopped: order-not-found: no such sending")
		w.says("refund stop none", cli.ExitUsage, "is not the id of a sending")
	})
}

func TestOnePaymentIsSentByItsNameAndWhatCannotBeSentIsToldWhy(t *testing.T) {
	owing(t, 3, func(t *testing.T, w *world) {
		w.pay("none", "", 700)
		w.ok(nil, w.book.MarkRefunds(t.Context(), "moutai", []string{"stripe#pi_000"}, "")[0].Err)
		w.sent("stripe#pi_001", func(s sale.Sent) sale.Sent { return s.Accepted("re_1") })
		w.says("refund send --payment pi_000 --yes", cli.ExitBad, "NOT SENT: stripe#pi_000 is back since 2026-11-11T12:00:00Z")
		w.says("refund send --payment stripe#pi_001 --yes", cli.ExitBad, "NOT SENT: accepted by stripe, which sends it")
		w.says("refund send --payment pi_9 --yes", cli.ExitBad, "NOT SENT: there is no refund of pi_9")
		w.says("refund mark stripe#pi_001", cli.ExitBad, "stripe#pi_001, 0.08 CNY, was sent and accepted: do not pay it back, the provider's report marks it", "NOT MARKED: 1 of them, which the stack has sent")
		w.says("refund unmark stripe#pi_001 --note x --yes", 0, "is not marked, and nothing was changed")
		w.sent("stripe#pi_002", func(s sale.Sent) sale.Sent { return s.StillUnknown("", "") })
		w.says("refund unmark stripe#pi_002 --note x --yes", cli.ExitBad, "NOT UNMARKED: stripe#pi_002, 0.08 CNY, was sent, and what became of it is not known yet")
		w.says("refund unmark stripe#pi_002 --note x", cli.ExitUsage, "asks before")
		w.tell(is("refund send --payment none", 0, "stripe: 1 payments, 7.00 CNY\n", "would be given back; nothing was sent", " has begun: 1 payments, 7.00 CNY; "))
		w.tell(is("refund send moutai --payment pi_002", 0))
		all := sendings(w)
		if len(all) != 2 || len(all[0].Scope.Payments)+len(all[1].Scope.Payments) != 2 || all[0].Scope.SaleID+all[1].Scope.SaleID != "" {
			t.Errorf("got %+v", all)
		}
		w.says("refund sendings -o csv", 0, `"'stripe#none",1,"'7.00 CNY",0,0,"'going on",`)
		w.ok(w.book.ReportMoney(t.Context(), sale.MoneyReport{Provider: "stripe", Reference: "pi_002", Currency: "CNY", Refund: &sale.RefundReport{ID: "re_2", State: sale.RefundDone, Amount: 8}}))
		w.says("refund send moutai --yes", 0, "nothing is due that the stack can send")
		w.says("refund send moutai --yes --note "+strings.Repeat("x", 501), cli.ExitUsage, "--note: ")
		// What cannot be read may be due.
		w.create(sale.Creation{SaleID: "unread"})
		w.db.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("", "REFUND#unread")
		w.says("refund send --yes", cli.ExitUnknown, "nothing is sent: refunds of unread: ")
		// No answer comes, or the function refuses.
		w.db.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("PutItem", "SENDS")
		w.says("refund send --payment none --yes", cli.ExitUnknown, "it may have begun: `flashsale refund sendings --env dev` lists it then, and a new press sends nothing twice")
		w.db.Fault = nil
		typed := typing("y\n")
		typed.happens = func() { time.Sleep(2 * time.Hour) }
		said, code := w.target.at(t.Context(), typed, nil, "refund", "send", "--payment", "none")
		if contains(t, said, "NOT SENT: invalid-request: asOf must be the asOf of a list"); code != cli.ExitBad {
			t.Errorf("exit %d two hours after the list", code)
		}
	})
}
