package verdict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/shared/orderid"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

func second(n float64) time.Time { return noon.Add(time.Duration(n * float64(time.Second))) }

// between is the span of those seconds after noon.
func between(from, until float64) Span { return Span{second(from), second(until)} }

// orderID is an id with that second.
func orderID(n int, sequence uint64) string {
	id, err := orderid.New(second(float64(n)), sequence)
	if err != nil {
		panic(err)
	}
	return orderid.String(id)
}

func claim(id, order string) client.Claim {
	c := client.Claim{ClaimID: id, SaleID: "s", State: "PENDING", OrderID: order}
	if order != "" {
		c.State = "CONFIRMED"
	}
	return c
}

// world is a sale of 3 units on 2 shards with its buyers' answers, which a case changes before
// they are told.
type world struct {
	sale  Sale
	told  []func(h *History)
	books *books.Sale
}

// click is the answer to a click. A buyer whose name is in upper case has a key.
func click(user string, at Span, o client.Outcome, a client.Answer) func(*History) {
	return func(h *History) { h.Clicked(user, user == strings.ToUpper(user), at, o, a) }
}

func accepted(user, id string) func(*History) {
	return click(user, between(1, 1.5), client.Accepted, client.Answer{Status: 202, Body: []byte("claim " + id), Claim: claim(id, "")})
}

func alreadyOrdered(user, id string) func(*History) {
	return click(user, between(3, 3.5), client.AlreadyOrdered, client.Answer{Status: 409, Claim: claim(id, "")})
}

func soldOut(user string, at Span) func(*History) {
	return click(user, at, client.SoldOut, client.Answer{Status: 409, Code: "sold-out"})
}

func saw(user string, at Span, c client.Claim) func(*History) {
	return func(h *History) { h.Asked(user, at, client.Confirmed, client.Answer{Status: 200, Claim: c}) }
}

func unknownOrder(user string, at Span) func(*History) {
	return func(h *History) { h.Asked(user, at, client.NoOrder, client.Answer{Status: 404}) }
}

// tell puts another answer in the place of one.
func tell(one int, f func(*History)) func(*world) {
	return func(w *world) { w.told[one] = f }
}

const (
	ofA = iota
	ofAAgain
	ofB
	ofC
	ofCAgain
	ofD
	ofE
	seenByA
	seenByB
	seenByC
)

// good is a faultless sale: A and B have keys, A and c click twice, and d and E come too late.
func good() *world {
	return &world{
		sale: Sale{Units: 3, Shards: 2, Steady: true},
		told: []func(*History){
			accepted("A", "a1"), accepted("A", "a1"), accepted("B", "b1"), accepted("c", "c1"), alreadyOrdered("c", "c1"),
			soldOut("d", between(4, 4.5)), soldOut("E", between(4, 4.5)),
			saw("A", between(1, 2), claim("a1", orderID(1, 1))), saw("B", between(1, 2), claim("b1", orderID(1, 2))),
			saw("c", between(4, 5), claim("c1", orderID(4, 3))),
		},
		books: &books.Sale{
			Seeded: 3, Open: true,
			Shards: map[int]books.Shard{0: {Stock: 0, Seeded: 2}, 1: {Stock: 0, Seeded: 1}},
			Claims: []books.Claim{
				{User: "A", ClaimID: "a1", Shard: 0, AcceptedAt: second(1), OrderID: orderID(1, 1), ConfirmedAt: second(1)},
				{User: "B", ClaimID: "b1", Shard: 1, AcceptedAt: second(1), OrderID: orderID(1, 2), ConfirmedAt: second(1)},
				{User: "c", ClaimID: "c1", Shard: 0, AcceptedAt: second(3), OrderID: orderID(4, 3), ConfirmedAt: second(4)},
			},
		},
	}
}

// violations are all findings, one per line.
func (w *world) violations() string {
	h := New(w.sale)
	for _, tell := range w.told {
		tell(h)
	}
	var lines strings.Builder
	for _, found := range [][]books.Finding{h.Findings(), h.Compare(w.books), h.CompareOrder(w.books, second(60))} {
		for _, f := range found {
			fmt.Fprintln(&lines, f)
		}
	}
	return lines.String()
}

