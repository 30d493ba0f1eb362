package handler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/sale"
)

// asksForPayment makes the sale cost 1499 CNY, to be paid within an hour.
func asksForPayment(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = time.Hour, 149900, "CNY" }

// told checks the story of a buyer.
func (f *function) told(t *testing.T, user, state, claimID, forBuyer string, lines ...line) {
	t.Helper()
	want := map[string]any{"saleId": "moutai", "user": user, "state": state, "forBuyer": forBuyer, "lines": []any{}}
	if claimID != "" {
		want["claimId"] = claimID
	}
	if state != "NONE" && state != "PENDING" {
		want["orderId"] = "406709376884146177"
		if forBuyer != "your order is 406709376884146177" { // that is all if it asks for no payment
			want["amount"] = "CNY 1499.00"
		}
	}
	for _, l := range lines {
		one := map[string]any{"text": l.Text}
		if l.At != "" {
			one["at"] = l.At
		}
		want["lines"] = append(want["lines"].([]any), one)
	}
	if diff := cmp.Diff(want, f.answered(t, event(t, "operate-buyer.json", path("user", user)))); diff != "" {
		t.Errorf("story (-want +got):\n%s", diff)
	}
	// In Chinese it has the same lines, and none of its texts is English.
	got := f.answered(t, event(t, "operate-buyer.json", path("user", user), speaking("zh-CN,zh;q=0.9,en;q=0.8")))
	texts := []any{got["forBuyer"]}
	for i, l := range got["lines"].([]any) {
		one := l.(map[string]any)
		if i >= len(lines) || one["at"] != nil && one["at"] != lines[i].At {
			t.Errorf("the line %v in Chinese is not the one in English", l)
		}
		texts = append(texts, one["text"])
	}
	for _, text := range texts {
		if !strings.ContainsFunc(text.(string), isHan) || english.MatchString(text.(string)) || strings.Contains(text.(string), "%!") {
			t.Errorf("%q is not Chinese", text)
		}
	}
	if len(texts) != 1+len(lines) {
		t.Errorf("%d texts in Chinese, want %d", len(texts), 1+len(lines))
	}
}

var (
	accepted  = line{"2026-01-01T00:00:05.000Z", "accepted: claim 5LJQBKBVNQ2XRCM7KD3V4HTYWA, one unit of shard 2"}
	confirmed = line{"2026-01-01T00:00:06.000Z", "confirmed: order 406709376884146177"}
	payBy     = line{"2026-01-01T01:00:06.000Z", "to be paid by then; a payment counts as long as the order is not released"}
)

func TestABuyersStoryHasWhatSupportMaySay(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.told(t, "alice", "CONFIRMED", testledger.AlicesClaim, "your order is 406709376884146177", accepted, confirmed)
		f.told(t, "bob", "PENDING", testledger.BobsClaim, "your order was accepted; its number will follow, and you need not order again",
			line{"2026-01-01T00:00:05.000Z", "accepted: claim QZ6WPOE3T2NFGA7JXUHV5RMDCI, one unit of shard 2"}, line{"", "pending for 3s"})
		f.told(t, "ALICE", "NONE", "", "no order was accepted under this account",
			line{"", "ALICE has no claim in sale moutai (ids are case-sensitive; the id is the token's sub)"},
			line{"", "moutai sells from 2026-01-01T00:00:00Z to 2036-01-01T00:00:00Z and is OPEN now"})
		for _, id := range []string{"", "a\x00", "a\u202e", "\ufffd"} {
			refused(t, f.Ask(t, t.Context(), event(t, "operate-buyer.json", path("user", id))), 400, sale.InvalidRequest)
		}
		refused(t, f.Ask(t, t.Context(), event(t, "operate-buyer.json", path("saleId", "nothing"))), 404, sale.SaleNotFound)
	})
}

