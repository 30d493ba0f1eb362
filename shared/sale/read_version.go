package sale

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// ReadVersion is what the author of a change had seen of the sale: how many edits it had had, and how
// many additions and withdrawals. A change that carries it is refused if there are others since.
type ReadVersion struct{ Edits, Seedings int64 }

// ReadVersion returns what somebody who reads the sale has seen of it.
func (s *Sale) ReadVersion() ReadVersion { return ReadVersion{s.Edits, s.Seedings} }

// WithEdit returns what the author of a change has seen once it is the sale's edit of that number. It
// is zero if it is not known what they had seen before.
func (s *ReadVersion) WithEdit(number int64) ReadVersion {
	if s == nil {
		return ReadVersion{}
	}
	return ReadVersion{number, s.Seedings}
}

// WithSeeding is as WithEdit, of an addition or a withdrawal. A repeat may have been sent with what was
// seen after the first try, so it is no more than the sale has.
func (s *ReadVersion) WithSeeding(after Sale) ReadVersion {
	if s == nil {
		return ReadVersion{}
	}
	return ReadVersion{s.Edits, min(s.Seedings+1, after.Seedings)}
}

// Text is the form in which clients get it and give it back. Its end belongs to the sale and to
// the two numbers, so that what was mistyped or is another sale's is told from what is old.
func (s ReadVersion) Text(saleID string) string {
	numbers := fmt.Sprintf("%d.%d", s.Edits, s.Seedings)
	return fmt.Sprintf("%s.%08x", numbers, crc32.ChecksumIEEE([]byte(saleID+" "+numbers)))
}

// ParseReadVersion reads the text of a sale's ReadVersion. It fails with InvalidRequest.
func ParseReadVersion(saleID, text string) (ReadVersion, error) {
	edits, rest, _ := strings.Cut(text, ".")
	seedings, _, _ := strings.Cut(rest, ".")
	var s ReadVersion
	s.Edits, _ = strconv.ParseInt(edits, 10, 64)
	s.Seedings, _ = strconv.ParseInt(seedings, 10, 64)
	if s.Text(saleID) != text || s.Edits < 0 || s.Seedings < 0 {
		return ReadVersion{}, Refuse(InvalidRequest, "version is not of this sale: give it back as it came with the sale, "+
			"or with the answer to the change before")
	}
	return s, nil
}

// Meanwhile is what the author of a change had not seen.
type Meanwhile struct {
	ReadVersion string  // of the sale as it is now
	Change      *Change // the newest one, or nil if it cannot be told
}

// RefuseMeanwhile returns the refusal of a change whose author had not seen the newest one, which
// is nil if it cannot be told.
func RefuseMeanwhile(s *Sale, newest *Change) *Error {
	e := Refuse(ChangedMeanwhile, "the sale was changed meanwhile; look at it again")
	if newest != nil {
		e = Refusef(ChangedMeanwhile, "the sale was changed meanwhile: %s by %s on %s%s; look at it again", newest.say()...)
	}
	e.Meanwhile = &Meanwhile{s.ReadVersion().Text(s.ID), newest}
	return e
}

// RefusePaused returns the refusal of a resumption whose author, a schedule, had seen nothing: a
// person has paused the sale.
func RefusePaused(s *Sale, pause Change) *Error {
	e := Refusef(ChangedMeanwhile,
		"the sale was changed meanwhile: %s by %s on %s%s; a resume without version leaves that as it is", pause.say()...)
	e.Meanwhile = &Meanwhile{s.ReadVersion().Text(s.ID), &pause}
	return e
}

// say is what was done, by whom, when and why.
func (c *Change) say() []any {
	by, why := c.Actor, ""
	if by == "" {
		by = "?"
	}
	if c.Note != "" {
		why = " (" + c.Note + ")"
	}
	return []any{c.Action, by, c.At.UTC().Format("2006-01-02T15:04:05Z"), why}
}