func TestEveryUntrueAnswerAndEveryTamperingIsFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(w *world)
		want  string // a part of a finding and its promise
	}{
		{"a unit too many was sold", func(w *world) { w.sale.Units = 2 }, "3 units were sold, not 2 (P1)"},
		{"more claims were given than there are units", func(w *world) { w.sale.Units = 2 }, "claims of more than 2 units were given for 2 units (P1)"},
		{"a unit was not sold though somebody wanted it", func(w *world) { w.sale.Units = 4 }, "3 units were sold, not 4 (P1)"},
		{"a shard is missing", func(w *world) { delete(w.books.Shards, 1) }, "1 shards are stored, but 2 were asked for (P2)"},
		{"a batch was added twice", func(w *world) { w.books.Seeded = 6 }, "6 units were seeded, but 3 were asked for (P15)"},
		{"a stranger holds a unit", func(w *world) { w.books.Claims[1].User = "z" }, "z never ordered but holds claim b1 (P12)"},
		{"an accepted claim is not in the table", tell(ofD, accepted("d", "d1")), `d got claim d1, but the table has "" (P4)`},
		{"a click has no answer", tell(ofD, func(h *History) { h.Unanswered("d", "no route") }), "a click of d has no answer: no route (P5)"},
		{"an answer is not in the contract", tell(ofD, click("d", between(4, 5), client.Wrong, client.Answer{Status: 500, Body: []byte(`{"code":"internal"}`)})), `a click of d got the answer 500 "{`},
		{"a refusal is not one of an open sale", tell(ofD, click("d", between(4, 5), "sale-closed", client.Answer{Status: 410})), "a click of d got the answer 410"},
		{"the status resource left the contract", tell(seenByC, func(h *History) { h.Asked("c", between(4, 5), client.Wrong, client.Answer{Status: 500}) }), "c asked for the order and got 500"},
		{"the status resource takes no token any more", tell(seenByC, func(h *History) { h.Asked("c", between(4, 5), client.Unauthorized, client.Answer{Status: 401}) }), "c asked for the order and got 401"},
		{"a winner only got sold-out", func(w *world) {
			w.told[ofB], w.told[seenByB] = soldOut("B", between(1, 2)), soldOut("B", between(1, 2))
		}, "B holds claim b1 but never got it in an answer (P5)"},
		{"sold-out was untrue, because a unit is left", func(w *world) { w.books.Shards[0] = books.Shard{Stock: 1, Seeded: 3} }, "d got sold-out at 12:00:04.500, but 1 units are left (P6)"},
		{"sold-out was untrue, because a unit was sold later", tell(ofD, soldOut("d", between(1, 2))), "d got sold-out by 12:00:02.000, but c got a unit at 12:00:03.000 (P6)"},
		{"a repeated key got another body", tell(ofAAgain, click("A", between(1, 2), client.Accepted, client.Answer{Status: 202, Body: []byte("claim a1, CONFIRMED"), Claim: claim("a1", "")})), "A got two different answers to one key"},
		{"a repeated key got already-ordered", tell(ofAAgain, alreadyOrdered("A", "a1")), "A repeated a click with a key and got"},
		{"a repeated key got sold-out", tell(ofAAgain, soldOut("A", between(4, 5))), "A holds claim a1, and the same key got sold-out (P9)"},
		{"a repeated key got sold-out while something was killed", func(w *world) {
			w.sale.Steady = false
			w.told[ofAAgain] = soldOut("A", between(60, 61))
		}, "A holds claim a1, and the same key got sold-out (P9)"},
		{"two clicks without a key were accepted", tell(ofCAgain, accepted("c", "c1")), "c sent no key and 2 clicks were accepted (P9)"},
		{"a buyer got two claims", tell(ofCAgain, alreadyOrdered("c", "c2")), "c got two claims, c1 and c2 (P3)"},
		{"two buyers got one claim", tell(ofB, accepted("B", "a1")), "A and B got the same claim a1 (P3)"},
		{"a buyer got two orders", tell(seenByC, saw("A", between(5, 6), claim("a1", "9"))), "A got two orders, " + orderID(1, 1) + " and 9 (P7)"},
		{"two buyers got one order", tell(seenByB, saw("B", between(1, 2), claim("b1", orderID(1, 1)))), "A and B got the same order " + orderID(1, 1) + " (P7)"},
		{"a buyer saw another order than the table has", tell(seenByB, saw("B", between(1, 2), claim("b1", "12345"))), "B got order 12345, but the table has"},
		{"an order id is older than its claim", func(w *world) { w.books.Claims[0].AcceptedAt = second(2) }, "has the time 12:00:01, but was confirmed between 12:00:02"},
		{"an order id is younger than its confirmation", tell(seenByC, saw("c", between(2, 3), claim("c1", orderID(4, 3)))), "has the time 12:00:04"},
		{"a later order of the same second has the smaller id", func(w *world) {
			w.told[seenByB] = saw("B", between(1, 1.3), claim("b1", orderID(1, 2)))
			w.books.Claims[0].AcceptedAt = second(1.4)
		}, "which was confirmed before it was accepted (P7)"},
		{"an accepted order is denied afterwards", tell(seenByC, unknownOrder("c", between(4, 5))), "c got claim c1 and later order-not-found (P4)"},
		{"something that only the caller sees", tell(seenByC, func(h *History) { h.Report("P8", "%s waits", "c") }), "c waits (P8)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := good()
			c.spoil(w)
			if found := w.violations(); !strings.Contains(found, c.want) {
				t.Errorf("found\n%swant %q", found, c.want)
			}
		})
	}
}

func TestNothingIsFoundWhere(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(w *world)
	}{
		{"every promise is kept", func(*world) {}},
		{"a buyer whose answer was lost finds the order by asking for it", func(w *world) {
			w.told[ofC], w.told[ofCAgain] = soldOut("c", between(4, 5)), soldOut("c", between(4, 5))
		}},
		{"a buyer asked for the order before the answer to the click came", tell(seenByA, unknownOrder("A", between(1, 1.6)))},
		{"fewer buyers than units leave some unsold", func(w *world) {
			w.told = append(w.told[:ofD:ofD], w.told[seenByA:]...)
			w.sale.Units, w.books.Seeded = 9, 9
			w.books.Shards = map[int]books.Shard{0: {Stock: 3, Seeded: 5}, 1: {Stock: 3, Seeded: 4}}
		}},
		{"a killed try may commit after its repeat was refused", func(w *world) {
			w.sale.Steady = false
			w.told[ofAAgain] = soldOut("A", between(3, 3.5))
			w.books.Claims[0].AcceptedAt = second(1.5)
		}},
		{"a buyer whose claim was released clicks again", func(w *world) {
			released := client.Claim{ClaimID: "a1", SaleID: "s", State: "EXPIRED", OrderID: orderID(1, 1)}
			w.told = append(w.told, click("A", between(4, 5), client.AlreadyOrdered, client.Answer{Status: 409, Claim: released}))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := good()
			c.change(w)
			if found := w.violations(); found != "" {
				t.Errorf("found\n%s", found)
			}
		})
	}
}
