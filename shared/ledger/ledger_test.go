package ledger_test

import (
	"testing"

	"flashsale/shared/ledger/dynamotest"
	"flashsale/shared/ledger/ledgertest"
)

const table = "Ledger"

func newDB() *dynamotest.DB {
	return dynamotest.New(dynamotest.Table{Name: table, PK: "pk", SK: "sk"})
}

func TestTheLedgerOverTheFake(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledgertest.Engine {
		return ledgertest.Engine{API: newDB(), Table: table}
	})
}

func TestTheLedgerOverAFakeFullOfContention(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledgertest.Engine {
		db := newDB()
		db.Fault = dynamotest.Rates{Conflict: 0.05, Throttle: 0.02, Unprocessed: 0.2}.Seeded(7)
		return ledgertest.Engine{API: db, Table: table}
	})
}
