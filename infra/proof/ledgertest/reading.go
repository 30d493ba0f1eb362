package ledgertest

import (
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var reading = map[string]func(*testing.T, *World){
	"what does not exist is not found": func(t *testing.T, w *World) {
		w.Refused(sale.SaleNotFound, errOf(w.Ledger.Sale(w.Ctx, "moutai")))
		w.Refused(sale.SaleNotFound, errOf(w.Ledger.Claim(w.Ctx, "moutai", "alice")))
		w.Refused(sale.SaleNotFound, w.Ledger.Events(w.Ctx, "moutai", func([]sale.Event) error { return nil }))
		_, _, err := w.Ledger.Trail(w.Ctx, "moutai", 9)
		w.Refused(sale.SaleNotFound, err)
		w.Refused(sale.OrderNotFound, errOf(w.Ledger.Order(w.Ctx, 1<<32|1)))
		w.Pass(2 * time.Second)
		w.Open(1, 1)
		w.Refused(sale.OrderNotFound, errOf(w.Ledger.Claim(w.Ctx, "moutai", "alice")))
	},
	"a sale of no shard or bucket, or of too many, is refused": func(_ *testing.T, w *World) {
		w.Open(4, 2)
		before := w.table()
		for n, set := range map[int]string{-1: "SET shards = :n", 0: "SET buckets = :n", sale.MaxShards + 1: "SET shards = :n"} {
			w.tamper("SALE#moutai", "SALE", set, attributes(map[string]any{":n": n}))
			w.Refused(sale.Internal, w.buys("alice"))
			w.becomes(before)
		}
	},
	"the units left are exact up to 100 shards with stock": func(t *testing.T, w *World) {
		w.Open(300, 100)
		w.bought(people(7)...)
		r := w.remaining()
		same(t, r, ledger.Remaining{Units: 293})
	},
	"beyond 100 shards the units left are a scaled sample": func(t *testing.T, w *World) {
		w.Open(1500, 150)
		same(t, w.remaining(), ledger.Remaining{Units: 1500, Approximate: true})
	},
}

func (w *World) remaining() ledger.Remaining {
	w.T.Helper()
	s, err := w.Ledger.Sale(w.Ctx, "moutai")
	w.Succeeds(nil, err)
	r, err := w.Ledger.Remaining(w.Ctx, s)
	w.Succeeds(nil, err)
	return r
}