func TestAStoryTellsOfPaymentsRefundsAndRecalls(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.told(t, "alice", "CONFIRMED", testledger.AlicesClaim, "your order is 406709376884146177, and it is not paid", accepted, confirmed, payBy)
		f.Pay("alice", "pi_1", 149900)
		f.Pay("alice", "pi_2", 149900)
		paid := line{"2026-01-01T00:00:08.000Z", "paid: stripe#pi_1"}
		due := line{"2026-01-01T00:00:08.000Z", "a refund is due: stripe#pi_2, 149900 CNY in minor units, because: other-payment"}
		f.told(t, "alice", "PAID", testledger.AlicesClaim,
			"your order is 406709376884146177, and it is paid; your payment of CNY 1499.00 (stripe#pi_2) will be paid back", accepted, confirmed, paid, due)
		time.Sleep(24 * time.Hour)
		if _, _, err := f.Ledger().MarkRefunded(t.Context(), "moutai", "stripe#pi_2"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		f.Recall()
		f.over(f.Ledger())
		f.told(t, "alice", "PAID", testledger.AlicesClaim,
			"the sale was recalled, and the goods will not come; your order is 406709376884146177, and it is paid; your payment of CNY 1499.00 (stripe#pi_2) was paid back on 2026-01-02",
			accepted, confirmed, paid, line{"2026-01-02T00:00:08.000Z", "refunded: stripe#pi_2, 149900 CNY in minor units"},
			line{"2026-01-02T00:01:08.000Z", "the sale was recalled: a batch is defective"})
	}, asksForPayment)
}

func TestAStoryTellsOfAReleasedUnit(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.Cancel("alice")
		f.told(t, "alice", "CANCELLED", testledger.AlicesClaim, "your order 406709376884146177 is cancelled, and its unit is not yours any more",
			accepted, confirmed, line{"2026-01-01T00:00:08.000Z", "released by buyer"})
		f.changed(t, `{"id":"more","action":"add","stock":5}`)
		f.changed(t, `{"id":"less","action":"withdraw","stock":1}`) // a story does not tell of it
		f.told(t, "carol", "NONE", "", "no order was accepted under this account",
			line{"", "carol has no claim in sale moutai (ids are case-sensitive; the id is the token's sub)"},
			line{"", "moutai sells from 2026-01-01T00:00:00Z to 2036-01-01T00:00:00Z and is OPEN now"},
			line{"2026-01-01T00:00:08.000Z", "5 units were added (more): a \"sold out\" before that was correct"},
			line{"", "units of orders that are not paid in time, or are cancelled, are sold again: a \"sold out\" before that was correct"})
	}, asksForPayment)
}

// What was added before the opening has made no "sold out" of anybody's; and a sale without a price is paid with what it is paid with.
func TestAStoryHasTheAmountThatWasPaidAndNoAdditionBeforeTheOpening(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.Pay("alice", "pi_1", 12345)
		f.over(f.Ledger())
		if amount := f.answered(t, event(t, "operate-buyer.json"))["amount"]; amount != "CNY 123.45" {
			t.Errorf("paid with %v, want CNY 123.45", amount)
		}
	}, func(c *sale.Creation) { c.PayWithin = time.Hour })
	in(t, func(t *testing.T, f *function) {
		f.Open(func(c *sale.Creation) { c.OpensAt = testledger.Began.Add(time.Hour) })
		f.changed(t, `{"id":"early","action":"add","stock":5}`)
		time.Sleep(2 * time.Hour)
		f.changed(t, `{"id":"late","action":"add","stock":6}`)
		f.told(t, "carol", "NONE", "", "no order was accepted under this account",
			line{"", "carol has no claim in sale moutai (ids are case-sensitive; the id is the token's sub)"},
			line{"", "moutai sells from 2026-01-01T01:00:00Z to 2036-01-01T00:00:00Z and is OPEN now"},
			line{"2026-01-01T02:00:00.000Z", "6 units were added (late): a \"sold out\" before that was correct"})
	})
}

