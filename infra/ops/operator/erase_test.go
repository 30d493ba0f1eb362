package operator

import (
	"testing"
	"testing/synctest"

	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

func TestAPersonIsErasedOnceTheirSalesAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 9, Price: 89900})
		order := ordered(t, book, "alice")
		const asks, erases = "buyer erase alice --dry-run", "buyer erase alice --yes"
		tells(t, db, asks, cli.ExitBad, "NOT ERASED: the sale moutai is not drained")
		tells(t, db, erases, cli.ExitBad, "NOT ERASED: the sale moutai is not drained")
		pay(t, book, "pi_1", order, 89900)
		drained(t, book)
		tells(t, db, asks, cli.ExitFine, "saleId: moutai\n", "alice would be erased in these 1 sales, for ever")
		tells(t, db, erases, cli.ExitFine, "moutai  erased\n", "alice was erased in 1 sales")
		tells(t, db, asks, cli.ExitBad, "NOT ERASED: no sale holds anything of alice")
		tells(t, db, erases, cli.ExitBad, "NOT ERASED: no sale holds anything of alice")
	})
}
