package operator

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
)

// list is a list in the form that was asked for: a table, CSV, or a JSON array of values.
type list struct {
	out   *bufio.Writer
	add   func(cells []spreadsheet.Cell, value any) error
	close func() error
	array bool
}

// list begins a list. The widths are those of a table's columns, -1 for one that it leaves out; without, a table
// has those that its cells need, and is in memory. A reader that leaves is no failure, as with `… | head`.
func (t *terminal) list(widths []int, columns ...string) *list {
	signal.Ignore(syscall.SIGPIPE)
	l := &list{out: bufio.NewWriter(t)}
	switch {
	case t.is(cli.JSON):
		array := cli.NewArray(l.out)
		l.add, l.close, l.array = func(_ []spreadsheet.Cell, value any) error { return array.Add(value) }, array.Close, true
		return l
	case t.is(cli.CSV):
		sheet := spreadsheet.NewWriter(l.out, columns...)
		l.add, l.close = func(cells []spreadsheet.Cell, _ any) error { return sheet.Line(cells...) }, sheet.Flush
		return l
	}
	lines := io.Writer(l.out)
	l.close = func() error { return nil }
	if widths == nil {
		table := tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
		lines, l.close = table, table.Flush
	}
	l.add = func(cells []spreadsheet.Cell, _ any) error {
		var line []string
		for i, cell := range cells {
			switch text := cmp.Or(cell.Plain, "-"); {
			case widths == nil:
				line = append(line, text)
			case widths[i] >= 0:
				line = append(line, fmt.Sprintf("%-*s", widths[i], text))
			}
		}
		separator := " "
		if widths == nil {
			separator = "\t"
		}
		_, err := fmt.Fprintln(lines, strings.TrimRight(strings.Join(line, separator), " "))
		return err
	}
	var titles []spreadsheet.Cell
	for _, c := range columns {
		titles = append(titles, spreadsheet.Cell{Plain: strings.ToUpper(c)})
	}
	_ = l.add(titles, nil) // the buffer keeps its error
	return l
}

// end ends the list. With an error it leaves an array open, so that nobody takes it for the whole.
func (l *list) end(err error) error {
	var flushed error
	if err == nil || !l.array {
		flushed = l.close()
	}
	flushed = cmp.Or(flushed, l.out.Flush())
	switch {
	case errors.Is(cmp.Or(err, flushed), syscall.EPIPE):
		return nil
	case err != nil:
		return fmt.Errorf("the list is not complete: %w", err)
	}
	return flushed
}
