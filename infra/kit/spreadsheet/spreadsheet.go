// Package spreadsheet writes lists as CSV that a spreadsheet opens by double-click without a lost
// digit, a formula or a cell in two parts.
package spreadsheet

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"flashsale/shared/currency"
)

// Cell is one value of a line; the zero Cell is empty.
type Cell struct {
	Plain string // as people read it
	csv   string
}

// inText keeps a text whole. A quoted cell is no text to a spreadsheet: "0042" is 42, and an order id
// loses digits. With an apostrophe it is. Where `;` or a tab separates, the text after it is a cell of its own.
var inText = strings.NewReplacer(`"`, `""`, ";", ";'", "\t", "\t'", "\r", "\r'", "\n", "\n'")

// Text is the cell of what was chosen elsewhere or has to keep its form, such as an id or an instant:
// an apostrophe, and the text with an apostrophe after each semicolon.
func Text(text string) Cell {
	if text == "" {
		return Cell{}
	}
	return Cell{text, `"'` + inText.Replace(text) + `"`}
}

// Word is the cell of a word of this program or of a whole number of at most 15 digits.
func Word(word string) Cell { return Cell{word, word} }

// Amount is the cell of an amount in minor units as a decimal number of its currency, with a point; of a
// currency that is not in ISO 4217 a text. Three digits get a fourth, 0, because a spreadsheet in a
// language with a decimal comma reads 89.900 as 89900; other decimal numbers are texts to it.
func Amount(minor int64, code string) Cell {
	text, known := currency.Decimal(minor, code)
	if !known {
		return Text(fmt.Sprintf("%d minor units", minor))
	}
	if at := strings.IndexByte(text, '.'); at >= 0 && len(text)-at == 4 {
		return Cell{text, text + "0"}
	}
	return Word(text)
}

// Writer writes lines.
type Writer struct{ out *bufio.Writer }

// NewWriter writes the names of the columns after a byte order mark, which tells programs that do
// not guess UTF-8. The first cell of every line must be a text: some programs take for the separator what
// follows the first quoted cell.
func NewWriter(out io.Writer, columns ...string) *Writer {
	w := &Writer{bufio.NewWriter(out)}
	_, _ = w.out.WriteString("\ufeff" + strings.Join(columns, ",") + "\n") // Flush has its error
	return w
}

// Line writes a line. Its error is that of writing, like Flush's.
func (w *Writer) Line(cells ...Cell) error {
	for i, c := range cells {
		if i > 0 {
			_ = w.out.WriteByte(',')
		}
		_, _ = w.out.WriteString(c.csv)
	}
	return w.out.WriteByte('\n')
}

// Flush writes what is not written yet.
func (w *Writer) Flush() error { return w.out.Flush() }
