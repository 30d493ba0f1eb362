package ledger_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// faulty returns a world over a fake whose transactions have the given faults in order,
// then none.
func faulty(t *testing.T) (*ledgertest.World, *dynamotest.DB, func(...dynamotest.Fault)) {
	db := newDB()
	w := ledgertest.NewWorld(t, ledgertest.Engine{API: db, Table: table})
	return w, db, func(faults ...dynamotest.Fault) {
		var mu sync.Mutex
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if c.Op != "TransactWriteItems" || len(faults) == 0 {
				return dynamotest.Fault{}
			}
			f := faults[0]
			faults = faults[1:]
			return f
		}
	}
}

func times(n int, f dynamotest.Fault) []dynamotest.Fault {
	faults := make([]dynamotest.Fault, n)
	for i := range faults {
		faults[i] = f
	}
	return faults
}

func TestAPurchaseWhoseAnswerWasLostFindsItsOwnClaim(t *testing.T) {
	for _, reply := range []dynamotest.Reply{dynamotest.ReplyTimeout, dynamotest.ReplyInternalError, dynamotest.ReplyBrokenConnection} {
		w, _, next := faulty(t)
		w.Open(10, 3)
		next(dynamotest.Fault{Kind: dynamotest.LostReply, Reply: reply})
		p := w.Accepted(w.Buy("alice"))
		if !p.New || p.Tries != 2 {
			t.Errorf("reply %v: got %+v, want its own claim at the second try", reply, p)
		}
		w.Balanced(3)
	}
}

func TestUnansweredOrContendedToTheEndIsBusyNeverARefusal(t *testing.T) {
	for name, fault := range map[string]dynamotest.Fault{
		"conflict":        {Kind: dynamotest.Conflict},
		"throttled":       {Kind: dynamotest.Throttle},
		"throttled items": {Kind: dynamotest.Throttle, Items: []int{0}, Code: "ProvisionedThroughputExceeded"},
		"server error":    {Kind: dynamotest.ServerError},
		"late":            {Kind: dynamotest.ApplyLate, After: time.Hour},
	} {
		w, db, next := faulty(t)
		w.Open(10, 2)
		next(times(100, fault)...)
		before := db.Calls()["TransactWriteItems"]
		p, err := w.Buy("alice")
		w.Refused(sale.Busy, err)
		if tries := db.Calls()["TransactWriteItems"] - before; tries != 6 || p.Tries != 6 {
			t.Errorf("%s: %d tries, %d reported, want 6 (P16)", name, tries, p.Tries)
		}
	}
}

func TestAfterAnUnknownOutcomeNothingIsRefused(t *testing.T) {
	// The first try is applied later; by then the sale is sold out for all the
	// others, but not for alice (P5).
	w, db, next := faulty(t)
	w.Open(1, 1)
	w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "bob"}))
	next(dynamotest.Fault{Kind: dynamotest.ApplyLate})
	_, err := w.BuyWith("alice", "k1")
	w.Refused(sale.Busy, err)
	if _, err := w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}); err != nil {
		t.Fatal(err)
	}
	if db.ApplyPending() != 1 {
		t.Fatal("no try was pending")
	}
	p := w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: "k1"}))
	if p.New {
		t.Errorf("got %+v, want the claim of the late try", p)
	}
	w.Balanced(1)
}

// cancelled answers every transaction with the same reasons.
func cancelled(reasons []types.CancellationReason) dynamotest.Hook {
	return dynamotest.Instead("TransactWriteItems", func() (*dynamodb.TransactWriteItemsOutput, error) {
		return nil, &types.TransactionCanceledException{CancellationReasons: reasons}
	})
}

func TestOnesOwnDoubleClickInFlightIsNotSoldOut(t *testing.T) {
	// The stock condition fails while the claim conflicts: the other click may be about
	// to win.
	w, _, _ := faulty(t)
	w.Open(1, 1)
	w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "bob"}))
	answers := cancelled([]types.CancellationReason{
		{Code: aws.String("ConditionalCheckFailed"), Item: w.Item("STOCK#moutai#0", "STOCK")},
		{Code: aws.String("TransactionConflict")},
	})
	_, err := w.Hooked(answers).Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
	w.Refused(sale.Busy, err)
}

