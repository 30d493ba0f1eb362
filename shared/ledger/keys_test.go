package ledger

import (
	"testing"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// names returns every key that can be made of the parts, by kind. Numbers wrap to the
// valid range.
func names(saleID, user, seed string, n uint16, id uint64) map[string]item {
	shard := int(n) % sale.MaxShards
	return map[string]item{
		"sale":    saleKey(saleID),
		"create":  createKey(saleID),
		"listing": listingKey(saleID),
		"seed":    seedKey(saleID, seed),
		"receipt": seedShardKey(saleID, seed, shard),
		"stock":   stockKey(saleID, shard),
		"claim":   claimKey(saleID, shard, user),
		"order":   orderKey(id),
	}
}

// parts are the inputs of which a kind of key is made.
var parts = map[string]struct{ sale, user, seed, number, id bool }{
	"sale":    {sale: true},
	"create":  {sale: true},
	"listing": {sale: true},
	"seed":    {sale: true, seed: true},
	"receipt": {sale: true, seed: true, number: true},
	"stock":   {sale: true, number: true},
	"claim":   {sale: true, number: true, user: true},
	"order":   {id: true},
}

func FuzzKeysAreInjectiveAndBounded(f *testing.F) {
	f.Add("s", "a#USER#b", "x", uint16(1), uint64(1), "s-a", "b", "x", uint16(11), uint64(2))
	f.Add("a", "CREATE", "CREATE", uint16(0), uint64(7), "a", "SALE", "SALE", uint16(1000), uint64(7))
	f.Add("a", "é", "1", uint16(1), uint64(1<<32|1), "a", "e\u0301", "1-1", uint16(1), uint64(1))
	f.Fuzz(func(t *testing.T, sale1, user1, seed1 string, n1 uint16, id1 uint64, sale2, user2, seed2 string, n2 uint16, id2 uint64) {
		for _, id := range []string{sale1, sale2, seed1, seed2} {
			if !sale.ValidID(id) {
				return
			}
		}
		if !sale.ValidUser(user1) || !sale.ValidUser(user2) {
			return
		}
		first, second := names(sale1, user1, seed1, n1, id1), names(sale2, user2, seed2, n2, id2)
		for kind1, k1 := range first {
			id := identityOf(k1)
			pk, sk := id.pk, id.sk
			if len(pk) > 2048 || len(sk) > 1024 || pk == "" || sk == "" {
				t.Errorf("%s key %q %q is out of DynamoDB's bounds", kind1, pk, sk)
			}
			for kind2, k2 := range second {
				if id != identityOf(k2) {
					continue
				}
				of := parts[kind1]
				same := kind1 == kind2 &&
					(!of.sale || sale1 == sale2) && (!of.user || user1 == user2) && (!of.seed || seed1 == seed2) &&
					(!of.number || int(n1)%sale.MaxShards == int(n2)%sale.MaxShards) &&
					(!of.id || orderid.String(id1) == orderid.String(id2))
				if !same {
					t.Errorf("%s of (%q %q %q %d %d) and %s of (%q %q %q %d %d) share the key %v", kind1, sale1, user1, seed1, n1, id1,
						kind2, sale2, user2, seed2, n2, id2, id)
				}
			}
		}
	})
}

func TestWhatLacksHalfOfAKeyHasNoIdentity(t *testing.T) {
	for name, it := range map[string]item{"nothing": {}, "half": {attrPK: str("SEQ#1")}, "the other half": {attrSK: str("SEQ")}} {
		if got := identityOf(it); got != (identity{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
