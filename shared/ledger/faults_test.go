package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
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

func TestAPurchaseWhoseAnswerWasLostFindsItsOwnClaim(t *testing.T) {
	for _, reply := range []dynamotest.Reply{dynamotest.ReplyTimeout, dynamotest.ReplyInternalError, dynamotest.ReplyBrokenConnection} {
		w, _, next := faulty(t)
		w.Open(10, 3)
		next(dynamotest.Fault{Kind: dynamotest.LostReply, Reply: reply})
		p := w.Accepted(w.Buy("alice"))
		if !p.New || p.Tries != 2 {
			t.Errorf("reply %v: got %+v, want its own claim at the second try", reply, p)
		}
		w.Settled(3)
	}
}

func TestUnansweredOrContendedToTheEndIsBusyNeverARefusal(t *testing.T) {
	for name, fault := range map[string]dynamotest.Fault{
		"conflict":        {Kind: dynamotest.Conflict},
		"a shard's":       {Kind: dynamotest.Conflict, Items: []int{0}},
		"throttled":       {Kind: dynamotest.Throttle},
		"throttled items": {Kind: dynamotest.Throttle, Items: []int{0}, Code: "ProvisionedThroughputExceeded"},
		"server error":    {Kind: dynamotest.ServerError},
		"late":            {Kind: dynamotest.ApplyLate, After: time.Hour},
	} {
		w, db, _ := faulty(t)
		w.Open(60, 60)
		shards := map[string]bool{}
		tries := 0
		db.Fault = dynamotest.On("TransactWriteItems", "", func(c dynamotest.Call) dynamotest.Fault {
			tries, shards[c.Keys[0]] = tries+1, true
			return fault
		})
		p, err := w.Buy("alice")
		w.Refused(sale.Busy, err)
		if tries != 6 || p.Tries != 6 || len(shards) != 6 {
			t.Errorf("%s: %d tries, %d reported, on %d shards, want 6 (P16), each on another one", name, tries, p.Tries, len(shards))
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
	w.Settled(1)
}

// cancelled answers every transaction with the same reasons.
func cancelled(reasons []types.CancellationReason) dynamotest.Hook {
	return dynamotest.Instead("TransactWriteItems", func() (*dynamodb.TransactWriteItemsOutput, error) {
		return nil, &types.TransactionCanceledException{CancellationReasons: reasons}
	})
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

// Units are put back into other shards while a shard is found empty: the sale's version
// changes, so what was found does not count.
func TestAnAuditWaitsForAnotherOnesPagesNoLongerThanItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.Open(64, 64) // whose claims are in 16 buckets
		w.Accepted(w.Buy("alice"))
		db.Fault = dynamotest.Fault{Delay: time.Hour}.On("Query", "CLAIM#")
		l := w.Environment()
		step := func(timeout time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			_, err := l.Step(ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
			return err
		}
		go func() { _ = step(10 * time.Second) }()
		synctest.Wait()
		began := time.Now()
		if err := step(time.Second); sale.CodeOf(err) != sale.Busy || time.Since(began) > time.Second {
			t.Errorf("got %v after %v, want busy within a second", err, time.Since(began))
		}
	})
}

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

func TestTheAnswerToAClosingTellsOfAllShards(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(2, 2)
	late := w.Knowing()
	w.Accepted(w.Buy(userOf(0, "a")))
	w.Accepted(w.Buy(userOf(0, "b")))                                                                          // closes shard 0, takes the unit of shard 1
	calls(t, db, "a closing", map[string]int{"TransactWriteItems": 1, "UpdateItem": 1, "GetItem": 1}, func() { // the claim
		_, err := late.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(1, "c")})
		w.Refused(sale.SoldOut, err)
	})
}