func TestAReasonNobodyKnowsIsInternalNeverAGuess(t *testing.T) {
	w, _, _ := faulty(t)
	w.Open(1, 1)
	stock := w.Item("STOCK#moutai#0", "STOCK")
	none := maps.Clone(stock)
	none["stock"] = &types.AttributeValueMemberN{Value: "0"}
	for name, reasons := range map[string][]types.CancellationReason{
		"none":                 nil,
		"too few":              {{Code: aws.String("None")}},
		"unknown":              {{Code: aws.String("SomethingNew")}, {Code: aws.String("None")}},
		"unknown on the claim": {{Code: aws.String("ConditionalCheckFailed"), Item: none}, {Code: aws.String("SomethingNew")}},
		"no item":              {{Code: aws.String("ConditionalCheckFailed")}, {Code: aws.String("None")}},
		"a claim without item": {{Code: aws.String("None")}, {Code: aws.String("ConditionalCheckFailed")}},
		"stock is left":        {{Code: aws.String("ConditionalCheckFailed"), Item: stock}, {Code: aws.String("None")}},
		"nothing wrong":        {{Code: aws.String("None")}, {Code: aws.String("None")}},
	} {
		_, err := w.Hooked(cancelled(reasons)).Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
		if sale.CodeOf(err) != sale.Internal {
			t.Errorf("%s: got %v, want internal", name, err)
		}
	}
}

func TestPurchaseSendsNoClientRequestToken(t *testing.T) {
	w, _, _ := faulty(t)
	w.Open(1, 1)
	spy := &tokens{API: w.Engine.API}
	w.Accepted(w.EnvironmentOver(spy).Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"}))
	if !spy.off {
		t.Error("the SDK would add a ClientRequestToken")
	}
}

type tokens struct {
	ledger.API
	off bool
}

func (s *tokens) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	options := dynamodb.New(dynamodb.Options{}).Options()
	for _, set := range o {
		set(&options)
	}
	s.off = in.ClientRequestToken == nil && options.IdempotencyTokenProvider == nil
	return s.API.TransactWriteItems(ctx, in, o...)
}

func TestAMarkThatMayBeWrittenIsReportedAsThisCallsOwn(t *testing.T) {
	refused := dynamotest.Fault{Kind: dynamotest.Throttle}
	for name, tt := range map[string]struct {
		first, then dynamotest.Fault
		want        bool
	}{
		"the caller's time ends during the call":      {dynamotest.Fault{ReplyDelay: 400 * time.Millisecond}, refused, true},
		"it is applied after the caller's time":       {dynamotest.Fault{Kind: dynamotest.ApplyLate, Delay: 100 * time.Millisecond}, refused, true},
		"one try without an answer, then none passes": {dynamotest.Fault{Kind: dynamotest.ApplyLate}, refused, true},
		"no try passes": {refused, refused, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, db, _ := faulty(t)
				w.Open(10, 1)
				p := w.Accepted(w.Buy("alice"))
				w.Pass(time.Minute)
				tries := 0
				db.Fault = dynamotest.On("UpdateItem", "", func(dynamotest.Call) dynamotest.Fault {
					if tries++; tries > 1 {
						return tt.then
					}
					return tt.first
				})
				ctx, cancel := context.WithTimeout(w.Ctx, 300*time.Millisecond)
				defer cancel()
				mark, err := w.Ledger.MarkResent(ctx, p.Claim, false)
				if !mark.IsZero() != tt.want || sale.CodeOf(err) != sale.Busy {
					t.Errorf("got %v (%v), want %v and busy", mark, err, tt.want)
				}
			})
		})
	}
}

// finalizing is the time that FinalizeFunction has for a batch.
const finalizing = 4500 * time.Millisecond

func TestAStatementContendedToTheEndIsBusyAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for at := range 2 {
			w, db, refs := claimed(t, 25)
			n := 0
			db.Fault = func(c dynamotest.Call) dynamotest.Fault {
				switch {
				case c.Op != "BatchExecuteStatement":
					return dynamotest.Fault{}
				case n == at, len(c.Keys) == 1:
					n++
					return dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{7 % len(c.Keys)}}
				}
				n++
				return dynamotest.Fault{}
			}
			began := time.Now()
			ctx, cancel := context.WithTimeout(w.Ctx, finalizing)
			defer cancel()
			got := w.Ledger.Confirm(ctx, refs)
			for i, c := range got {
				if want := map[bool]sale.Code{true: sale.Busy}[i == 7]; sale.CodeOf(c.Err) != want {
					t.Errorf("batch %d, claim %d: %v, want %q", at, i, c.Err, want)
				}
			}
			if took := time.Since(began); took < finalizing-time.Second || took > finalizing {
				t.Errorf("batch %d: given up after %v of %v (P16)", at, took, finalizing)
			}
			db.Fault = nil
			inOrder(t, w, w.Environment().Confirm(w.Ctx, refs), refs)
		}
	})
}

