package engine_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
	"flashsale/infra/proof/ledgertest"
)

func start(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	o.Binary = enginetest.Binary(t)
	e, err := engine.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestAShelteredEngineKeepsAPlaceOfItsOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	first, second := start(t, engine.Options{Sheltered: true, DBPath: file}), start(t, engine.Options{Sheltered: true})
	if first.Endpoint() == second.Endpoint() {
		t.Errorf("both are at %s", first.Endpoint())
	}
	enginetest.EnsureLedger(t, engine.Client(first.Endpoint()), "ledger")
	first.Kill()
	// While it is down, nobody else gets its place.
	if third := start(t, engine.Options{Sheltered: true}); third.Endpoint() == first.Endpoint() {
		t.Errorf("another engine got %s", third.Endpoint())
	}
	if err := first.Again(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := engine.Client(first.Endpoint()).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(out.TableNames) != 1 {
		t.Errorf("at %s are %v, %v, want the ledger", first.Endpoint(), out, err)
	}
}

func TestTheLedgerOverTheEngine(t *testing.T) {
	client := engine.Client(enginetest.Start(t).Endpoint())
	tables := 0
	ledgertest.Run(t, func(t *testing.T) ledgertest.Engine {
		tables++
		name := fmt.Sprintf("Ledger%d", tables)
		enginetest.EnsureLedger(t, client, name)
		return ledgertest.Engine{API: client, Table: name, OneIn: 5}
	})
}
