package system

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/wait"
)

func tooManyUnits(t *testing.T, d *drill) {
	const saleID = "typo-sale"
	d.open(t, saleID, 10_000, 4) // 1,000 were meant
	i := d.meet(t, "a sale has too many units", saleID)
	d.sell(t, saleID, "ada", "ben", "cem")
	i.see()
	i.do(0)
	i.then()
	// The same command again, as by somebody who did not see the answer.
	want := fmt.Sprintf("%s: 9000 of 9000 units were withdrawn earlier under the name typo, and nothing changed now", saleID)
	if out, ok := i.run(i.row.do[0]); !ok || !pattern(want).MatchString(out) {
		t.Errorf("the withdrawal again: %s", out)
	}
	d.sell(t, saleID, "dan")
}

// writeStock writes the stock of a shard as somebody with a console does.
func (d *drill) writeStock(t *testing.T, saleID string, shard, units int) {
	t.Helper()
	_, err := d.db().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table), UpdateExpression: aws.String("SET stock = :n"),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: fmt.Sprintf("STOCK#%s#%d", saleID, shard)},
			"sk": &types.AttributeValueMemberS{Value: "STOCK"},
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: fmt.Sprint(units)}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func stockWrittenByHand(t *testing.T, d *drill) {
	const saleID = "edited-sale"
	d.open(t, saleID, 100, 4)
	d.sell(t, saleID, usersOf(0, 4, 3, "early-")...)
	d.writeStock(t, saleID, 0, 40)
	i := d.meet(t, "somebody wrote a stock by hand", saleID)
	i.see()
	for n := range i.row.do {
		i.do(n)
	}
	i.then()
	if left := d.books(t, saleID).Shards[0].Stock; left != 22 {
		t.Errorf("%d units are left in shard 0, want 22", left)
	}
	d.sell(t, saleID, usersOf(0, 4, 1, "late-")...)
}

func unitsBehindAMark(t *testing.T, d *drill) {
	const saleID = "marked-sale"
	d.open(t, saleID, 100, 4)
	d.sell(t, saleID, usersOf(1, 4, 3, "early-")...)
	// 22 units are taken out by hand, a buyer finds the shard empty, and they are put back.
	d.writeStock(t, saleID, 1, 0)
	wait.Until(t, patience, "the shard is marked empty", func() bool {
		d.sell(t, saleID, usersOf(1, 4, 4, "early-")[3])
		s, err := d.ledgerAgo(0).Sale(t.Context(), saleID)
		if err != nil {
			t.Fatal(err)
		}
		return s.Empty.Has(1)
	})
	d.writeStock(t, saleID, 1, 22)
	i := d.meet(t, "somebody put units back into a shard that was sold out", saleID)
	i.see()
	for n := range i.row.do {
		i.do(n)
	}
	i.then()
	wait.Until(t, patience, "the units sell", func() bool {
		user := usersOf(1, 4, 1, fmt.Sprint("late-", time.Now().UnixNano(), "-"))[0]
		d.sell(t, saleID, user)
		return d.books(t, saleID).Shards[1].Stock < 22
	})
}

func pauseThatMustHold(t *testing.T, d *drill) {
	const saleID = "paused-sale"
	d.open(t, saleID, 10, 4)
	d.sell(t, saleID, "first")
	// A schedule has resumed it, and may deliver that again.
	resume := map[string]any{"action": "resume", "saleId": saleID, "at": time.Now().Add(50 * time.Second).UTC().Format(time.RFC3339)}
	if err := d.client.Ask(t.Context(), client.SeedFunction, resume, nil); err != nil {
		t.Fatal(err)
	}
	i := d.meet(t, "a sale must stop, and another edit of it stands or is about to come", saleID)
	i.see()
	i.do(0)
	if err := d.client.Ask(t.Context(), client.SeedFunction, resume, nil); err == nil {
		t.Error("the older resumption applied again")
	}
	for n := range 8 { // an environment that remembers the sale as open is refused by each shard
		var a client.Answer
		wait.Until(t, patience, "an answer other than busy", func() bool {
			a = d.buy(t, saleID, fmt.Sprint("early-", n))
			return a.Code != "busy"
		})
		if a.Status != 503 || a.Code != "sale-paused" {
			t.Errorf("while it is paused a buyer is told %v", a)
		}
	}
	i.do(1)
	i.then()
	d.sell(t, saleID, "second")
}

