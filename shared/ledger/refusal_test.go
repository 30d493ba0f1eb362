package ledger_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// refusalReads counts the eventually consistent reads of claims and answers them with that
// fault.
func refusalReads(db *dynamotest.DB, fault dynamotest.Fault) *int {
	reads := new(int)
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		in, ok := c.Input.(*dynamodb.GetItemInput)
		if !ok || aws.ToBool(in.ConsistentRead) || c.Keys[0] == "SALE#moutai|SALE" {
			return dynamotest.Fault{}
		}
		*reads++
		return fault
	}
	return reads
}

// soldToAlice is a sale of one unit, which alice got in another environment, and an
// environment that knows it to be sold out.
func soldToAlice(t *testing.T) (w *ledgertest.World, db *dynamotest.DB, claim sale.Claim) {
	t.Helper()
	w, db, _ = faulty(t)
	w.Open(1, 1)
	claim = w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})).Claim
	_, err := w.Buy("bob")
	w.Refused(sale.SoldOut, err)
	return w, db, claim
}

func TestARefusalReadThatFailsLeavesTheRefusalAndTheTableAloneForASecond(t *testing.T) {
	for name, fault := range map[string]dynamotest.Fault{
		"throttled":    {Kind: dynamotest.Throttle},
		"server error": {Kind: dynamotest.ServerError},
		"no answer":    {Kind: dynamotest.LostReply},
	} {
		t.Run(name, func(t *testing.T) {
			w, db, _ := soldToAlice(t)
			reads := refusalReads(db, fault)
			answer := db.Fault
			db.Fault = func(c dynamotest.Call) dynamotest.Fault {
				f := answer(c)
				if f.Kind != 0 {
					w.Pass(200 * time.Millisecond) // the pause begins when the read has failed
				}
				return f
			}
			want := 0
			buy := func(read bool) {
				t.Helper()
				_, err := w.Buy("alice")
				w.Refused(sale.SoldOut, err)
				if read {
					want++
				}
				if *reads != want {
					t.Fatalf("%d refusal reads, want %d", *reads, want)
				}
			}
			buy(true)
			buy(false)
			w.Pass(time.Second - 1)
			buy(false)
			w.Pass(1)
			buy(true)
			w.Pass(-time.Minute) // after the clock was set back nobody knows how long ago that was
			buy(true)

			// Other environments and requests with a key do not pause.
			elsewhere := w.Environment()
			_, err := elsewhere.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
			w.Refused(sale.SoldOut, err)
			want++
			buy(false)
			_, err = w.BuyWith("alice", "k")
			w.Refused(sale.AlreadyOrdered, err)
		})
	}
}

func TestARefusalReadDelaysARefusalByThreeTenthsOfASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t) // by whose clock what is remembered stays fresh
		w.Open(1, 1)
		w.Accepted(w.Buy("first"))
		_, err := w.Buy("second")
		w.Refused(sale.SoldOut, err)
		for _, after := range []struct{ delay, took time.Duration }{
			{299 * time.Millisecond, 299 * time.Millisecond}, {time.Minute, 300 * time.Millisecond}, {time.Minute, 0},
		} {
			refusalReads(db, dynamotest.Fault{Delay: after.delay})
			began := time.Now()
			_, err := w.Buy("late")
			if took := time.Since(began); sale.CodeOf(err) != sale.SoldOut || took != after.took {
				t.Errorf("a read of %v: %v after %v, want sold out after %v", after.delay, err, took, after.took)
			}
		}
	})
}

func TestAStaleReadNeverRefuses(t *testing.T) {
	// Eventually consistent reads still show the sale as it was before it was
	// resumed, or restocked: only a consistent one may refuse.
	w, db, _ := faulty(t)
	db.Now, db.Lag = w.Now, time.Minute
	w.Open(1, 1)
	w.Accepted(w.Buy("first"))
	_, err := w.Buy("second")
	w.Refused(sale.SoldOut, err)
	w.Pass(2 * db.Lag) // every read shows this now
	w.Add("s", 1)
	w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "second"}))
}

func TestARefusalThatIsTooOldAfterTheSearchForTheClaimIsBusy(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(1, 1)
	w.Accepted(w.Buy("first"))
	_, err := w.Buy("second")
	w.Refused(sale.SoldOut, err)
	search := func(took time.Duration) {
		db.Fault = dynamotest.On("GetItem", "CLAIM#", func(dynamotest.Call) dynamotest.Fault {
			w.Pass(took)
			return dynamotest.Fault{}
		})
	}
	w.Pass(1300 * time.Millisecond) // the snapshot is fresh
	search(599 * time.Millisecond)
	_, err = w.BuyWith("third", "k")
	w.Refused(sale.SoldOut, err)
	w.Pass(time.Second)
	search(0)
	_, err = w.BuyWith("third", "k") // reads the sale again
	w.Refused(sale.SoldOut, err)
	w.Pass(1300 * time.Millisecond)
	search(600 * time.Millisecond)
	_, err = w.BuyWith("third", "k")
	w.Refused(sale.Busy, err)
	w.Pass(1300 * time.Millisecond)
	if _, err := w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}); err != nil {
		t.Fatal(err)
	}
	search(0)
	w.Accepted(w.BuyWith("third", "k"))
}
