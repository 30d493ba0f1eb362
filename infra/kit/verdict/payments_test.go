package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

// ordered is the claim of a user, with an order that is neither paid nor released.
func ordered(user string) books.Claim {
	return books.Claim{User: user, ClaimID: "c-" + user, OrderID: "4294967297"}
}

func paidBy(user, payment string) books.Claim {
	c := ordered(user)
	c.Payment, c.PaidAt = payment, 1767225600000
	return c
}

func releasedBy(user, by string) books.Claim {
	c := ordered(user)
	c.ReleasedBy, c.ReleasedAt = by, 1767225600000
	return c
}

// settledSale is a sale of 3 units of which ann paid one and cat got the one that bob did not
// pay in time; dan cancelled. Bob has paid too late.
func settledSale() (*History, *books.Sale) {
	h := New(Sale{Units: 3, Shards: 1, AsksForPayment: true})
	for _, user := range []string{"ann", "bob", "cat", "dan"} {
		h.Clicked(user, false, Span{}, client.Accepted, client.Answer{Claim: client.Claim{ClaimID: "c-" + user}})
	}
	h.Paid("ann", "stripe#1", "paid")
	h.Paid("ann", "stripe#1", "paid")
	h.Paid("bob", "stripe#2", "refund-due: released")
	h.Paid("cat", "stripe#3", "paid")
	h.Ended("ann", "PAID")
	h.Ended("ann", "CONFIRMED") // an older answer
	h.Ended("bob", "EXPIRED")
	h.Ended("dan", "CANCELLED")
	return h, &books.Sale{
		Seeded: 3, Open: true, Shards: map[int]books.Shard{0: {Stock: 1, Seeded: 3}},
		Claims:  []books.Claim{paidBy("ann", "stripe#1"), releasedBy("bob", "expiry"), paidBy("cat", "stripe#3"), releasedBy("dan", "buyer")},
		Refunds: map[string]string{"stripe#2": "released"},
	}
}

func TestEveryBrokenPromiseOfAPaymentIsFound(t *testing.T) {
	const ofCat = 2
	for name, c := range map[string]struct {
		spoil func(h *History, s *books.Sale)
		want  string
	}{
		"as it should be":         {func(*History, *books.Sale) {}, ""},
		"a payment is forgotten":  {func(_ *History, s *books.Sale) { s.Claims[ofCat] = ordered("cat") }, `stripe#3 of cat was "paid", but is "paid", and the order is CONFIRMED by ""`},
		"nobody releases":         {func(_ *History, s *books.Sale) { s.Claims[ofCat] = ordered("cat") }, "cat is neither paid nor released (P22)"},
		"paid and sold again":     {func(_ *History, s *books.Sale) { s.Shards[0] = books.Shard{Stock: 2} }, "2 units are paid and 2 are left, of 3"},
		"a unit is lost":          {func(_ *History, s *books.Sale) { s.Shards[0] = books.Shard{} }, "(P23)"},
		"a refund is forgotten":   {func(h *History, _ *books.Sale) { h.Paid("bob", "stripe#4", "refund-due: released") }, "stripe#4 of bob"},
		"another reason":          {func(_ *History, s *books.Sale) { s.Refunds["stripe#2"] = "amount" }, "stripe#2 of bob"},
		"paid and to be refunded": {func(_ *History, s *books.Sale) { s.Refunds["stripe#1"] = "other-payment" }, "stripe#1 of ann"},
		"a refund of nobody's":    {func(_ *History, s *books.Sale) { s.Refunds["stripe#9"] = "released" }, "stripe#9 is due (released), a payment that nobody made"},
		"paid by nobody":          {func(_ *History, s *books.Sale) { s.Claims[ofCat].Payment = "stripe#5" }, `the order of cat is paid by "stripe#5", which is no payment of it`},
		"paid by another's":       {func(_ *History, s *books.Sale) { s.Claims[ofCat].Payment = "stripe#1" }, `the order of cat is paid by "stripe#1"`},
		"another end":             {func(_ *History, s *books.Sale) { s.Claims[ofCat+1] = releasedBy("dan", "expiry") }, "dan was shown as CANCELLED, but is EXPIRED (P20)"},
		"a state was taken back":  {func(h *History, _ *books.Sale) { h.Ended("ann", "EXPIRED") }, "ann was PAID and later EXPIRED (P20)"},
		"two answers":             {func(h *History, _ *books.Sale) { h.Paid("ann", "stripe#1", "refund-due: released") }, `stripe#1 of ann was "paid" and later "refund-due: released" (P24)`},
	} {
		t.Run(name, func(t *testing.T) {
			h, s := settledSale()
			c.spoil(h, s)
			found := slices.Concat(h.Findings(), h.Compare(s))
			if all := fmt.Sprint(found); !strings.Contains(all, c.want) || (c.want == "") != (len(found) == 0) {
				t.Errorf("found %v, want %q", found, c.want)
			}
		})
	}
}
