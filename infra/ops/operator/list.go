package operator

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/cli"
)

// list is a list in the form that was asked for: a table, CSV, or a JSON array of values.
type list struct {
	out   *bufio.Writer
	add   func(value any, cells ...spreadsheet.Cell) error
	close func() error
	open  bool // if it is not complete
}

// array has the list write a JSON array, an element a line. Without its end no program takes it for the whole.
func (l *list) array() {
	before, end := "[\n  ", "[]\n"
	l.add = func(value any, _ ...spreadsheet.Cell) error {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		_, err = fmt.Fprintf(l.out, "%s%s", before, text)
		before, end = ",\n  ", "\n]\n"
		return err
	}
	l.close = func() error {
		_, err := l.out.WriteString(end)
		return err
	}
}

// list begins a list. A column that begins with - is not in the table.
func (t *terminal) list(columns string) *list {
	l := &list{out: bufio.NewWriter(t)}
	names := strings.Fields(columns)
	switch {
	case t.is(cli.JSON):
		l.array()
		l.open = true
		return l
	case t.is(cli.CSV):
		sheet := spreadsheet.NewWriter(l.out, strings.Fields(strings.ReplaceAll(" "+columns, " -", " "))...)
		l.add, l.close = func(_ any, cells ...spreadsheet.Cell) error { return sheet.Line(cells...) }, sheet.Flush
		return l
	}
	table := tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
	lines := 0
	l.close = table.Flush
	l.add = func(_ any, cells ...spreadsheet.Cell) error {
		var line []string
		for i, cell := range cells {
			if names[i][0] != '-' {
				line = append(line, cmp.Or(cell.Plain, "-"))
			}
		}
		_, err := fmt.Fprintln(table, strings.Join(line, "\t"))
		if lines++; lines%1000 == 0 { // so many are in memory, and have the same widths
			err = cmp.Or(err, table.Flush())
		}
		return err
	}
	var titles []spreadsheet.Cell
	for _, name := range names {
		titles = append(titles, spreadsheet.Cell{Plain: strings.ToUpper(name)})
	}
	_ = l.add(nil, titles...) // the buffer keeps its error
	return l
}

// end ends the list. With an error it leaves an array open, so that nobody takes it for the whole.
func (l *list) end(err error) error {
	var flushed error
	if err == nil || !l.open {
		flushed = l.close()
	}
	flushed = cmp.Or(flushed, l.out.Flush())
	if err != nil {
		return fmt.Errorf("the list is not complete: %w", err)
	}
	return flushed
}

func moment(t time.Time) spreadsheet.Cell {
	if t.IsZero() {
		return spreadsheet.Cell{}
	}
	return spreadsheet.Text(instant(t))
}

func number(n int64) spreadsheet.Cell { return spreadsheet.Word(strconv.FormatInt(n, 10)) }
