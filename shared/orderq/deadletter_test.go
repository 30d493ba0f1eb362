package orderq

import (
	"context"
	"errors"
	"testing"

	"flashsale/shared/sale"
)

func TestADeadLetterIsMovedBackWhileItsClaimIsPendingAndIsPoisonWithoutOne(t *testing.T) {
	claim := func(_ context.Context, saleID, user string) (sale.Claim, error) {
		c := map[string]sale.Claim{"alice": {ID: "C1"}, "bob": {ID: "C1", OrderID: 7}}[user]
		switch {
		case saleID != "moutai":
			return c, sale.Refuse(sale.SaleNotFound, "")
		case user == "busy":
			return c, sale.Fail(sale.Busy, errors.New("throttled"))
		case user == "newer":
			return c, sale.Refuse(sale.NewerVersion, "")
		case c.ID == "":
			return c, sale.Refuse(sale.OrderNotFound, "")
		}
		return c, nil
	}
	of := func(saleID, user, claimID string) string {
		return Encode(Message{SaleID: saleID, User: user, ClaimID: claimID})
	}
	const newer = "for a newer version; deploy it, then redrive with its flashsale"
	for body, want := range map[string]struct {
		fate Fate
		why  string
	}{
		of("moutai", "alice", "C1"): {FatePending, "moving it back will finalize it"},
		of("moutai", "bob", "C1"):   {FateDone, "the order is confirmed by now"},
		of("moutai", "alice", "C9"): {FatePoison, "the buyer holds another claim"},
		of("moutai", "carol", "C1"): {FatePoison, "no such claim"},
		of("maotai", "alice", "C1"): {FatePoison, "no such sale"},
		"not json":                  {FatePoison, "not an order message"},
		of("moutai", "busy", "C1"):  {FateUnknown, "the table does not answer"},
		of("moutai", "newer", "C1"): {FateUnknown, newer},
		`{"v":2,"order":{}}`:        {FateUnknown, newer},
	} {
		if fate, why := FateOf(t.Context(), claim, body); fate != want.fate || why != want.why {
			t.Errorf("%s: %s because %q, want %s because %q", body, fate, why, want.fate, want.why)
		}
	}
}
