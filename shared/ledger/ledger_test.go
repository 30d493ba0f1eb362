package ledger_test

import (
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
)

const table = "Ledger"

func newDB() *dynamotest.DB {
	return dynamotest.New(dynamotest.Table{Name: table, PK: "pk", SK: "sk"})
}

func TestTheLedgerOverTheFake(t *testing.T) {
	ledgertest.RunInVirtualTime(t, func(*testing.T) ledgertest.Engine {
		return ledgertest.Engine{API: newDB(), Table: table}
	})
}

func TestTheLedgerOverAFakeFullOfContention(t *testing.T) {
	ledgertest.RunInVirtualTime(t, func(*testing.T) ledgertest.Engine {
		db := newDB()
		db.Fault = dynamotest.Rates{Conflict: 0.05, Throttle: 0.02, Unprocessed: 0.2}.Seeded(7)
		return ledgertest.Engine{API: db, Table: table, Contended: true}
	})
}

// Here eventually consistent reads see nothing of what the test has written, so the
// reads that decide anything must be consistent, on each page; and a page is one item.
func TestTheLedgerOverAFakeWhoseReadsLag(t *testing.T) {
	ledgertest.RunInVirtualTime(t, func(*testing.T) ledgertest.Engine {
		db := newDB()
		db.Lag, db.PageBytes = time.Hour, 1
		return ledgertest.Engine{API: db, Table: table}
	})
}
