package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// Sale and Order let held stand for the ledger of the sale moutai, in which only the item of
// order 9 is missing.
func (h held) Sale(context.Context, string) (sale.Sale, error) {
	return sale.Sale{ID: "moutai", State: sale.Open, OpensAt: noon, ClosesAt: noon.Add(time.Hour), Shards: 1, PayWithin: 30 * time.Minute, LimitGroup: "bottles"}, nil
}

// OrderedIn knows an order of Frieda's only.
func (h held) OrderedIn(_ context.Context, group, user string) (string, error) {
	if group == "bottles" && user == "Frieda" {
		return "maotai", nil
	}
	return "", nil
}

func (h held) Order(_ context.Context, id uint64) (sale.Order, error) {
	if id == 9 {
		return sale.Order{}, sale.Refuse(sale.OrderNotFound, "")
	}
	return sale.Order{ID: id}, nil
}

// Refunds are two of order 11.
func (h held) Refunds(context.Context, string) ([]sale.Refund, error) {
	return []sale.Refund{
		{Payment: "stripe#pi_2", OrderID: 11, Reason: sale.RefundReleased, Amount: 129900, Currency: "CNY", At: noon.Add(time.Hour)},
		{Payment: "stripe#pi_3", OrderID: 11, Reason: sale.RefundReleased, Amount: 5, Currency: "EUR", At: noon.Add(time.Hour), RefundedAt: noon.Add(2 * time.Hour)},
	}, nil
}

// ask makes a complaint about these claims in a sale restocked half a minute after its opening.
func ask(h held) complaint {
	return complaint{
		orders: h, whyPending: func(sale.Claim) string { return "it is on its way" },
		seedings: func() ([]books.Seeding, error) {
			return []books.Seeding{{ID: "early", Units: 7, At: noon.Add(-time.Hour)}, {ID: "second-batch", Units: 3, At: noon.Add(30 * time.Second)}, {ID: "typo", Units: -2, At: noon.Add(time.Minute)}}, nil
		},
	}
}

func TestAComplaintIsAnsweredFromTheTable(t *testing.T) {
	id, err := orderid.New(noon.Add(2*time.Second), 1)
	if err != nil {
		t.Fatal(err)
	}
	book := held{
		"alice":  {ID: "C1", AcceptedAt: noon, OrderID: id},
		"bob":    {ID: "C2", AcceptedAt: noon, ResentAt: noon.Add(time.Minute)},
		"carola": {ID: "C3", AcceptedAt: noon, OrderID: 9},
		"dora":   {ID: "C4", AcceptedAt: noon, OrderID: 10, PaidAt: noon.Add(time.Minute), Payment: "stripe#pi_1"},
		"emil":   {ID: "C5", AcceptedAt: noon, OrderID: 11, ReleasedAt: noon.Add(34 * time.Minute), ReleasedBy: sale.ByExpiry},
	}
	for user, want := range map[string][]string{
		"alice": {"12:00:00.000Z  accepted: claim C1, one unit of shard 0", "12:00:02.000Z  confirmed: order " + orderid.String(id), "12:30:02.000Z  to be paid by then", "for the buyer: your order is " + orderid.String(id) + ", and it is not paid"},
		"bob":   {"12:01:00.000Z  its order message was sent again", "pending for 2m41s: it is on its way", "for the buyer: your order was accepted"},
		"dora":  {"12:01:00.000Z  paid: stripe#pi_1", "for the buyer: your order is 10, and it is paid"},
		"emil": {"12:34:00.000Z  released by expiry", "13:00:00.000Z  a refund is due: stripe#pi_2, 129900 CNY in minor units, because: released", "14:00:00.000Z  refunded: stripe#pi_3, 5 EUR",
			"for the buyer: your order 11 is expired, and its unit is not yours any more; your payment of CNY 1299.00 (stripe#pi_2) will be paid back; your payment of EUR 0.05 (stripe#pi_3) was paid back on 2026-11-11"},
		"Frieda": {"Frieda has no claim in sale moutai", "Frieda has ordered in sale maotai of the group bottles: `make buyer SALE=maotai BUYER=Frieda`",
			"for the buyer: there is one order for each customer in all of these sales, and yours is in maotai"},
		"carola": {"its order item is missing: reconcile sends its message again, `make resend SALE=moutai` at once", "for the buyer: your order is 9"},
		"Alice": {"Alice has no claim in sale moutai (ids are case-sensitive; BUYER is the token's `sub`)",
			"moutai sells from 2026-11-11T12:00:00Z to 2026-11-11T13:00:00Z and is OPEN now", "2026-11-11T12:00:30.000Z  3 units were added (second-batch): a \"sold out\" before that was correct",
			"units of orders that are not paid in time, or are cancelled, are sold again: a \"sold out\" before that was correct", "for the buyer: no order was accepted under this account"},
	} {
		var out bytes.Buffer
		err := ask(book).answer(t.Context(), "moutai", user, noon.Add(161*time.Second), &out)
		for _, line := range want {
			if err != nil || !strings.Contains(out.String(), line) || strings.Contains(out.String(), "early") || strings.Contains(out.String(), "typo") {
				t.Errorf("%s: %v, no %q in: %s", user, err, line, &out)
			}
		}
	}
	err = ask(book).answer(t.Context(), "moutai", "busy", noon, &bytes.Buffer{})
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a table that does not answer: %v", err)
	}
}

