package ledger

import (
	"fmt"

	"flashsale/shared/sale"
)

// reading begins to read an item. If that is for newer readers, nothing in it is
// trusted (P19).
func reading(it item) reader {
	r := reader{item: it}
	if !has(it, attrMinReader) {
		return r
	}
	switch v := r.number(attrMinReader); {
	case r.err != nil:
	case v > sale.Reads:
		r.err = &sale.Error{
			Code:   sale.NewerVersion,
			Detail: fmt.Sprintf("stored for version %d, and this release reads version %d", v, sale.Reads),
		}
	case v < 1:
		r.fail(attrMinReader, "a version")
	}
	return r
}

// forReader adds the version that an item's reader needs, unless any will do.
func forReader(version int, it item) item {
	if version > 0 {
		it[attrMinReader] = num(int64(version))
	}
	return it
}
