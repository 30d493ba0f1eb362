package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"flashsale/shared/sale"
)

// listedSale is a sale as OperateFunction shows it.
type listedSale struct {
	SaleID     string    `json:"saleId"`
	State      string    `json:"state"` // as on the sale's page, or DRAFT
	OpensAt    time.Time `json:"opensAt"`
	ClosesAt   time.Time `json:"closesAt"`
	RecalledAt time.Time `json:"recalledAt"`
	RecallNote string    `json:"recallNote"`
	Drained    bool      `json:"drained"`
	Seen       string    `json:"seen"` // of one sale only
	Seeded     int64     `json:"seeded"`
	Error      string    `json:"error"` // why it could not be read
	Books      *audited  `json:"books"` // nil before its first audit
}

// audited is the last audit of a sale that counted all of it.
type audited struct {
	AsOf       time.Time `json:"asOf"`
	Stock      int64     `json:"stock"`
	Seeded     int64     `json:"seeded"`
	Pending    int64     `json:"pending"`
	Confirmed  int64     `json:"confirmed"`
	Paid       int64     `json:"paid"`
	Unpaid     int64     `json:"unpaid"`
	Released   int64     `json:"released"`
	RefundsDue int64     `json:"refundsDue"`
	Balanced   bool      `json:"balanced"`
}

// saleList is every sale, as of an instant of the function's clock.
type saleList struct {
	AsOf    time.Time    `json:"asOf"`
	Version string       `json:"version"` // of the function's release
	Sales   []listedSale `json:"sales"`
}

// sales tells the release, and lists every sale with its state and what its last audit counted. It fails if one cannot
// be read, and with errBroken if the books of one do not balance.
func sales(ctx context.Context, p *place, _ options, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	with, where, err := p.operator(ctx)
	var list saleList
	if err == nil {
		err = read(ctx, with, "/operate/sales", nil, map[string]string{"drained": "1"}, &list)
	}
	if err != nil {
		return errors.New(oneLine(err))
	}
	fmt.Fprintf(out, "release %s\n", list.Version)
	if len(list.Sales) == 0 {
		fmt.Fprintf(out, "the table %s has no sale\n", where.Table)
		return nil
	}
	return list.print(out)
}

// print writes a line for each sale, for one that cannot be read the reason: first how it is now, and then
// what its last audit found, which may be older than an addition or a recall beside it.
func (l saleList) print(out io.Writer) error {
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "SALE\tSTATE\tCLOSES\tSEEDED\tLAST AUDIT\tLEFT THEN\tPENDING THEN\tBOOKS THEN")
	unread := 0
	var broken error
	for _, s := range l.Sales {
		if s.Error != "" {
			unread++
			fmt.Fprintf(lines, "%s\tnot read: %s\n", s.SaleID, s.Error)
			continue
		}
		state := s.State
		if s.Drained {
			state += ", drained"
		}
		if !s.RecalledAt.IsZero() {
			if state != string(sale.PhaseRecalled) {
				state += ", recalled"
			}
			if s.RecallNote != "" {
				state += ": " + s.RecallNote
			}
		}
		then := "none yet"
		if b := s.Books; b != nil {
			verdict := "balanced"
			if !b.Balanced {
				verdict, broken = "NOT BALANCED: make receipt SALE="+s.SaleID, errBroken
			}
			then = fmt.Sprintf("%s\t%d of %d\t%d\t%s%s", ago(l.AsOf.Sub(b.AsOf)), b.Stock, b.Seeded, b.Pending, verdict, b.payments())
		}
		fmt.Fprintf(lines, "%s\t%s\t%s\t%d\t%s\n", s.SaleID, state, instant(s.ClosesAt), s.Seeded, then)
	}
	if err := lines.Flush(); err != nil {
		return fmt.Errorf("write list: %w", err)
	}
	if unread > 0 {
		return fmt.Errorf("the list is not complete: %d of %d sales could not be read", unread, len(l.Sales))
	}
	return broken
}

// ago is how old an audit is, for people.
func ago(age time.Duration) string {
	switch age = max(age, 0); {
	case age < 2*time.Minute:
		return fmt.Sprintf("%d s ago", int(age.Seconds()))
	case age < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(age.Minutes()))
	}
	return fmt.Sprintf("%d h ago", int(age.Hours()))
}

// payments says how the orders of a sale that asks for payment stand; "" of any other.
func (b *audited) payments() string {
	if b.Paid+b.Unpaid+b.Released+b.RefundsDue == 0 {
		return ""
	}
	text := fmt.Sprintf("; %d paid, %d unpaid, %d released", b.Paid, b.Unpaid, b.Released)
	if b.RefundsDue > 0 {
		text += fmt.Sprintf(", %d REFUNDS DUE", b.RefundsDue)
	}
	return text
}
