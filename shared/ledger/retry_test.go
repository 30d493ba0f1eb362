package ledger_test

import (
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// One BatchGetItem takes 100 keys: a pass reads the orders of a page in calls of 100.
func TestAPassReadsTheOrdersOfAPageInAsFewCallsAsTheLimitAllows(t *testing.T) {
	for n, calls := range map[int]int{1: 1, 99: 1, 100: 1, 101: 2, 201: 3} {
		w, db, refs := claimed(t, n)
		w.Ledger.Confirm(w.Ctx, refs)
		w.Pass(time.Minute)
		var mu sync.Mutex
		largest, reads := 0, 0
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if c.Op == "BatchGetItem" && strings.HasPrefix(c.Keys[0], "ORDER#") {
				reads, largest = reads+1, max(largest, len(c.Keys))
			}
			return dynamotest.Fault{}
		}
		r, err := w.Ledger.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
		if err != nil || r == nil || !r.Balanced || r.Confirmed != int64(n) {
			t.Fatalf("%d claims: %+v (%v)", n, r, err)
		}
		if reads != calls || largest > 100 {
			t.Errorf("%d claims: %d calls of up to %d keys, want %d", n, reads, largest, calls)
		}
	}
}

func TestANewEnvironmentAdmitsByAnEventuallyConsistentRead(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(10, 1)
	var reads []bool // whether consistent
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if in, ok := c.Input.(*dynamodb.GetItemInput); ok {
			reads = append(reads, aws.ToBool(in.ConsistentRead))
		}
		return dynamotest.Fault{}
	}
	w.Accepted(w.Buy("alice"))
	if len(reads) != 1 || reads[0] {
		t.Errorf("consistent reads of the sale %v, want one that is not", reads)
	}
}

func TestTheAnswerToAClosingTellsOfAllShards(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(2, 2)
	late := w.Environment()
	if _, err := late.Sale(w.Ctx, "moutai"); err != nil { // its snapshot: nothing is empty
		t.Fatal(err)
	}
	w.Accepted(w.Buy(userOf(0, "a")))
	w.Accepted(w.Buy(userOf(0, "b"))) // closes shard 0, takes the unit of shard 1
	db.ResetUsage()
	_, err := late.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(1, "c")})
	w.Refused(sale.SoldOut, err)
	if got, want := db.Calls(), map[string]int{"TransactWriteItems": 1, "UpdateItem": 1, "GetItem": 1}; !maps.Equal(got, want) { // the claim
		t.Errorf("calls %v, want %v", got, want)
	}
}

func TestNoClaimIsLookedForInASaleThatDoesNotExist(t *testing.T) {
	w, db, _ := faulty(t)
	_, err := w.BuyWith("alice", "key")
	w.Refused(sale.SaleNotFound, err)
	if got, want := db.Calls(), map[string]int{"GetItem": 2}; !maps.Equal(got, want) { // the sale, twice
		t.Errorf("calls %v, want %v", got, want)
	}
}

func TestAfterAnUnknownOutcomeTheShardsRefusalIsNotBelieved(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(10, 1)
	w.Accepted(w.Buy("warm"))
	paused, isAnswered := true, false
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op != "TransactWriteItems" || isAnswered {
			return dynamotest.Fault{}
		}
		isAnswered = true
		if _, err := w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: &paused}); err != nil {
			t.Error(err)
		}
		return dynamotest.Fault{Kind: dynamotest.ServerError} // it may still be applied
	}
	_, err := w.Buy("alice")
	w.Refused(sale.Busy, err)
}

func TestASaleWithImpossibleNumbersIsInternal(t *testing.T) {
	for name, tt := range map[string]struct {
		attribute string
		by        int64
		want      sale.Code
	}{
		"no shards":       {"shards", -1, sale.Internal},
		"many shards":     {"shards", sale.MaxShards - 1, ""},
		"too many shards": {"shards", sale.MaxShards, sale.Internal},
		"no buckets":      {"buckets", -1, sale.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			w, db, _ := faulty(t)
			w.Open(1, 1)
			if err := db.Tamper(w.Ctx, table, "SALE#moutai", "SALE", tt.attribute, tt.by); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Ledger.Sale(w.Ctx, "moutai"); sale.CodeOf(err) != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAPassStatesTheReadUnitsThatItCost(t *testing.T) {
	w, db, _ := claimed(t, 3)
	db.ResetUsage()
	r, err := w.Ledger.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
	if err != nil || r == nil {
		t.Fatalf("%+v (%v)", r, err)
	}
	if _, units := db.Consumed(); r.ReadUnits != units {
		t.Errorf("%v read units, want %v", r.ReadUnits, units)
	}
}
