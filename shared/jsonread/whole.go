package jsonread

import (
	"errors"
	"strconv"
	"strings"
)

// Whole is a whole number in any form that JSON has for it: 89900, 89900.0 and 8.99e4 are the same,
// and programs without integers write the second.
type Whole int64

// maxWhole is 2^53, up to which every program reads the same whole number.
const maxWhole = 1 << 53

var errWhole = errors.New("a number is not a whole one of at most 2^53")

// UnmarshalJSON reads a number. A fraction, a number beyond 2^53 and whatever is not a number are errors.
func (w *Whole) UnmarshalJSON(text []byte) error {
	n, ok := wholeOf(string(text))
	if !ok {
		return errWhole
	}
	*w = Whole(n)
	return nil
}

// wholeOf reads a JSON number without rounding it: a float of 64 bits would take 0.99999999999999999 for 1.
func wholeOf(text string) (n int64, ok bool) {
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(text), "e")
	zeros := 0
	if scaled {
		var err error
		if zeros, err = strconv.Atoi(exponent); err != nil {
			return 0, false
		}
	}
	mantissa, minus := strings.CutPrefix(mantissa, "-")
	units, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(units+fraction, "0")
	zeros -= len(fraction)
	significant := strings.TrimRight(digits, "0")
	zeros += len(digits) - len(significant)
	switch {
	case units == "" || strings.Trim(units+fraction, "0123456789") != "":
		return 0, false
	case significant == "":
		return 0, true
	case zeros < 0 || len(significant)+zeros > len("9007199254740992"):
		return 0, false
	}
	n, err := strconv.ParseInt(significant+strings.Repeat("0", zeros), 10, 64)
	if err != nil || n > maxWhole {
		return 0, false
	}
	if minus {
		n = -n
	}
	return n, true
}
