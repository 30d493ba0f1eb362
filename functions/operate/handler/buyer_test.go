package handler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/sale"
)

// asksForPayment makes the sale cost 1499 CNY, to be paid within an hour.
func asksForPayment(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = time.Hour, 149900, "CNY" }

const alicesOrder = "406709376884146177"

// linesOf writes each line as its instant, its kind and its other fields.
func linesOf(lines any) (all []string) {
	for _, l := range lines.([]any) {
		one := l.(map[string]any)
		at, _ := one["at"].(string)
		kind := one["kind"].(string)
		delete(one, "at")
		delete(one, "kind")
		text, _ := json.Marshal(one)
		all = append(all, strings.TrimSpace(strings.TrimSuffix(fmt.Sprintf("%s %s %s", at, kind, text), " {}")))
	}
	return all
}

// A story as "state", "amount currency" if there is one, its lines, "--", and what may be told to the buyer.
func (f *function) storyOf(t *testing.T, user string) []string {
	t.Helper()
	s := f.answered(t, event(t, "operate-buyer.json", path("user", user)))
	all := []string{s["state"].(string)}
	if s["currency"] != nil {
		all = append(all, fmt.Sprint(s["amount"], " ", s["currency"], " ", s["digits"]))
	}
	all = append(append(all, linesOf(s["lines"])...), "--")
	return append(all, linesOf(s["forBuyer"])...)
}