// Each kind of call of a confirmation is throttled for most of its time, or longer: a
// message that failed would come back only after its visibility timeout.
func TestAConfirmationWaitsForAnExhaustedTableUntilItsTimeIsUp(t *testing.T) {
	for name, throttled := range map[string]func(dynamotest.Call) bool{
		"the sale":     func(c dynamotest.Call) bool { return c.Op == "GetItem" },
		"the claims":   func(c dynamotest.Call) bool { return c.Op == "BatchGetItem" },
		"the sequence": func(c dynamotest.Call) bool { return c.Op == "UpdateItem" },
		"the writes":   func(c dynamotest.Call) bool { return c.Op == "BatchExecuteStatement" },
		"the orders": func(c dynamotest.Call) bool {
			return c.Op == "BatchExecuteStatement" && strings.HasPrefix(c.Keys[0], "ORDER#")
		},
	} {
		for _, exhausted := range []time.Duration{finalizing - 500*time.Millisecond, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				w, db, refs := claimed(t, 10)
				began := time.Now()
				db.Fault = func(c dynamotest.Call) dynamotest.Fault {
					if !throttled(c) || time.Since(began) > exhausted {
						return dynamotest.Fault{}
					}
					return dynamotest.Fault{Kind: dynamotest.Throttle}
				}
				ctx, cancel := context.WithTimeout(w.Ctx, finalizing)
				defer cancel()
				got := w.Environment().Confirm(ctx, refs)
				if took := time.Since(began); took > finalizing {
					t.Errorf("%s throttled: it took %v of %v (P16)", name, took, finalizing)
				}
				if exhausted < finalizing {
					if inOrder(t, w, got, refs); fresh(got) != len(refs) {
						t.Errorf("%s throttled: %d of %d are new", name, fresh(got), len(refs))
					}
					return
				}
				for _, c := range got {
					if sale.CodeOf(c.Err) != sale.Busy {
						t.Errorf("%s throttled to the end: %v, want busy", name, c.Err)
					}
				}
			})
		}
	}
}

func TestEveryUserWhoseShardDoesNotAnswerTriesAnotherOne(t *testing.T) {
	for name, fault := range map[string]dynamotest.Fault{
		"conflict":     {Kind: dynamotest.Conflict, Items: []int{0}},
		"throttled":    {Kind: dynamotest.Throttle},
		"server error": {Kind: dynamotest.ServerError},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, db, _ := faulty(t)
				w.Open(1000, 10)
				var shards []string // of one purchase's tries
				db.Fault = dynamotest.On("TransactWriteItems", "", func(c dynamotest.Call) dynamotest.Fault {
					if shards = append(shards, c.Keys[0]); len(shards) == 1 {
						return fault
					}
					return dynamotest.Fault{}
				})
				for i := range 100 {
					user := fmt.Sprint("user-", i)
					shards = nil
					w.Accepted(w.Buy(user))
					if len(shards) != 2 || shards[0] == shards[1] {
						t.Errorf("%s tried %v, want two shards", user, shards)
					}
				}
			})
		})
	}
}

// Units are put back into other shards while a shard is found empty: the sale's version
// changes, so what was found does not count.
func TestABuyerWhoseShardIsEmptyTriesAnotherOneWhileUnitsArePutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.Open(2, 2)
		w.Accepted(w.Buy(userOf(0, "first")))
		db.Fault = dynamotest.On("TransactWriteItems", "", func(dynamotest.Call) dynamotest.Fault {
			if err := db.Tamper(w.Ctx, table, "SALE#moutai", "SALE", "version", 1); err != nil {
				t.Error(err)
			}
			return dynamotest.Fault{}
		})
		if p := w.Accepted(w.Buy(userOf(0, "second"))); p.Claim.Shard != 1 || p.Tries != 2 {
			t.Errorf("got %+v, want the unit of shard 1 at the second try", p)
		}
	})
}

func TestOneBuyerFindsEveryShardEmptyInOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.Open(20, 20)
		for k := range 20 {
			if err := db.Tamper(w.Ctx, table, fmt.Sprint("STOCK#moutai#", k), "STOCK", "stock", -1); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		p, err := w.Buy("alice")
		w.Refused(sale.SoldOut, err)
		if p.Tries != 20 || time.Since(began) > 0 {
			t.Errorf("%d tries in %v, want each shard once and no wait", p.Tries, time.Since(began))
		}
	})
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
