package ledger_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// deceived are a crowd whose sale was recalled: every other one has paid.
type deceived struct {
	*debtors
	at       time.Time       // of the recall
	refunded map[string]bool // by payment
	paused   map[int]bool    // shards
	complete bool
}

func newDeceived(shards, claims int, at time.Time) *deceived {
	d := &deceived{debtors: newDebtors(shards, claims), at: at, refunded: map[string]bool{}, paused: map[int]bool{}}
	d.listing["recalling"] = number(at.UnixMilli())
	return d
}

func (d *deceived) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := d.debtors.GetItem(ctx, in, o...)
	if err == nil && in.Key["pk"].(*types.AttributeValueMemberS).Value != "SALES" {
		for _, name := range []string{"recalledAt", "changedAt"} {
			out.Item[name] = number(d.at.UnixMilli())
		}
		out.Item["paused"], out.Item["minReader"] = &types.AttributeValueMemberBOOL{Value: true}, number(3)
	}
	return out, err
}

func (d *deceived) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	keys := in.RequestItems[table].Keys
	if !strings.HasPrefix(keys[0]["pk"].(*types.AttributeValueMemberS).Value, "PAYMENT#") {
		out, err := d.debtors.BatchGetItem(ctx, in, o...)
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, it := range out.Responses[table] {
			if d.paused[d.shardOf(it)] {
				it["changedAt"] = number(d.at.UnixMilli())
			}
		}
		return out, err
	}
	if err := d.takes(ctx, callTakes, 0); err != nil {
		return nil, err
	}
	var guards []map[string]types.AttributeValue
	for _, key := range keys {
		guards = append(guards, map[string]types.AttributeValue{
			"pk": key["pk"], "sk": key["sk"], "fate": text("paid"), "amount": number(89900), "currency": text("CNY"), "at": number(1),
		})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads += float64(len(keys))
	return &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{table: guards}}, nil
}

func (d *deceived) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := d.debtors.Query(ctx, in, o...)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, it := range out.Items {
		user := it["sk"].(*types.AttributeValueMemberS).Value
		if n, _ := strconv.Atoi(user); n%2 == 0 {
			payment := "stripe#" + user
			it["paidAt"], it["payment"] = number(1), text(payment)
			if d.refunded[payment] {
				it["refunds"] = &types.AttributeValueMemberSS{Value: []string{payment}}
			}
		}
	}
	return out, nil
}

func (d *deceived) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := d.debtors.UpdateItem(ctx, in, o...)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err != nil:
	case strings.HasPrefix(*in.UpdateExpression, "REMOVE #recalling"):
		d.complete = true
	case in.ExpressionAttributeValues[":paused"] != nil:
		d.paused[d.shardOf(in.Key)] = true
	}
	return out, err
}

func (d *deceived) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if in.TransactItems[0].Put == nil {
		return d.debtors.TransactWriteItems(ctx, in, o...)
	}
	if err := d.takes(ctx, 2*transactionTakes, 2*len(in.TransactItems)); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, action := range in.TransactItems {
		if action.Put != nil {
			d.refunded[action.Put.Item["sk"].(*types.AttributeValueMemberS).Value] = true
		}
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// A recall is complete five minutes per 100,000 orders after it, also on a single shard, whose
// releases wait for one another (P35). Half of the orders are paid. No shard was paused before.
func TestARecallOfManyOrdersTakesMinutes(t *testing.T) {
	for _, size := range []struct{ claims, shards int }{{1000, 50}, {*dueClaims, 1000}, {*dueClaims, 1}} {
		t.Run(fmt.Sprint(size.claims, " on ", size.shards), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := time.Date(2026, 11, 11, 20, 30, 0, 0, time.UTC)
				d := newDeceived(size.shards, size.claims, at)
				time.Sleep(time.Until(at.Add(time.Minute))) // a run begins up to a minute later
				l := ledger.New(d, table, ledger.Options{Now: func() time.Time { return time.Now().Round(0) }})
				for invocations := 1; !d.complete; invocations++ {
					ctx, cancel := context.WithTimeout(t.Context(), passTime)
					listing, err := l.Listing(ctx, "moutai")
					if err != nil {
						t.Fatal(err)
					}
					done, err := l.ReleaseDue(ctx, listing, grace)
					cancel()
					if err != nil && sale.CodeOf(err) != sale.Busy || invocations == 10 {
						t.Fatalf("invocation %d: %+v (%v)", invocations, done, err)
					}
					if !d.complete {
						time.Sleep(time.Minute - time.Since(at)%time.Minute) // the schedule
					}
				}
				took := time.Since(at)
				claims, released := d.perBucket*len(d.users), len(d.gone)
				var putBack int64
				for _, n := range d.putBack {
					putBack += n
				}
				if released+len(d.refunded) != claims || putBack != int64(released) || len(d.paused) != size.shards {
					t.Errorf("%d of %d claims are released, %d put back, %d payments go back, %d shards are paused", released, claims, putBack, len(d.refunded), len(d.paused))
				}
				if limit := 5 * time.Minute; took > limit {
					t.Errorf("that took %v, want at most %v", took, limit)
				}
				t.Logf("%d orders on %d shards: %v after the recall, %d calls, %.0f read units, %d write units",
					claims, size.shards, took.Round(time.Millisecond), d.calls, d.reads, d.writes)
			})
		})
	}
}