func TestABuyersStoryHasWhatHappenedAndWhatSupportMaySay(t *testing.T) {
	const (
		accepted  = `2026-01-01T00:00:05.000Z accepted {"claimId":"5LJQBKBVNQ2XRCM7KD3V4HTYWA","shard":2}`
		confirmed = `2026-01-01T00:00:06.000Z confirmed {"orderId":"` + alicesOrder + `"}`
		payBy     = "2026-01-01T01:00:06.000Z pay-by"
		paid      = `2026-01-01T00:00:08.000Z paid {"payment":"stripe#pi_1"}`
		window    = `window {"closesAt":"2036-01-01T00:00:00.000Z","opensAt":"2026-01-01T00:00:00.000Z","phase":"OPEN"}`
		price     = "149900 CNY 2"
	)
	pays := func(t *testing.T, f *function) {
		f.Pay("alice", "pi_1", 149900)
		f.Pay("alice", "pi_2", 149900)
	}
	for name, tt := range map[string]struct {
		user  string
		sale  func(*sale.Creation)
		first func(t *testing.T, f *function)
		want  []string
	}{
		"an order":                        {user: "alice", want: []string{"CONFIRMED", accepted, confirmed, "--", "order"}},
		"one that is pending":             {user: "bob", want: []string{"PENDING", `2026-01-01T00:00:05.000Z accepted {"claimId":"QZ6WPOE3T2NFGA7JXUHV5RMDCI","shard":2}`, `pending {"seconds":3}`, "--", "pending"}},
		"none, as ids are case-sensitive": {user: "ALICE", want: []string{"NONE", "no-claim", window, "--", "no-order"}},
		"one that is not paid":            {user: "alice", sale: asksForPayment, want: []string{"CONFIRMED", price, accepted, confirmed, payBy, "--", "order", "unpaid"}},
		"one of several units": {"alice", asksForPayment, func(_ *testing.T, f *function) {
			f.Tamper(fmt.Sprint("CLAIM#moutai#", sale.BucketOf("alice", f.Claim("alice").Buckets)), "alice", "units", 2)
		}, []string{"CONFIRMED", "299800 CNY 2", accepted, confirmed, payBy, "--", "order", "unpaid"}},
		"one that is paid twice": {"alice", asksForPayment, pays, []string{
			"PAID", price, accepted, confirmed, paid, `2026-01-01T00:00:08.000Z refund-due {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_2","reason":"other-payment"}`,
			"--", "order", "paid", `refund-due {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_2"}`,
		}},
		"two refunds that were sent": {"alice", asksForPayment, func(t *testing.T, f *function) {
			pays(t, f)
			f.Pay("alice", "pi_3", 149900)
			refunds, err := f.Ledger().Refunds(t.Context(), "moutai")
			for i := 0; i < len(refunds) && err == nil; i++ {
				refunds[i], _, err = f.Ledger().TakeRefund(t.Context(), refunds[i], &sale.Sending{ID: "press"}, "live")
			}
			if err == nil {
				refused := refunds[0].Sent.Refused(sale.SendingRule{}, "no-balance", "Top up.")
				_, err = f.Ledger().NoteSent(t.Context(), refunds[0], refused, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, []string{
			"PAID", price, accepted, confirmed, paid, `2026-01-01T00:00:08.000Z refund-due {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_2","reason":"other-payment"}`,
			`2026-01-01T00:00:08.000Z refund-due {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_3","reason":"other-payment"}`,
			`2026-01-01T00:00:08.000Z sent-unknown {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_3"}`,
			`sent-refused {"amount":149900,"currency":"CNY","digits":2,"note":"no-balance, Top up.","payment":"stripe#pi_2"}`, "--", "order", "paid",
			`refund-due {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_2"}`, `refund-due {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_3"}`,
		}},
		"of a recalled sale": {"alice", asksForPayment, func(t *testing.T, f *function) {
			pays(t, f)
			time.Sleep(24 * time.Hour)
			if err := f.Ledger().MarkRefunds(t.Context(), "moutai", []string{"stripe#pi_2"}, "")[0].Err; err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			f.Recall()
			f.over(f.Ledger())
		}, []string{
			"PAID", price, accepted, confirmed, paid, `2026-01-02T00:00:08.000Z refunded {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_2"}`,
			`2026-01-02T00:01:08.000Z recalled {"note":"a batch is defective"}`, "--", "recalled", "order", "paid",
			`2026-01-02T00:00:08.000Z refunded {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_2"}`,
		}},
		"one that its buyer cancelled": {"alice", asksForPayment, func(t *testing.T, f *function) { f.Cancel("alice") }, []string{
			"CANCELLED", price, accepted, confirmed, `2026-01-01T00:00:08.000Z released {"by":"buyer"}`, "--", "cancelled",
		}},
		"none, while units come and go": {"carol", asksForPayment, func(t *testing.T, f *function) {
			f.changed(t, `{"id":"more","action":"add","stock":5}`)
			f.changed(t, `{"id":"less","action":"withdraw","stock":1}`) // a story does not tell of it
		}, []string{"NONE", "no-claim", window, `2026-01-01T00:00:08.000Z units-added {"changeId":"more","units":5}`, "units-return", "--", "no-order"}},
		"what was paid, without a price": {"alice", func(c *sale.Creation) { c.PayWithin = time.Hour }, func(t *testing.T, f *function) {
			f.Pay("alice", "pi_1", 12345)
			f.over(f.Ledger())
		}, []string{"PAID", "12345 CNY 2", accepted, confirmed, paid, "--", "order", "paid"}},
		"more time to pay": {"alice", asksForPayment, func(t *testing.T, f *function) {
			f.changed(t, `{"id":"more","action":"extend","until":"2026-01-01T05:00:00Z"}`)
		}, []string{"CONFIRMED", price, accepted, confirmed, "2026-01-01T05:00:00.000Z pay-by", "--", "order", "unpaid"}},
		"none, but in the group": {"carol", func(c *sale.Creation) { c.LimitGroup = "spirits" }, func(t *testing.T, f *function) {
			f.Open(func(c *sale.Creation) { c.SaleID, c.LimitGroup = "wine", "spirits" })
			f.BuyIn("wine", "carol", "C1", "k")
		}, []string{"NONE", "no-claim", window, `ordered-in-group {"group":"spirits","saleId":"wine"}`, "--", `ordered-in-group {"saleId":"wine"}`}},
	} {
		selling(t, func(t *testing.T, f *function) {
			if tt.first != nil {
				tt.first(t, f)
			}
			if diff := cmp.Diff(tt.want, f.storyOf(t, tt.user)); diff != "" {
				t.Errorf("%s: story (-want +got):\n%s", name, diff)
			}
		}, tt.sale)
	}
	in(t, func(t *testing.T, f *function) { // what is added before the opening has made no "sold out" of anybody's
		f.Open(func(c *sale.Creation) { c.OpensAt = testledger.Began.Add(time.Hour) })
		f.changed(t, `{"id":"early","action":"add","stock":5}`)
		time.Sleep(2 * time.Hour)
		f.changed(t, `{"id":"late","action":"add","stock":6}`)
		if got := fmt.Sprint(f.storyOf(t, "carol")); strings.Contains(got, "early") || !strings.Contains(got, `{"changeId":"late","units":6}`) {
			t.Errorf("got %s", got)
		}
		for _, id := range []string{"", "a\x00", "a\u202e", "\ufffd"} {
			refused(t, f.Ask(t, t.Context(), event(t, "operate-buyer.json", path("user", id))), 400, sale.InvalidRequest)
		}
	})
	in(t, func(t *testing.T, f *function) { // the window of a sale with a draw is not that of its newest call
		call := f.Drawn(1, "alice", "bob", "carol")
		f.Until(call.Until.Add(testledger.DrawTimes.Gap))
		f.Call()
		f.over(f.Ledger())
		if got := f.storyOf(t, "dave")[2]; got != `window {"closesAt":"2026-01-03T00:00:00.000Z","opensAt":"2026-01-01T03:00:00.000Z","phase":"OPEN"}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestAnOrderIsCancelledOnceAndItsStoryTellsByWhom(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		cancel := func(id, saw, unit string) []byte {
			return event(t, "operate-pause.json", body(`{"id":"`+id+`","action":"cancel","orderId":"`+alicesOrder+`","expected":"`+saw+`","unit":"`+unit+`","note":"moved away"}`))
		}
		f.Pay("alice", "pi_1", 149900)
		refused(t, f.Ask(t, t.Context(), cancel("c", "CONFIRMED", "back")), 409, sale.ChangedMeanwhile)
		if _, err := f.Ledger().ReportMoney(t.Context(), sale.MoneyReport{
			Provider: "stripe", Reference: "pi_1", Refund: &sale.RefundReport{ID: "re_1", State: sale.RefundDone, Whole: true},
		}); err != nil {
			t.Fatal(err)
		}
		if got := f.storyOf(t, "alice"); cmp.Diff(got[5:], []string{"2026-01-01T00:00:08.000Z paid-back", "--", "order", "paid-back"}) != "" {
			t.Errorf("paid back: %q", got)
		}
		want := map[string]any{
			"saleId": "moutai", "seeded": 100.0, "shards": 5.0, "applied": true, "changeId": "c", "orderId": alicesOrder,
			"cancelledAt": "2026-01-01T00:00:08.000Z", "unit": "kept", "payment": "stripe#pi_1",
		}
		for _, applied := range []bool{true, false} {
			want["applied"] = applied
			if diff := cmp.Diff(want, f.answered(t, cancel("c", "PAID", "kept"))); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if logged := f.Logged(t, "orderId"); logged != alicesOrder {
				t.Errorf("the log has the order %q", logged)
			}
		}
		r := f.Ask(t, t.Context(), cancel("d", "PAID", "back"))
		refused(t, r, 409, sale.ChangedMeanwhile)
		if !strings.Contains(r.Body, `"template":"the order was cancelled by %s on %s%s","values":["kim","2026-01-01T00:00:08Z"," (moved away)"]`) || !strings.Contains(r.Body, `"state":"CANCELLED"`) {
			t.Errorf("got %s", r.Body)
		}
		if got := f.storyOf(t, "alice"); cmp.Diff(got[5:], []string{
			`2026-01-01T00:00:08.000Z cancelled {"by":"kim","changeId":"c","expected":"PAID","note":"moved away","unit":"kept"}`,
			`2026-01-01T00:00:08.000Z refunded {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_1"}`,
			"--", "cancelled", `2026-01-01T00:00:08.000Z refunded {"amount":149900,"currency":"CNY","digits":2,"payment":"stripe#pi_1"}`,
		}) != "" {
			t.Errorf("cancelled: %q", got)
		}
		if all := f.trail(t); len(all) != 0 {
			t.Errorf("the trail of the sale is %+v", all)
		}
	}, asksForPayment)
}