func TestAnOrderIsCancelledOnceAndItsStoryTellsByWhom(t *testing.T) {
	const order = "406709376884146177"
	selling(t, func(t *testing.T, f *function) {
		cancel := func(id, saw, unit string) []byte {
			return event(t, "operate-pause.json", body(`{"id":"`+id+`","action":"cancel","orderId":"`+order+`","saw":"`+saw+`","unit":"`+unit+`","note":"moved away"}`))
		}
		f.Pay("alice", "pi_1", 149900)
		refused(t, f.Ask(t, t.Context(), cancel("c", "CONFIRMED", "back")), 409, sale.ChangedMeanwhile)
		if _, err := f.Ledger().PaidBack(t.Context(), sale.Payment{Provider: "stripe", Reference: "pi_1"}); err != nil {
			t.Fatal(err)
		}
		f.told(t, "alice", "PAID", testledger.AlicesClaim, "your order is "+order+", and its payment was paid back", accepted, confirmed,
			line{"2026-01-01T00:00:08.000Z", "paid: stripe#pi_1"},
			line{"2026-01-01T00:00:08.000Z", "its provider has paid the payment back, and the order stands: cancel it, unless it is to be delivered"})
		want := map[string]any{
			"saleId": "moutai", "seeded": 100.0, "shards": 5.0, "applied": true, "changeId": "c", "orderId": order,
			"cancelledAt": "2026-01-01T00:00:08.000Z", "unit": "kept", "payment": "stripe#pi_1",
		}
		for _, applied := range []bool{true, false} {
			want["applied"] = applied
			if diff := cmp.Diff(want, f.answered(t, cancel("c", "PAID", "kept"))); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if logged := f.Logged(t, "orderId"); logged != order {
				t.Errorf("the log has the order %q", logged)
			}
		}
		r := f.Ask(t, t.Context(), cancel("d", "PAID", "back"))
		refused(t, r, 409, sale.ChangedMeanwhile)
		if !strings.Contains(r.Body, "the order was cancelled by kim on 2026-01-01T00:00:08Z (moved away)") || !strings.Contains(r.Body, `"state":"CANCELLED"`) {
			t.Errorf("got %s", r.Body)
		}
		f.told(t, "alice", "CANCELLED", testledger.AlicesClaim, "your order "+order+" is cancelled, and its unit is not yours any more; "+
			"your payment of CNY 1499.00 (stripe#pi_1) was paid back on 2026-01-01", accepted, confirmed, line{"2026-01-01T00:00:08.000Z", "paid: stripe#pi_1"},
			line{"2026-01-01T00:00:08.000Z", "cancelled by kim: moved away; its unit: kept"},
			line{"2026-01-01T00:00:08.000Z", "refunded: stripe#pi_1, 149900 CNY in minor units"})
		if all := f.trail(t); len(all) != 0 {
			t.Errorf("the trail of the sale is %+v", all)
		}
	}, asksForPayment)
}

// The window of a sale with a draw is that of its newest call.
func TestAStoryInADrawHasTheTimesOfTheSale(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		call := f.Drawn(1, "alice", "bob", "carol")
		time.Sleep(time.Minute)
		f.changed(t, `{"id":"more","action":"add","stock":2}`)
		f.Until(call.Until.Add(testledger.DrawTimes.Gap))
		f.Call()
		f.over(f.Ledger())
		f.told(t, "dave", "NONE", "", "no order was accepted under this account",
			line{"", "dave has no claim in sale moutai (ids are case-sensitive; the id is the token's sub)"},
			line{"", "moutai sells from 2026-01-01T03:00:00Z to 2026-01-03T00:00:00Z and is OPEN now"},
			line{"2026-01-01T03:01:15.000Z", "2 units were added (more): a \"sold out\" before that was correct"})
	})
}

func TestAStoryTellsOfTheOrderInAnotherSaleOfTheGroup(t *testing.T) {
	inGroup := func(c *sale.Creation) { c.LimitGroup = "spirits" }
	selling(t, func(t *testing.T, f *function) {
		f.Open(inGroup, func(c *sale.Creation) { c.SaleID = "wine" })
		f.BuyIn("wine", "carol", "C1", "k")
		f.told(t, "carol", "NONE", "", "there is one order for each customer in all of these sales, and yours is in wine",
			line{"", "carol has no claim in sale moutai (ids are case-sensitive; the id is the token's sub)"},
			line{"", "moutai sells from 2026-01-01T00:00:00Z to 2036-01-01T00:00:00Z and is OPEN now"},
			line{"", "carol has ordered in sale wine of the group spirits"})
	}, inGroup)
}
