package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	finalize "flashsale/functions/finalize/handler"
	purchase "flashsale/functions/purchase/handler"
	query "flashsale/functions/query/handler"
	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/telemetry"
)

// outbox is an order queue without a reader.
type outbox struct{}

func (outbox) Send(context.Context, orderq.Message) error { return nil }

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
		if err := fill(t.Context(), db, "LedgerTable", read(t, "seed-create.json")); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func TestEveryHTTPEventFindsItsItems(t *testing.T) {
	db := filled(t)
	log := telemetry.New(io.Discard, "events", clock.Wall)
	book := ledger.New(db, "LedgerTable", ledger.Options{})
	buy, ask := httpapi.Serve(purchase.New(book, outbox{}, log, clock.Wall).Handle), httpapi.Serve(query.New(book, log, clock.Wall).Handle)
	for _, tt := range []struct {
		file   string
		f      httpapi.Serve
		status int
		holds  string
	}{
		{"query-sale.json", ask, 200, `"remaining":98`},
		{"query-claim.json", ask, 200, `"state":"CONFIRMED"`},
		{"query-order.json", ask, 200, `"orderId":"406709376884146177"`},
		{"query-order-not-mine.json", ask, 404, `"code":"order-not-found"`},
		{"purchase.json", buy, 409, `"claimId":"5LJQBKBVNQ2XRCM7KD3V4HTYWA"`},
		{"purchase-idempotent.json", buy, 202, `"claimId":"QZ6WPOE3T2NFGA7JXUHV5RMDCI"`},
	} {
		raw, err := tt.f.Invoke(t.Context(), read(t, tt.file))
		if err != nil {
			t.Fatal(err)
		}
		var answer events.APIGatewayV2HTTPResponse
		if err := json.Unmarshal(raw, &answer); err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != tt.status || !strings.Contains(answer.Body, tt.holds) {
			t.Errorf("%s: %s, want %d with %s", tt.file, raw, tt.status, tt.holds)
		}
	}
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