func TestNothingIsDoneWhileOneOfManyDoesNotAnswer(t *testing.T) {
	const shard, bucket = "STOCK#moutai#8|", "CLAIM#moutai#1"
	paused := true
	edit := func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "p", Paused: &paused})
		return err
	}
	add := func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 90})
		return err
	}
	withdraw := func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "w", Stock: 90})
		return err
	}
	recall := func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.Recall(w.Ctx, sale.Recall{SaleID: "moutai", ChangeID: "r"})
		return err
	}
	audit := func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
		return err
	}
	release := func(w *ledgertest.World, l *ledger.Ledger) error {
		done, err := l.ReleaseDue(w.Ctx, w.Listing(), grace)
		if err == nil && !done.Complete {
			err = errors.New("the pass is not complete")
		}
		return err
	}
	publish := func(w *ledgertest.World, l *ledger.Ledger) error {
		return l.Events(w.Ctx, "moutai", func([]sale.Event) error { return nil })
	}
	find := func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := maintenance.Of(l).Person(w.Ctx, "user-7", func(maintenance.Held) error { return nil })
		return err
	}
	erase := func(w *ledgertest.World, l *ledger.Ledger) error {
		return maintenance.Of(l).Erase(w.Ctx, "user-7", func(maintenance.Held) {})
	}
	closeRoll := func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.CloseRoll(w.Ctx, w.Current(), func(at time.Time) uint64 { return uint64(at.Unix()) }, time.Hour)
		return err
	}
	due := func(w *ledgertest.World) {
		w.OpenUnpaid(900, 9) // three buckets
		for i := range 60 {
			w.Ordered(fmt.Sprint("user-", i))
		}
		w.Pass(payWithin + grace)
	}
	called := func(w *ledgertest.World) {
		_, _, ranks := w.Rolled(func(*sale.Creation) {}, 12, 9, 20)
		if begun, err := w.Ledger.BeginCall(w.Ctx, drawState(w.T, w), ranks, drawGap); err != nil || !begun {
			w.T.Fatal(begun, err)
		}
	}
	complete := func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.FinishCall(w.Ctx, "moutai", []draw.Rank{{1}}, drawGap)
		return err
	}
	over := func(w *ledgertest.World) {
		w.Open(9, 1)
		w.Ordered("user-7")
		drain(w)
	}
	var file bytes.Buffer
	archived := func(w *ledgertest.World) {
		over(w)
		w.Pass(maintenance.ArchiveAfter)
		if _, err := maintenance.Of(w.Ledger).WriteArchive(w.Ctx, "moutai", &file); err != nil {
			w.T.Fatal(err)
		}
	}
	prune := func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := maintenance.Of(l).DeleteArchived(w.Ctx, "moutai", func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(file.Bytes())), nil
		})
		return err
	}
	count := func(w *ledgertest.World, l *ledger.Ledger) error {
		return l.CountRefunds(w.Ctx, &ledger.RefundCount{SaleID: "moutai"})
	}
	list := func(w *ledgertest.World, l *ledger.Ledger) error {
		_, err := l.Listings(w.Ctx)
		return err
	}
	entered := func(w *ledgertest.World) {
		c := w.OpenDraw(9, 9)
		w.Pass(c.EnterUntil.Sub(w.Now()) + drawSettle)
	}
	for _, tt := range []struct {
		name, op, key string
		answered      int64 // of the calls
		given         func(*ledgertest.World)
		do            func(*ledgertest.World, *ledger.Ledger) error
	}{
		{"pausing a shard", "", shard, 0, due, edit}, {"recalling a shard", "", shard, 0, due, recall},
		{"adding to a shard", "", shard, 0, due, add}, {"withdrawing from a shard", "", shard, 0, due, withdraw},
		{"auditing a shard", "", shard, 0, due, audit}, {"auditing a bucket", "", bucket, 0, due, audit}, {"auditing an order", "", "ORDER#", 0, due, audit},
		{"releasing into a shard", "", shard, 0, due, release}, {"reading a bucket that is due", "", bucket, 0, due, release},
		{"releasing a claim", "TransactWriteItems", bucket, 0, due, release},
		{"publishing a bucket", "", bucket, 0, due, publish}, {"publishing refunds", "", "REFUND#moutai", 0, due, publish},
		{"finding a person in a sale", "", "SALE#moutai|", 0, due, find}, {"finding their claim", "", "CLAIM#moutai#", 0, due, find},
		{"moving a shard to a call", "UpdateItem", shard, 0, called, complete}, {"counting it for the call", "BatchGetItem", shard, 0, called, complete},
		{"counting refunds", "", "REFUND#moutai", 0, due, count}, {"listing the sales", "", "SALES", 0, due, list},
		{"deleting an archived claim", "TransactWriteItems", "CLAIM#moutai#0", 0, archived, prune},
		{"sealing the sale of an erased user", "GetItem", "SALE#moutai|", 1, over, erase},
		{"reading a page of entries", "", "ENTRY#moutai#ff", 0, entered, closeRoll}, {"storing a page of the roll", "", "ROLL#moutai|ff#", 0, entered, closeRoll},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, db, _ := faulty(t)
				tt.given(w)
				var calls atomic.Int64
				db.Fault = dynamotest.On(tt.op, tt.key, func(dynamotest.Call) dynamotest.Fault {
					if calls.Add(1) <= tt.answered {
						return dynamotest.Fault{}
					}
					return dynamotest.Fault{Kind: dynamotest.Throttle}
				})
				if err := tt.do(w, w.Environment()); err == nil {
					t.Error("it is done")
				}
				db.Fault = nil
				w.Pass(time.Minute)
				if err := tt.do(w, w.Environment()); err != nil {
					t.Errorf("when it answers again: %v", err)
				}
			})
		})
	}
}
