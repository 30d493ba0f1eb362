package ledger

import "testing"

func TestAnOrderWhoseKeyHoldsNoOrderIDCannotBeRead(t *testing.T) {
	for pk, readable := range map[string]bool{"ORDER#123": true, "ORDER#x": false, "ORDER#": false} {
		it := with(key(pk, orderSK), item{"saleId": str("moutai"), "user": str("alice"), "claimId": str("c")})
		if o, err := readOrder(it); (err == nil) != readable {
			t.Errorf("%s: got %+v (%v), want that it can be read: %t", pk, o, err, readable)
		}
	}
}
