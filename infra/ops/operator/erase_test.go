package main

import (
	"testing"
	"testing/synctest"

	"flashsale/shared/sale"
)

func TestAPersonIsErasedOnceTheirSalesAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 9, Price: 89900})
		order := ordered(t, book, "alice")
		const asks, erases = "erase -user alice", "erase -user alice -go"
		tells(t, db, asks, errNotDone, "NOT ERASED: the sale moutai is not drained")
		tells(t, db, erases, errNotDone, "NOT ERASED: the sale moutai is not drained")
		pay(t, book, "pi_1", order, 89900)
		drained(t, book)
		tells(t, db, asks, nil, "moutai  order ", "nothing was erased: GO=1 erases alice in these 1 sales")
		tells(t, db, erases, nil, "moutai  erased\n", "alice was erased in 1 sales")
		tells(t, db, asks, errNotDone, "NOT ERASED: no sale holds anything of alice")
		tells(t, db, erases, errNotDone, "NOT ERASED: no sale holds anything of alice")
	})
}
