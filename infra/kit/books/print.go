package books

import (
	"cmp"
	"fmt"
	"io"
)

// Print writes the receipt for people.
func (r *Receipt) Print(out io.Writer) {
	fmt.Fprintf(out, "receipt of sale %s as of %s\n", r.SaleID, r.AsOf)
	sold, released := "claims", r.Released
	if r.Units > 0 { // the other lines count orders
		sold, released = "units", r.ReleasedClaims
	}
	isFree := r.Paid+r.Unpaid+r.Released+r.RefundsDue == 0
	for _, line := range []struct {
		name   string
		value  int64
		isLeft bool // out
	}{
		{"seeded", r.Seeded, false}, {"stock left", r.Stock, false}, {"claims", r.Claims, false}, {"  units", r.Units, r.Units == 0},
		{"  confirmed", r.Confirmed, false}, {"  pending", r.Pending, false},
		{"  paid", r.Paid, isFree}, {"  unpaid", r.Unpaid, isFree}, {"  released", released, isFree}, {"    units", r.Released, isFree || r.Units == 0},
		{"refunds due", r.RefundsDue, isFree},
	} {
		if line.isLeft {
			continue
		}
		fmt.Fprintf(out, "  %-14s %12d\n", line.name, line.value)
	}
	if r.Archive != "" {
		when := "is being archived"
		if r.ArchivedAt != "" {
			when = "archived at " + r.ArchivedAt
		}
		fmt.Fprintf(out, "%s: %d claims with their orders, digest %s\n", when, r.ArchivedClaims, r.Archive)
	}
	if r.Pending > 0 {
		fmt.Fprintf(out, "  %-14s %11ds\n", "  oldest", r.OldestPendingSeconds)
	}
	fmt.Fprintf(out, "  %-14s %12.0f read units\n", "cost", r.ReadUnits)
	PrintList(out, "not finished:", r.Unfinished)
	switch {
	case r.Balanced && r.Archive != "":
		fmt.Fprintf(out, "balanced: stock left + archived %s = seeded + units put back\n", sold)
	case r.Balanced && r.Released > 0:
		fmt.Fprintf(out, "balanced: stock left + %s = seeded + units put back, on every shard; one claim per buyer;\nevery confirmed claim has its own order, and is paid, unpaid or released\n", sold)
	case r.Balanced:
		fmt.Fprintf(out, "balanced: stock left + %s = seeded, on every shard; one claim per buyer;\nevery confirmed claim has its own order\n", sold)
	default:
		PrintList(out, "NOT BALANCED:", r.Findings)
	}
	if len(r.NotLookedFor) == 0 {
		fmt.Fprintln(out, "every item of the table was checked")
	}
	PrintList(out, "not checked:", r.NotLookedFor)
}

// PrintList writes the lines below a title, or nothing if there are none.
func PrintList[T any](out io.Writer, title string, lines []T) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(out, title)
	for _, line := range lines {
		fmt.Fprintln(out, "  -", line)
	}
}

// Print writes for people what was found of the events of a sale, or of the whole table for the sale id "", in
// the file at that path.
func (r *EventReport) Print(out io.Writer, path, saleID string) {
	fmt.Fprintf(out, "events of %s in %s\n", cmp.Or(saleID, "all sales and unknown orders"), path)
	for _, line := range []struct {
		name  string
		value int64
		about string
	}{
		{"expected", r.Expected, ""}, {"published", r.Published, ""}, {"repeated", r.Repeated, "  under the same id, which is allowed"},
		{"not kept", r.NotKept, "  SaleSoldOut, or SaleDrained before an edit: the table does not keep them"},
		{"waiting", r.Waiting, "  expected, and not overdue yet"},
	} {
		if line.value == 0 && line.about != "" {
			continue
		}
		fmt.Fprintf(out, "  %-14s %12d%s\n", line.name, line.value, line.about)
	}
	fmt.Fprintf(out, "  %-14s %12.0f read units\n", "cost", r.ReadUnits)
	if r.Complete {
		fmt.Fprintln(out, "complete: what is in the table was published, with what the table says, and nothing else")
	}
	PrintList(out, "NOT COMPLETE:", r.Findings)
}
