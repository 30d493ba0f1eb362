package refundlist

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// textOf is the text of a file: UTF-16 if its mark says so, else UTF-8 if it can be, else Chinese, as Alipay's bill is
// and what a Chinese Excel saves.
func textOf(file []byte) string {
	if utf8.Valid(file) {
		return strings.TrimPrefix(string(file), "\ufeff")
	}
	text, _, err := transform.Bytes(unicode.BOMOverride(simplifiedchinese.GB18030.NewDecoder()), file)
	if err != nil {
		text = file
	}
	return string(text)
}

// separators are those that a file may have; a tab before another one fills up a value, as in Alipay's bill.
var separators = regexp.MustCompile(`[ \t]*([,;])|\t`)

var quoted = regexp.MustCompile(`"[^"]*"`)

// scanner takes the cells of a text, one after the other.
type scanner struct {
	text      string
	separator string // of cells: what separates the first ones, in the first line that is no comment
	blanks    string // that may follow a quote
}

func scan(text string) *scanner {
	s := &scanner{text, ",", " \t"}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if found := separators.FindString(quoted.ReplaceAllString(line, "")); found != "" {
			s.separator = found[len(found)-1:]
		}
		break
	}
	if s.separator == "\t" {
		s.blanks = " "
	}
	return s
}

// maxCells is how many cells of a line are read. Reports have up to about a hundred.
const maxCells = 1000

// marks may be around a value: blanks, quotes, and what begins a file that stands behind another one.
const marks = " \t\u00a0\u3000\ufeff\"'`"

// rows calls each with the cells of each line that is neither blank nor a comment, without the marks around them and as
// they are, and with the line's number, until it returns false. A line ends with a line feed, a carriage return, as in
// Excel's CSV (Macintosh), or both. A cell in quotes may have line breaks; a quote that is not closed is a quote.
func rows(text string, each func(line int, cells, whole []string) bool) {
	s := scan(text)
	for line := 1; s.text != ""; line++ {
		first, cells := line, []string(nil)
		if s.text[0] == '`' {
			// WeChat Pay's bill has one before each value and quotes nothing: a comma in a name is only a comma.
			cells = strings.SplitN(s.upTo("\r\n")[1:], s.separator+"`", maxCells)
			s.end()
		} else {
			for more := true; more; more = s.end() {
				cell := s.cell()
				line += strings.Count(cell, "\n")
				if len(cells) < maxCells {
					cells = append(cells, cell)
				}
			}
		}
		isEmpty := true // a spreadsheet saves separators of an empty row
		whole := slices.Clone(cells)
		for i, cell := range cells {
			cells[i] = strings.Trim(cell, marks)
			isEmpty = isEmpty && cells[i] == ""
		}
		if !isEmpty && !strings.HasPrefix(cells[0], "#") && !each(first, cells, whole) {
			return
		}
	}
}

// upTo takes what is before the first of these characters, or the rest.
func (s *scanner) upTo(any string) (found string) {
	at := strings.IndexAny(s.text, any)
	if at < 0 {
		at = len(s.text)
	}
	found, s.text = s.text[:at], s.text[at:]
	return found
}

// end takes what ends a cell; more: that is a separator, and not the end of the line.
func (s *scanner) end() (more bool) {
	if rest, ok := strings.CutPrefix(s.text, s.separator); ok {
		s.text = rest
		return rest != ""
	}
	if rest, ok := strings.CutPrefix(s.text, "\r\n"); ok {
		s.text = rest
	} else if s.text != "" {
		s.text = s.text[1:]
	}
	return false
}

// cell takes a cell: one in quotes, if they are closed and nothing follows, else what is before a separator or a line
// break.
func (s *scanner) cell() string {
	ends := s.separator + "\r\n"
	for end := 1; strings.HasPrefix(s.text, `"`); end++ {
		next := strings.IndexByte(s.text[end:], '"')
		if next < 0 {
			break
		}
		if end += next + 1; strings.HasPrefix(s.text[end:], `"`) { // a quote in the value
			continue
		}
		rest := strings.TrimLeft(s.text[end:], s.blanks)
		if rest != "" && strings.IndexByte(ends, rest[0]) < 0 {
			break
		}
		cell := strings.ReplaceAll(s.text[1:end-1], `""`, `"`)
		s.text = rest
		return cell
	}
	return s.upTo(ends)
}
