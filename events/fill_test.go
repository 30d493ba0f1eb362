package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	finalize "flashsale/functions/finalize/handler"
	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/telemetry"
)

func read(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// filled returns a table after two runs of `make events`.
func filled(t *testing.T) *dynamotest.DB {
	t.Helper()
	db := dynamotest.New(dynamotest.Table{Name: "LedgerTable", PK: "pk", SK: "sk"})
	for range 2 {
		if order, err := fill(t.Context(), db, "LedgerTable", read(t, "seed-create.json")); err != nil || orderid.String(order.ID) != "406709376884146177" {
			t.Fatal(order, err) // which other samples are about
		}
	}
	return db
}

func TestEveryQueueEventFindsItsClaims(t *testing.T) {
	for file, want := range map[string][]string{
		"finalize-batch.json":  nil,
		"finalize-poison.json": {"7a6b7d8e-b36f-4abb-86c2-14c7a0f1f6e7"},
	} {
		db := filled(t)
		var log bytes.Buffer
		h := finalize.New(ledger.New(db, "LedgerTable", ledger.Options{}), telemetry.New(&log, "finalize", clock.Wall), clock.Wall)
		var batch events.SQSEvent
		if err := json.Unmarshal(read(t, file), &batch); err != nil {
			t.Fatal(err)
		}
		answer, err := h.Handle(t.Context(), batch)
		var failed []string
		for _, f := range answer.BatchItemFailures {
			failed = append(failed, f.ItemIdentifier)
		}
		if err != nil || !slices.Equal(failed, want) {
			t.Errorf("%s: %v failed, %v, want %v", file, failed, err, want)
		}
		if !strings.Contains(log.String(), `"confirmed":1`) {
			t.Errorf("%s: bob's claim is not confirmed: %s", file, log.String())
		}
	}
}
