package ledger

import (
	"time"

	"flashsale/shared/sale"
)

// Money is sums in minor units, by currency.
type Money map[string]Sums

// Sums are of one currency.
type Sums struct {
	// Taken is what the paid orders have paid, those of a recalled sale, too.
	Taken int64 `json:"taken,omitempty"`
	// Due is of the refunds that are due, Refunded of those that are marked as done. Those of a recalled sale are also
	// Taken, the others never paid an order, or only one that was cancelled since.
	Due      int64 `json:"due,omitempty"`
	Refunded int64 `json:"refunded,omitempty"`
}

func (m *Money) add(currency string, change func(*Sums)) {
	if *m == nil {
		*m = Money{}
	}
	one := (*m)[currency]
	change(&one)
	(*m)[currency] = one
}

// take adds the payment of a paid claim. A claim that does not say what was paid was paid by the sale's price.
func (m *Money) take(s sale.Sale, c sale.Claim) {
	amount, currency := c.Amount, c.Currency
	if currency == "" {
		amount, currency = s.Price, s.Currency
	}
	if currency != "" {
		m.add(currency, func(one *Sums) { one.Taken += amount })
	}
}

func (m *Money) refund(r sale.Refund) {
	m.add(r.Currency, func(one *Sums) {
		if r.RefundedAt.IsZero() {
			one.Due += r.Amount
		} else {
			one.Refunded += r.Amount
		}
	})
}

// Pace counts instants in steps of Every seconds: Counts[i] are those of the step First+i, counted from the epoch.
// Every is the least power of two with which the instants take at most paceSteps steps, whatever their order.
type Pace struct {
	Every  int64   `json:"every"`
	First  int64   `json:"first"`
	Counts []int64 `json:"counts"`
}

// paceSteps are enough for a chart, and few enough for the listing, in which the books of a sale stand.
const paceSteps = 32

func (p *Pace) add(at time.Time) {
	if len(p.Counts) == 0 {
		p.Every, p.First = 1, at.Unix()
	}
	step := at.Unix() / p.Every
	for max(step, p.First+int64(len(p.Counts))-1)-min(step, p.First) >= paceSteps {
		p.double()
		step = at.Unix() / p.Every
	}
	if before := p.First - step; before > 0 {
		p.Counts, p.First = append(make([]int64, before), p.Counts...), step
	}
	for step-p.First >= int64(len(p.Counts)) {
		p.Counts = append(p.Counts, 0)
	}
	p.Counts[step-p.First]++
}

// double makes two steps one.
func (p *Pace) double() {
	first := p.First / 2
	var counts []int64
	for i, n := range p.Counts {
		if at := (p.First+int64(i))/2 - first; at == int64(len(counts)) {
			counts = append(counts, n)
		} else {
			counts[at] += n
		}
	}
	p.Every, p.First, p.Counts = 2*p.Every, first, counts
}
