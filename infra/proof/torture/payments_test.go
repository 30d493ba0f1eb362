package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/books"
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
func settledSale(changes ...map[string]types.AttributeValue) (*testSale, *books.Sale) {
	e := &testSale{id: "s", asksForPayment: true, answers: newHistory()}
	e.answers.payments = map[string]told{"stripe#1": {"ann", "paid"}, "stripe#2": {"bob", "refund-due: released"}, "stripe#3": {"cat", "paid"}}
	e.answers.ends = map[string]string{"ann": "PAID", "bob": "EXPIRED", "dan": "CANCELLED"}
	order := map[string]string{"orderId": "4294967297"}
	released := maps.Clone(order)
	released["releasedAt"] = "1767225600000"
	paidAt := maps.Clone(order)
	paidAt["paidAt"] = "1767225600000"
	held := map[string]map[string]types.AttributeValue{}
	for _, it := range append([]map[string]types.AttributeValue{
		item("SALE#s", "SALE", map[string]string{"state": "OPEN"}, map[string]string{"seeded": "3"}),
		item("STOCK#s#0", "STOCK", nil, map[string]string{"stock": "1"}),
		item("CLAIM#s#0", "ann", map[string]string{"payment": "stripe#1"}, paidAt),
		item("CLAIM#s#0", "bob", map[string]string{"releasedBy": "expiry"}, released),
		item("CLAIM#s#0", "cat", map[string]string{"payment": "stripe#3"}, paidAt),
		item("CLAIM#s#0", "dan", map[string]string{"releasedBy": "buyer"}, released),
		item("REFUND#s", "stripe#2", map[string]string{"reason": "released"}, nil),
	}, changes...) {
		held[it["pk"].(*types.AttributeValueMemberS).Value+it["sk"].(*types.AttributeValueMemberS).Value] = it
	}
	var items []map[string]types.AttributeValue
	for _, it := range held {
		items = append(items, it)
	}
	return e, books.Of(items).Sale("s")
}

func TestEveryBrokenPromiseOfAPaymentIsFound(t *testing.T) {
	confirmed := item("CLAIM#s#0", "cat", nil, map[string]string{"orderId": "4294967297"})
	for name, c := range map[string]struct {
		change map[string]types.AttributeValue
		tamper func(h *history)
		want   string
	}{
		"as it should be":         {item("X", "X", nil, nil), nil, ""},
		"a payment is forgotten":  {confirmed, nil, `stripe#3 of cat was "paid", but is "paid", and the order is CONFIRMED by ""`},
		"nobody releases":         {confirmed, nil, "cat is neither paid nor released (P22)"},
		"paid and sold again":     {item("STOCK#s#0", "STOCK", nil, map[string]string{"stock": "2"}), nil, "2 units are paid and 2 are left, of 3"},
		"a unit is lost":          {item("STOCK#s#0", "STOCK", nil, map[string]string{"stock": "0"}), nil, "(P23)"},
		"a refund is forgotten":   {item("X", "X", nil, nil), func(h *history) { h.payments["stripe#4"] = told{"bob", "refund-due: released"} }, "stripe#4 of bob"},
		"another reason":          {item("X", "X", nil, nil), func(h *history) { h.payments["stripe#2"] = told{"bob", "refund-due: amount"} }, "stripe#2 of bob"},
		"paid and to be refunded": {item("REFUND#s", "stripe#1", map[string]string{"reason": "other-payment"}, nil), nil, "stripe#1 of ann"},
		"a refund of nobody's":    {item("REFUND#s", "stripe#9", map[string]string{"reason": "released"}, nil), nil, "stripe#9 is due (released), a payment that nobody made"},
		"paid by nobody":          {item("X", "X", nil, nil), func(h *history) { delete(h.payments, "stripe#1") }, "the order of ann is paid by \"stripe#1\", which is no payment of it"},
		"paid by another's":       {item("X", "X", nil, nil), func(h *history) { h.payments["stripe#1"] = told{"bob", "paid"} }, "the order of ann is paid by"},
		"a state was taken back":  {item("X", "X", nil, nil), func(h *history) { h.ends["ann"] = "EXPIRED" }, "ann was shown as EXPIRED, but is PAID (P20)"},
	} {
		t.Run(name, func(t *testing.T) {
			e, s := settledSale(c.change)
			if c.tamper != nil {
				c.tamper(e.answers)
			}
			e.auditPayments(s, e.answers.note)
			if found := strings.Join(e.answers.problems, "\n"); !strings.Contains(found, c.want) || (c.want == "") != (found == "") {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

func TestAnswersToPaymentsMustNotContradictEachOther(t *testing.T) {
	h := newHistory()
	h.paid("ann", "stripe#1", "paid")
	h.paid("ann", "stripe#1", "paid")
	h.ended("ann", "CONFIRMED")
	h.ended("ann", "PAID")
	h.ended("ann", "CONFIRMED") // an older answer
	if len(h.problems) > 0 {
		t.Errorf("found %q", h.problems)
	}
	h.paid("ann", "stripe#1", "refund-due: released")
	h.ended("ann", "EXPIRED")
	if len(h.problems) != 2 {
		t.Errorf("found %q, want both contradictions", h.problems)
	}
}
