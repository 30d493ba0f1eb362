// Package orderid makes the global order ids: 63 bits that sort by time.
//
// An id is 31 bits of seconds since 2023-01-01 UTC (enough until 2091) above 32 bits of
// a sequence that counts one UTC day's orders. Both come from the same instant of a
// reservation, so ids are unique across midnight and clock skew: two reservations of
// one day never share a sequence number, and those of different days never share a
// second (P7). Gaps are normal, reuse is impossible.
//
// Where the sequence is kept is the caller's choice. Outside the program an id is
// a decimal string: 63 bits do not fit a JavaScript number.
package orderid

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// epoch is second 0.
var epoch = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	sequenceBits = 32
	// MaxSequence is the largest sequence number of a day.
	MaxSequence = 1<<sequenceBits - 1
	maxSeconds  = 1<<31 - 1
)

// ErrRange: the instant or the sequence does not fit an id.
var ErrRange = errors.New("order id out of range")

// ErrSyntax: the text is not an order id as String writes it.
var ErrSyntax = errors.New("not an order id")

// Day returns the name of the sequence for the instant at: yyyy-mm-dd in UTC.
func Day(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// New returns the id of sequence number n (from 1) of a reservation at that instant. It
// fails with ErrRange before 2023, after 2091 and beyond MaxSequence.
func New(at time.Time, n uint64) (uint64, error) {
	seconds := at.Unix() - epoch.Unix()
	if seconds < 0 || seconds > maxSeconds || n == 0 || n > MaxSequence {
		return 0, fmt.Errorf("%w: sequence %d at %s", ErrRange, n, at.UTC().Format(time.RFC3339))
	}
	return uint64(seconds)<<sequenceBits | n, nil
}

// Time returns the second in which the id was reserved, in UTC.
func Time(id uint64) time.Time {
	return epoch.Add(time.Duration(id>>sequenceBits) * time.Second)
}

// Sequence returns the id's number within its day.
func Sequence(id uint64) uint64 { return id & MaxSequence }

// String writes the id as the decimal string that JSON carries.
func String(id uint64) string { return strconv.FormatUint(id, 10) }

// Parse reads what String writes, and nothing else: no sign, no leading zero,
// no id without a sequence number.
func Parse(s string) (uint64, error) {
	id, err := strconv.ParseUint(s, 10, 63)
	if err != nil || Sequence(id) == 0 || String(id) != s {
		return 0, ErrSyntax
	}
	return id, nil
}
