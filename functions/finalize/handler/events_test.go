package handler

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/ledger"
)

func TestEveryEventOfThisFunctionIsHandled(t *testing.T) {
	tests := map[string][]int{ // the messages that fail
		"finalize-batch.json":  {},
		"finalize-poison.json": {1},
	}
	files, err := filepath.Glob("../../../events/finalize*.json")
	if err != nil || len(files) != len(tests) {
		t.Errorf("%d events in events/ and %d here (%v): each needs its test", len(files), len(tests), err)
	}
	for name, poison := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			raw := event(t, name)
			var sent events.SQSEvent
			if err := json.Unmarshal(raw, &sent); err != nil {
				t.Fatal(err)
			}
			want := []string{}
			for _, i := range poison {
				want = append(want, sent.Records[i].MessageId)
			}
			failed, err := f.invoke(t, t.Context(), raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, failed); diff != "" {
				t.Errorf("failed (-want +got):\n%s", diff)
			}
			if f.confirmed() != 2 {
				t.Errorf("orders %v, want those of alice and bob", f.orders)
			}
		})
	}
}

func TestWhatAMessageTellsOfItsClaimReachesTheLedger(t *testing.T) {
	f := newFunction(t)
	if _, err := f.invoke(t, t.Context(), event(t, "finalize-batch.json")); err != nil {
		t.Fatal(err)
	}
	want := []ledger.ClaimRef{
		{SaleID: "moutai", User: "alice", ClaimID: "5LJQBKBVNQ2XRCM7KD3V4HTYWA", Buckets: 2},
		{SaleID: "moutai", User: "bob", ClaimID: "QZ6WPOE3T2NFGA7JXUHV5RMDCI"},
		{SaleID: "moutai", User: "alice", ClaimID: "5LJQBKBVNQ2XRCM7KD3V4HTYWA"},
	}
	if diff := cmp.Diff([][]ledger.ClaimRef{want}, f.calls); diff != "" {
		t.Errorf("calls of the ledger (-want +got):\n%s", diff)
	}
}
