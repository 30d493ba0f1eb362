package system

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/client"
)

func tooManyUnits(d drill) {
	const saleID = "typo-sale"
	d.open(saleID, 10_000, 4) // 1,000 were meant
	i := d.meet("a sale has too many units", saleID)
	d.sell(saleID, "ada", "ben", "cem")
	i.see()
	i.do(0)
	i.then()
	d.sell(saleID, "dan")
}

// writeStock writes the stock of a shard as somebody with a console does.
func (d drill) writeStock(saleID string, shard, units int) {
	d.t.Helper()
	_, err := d.db().UpdateItem(d.t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table), UpdateExpression: aws.String("SET stock = :n"),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: fmt.Sprintf("STOCK#%s#%d", saleID, shard)},
			"sk": &types.AttributeValueMemberS{Value: "STOCK"},
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: fmt.Sprint(units)}},
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func stockWrittenByHand(d drill) {
	const saleID = "edited-sale"
	d.open(saleID, 100, 4)
	d.sell(saleID, usersOf(0, 4, 3, "early-")...)
	d.writeStock(saleID, 0, 40)
	i := d.meet("somebody wrote a stock by hand", saleID)
	i.see()
	i.doAll()
	i.then()
	d.sell(saleID, usersOf(0, 4, 1, "late-")...)
}

func unitsBehindAMark(d drill) {
	const saleID = "marked-sale"
	d.open(saleID, 100, 4)
	d.sell(saleID, usersOf(1, 4, 3, "early-")...)
	// 22 units are taken out by hand, a buyer finds the shard empty, and they are put back.
	d.writeStock(saleID, 1, 0)
	d.eventually("the shard is marked empty", func() bool {
		d.sell(saleID, usersOf(1, 4, 4, "early-")[3])
		s, err := d.ledgerAgo(0).Sale(d.t.Context(), saleID)
		if err != nil {
			d.t.Fatal(err)
		}
		return s.Empty.Has(1)
	})
	d.writeStock(saleID, 1, 22)
	i := d.meet("somebody put units back into a shard that was sold out", saleID)
	i.see()
	i.doAll()
	i.then()
	d.sell(saleID, usersOf(1, 4, 1, "late-")...)
}

func pauseThatMustHold(d drill) {
	const saleID = "paused-sale"
	d.open(saleID, 10, 4)
	d.sell(saleID, "first")
	// A schedule has resumed it, and may deliver that again.
	resume := map[string]any{"action": "resume", "saleId": saleID, "at": time.Now().Add(50 * time.Second).UTC().Format(time.RFC3339)}
	d.change(resume)
	i := d.meet("a sale must stop, and another edit of it stands or is about to come", saleID)
	i.see()
	i.do(0)
	if err := d.client.Ask(d.t.Context(), client.SeedFunction, resume, nil); err == nil {
		d.t.Error("the older resumption applied again")
	}
	i.do(1)
	i.then()
	d.sell(saleID, "second")
}

// stopDuringACrowd pauses a sale while more buyers send requests than this machine can answer.
func stopDuringACrowd(d drill) {
	const saleID, buyers = "crowded-sale", 48
	d.open(saleID, 100_000, 8)
	crowd, leave := context.WithCancel(d.t.Context())
	defer leave()
	var buying sync.WaitGroup
	for n := range buyers {
		buying.Go(func() {
			for i := 0; crowd.Err() == nil; i++ {
				user := fmt.Sprint("user-", n, "-", i)
				_, _ = d.purchase(crowd, saleID, user) // what is accepted is remembered
			}
		})
	}
	d.eventually("the crowd buys", func() bool { return len(d.books(saleID).Claims) > buyers })
	i := d.meet("a sale must stop while a crowd is buying", saleID)
	i.see()
	i.do(0)
	stopped := len(d.books(saleID).Claims)
	time.Sleep(time.Second)
	if n := len(d.books(saleID).Claims); n != stopped {
		d.t.Errorf("%d units were sold after the confirmation", n-stopped)
	}
	i.do(1)
	leave()
	buying.Wait()
	i.then()
}

func goodsAreDefective(d drill) {
	const saleID = "defective-sale"
	d.openUnpaid(saleID, time.Hour)
	d.sell(saleID, "ada", "ben")
	d.pay(saleID, d.order(saleID, "ada"), http.StatusOK)
	i := d.meet("a sale's goods must not be delivered", saleID)
	i.see()
	i.do(0)
	d.eventually("ReleaseFunction, called by hand, ends what the recall left", func() bool {
		var a struct{ Passes []struct{ Complete bool } }
		err := d.client.Ask(d.t.Context(), client.ReleaseFunction, map[string]string{"saleId": saleID}, &a)
		return err == nil && len(a.Passes) == 1 && a.Passes[0].Complete // it is refused while the schedule's own run goes on
	})
	i.then()
}

func lateSeeding(d drill) {
	const saleID = "late-sale"
	late := client.Sale{ID: saleID, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(-5 * time.Minute), Stock: 100, Shards: 4}
	d.create(late)
	i := d.meet("a sale was seeded when its window was over, or twice", saleID)
	d.create(late)
	i.see()
	i.do(0)
	i.then()
	d.sell(saleID, "ada", "ben")
}

func complaintOfASoldOut(d drill) {
	const saleID = "small-sale"
	d.open(saleID, 1, 1)
	d.sell(saleID, "first")
	d.eventually("the sale is sold out", func() bool { return d.buy(saleID, "alice").Code == "sold-out" })
	i := d.meet("you were sold out, and then others got some", saleID)
	d.change(map[string]any{"action": "add", "saleId": saleID, "seedId": "second-batch", "stock": 50})
	d.sell(saleID, "second")
	i.see()
	i.end()
}

func complaintOfAnUnknown(d drill) {
	const saleID = "case-sale"
	d.open(saleID, 10, 1)
	d.sell(saleID, "alice")
	i := d.meet("I bought, and you say that I did not", saleID)
	i.see()
	i.end()
}

func complaintOfAPending(d drill) {
	const saleID = "waiting-sale"
	d.open(saleID, 10, 1)
	d.strand(saleID, "bob", 20*time.Second)
	i := d.meet("my order has no number", saleID)
	i.see()
	i.begun = time.Now()
	d.eventually("reconcile, called by hand, sends the message again", func() bool {
		// It is refused while the schedule's own run goes on, and changes nothing before the message is due.
		_ = d.client.Ask(d.t.Context(), client.ReconcileFunction, map[string]string{"saleId": saleID}, nil)
		return len(d.books(saleID).Unfinished()) == 0
	})
	i.then() // the runbook has nothing more
}