// A purchase has taken its unit, and its claim is not visible yet, while the sale is recalled and a
// pass is made.
func TestARecallFinishesAnOrderWhoseClaimItCouldNotSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, next := faulty(t)
		w.Open(4, 1)
		const hidden = 30 * time.Millisecond
		next(dynamotest.Fault{Hidden: []int{1}, HiddenFor: hidden, ReplyDelay: hidden})
		bought := make(chan ledger.ClaimRef)
		go func() {
			p, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
			if err != nil {
				t.Error(err)
			}
			bought <- ledger.ClaimRef{SaleID: "moutai", User: "alice", ClaimID: p.Claim.ID}
		}()
		synctest.Wait()
		if _, err := w.Environment().Recall(w.Ctx, sale.Recall{SaleID: "moutai"}); err != nil {
			t.Fatal(err)
		}
		pass := func(released int, complete bool) {
			t.Helper()
			if done := w.ReleasesBy(w.Environment()); done.Released != released || done.Complete != complete {
				t.Errorf("got %+v, want %d released, complete: %t", done, released, complete)
			}
		}
		pass(0, false)
		w.Environment().Confirm(w.Ctx, []ledger.ClaimRef{<-bought})
		w.Pass(time.Minute)
		pass(1, false) // the clocks of two machines may be a minute apart
		w.Pass(time.Minute)
		pass(0, false)
		w.Pass(time.Minute)
		pass(0, true)
	})
}

func TestARecallRefundsWhatWasPaidAlsoWhileItsGuardIsHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, next := faulty(t)
		db.Now = time.Now
		w.Open(4, 1) // without a price
		p := ledgertest.PaymentOf(w.Ordered("alice")[0], "pi_1")
		const hidden = 30 * time.Millisecond
		next(dynamotest.Fault{Hidden: []int{0}, HiddenFor: hidden, ReplyDelay: hidden})
		paid := make(chan error)
		go func() { _, err := w.Environment().Pay(w.Ctx, p); paid <- err }()
		time.Sleep(hidden / 6)
		if _, err := w.Environment().Recall(w.Ctx, sale.Recall{SaleID: "moutai"}); err != nil {
			t.Fatal(err)
		}
		w.ReleasesBy(w.Environment())
		if err := <-paid; err != nil {
			t.Fatal(err)
		}
		refunds, err := w.Environment().Refunds(w.Ctx, "moutai")
		if err != nil || len(refunds) != 1 || refunds[0].Amount != p.Amount || refunds[0].Currency != p.Currency {
			t.Errorf("refunds %+v (%v), want one of %d %s", refunds, err, p.Amount, p.Currency)
		}
	})
}

// The sale item is recalled, and a shard is not paused yet: between two tries a purchase learns
// of the recall, and does not take a unit under the version that the recall gave to the sale.
func TestAPurchaseThatLearnsOfARecallTakesNoUnit(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(10, 1)
	recalling := false
	ctx, cut := context.WithCancel(w.Ctx)
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		switch {
		case recalling && c.Op == "UpdateItem": // the shard cannot be paused
			cut()
			return dynamotest.Fault{Kind: dynamotest.ServerError}
		case recalling || c.Op != "TransactWriteItems":
			return dynamotest.Fault{}
		}
		recalling = true
		if _, err := w.Environment().Recall(ctx, sale.Recall{SaleID: "moutai"}); sale.CodeOf(err) != sale.Busy {
			t.Errorf("the recall: %v, want busy", err)
		}
		w.Pass(2 * time.Second)
		if s, err := w.Ledger.Sale(w.Ctx, "moutai"); err != nil || !s.IsRecalled() {
			t.Errorf("the sale: %+v, %v, want a recalled one", s, err)
		}
		return dynamotest.Fault{Kind: dynamotest.Conflict}
	}
	_, err := w.Buy("alice")
	w.Refused(sale.Recalled, err)
	_, err = w.Ledger.Claim(w.Ctx, "moutai", "alice")
	w.Refused(sale.OrderNotFound, err)
}
