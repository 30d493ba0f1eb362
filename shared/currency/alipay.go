package currency

import (
	"fmt"
	"strconv"
	"strings"
)

// FromAlipay returns an amount of Alipay's in yuan, such as "899.00", in minor units.
func FromAlipay(yuan string) (int64, error) {
	whole, part, dotted := strings.Cut(yuan, ".")
	digits := whole + (part + "00")[:max(2, len(part))]
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || whole == "" || dotted && part == "" || len(part) > 2 {
		return 0, fmt.Errorf("%q is no amount in yuan", yuan)
	}
	return int64(n), nil
}
