package handler

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
)

func TestEveryEventOfThisFunctionIsHandled(t *testing.T) {
	tests := map[string][]int{ // the messages that fail
		"finalize-batch.json":  {},
		"finalize-poison.json": {1},
	}
	for name, poison := range tests {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, f *function) {
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
				if len(f.orders()) != 2 {
					t.Errorf("orders %v, want those of alice and bob", f.orders())
				}
			})
		})
	}
}

// A crowd reads the sale's item, so finalize does not if the messages say how many buckets the
// sale has.
func TestTheSaleIsReadOnlyForAMessageThatDoesNotTellItsBuckets(t *testing.T) {
	for body, want := range map[string]int{
		`{"v":1,"saleId":"moutai","user":"alice","claimId":"` + alice.ClaimID + `","buckets":1}`: 0,
		order(alice): 1,
	} {
		in(t, func(t *testing.T, f *function) {
			reads := 0
			f.DB.Fault = func(c dynamotest.Call) dynamotest.Fault {
				if c.Keys[0] == "SALE#moutai|SALE" {
					reads++
				}
				return dynamotest.Fault{}
			}
			if failed, err := f.invoke(t, t.Context(), batch(t, body)); err != nil || len(failed) > 0 || reads != want {
				t.Errorf("%s: %d reads of the sale, want %d; failed %v, %v", body, reads, want, failed, err)
			}
		})
	}
}
