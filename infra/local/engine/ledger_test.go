package engine_test

import (
	"fmt"
	"testing"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
	"flashsale/infra/proof/ledgertest"
)

func TestTheLedgerOverTheEngine(t *testing.T) {
	client := engine.Client(enginetest.Start(t).Endpoint())
	tables := 0
	ledgertest.Run(t, func(t *testing.T) ledgertest.Engine {
		tables++
		name := fmt.Sprintf("Ledger%d", tables)
		enginetest.EnsureLedger(t, client, name)
		return ledgertest.Engine{API: client, Table: name}
	})
}
