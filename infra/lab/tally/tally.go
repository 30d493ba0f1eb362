// Package tally says what a sale was worth: it holds the orders that the
// strategy's durable store has against what the buyers were told.
//
// It compares orders with answers only, and uses no counter of any strategy.
package tally

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"flashsale/infra/lab/shop"
)

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

// promised: the buyer believes in an order.
func (a *Answer) promised() bool {
	return a.Outcome == shop.Accepted || a.Outcome == shop.AlreadyOrdered
}

// Count is a sale in figures.
type Count struct {
	Stock int `json:"stock"`
	Sold  int `json:"sold"` // units
	// Oversold is how many more were sold than there were.
	Oversold int `json:"oversold"`
	// Unsold is how many units are left that a refused buyer could have had.
	Unsold int `json:"unsold"`
	// Doubles are users with more than one order.
	Doubles int `json:"doubles"`
	// Lost are users who were told that they have an order and have none.
	Lost int `json:"lost"`
	// Misled are users who have an order and were told "sold out", by any of
	// their clicks.
	Misled int `json:"misled"`
	// ToldSoldOut are users without an order who were told "sold out";
	// Undecided those who never got a decision.
	ToldSoldOut int `json:"-"`
	Undecided   int `json:"-"`
	// PerSecond is decisions a second, from the opening to the last one; a decision is any answer but "busy".
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"`
	P99Ms     float64 `json:"p99Ms"`
}

func Of(stock int, orders []shop.Order, answers []Answer) Count {
	c := Count{Stock: stock}
	has := map[string]int{}
	for _, o := range orders {
		has[o.User]++
		c.Sold += shop.Units(o.User)
	}
	c.Oversold = max(0, c.Sold-stock)
	var wanted []int // by those who have none
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
		if has[user] == 0 && !p.promised {
			wanted = append(wanted, shop.Units(user))
		}
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
	slices.Sort(wanted)
	for _, n := range wanted {
		if c.Sold+c.Unsold+n <= stock {
			c.Unsold += n
		}
	}
	c.measure(answers)
	return c
}

type person struct{ promised, soldOut bool }

func (c *Count) measure(answers []Answer) {
	var took []time.Duration
	var last time.Duration
	for _, a := range answers {
		if a.Outcome != "" && a.Outcome != shop.Busy {
			took = append(took, a.Took)
			last = max(last, a.Ended)
		}
	}
	if last == 0 {
		return
	}
	slices.Sort(took)
	// percentile is the smallest value that p percent do not exceed.
	percentile := func(p int) float64 {
		return round(float64(took[max(0, (len(took)*p+99)/100-1)]) / float64(time.Millisecond))
	}
	c.P50Ms, c.P99Ms, c.PerSecond = percentile(50), percentile(99), round(float64(len(took))/last.Seconds())
}

// round keeps one decimal: the rest is noise.
func round(x float64) float64 { return math.Round(x*10) / 10 }

// Verdict is what a strategy's run amounts to: the worst of what was found.
type Verdict string

// The verdicts, worst first.
const (
	// Oversells: orders of more units than there were.
	Oversells Verdict = "oversells"
	// Doubles: a user has more than one order.
	Doubles Verdict = "doubles"
	// Loses: a buyer was told yes and has no order.
	Loses Verdict = "loses"
	// Misleads: a buyer was told "sold out" and has an order.
	Misleads Verdict = "misleads"
	// Undersells: units are left and buyers were told "sold out".
	Undersells Verdict = "undersells"
	// Stalls: buyers never got a decision.
	Stalls Verdict = "stalls"
	// Holds: nothing was found.
	Holds Verdict = "holds"
	// NotRun: an engine is not installed.
	NotRun Verdict = "not run"
)

// Judge is the verdict on a count and one sentence that says why, from its
// figures only. accidents are what happened during the run.
func (c *Count) Judge(accidents []string) (Verdict, string) {
	var found []string
	verdict := Holds
	// The findings stand worst first, so the first one is the verdict.
	for _, f := range []struct {
		n       int
		verdict Verdict
		text    string
	}{
		{c.Oversold, Oversells, fmt.Sprintf("%d of %s sold, %d too many", c.Sold, units(c.Stock), c.Oversold)},
		{c.Doubles, Doubles, fmt.Sprintf("%s more than one order", have(c.Doubles))},
		{c.Lost, Loses, fmt.Sprintf("%s told yes without an order", were(c.Lost))},
		{c.Misled, Misleads, fmt.Sprintf("%s told \"sold out\" and %s an order", were(c.Misled), map[bool]string{true: "has", false: "have"}[c.Misled == 1])},
		{min(c.Unsold, c.ToldSoldOut), Undersells, fmt.Sprintf("%d of %s left although %s told \"sold out\"", c.Stock-c.Sold, units(c.Stock), were(c.ToldSoldOut))},
		{c.Undecided, Stalls, fmt.Sprintf("%s no decision, with %d of %s left", got(c.Undecided), max(0, c.Stock-c.Sold), units(c.Stock))},
	} {
		if f.n == 0 {
			continue
		}
		if verdict == Holds {
			verdict = f.verdict
		}
		found = append(found, f.text)
	}
	if verdict == Holds {
		found = append(found, fmt.Sprintf("%d of %s sold, one order per buyer, and everybody told so", c.Sold, units(c.Stock)))
	}
	why := strings.Join(found, "; ")
	if len(accidents) > 0 {
		why += " (" + strings.Join(accidents, ", ") + ")"
	}
	return verdict, why
}

func units(n int) string { return plural(n, "1 unit", "units") }
func have(n int) string  { return plural(n, "1 buyer has", "buyers have") }
func were(n int) string  { return plural(n, "1 buyer was", "buyers were") }
func got(n int) string   { return plural(n, "1 buyer got", "buyers got") }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf("%d %s", n, many)
}