// inRecall are held claims of a sale that was recalled a minute after noon.
type inRecall struct{ held }

func (b inRecall) Sale(ctx context.Context, saleID string) (sale.Sale, error) {
	s, err := b.held.Sale(ctx, saleID)
	s.RecalledAt, s.RecallNote = noon.Add(time.Minute), "soles come off"
	return s, err
}

func TestAComplaintAboutARecalledSaleSaysWhatBecameOfTheOrder(t *testing.T) {
	book := inRecall{held{
		"dora": {ID: "C4", AcceptedAt: noon, OrderID: 11, PaidAt: noon.Add(time.Minute), Payment: "stripe#pi_2"},
		"emil": {ID: "C5", AcceptedAt: noon, OrderID: 10, ReleasedAt: noon.Add(2 * time.Minute), ReleasedBy: sale.ByOperator},
	}}
	for user, want := range map[string][]string{
		"dora": {"12:01:00.000Z  the sale was recalled: soles come off", "for the buyer: the sale was recalled, and the goods will not come; your order is 11, and it is paid; your payment of CNY 1299.00 (stripe#pi_2) will be paid back"},
		"emil": {"12:02:00.000Z  released by operator", "for the buyer: the sale was recalled, and the goods will not come; your order 10 is cancelled"},
		"anna": {"and is RECALLED now: soles come off"},
	} {
		var out bytes.Buffer
		c := ask(book.held)
		c.orders = book
		err := c.answer(t.Context(), "moutai", user, noon.Add(161*time.Second), &out)
		for _, line := range want {
			if err != nil || !strings.Contains(out.String(), line) {
				t.Errorf("%s: %v, no %q in: %s", user, err, line, &out)
			}
		}
	}
}

func TestAnAmountIsWrittenInItsCurrency(t *testing.T) {
	for want, r := range map[string]sale.Refund{
		"CNY 899.00": {Amount: 89900, Currency: "CNY"}, "USD 0.00": {Currency: "USD"}, "JPY 899": {Amount: 899, Currency: "JPY"},
		"KWD 0.899": {Amount: 899, Currency: "KWD"}, "899 QQQ in minor units": {Amount: 899, Currency: "QQQ"},
	} {
		if got := money(r); got != want {
			t.Errorf("%d %s: %s, want %s", r.Amount, r.Currency, got, want)
		}
	}
}

func TestAPendingOrderWhoseMessageIsADeadLetterIsFound(t *testing.T) {
	r := deadLetters(t, held{}, "garbage", order("alice", "C1"))
	for id, want := range map[string]bool{"C1": true, "C2": false} {
		found, err := isDeadLetter(t.Context(), r.client, r.deadLetters, sale.Claim{ID: id})
		if err != nil || found != want {
			t.Errorf("%s: found %t, %v", id, found, err)
		}
	}
}
