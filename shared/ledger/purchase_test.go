package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestAUserIsAskedAboutOnlyWhenTheTransactionIsLeft(t *testing.T) {
	w, db, _ := faulty(t)
	c := w.Sale(2, 1)
	c.OpensAt = w.Now().Add(time.Minute)
	w.Create(c)
	for _, tt := range []struct {
		name              string
		before            func()
		saleID, user, key string
		remembers         bool // the environment that sold it
		asked             int
		want              sale.Code
	}{
		{"no such sale", nil, "nowhere", "alice", "", false, 0, sale.SaleNotFound},
		{"before it opens", nil, "moutai", "alice", "k1", false, 0, sale.NotOpen},
		{"open, with stock", func() { w.Pass(time.Minute) }, "moutai", "alice", "k1", false, 1, sale.NotEligible},
		{"the same key", func() { w.Accepted(w.BuyWith("alice", "k1")) }, "moutai", "alice", "k1", false, 0, ""},
		{"another key", nil, "moutai", "alice", "k2", false, 0, sale.AlreadyOrdered},
		{"no key", nil, "moutai", "alice", "", false, 1, sale.NotEligible},
		{"no key, from memory", nil, "moutai", "alice", "", true, 0, sale.AlreadyOrdered},
		{"sold out", func() {
			w.Accepted(w.Buy("bob"))
			_, err := w.Buy("carol")
			w.Refused(sale.SoldOut, err)
		}, "moutai", "carol", "k3", false, 0, sale.SoldOut},
		{"sold out, for the holder of a claim", nil, "moutai", "alice", "k1", false, 0, ""},
		{"a table that does not answer", func() {
			db.Fault = func(dynamotest.Call) dynamotest.Fault { return dynamotest.Fault{Kind: dynamotest.Throttle} }
		}, "moutai", "alice", "k1", false, 0, sale.Busy},
	} {
		if tt.before != nil {
			tt.before()
		}
		l, asked, before := w.Environment(), 0, db.Dump()
		if tt.remembers {
			l = w.Ledger
		}
		p, err := l.Purchase(w.Ctx, ledger.Request{SaleID: tt.saleID, User: tt.user, Key: tt.key, CheckUser: func(_ context.Context, end time.Time) error {
			if asked++; !end.Equal(c.ClosesAt) {
				t.Errorf("%s: asked with the end %v, want %v", tt.name, end, c.ClosesAt)
			}
			return sale.Refuse(sale.NotEligible, "not this user")
		}})
		if sale.CodeOf(err) != tt.want || asked != tt.asked || p.New || p.Tries > 0 || db.Dump() != before {
			t.Errorf("%s: asked %d times: %+v, %v; want %q after asking %d times, and nothing changed", tt.name, asked, p, err, tt.want, tt.asked)
		}
	}
}

func TestASaleThatEndsWhileAUserIsAskedAboutCostsNoTransaction(t *testing.T) {
	w, db, _ := faulty(t)
	c := w.Open(2, 1)
	db.ResetUsage()
	p, err := w.Ledger.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", CheckUser: func(context.Context, time.Time) error {
		w.Pass(c.ClosesAt.Sub(w.Now()))
		return nil
	}})
	if w.Refused(sale.Closed, err); p.Tries != 0 || db.Calls()["TransactWriteItems"] != 0 {
		t.Errorf("%+v after %d transactions, want none", p, db.Calls()["TransactWriteItems"])
	}
}

func TestAPassReadsEveryBucketOnceAndTheShardsTwiceButOnlyTheShardsWhileNothingIsSold(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(40, 16) // four buckets
	a := &ledger.Audit{SaleID: "moutai"}
	whole, idle := map[string]int{"GetItem": 1, "Query": 4, "BatchGetItem": 2}, map[string]int{"GetItem": 1, "BatchGetItem": 1}
	for pass, want := range []map[string]int{whole, idle, idle, whole, whole} {
		if pass == 3 {
			if _, err := w.Buy("alice"); err != nil {
				t.Fatal(err)
			}
		}
		calls(t, db, fmt.Sprint("pass ", pass), want, func() {
			if r, err := w.Ledger.Step(w.Ctx, a, func(sale.Claim) {}); err != nil || !r.Balanced {
				t.Fatalf("pass %d: got %+v (%v)", pass, r, err)
			}
		})
		a = a.Next()
	}
}

func TestAShardsUnexpectedErrorIsToldBeforeAnothersContention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := faulty(t)
		w.Open(4, 2)
		shards := map[string]error{
			"STOCK#moutai#0": &types.ProvisionedThroughputExceededException{}, "STOCK#moutai#1": &types.ResourceNotFoundException{},
		}
		refusing := w.Hooked(func(_ string, in any, call func() (any, error)) (any, error) {
			if update, ok := in.(*dynamodb.UpdateItemInput); ok {
				if err := shards[update.Key["pk"].(*types.AttributeValueMemberS).Value]; err != nil {
					return nil, err
				}
			}
			return call()
		})
		_, err := refusing.Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: aws.Bool(true)})
		w.Refused(sale.Internal, err)
	})
}