// stopDuringACrowd pauses a sale while more buyers send requests than this machine can answer.
func stopDuringACrowd(t *testing.T, d *drill) {
	const saleID, buyers = "crowded-sale", 48
	d.open(t, saleID, 100_000, 8)
	crowd, leave := context.WithCancel(t.Context())
	defer leave()
	var buying sync.WaitGroup
	for n := range buyers {
		buying.Go(func() {
			for i := 0; crowd.Err() == nil; i++ {
				user := fmt.Sprint("user-", n, "-", i)
				if token, err := d.client.Token(crowd, user); err == nil {
					_, _ = d.purchase(t, saleID, user, token) // what is accepted is remembered
				}
			}
		})
	}
	wait.Until(t, patience, "the crowd buys", func() bool { return len(d.books(t, saleID).Claims) > buyers })
	i := d.meet(t, "a sale must stop while a crowd is buying", saleID)
	i.see()
	i.do(0)
	stopped := len(d.books(t, saleID).Claims)
	time.Sleep(time.Second)
	if n := len(d.books(t, saleID).Claims); n != stopped {
		t.Errorf("%d units were sold after the confirmation", n-stopped)
	}
	i.do(1)
	leave()
	buying.Wait()
	i.then()
}

func goodsAreDefective(t *testing.T, d *drill) {
	const saleID = "defective-sale"
	d.openUnpaid(t, saleID, time.Hour)
	d.sell(t, saleID, "ada", "ben")
	if a := d.pay(t, saleID, d.order(t, saleID, "ada")); a.Status != http.StatusOK {
		t.Fatalf("the payment: %v", a)
	}
	i := d.meet(t, "a sale's goods must not be delivered", saleID)
	i.see()
	i.do(0)
	for n := range 4 {
		if a := d.buy(t, saleID, fmt.Sprint("late-", n)); a.Code != "recalled" && a.Code != "sale-paused" {
			t.Errorf("a buyer is told %v", a)
		}
	}
	wait.Until(t, patience, "ReleaseFunction, called by hand, ends what the recall left", func() bool {
		var a struct{ Passes []struct{ Complete bool } }
		err := d.client.Ask(t.Context(), client.ReleaseFunction, map[string]string{"saleId": saleID}, &a)
		return err == nil && len(a.Passes) == 1 && a.Passes[0].Complete // it is refused while the schedule's own run goes on
	})
	i.then()
	if out, ok := i.run(i.row.do[0]); !ok || !strings.Contains(out, "and nothing changed now") {
		t.Errorf("the recall again: %s", out)
	}
}

func lateSeeding(t *testing.T, d *drill) {
	const saleID = "late-sale"
	late := client.Sale{ID: saleID, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(-5 * time.Minute), Stock: 100, Shards: 4}
	d.create(t, late)
	i := d.meet(t, "a sale was seeded when its window was over, or twice", saleID)
	d.create(t, late)
	if a := d.buy(t, saleID, "early"); a.Code != "sale-closed" {
		t.Errorf("a buyer is told %v", a)
	}
	i.see()
	i.do(0)
	i.then()
	d.create(t, late) // once more, after the cure
	d.sell(t, saleID, "ada", "ben")
	if b := d.books(t, saleID); b.Seeded != 100 || b.Stock() != 98 {
		t.Errorf("%d seeded and %d left, want 100 and 98", b.Seeded, b.Stock())
	}
}

func complaintOfASoldOut(t *testing.T, d *drill) {
	const saleID = "small-sale"
	d.open(t, saleID, 1, 1)
	d.sell(t, saleID, "first")
	wait.Until(t, patience, "the sale is sold out", func() bool { return d.buy(t, saleID, "alice").Code == "sold-out" })
	i := d.meet(t, "you were sold out, and then others got some", saleID)
	added := map[string]any{"action": "add", "saleId": saleID, "seedId": "second-batch", "stock": 50}
	if err := d.client.Ask(t.Context(), client.SeedFunction, added, nil); err != nil {
		t.Fatal(err)
	}
	d.sell(t, saleID, "second")
	i.see()
	i.end()
}

func complaintOfAnUnknown(t *testing.T, d *drill) {
	const saleID = "case-sale"
	d.open(t, saleID, 10, 1)
	d.sell(t, saleID, "alice")
	i := d.meet(t, "I bought, and you say that I did not", saleID)
	i.see()
	i.end()
}

func complaintOfAPending(t *testing.T, d *drill) {
	const saleID = "waiting-sale"
	d.open(t, saleID, 10, 1)
	d.strand(t, saleID, "bob", 20*time.Second)
	i := d.meet(t, "my order has no number", saleID)
	i.see()
	i.begun = time.Now()
	wait.Until(t, patience, "reconcile, called by hand, sends the message again", func() bool {
		// It is refused while the schedule's own run goes on, and changes nothing before the message is due.
		_ = d.client.Ask(t.Context(), client.ReconcileFunction, map[string]string{"saleId": saleID}, nil)
		return len(d.books(t, saleID).Unfinished()) == 0
	})
	i.then() // the runbook has nothing more
}
