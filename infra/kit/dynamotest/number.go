package dynamotest

import (
	"math/big"
	"strconv"
	"strings"
)

// DynamoDB keeps 38 significant digits and magnitudes from 1E-130 up to, not
// including, 1E+126.
const (
	maxDigits   = 38
	maxExponent = 125
	minExponent = -130
)

// number is coef * 10^exp. A normal number has no trailing zero in coef, and
// zero has exponent 0, so equal numbers have equal fields.
type number struct {
	coef *big.Int
	exp  int
}

// parseNumber reads what DynamoDB accepts as a number. Its errors are
// ValidationExceptions.
func parseNumber(text string) (number, error) {
	if len(text) <= 18 { // the common case, at most 18 digits and a sign
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return number{coef: big.NewInt(v)}.normal()
		}
	}
	mantissa, exponent := strings.TrimSpace(text), 0
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		v, err := strconv.ParseInt(mantissa[i+1:], 10, 16)
		if err != nil {
			return number{}, notANumber(text)
		}
		mantissa, exponent = mantissa[:i], int(v)
	}
	digits, fraction, _ := strings.Cut(mantissa, ".")
	all := digits + fraction
	unsigned := strings.TrimLeft(all, "+-")
	// big.Int reads underscores and prefixes that DynamoDB does not, and a very
	// long text would cost quadratic time before it could be refused.
	if unsigned == "" || len(all)-len(unsigned) > 1 || strings.Trim(unsigned, "0123456789") != "" || len(all) > 512 ||
		(digits == "" && fraction != unsigned) || strings.ContainsAny(fraction, "+-") {
		return number{}, notANumber(text)
	}
	coef, ok := new(big.Int).SetString(all, 10)
	if !ok {
		return number{}, notANumber(text)
	}
	return number{coef: coef, exp: exponent - len(fraction)}.normal()
}

func notANumber(text string) error {
	return validation("The parameter cannot be converted to a numeric value: %s", text)
}

// normal strips trailing zeros and checks the limits.
func (n number) normal() (number, error) {
	if n.coef.Sign() == 0 {
		return number{coef: n.coef}, nil
	}
	if text := n.coef.String(); text[len(text)-1] == '0' {
		kept := strings.TrimRight(text, "0")
		coef, _ := new(big.Int).SetString(kept, 10)
		n = number{coef: coef, exp: n.exp + len(text) - len(kept)}
	}
	digits := len(n.coef.Text(10))
	if n.coef.Sign() < 0 {
		digits--
	}
	switch magnitude := digits - 1 + n.exp; {
	case magnitude > maxExponent:
		return number{}, validation("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case magnitude < minExponent:
		return number{}, validation("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	case digits > maxDigits:
		return number{}, validation("Attempting to store more than 38 significant digits in a Number")
	}
	return n, nil
}

// String is the number in plain digits, as DynamoDB answers it.
func (n number) String() string {
	text := n.coef.String()
	if n.exp >= 0 {
		if n.exp == 0 {
			return text
		}
		return text + strings.Repeat("0", n.exp)
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	if missing := 1 - n.exp - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	point := len(text) + n.exp
	return sign + text[:point] + "." + text[point:]
}

// aligned returns both coefficients at the smaller exponent.
func aligned(a, b number) (x, y *big.Int, exp int) {
	if a.exp < b.exp {
		y, x, exp = aligned(b, a)
		return x, y, exp
	}
	if a.exp == b.exp {
		return a.coef, b.coef, a.exp
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(a.exp-b.exp)), nil)
	return scale.Mul(scale, a.coef), b.coef, b.exp
}

func (n number) compare(other number) int {
	x, y, _ := aligned(n, other)
	return x.Cmp(y)
}

func (n number) plus(other number) (number, error) {
	x, y, exp := aligned(n, other)
	return number{coef: new(big.Int).Add(x, y), exp: exp}.normal()
}

func (n number) minus(other number) (number, error) {
	return n.plus(number{coef: new(big.Int).Neg(other.coef), exp: other.exp})
}

// size is what the number counts for in the size of its item: about one byte
// for two digits and one more, and one for the sign.
func (n number) size() int {
	digits := len(n.coef.Text(10))
	if n.coef.Sign() < 0 {
		return (digits-1+1)/2 + 2
	}
	return sizeOfDigits(digits)
}

func sizeOfDigits(n int) int { return (n+1)/2 + 1 }
