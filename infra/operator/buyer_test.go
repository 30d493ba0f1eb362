package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"flashsale/infra/books"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// Sale and Order let held stand for the ledger of the sale moutai, in which only the item of
// order 9 is missing.
func (h held) Sale(context.Context, string) (sale.Sale, error) {
	return sale.Sale{ID: "moutai", State: sale.Open, OpensAt: noon, ClosesAt: noon.Add(time.Hour), Shards: 1}, nil
}

func (h held) Order(_ context.Context, id uint64) (sale.Order, error) {
	if id == 9 {
		return sale.Order{}, sale.Refuse(sale.OrderNotFound, "")
	}
	return sale.Order{ID: id}, nil
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
	}
	for user, want := range map[string][]string{
		"alice":  {"12:00:00.000Z  accepted: claim C1, one unit of shard 0", "12:00:02.000Z  confirmed: order " + orderid.String(id), "for the buyer: your order is " + orderid.String(id)},
		"bob":    {"12:01:00.000Z  its order message was sent again", "pending for 2m41s: it is on its way", "for the buyer: the unit is yours"},
		"carola": {"its order item is missing: reconcile will resend its message within 5m0s", "for the buyer: your order is 9"},
		"Alice": {"Alice has no claim in sale moutai (ids are case-sensitive; BUYER is the token's `sub`)",
			"moutai sells from 2026-11-11T12:00:00Z to 2026-11-11T13:00:00Z and is OPEN now", "2026-11-11T12:00:30.000Z  3 units were added (second-batch): a \"sold out\" before that was correct", "for the buyer: no order was accepted under this account"},
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

func TestAPendingOrderWhoseMessageIsADeadLetterIsFound(t *testing.T) {
	r := deadLetters(t, held{}, "garbage", order("alice", "C1"))
	for id, want := range map[string]bool{"C1": true, "C2": false} {
		found, err := isDeadLetter(t.Context(), r.client, r.deadLetters, sale.Claim{ID: id})
		if err != nil || found != want {
			t.Errorf("%s: found %t, %v", id, found, err)
		}
	}
}
