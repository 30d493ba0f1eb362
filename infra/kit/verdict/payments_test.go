package verdict

import (
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

// item is an item of the table; numbers are attributes of type N.
func item(pk, sk string, texts, numbers map[string]string) map[string]types.AttributeValue {
	it := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
	for name, value := range texts {
		it[name] = &types.AttributeValueMemberS{Value: value}
	}
	for name, value := range numbers {
		it[name] = &types.AttributeValueMemberN{Value: value}
	}
	return it
}

// settledSale is a sale of 3 units of which ann paid one and cat got the one that bob did not
// pay in time; dan cancelled. Bob has paid too late.
func settledSale(changes ...map[string]types.AttributeValue) (*History, *books.Sale) {
	h := New(Sale{AsksForPayment: true})
	h.Paid("ann", "stripe#1", "paid")
	h.Paid("bob", "stripe#2", "refund-due: released")
	h.Paid("cat", "stripe#3", "paid")
	h.Ended("ann", "PAID")
	h.Ended("bob", "EXPIRED")
	h.Ended("dan", "CANCELLED")
	for _, user := range []string{"ann", "bob", "cat", "dan"} {
		h.Clicked(user, false, Span{}, client.Accepted, client.Answer{Claim: client.Claim{ClaimID: "c-" + user}})
	}
	order := map[string]string{"orderId": "4294967297"}
	released := maps.Clone(order)
	released["releasedAt"] = "1767225600000"
	paidAt := maps.Clone(order)
	paidAt["paidAt"] = "1767225600000"
	held := map[string]map[string]types.AttributeValue{}
	for _, it := range append([]map[string]types.AttributeValue{
		item("SALE#s", "SALE", map[string]string{"state": "OPEN"}, map[string]string{"seeded": "3"}),
		item("STOCK#s#0", "STOCK", nil, map[string]string{"stock": "1"}),
		item("CLAIM#s#0", "ann", map[string]string{"claimId": "c-ann", "payment": "stripe#1"}, paidAt),
		item("CLAIM#s#0", "bob", map[string]string{"claimId": "c-bob", "releasedBy": "expiry"}, released),
		item("CLAIM#s#0", "cat", map[string]string{"claimId": "c-cat", "payment": "stripe#3"}, paidAt),
		item("CLAIM#s#0", "dan", map[string]string{"claimId": "c-dan", "releasedBy": "buyer"}, released),
		item("REFUND#s", "stripe#2", map[string]string{"reason": "released"}, nil),
	}, changes...) {
		held[it["pk"].(*types.AttributeValueMemberS).Value+it["sk"].(*types.AttributeValueMemberS).Value] = it
	}
	var items []map[string]types.AttributeValue
	for _, it := range held {
		items = append(items, it)
	}
	return h, books.Of(items).Sale("s")
}

func TestEveryBrokenPromiseOfAPaymentIsFound(t *testing.T) {
	confirmed := item("CLAIM#s#0", "cat", map[string]string{"claimId": "c-cat"}, map[string]string{"orderId": "4294967297"})
	for name, c := range map[string]struct {
		change map[string]types.AttributeValue
		tamper func(h *History)
		want   string
	}{
		"as it should be":         {item("X", "X", nil, nil), nil, ""},
		"a payment is forgotten":  {confirmed, nil, `stripe#3 of cat was "paid", but is "paid", and the order is CONFIRMED by ""`},
		"nobody releases":         {confirmed, nil, "cat is neither paid nor released (P22)"},
		"paid and sold again":     {item("STOCK#s#0", "STOCK", nil, map[string]string{"stock": "2"}), nil, "2 units are paid and 2 are left, of 3"},
		"a unit is lost":          {item("STOCK#s#0", "STOCK", nil, map[string]string{"stock": "0"}), nil, "(P23)"},
		"a refund is forgotten":   {item("X", "X", nil, nil), func(h *History) { h.payments["stripe#4"] = payment{"bob", "refund-due: released"} }, "stripe#4 of bob"},
		"another reason":          {item("X", "X", nil, nil), func(h *History) { h.payments["stripe#2"] = payment{"bob", "refund-due: amount"} }, "stripe#2 of bob"},
		"paid and to be refunded": {item("REFUND#s", "stripe#1", map[string]string{"reason": "other-payment"}, nil), nil, "stripe#1 of ann"},
		"a refund of nobody's":    {item("REFUND#s", "stripe#9", map[string]string{"reason": "released"}, nil), nil, "stripe#9 is due (released), a payment that nobody made"},
		"paid by nobody":          {item("X", "X", nil, nil), func(h *History) { delete(h.payments, "stripe#1") }, "the order of ann is paid by \"stripe#1\", which is no payment of it"},
		"paid by another's":       {item("X", "X", nil, nil), func(h *History) { h.payments["stripe#1"] = payment{"bob", "paid"} }, "the order of ann is paid by"},
		"a state was taken back":  {item("X", "X", nil, nil), func(h *History) { h.buyers["ann"].end = "EXPIRED" }, "ann was shown as EXPIRED, but is PAID (P20)"},
	} {
		t.Run(name, func(t *testing.T) {
			h, s := settledSale(c.change)
			if c.tamper != nil {
				c.tamper(h)
			}
			var found []string
			for _, f := range h.Compare(s) {
				found = append(found, f.String())
			}
			if all := strings.Join(found, "\n"); !strings.Contains(all, c.want) || (c.want == "") != (all == "") {
				t.Errorf("found %q, want %q", all, c.want)
			}
		})
	}
}

func TestAnswersToPaymentsMustNotContradictEachOther(t *testing.T) {
	h := New(Sale{AsksForPayment: true})
	h.Paid("ann", "stripe#1", "paid")
	h.Paid("ann", "stripe#1", "paid")
	h.Ended("ann", "CONFIRMED")
	h.Ended("ann", "PAID")
	h.Ended("ann", "CONFIRMED") // an older answer
	if found := h.Findings(); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	h.Paid("ann", "stripe#1", "refund-due: released")
	h.Ended("ann", "EXPIRED")
	if found := h.Findings(); len(found) != 2 {
		t.Errorf("found %q, want both contradictions", found)
	}
}
