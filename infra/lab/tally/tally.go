package tally

import (
	"slices"
	"time"

	"flashsale/infra/lab/shop"
)

// Answer is how one click ended.
type Answer struct {
	User string
	// Outcome is the last answer; "" if there never was one, Busy if there was
	// never a decision.
	Outcome shop.Outcome
	// Took is the time from the first try to the last answer.
	Took time.Duration
	// Ended is when the last answer came, counted from the opening.
	Ended time.Duration
}

func (a *Answer) decided() bool { return a.Outcome != "" && a.Outcome != shop.Busy }

// promised: the buyer believes in an order.
func (a *Answer) promised() bool {
	return a.Outcome == shop.Accepted || a.Outcome == shop.AlreadyOrdered
}

// Count is a sale in figures.
type Count struct {
	Stock, Sold int
	// Oversold is how many more were sold than there were.
	Oversold int
	// Unsold is how many units are left that a refused buyer could have had.
	Unsold int
	// Doubles are users with more than one order.
	Doubles int
	// Lost are users who were told that they have an order and have none.
	Lost int
	// Misled are users who have an order and were told "sold out", by any of
	// their clicks.
	Misled int
	// ToldSoldOut are users without an order who were told "sold out";
	// Undecided those who never got a decision.
	ToldSoldOut, Undecided int
	// PerSecond is decisions a second, from the opening to the last one.
	PerSecond float64
	P50, P99  time.Duration
	// DurablePerSecond is orders a second until the last one was written, and
	// DurableAfter how long after the last answer that was. Only a peak has them.
	DurablePerSecond float64
	DurableAfter     time.Duration
}

// Of counts a sale of that stock.
func Of(stock int, orders []shop.Order, answers []Answer) Count {
	c := Count{Stock: stock, Sold: len(orders), Oversold: max(0, len(orders)-stock)}
	has := map[string]int{}
	for _, o := range orders {
		has[o.User]++
	}
	users := map[string]*person{}
	for _, a := range answers {
		p := users[a.User]
		if p == nil {
			p = &person{}
			users[a.User] = p
		}
		p.promised = p.promised || a.promised()
		p.soldOut = p.soldOut || a.Outcome == shop.SoldOut
	}
	for _, n := range has {
		if n > 1 {
			c.Doubles++
		}
	}
	for user, p := range users {
		switch {
		case has[user] > 0:
			if p.soldOut {
				c.Misled++
			}
		case p.promised:
			c.Lost++
		case p.soldOut:
			c.ToldSoldOut++
		default:
			c.Undecided++
		}
	}
	c.Unsold = max(0, min(stock-c.Sold, c.ToldSoldOut+c.Undecided))
	c.measure(answers)
	return c
}

// person is one user over all clicks.
type person struct{ promised, soldOut bool }

func (c *Count) measure(answers []Answer) {
	var took []time.Duration
	var last time.Duration
	for _, a := range answers {
		if a.decided() {
			took = append(took, a.Took)
			last = max(last, a.Ended)
		}
	}
	slices.Sort(took)
	c.P50, c.P99 = percentile(took, 50), percentile(took, 99)
	if last > 0 {
		c.PerSecond = float64(len(took)) / last.Seconds()
	}
}

// percentile is the smallest of the sorted values that p percent do not exceed,
// 0 if there are none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}
