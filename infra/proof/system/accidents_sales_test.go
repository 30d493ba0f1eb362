package system

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/client"
	"flashsale/shared/ledger"
)

func tooManyUnits(d drill) {
	const saleID = "typo-sale"
	d.open(saleID, 10_000, 4) // 1,000 were meant
	i := d.meet("a sale has too many units", saleID)
	d.sell(saleID, "ada", "ben", "cem")
	i.follow()
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
	i.follow()
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
	i.follow()
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
	d.sell(saleID, "ben")
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
	i.follow()
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
	d.eventually("reconcile, called by hand, sends the message again", func() bool {
		// It is refused while the schedule's own run goes on, and changes nothing before the message is due.
		_ = d.client.Ask(d.t.Context(), client.ReconcileFunction, map[string]string{"saleId": saleID}, nil)
		return len(d.books(saleID).Unfinished()) == 0
	})
	i.then() // the runbook has nothing more
}

// drawn is what the table has of a sale's draw.
func (d drill) drawn(saleID string) ledger.Draw {
	d.t.Helper()
	book := d.ledgerAgo(0)
	s, err := book.Sale(d.t.Context(), saleID)
	var shown ledger.Draw
	if err == nil {
		shown, err = book.Draw(d.t.Context(), s)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return shown
}

// untilDrawn calls DrawFunction by hand until the draw is so far.
func (d drill) untilDrawn(saleID, what string, isSo func(ledger.Draw) bool) ledger.Draw {
	d.t.Helper()
	go func() { // a run waits for the steps that come due while it lasts
		_ = d.client.Ask(d.t.Context(), client.DrawFunction, map[string]string{"saleId": saleID}, nil)
	}()
	var shown ledger.Draw
	d.eventually(what, func() bool {
		shown = d.drawn(saleID)
		return isSo(shown)
	})
	return shown
}

// drawIsInTrouble takes a draw of one unit through a failure of the dice and a pause in a call, to
// the complaint of the one who was not drawn.
func drawIsInTrouble(d drill) {
	const saleID = "drawn-sale"
	until := time.Now().Add(3 * time.Second).Truncate(time.Second)
	opens := until.Add(drawTimes.Lead())
	closes := opens.Add(2 * time.Hour)
	d.create(client.Sale{
		ID: saleID, OpensAt: opens, ClosesAt: closes, Stock: 1, Shards: 1, EnterFrom: until.Add(-time.Hour), EnterUntil: until, KeepFor: time.Hour,
	})
	nonces := map[string]string{}
	for _, user := range []string{"ada", "ben"} {
		var receipt struct{ Nonce string }
		if a, err := d.client.Enter(d.t.Context(), saleID, d.token(user)); err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, &receipt) != nil {
			d.t.Fatalf("%s enters: %v, %v", user, a, err)
		}
		nonces[user] = receipt.Nonce
	}
	time.Sleep(time.Until(until.Add(drawTimes.Settle)))
	closed := d.untilDrawn(saleID, "the roll is closed", func(s ledger.Draw) bool { return s.IsClosed() })

	// The relays that the parameter names are asked for quicknet's round of this number, which was
	// signed years ago, so the alarm need not be waited for.
	d.killStack() // a run is waiting for the round
	d.start("-parameter", "DrawRelays=http://127.0.0.1:9")
	late := d.meet("the dice are late, because no relay answers", saleID)
	_ = d.client.Ask(d.t.Context(), client.DrawFunction, map[string]string{"saleId": saleID}, nil) // refused while the schedule's run goes on
	late.see()
	d.stop()
	late.do(0)
	called := d.untilDrawn(saleID, "somebody is called", func(s ledger.Draw) bool { return len(s.Calls) == 1 && s.Calls[0].Complete })
	late.then()
	if called.Roll != closed.Roll || called.Round != closed.Round {
		d.t.Errorf("the roll %s was to be decided by round %d, and %s was by %d", closed.Roll, closed.Round, called.Roll, called.Round)
	}

	paused := d.meet("a sale with a draw was paused during a call", saleID)
	d.change(map[string]any{"action": "pause", "saleId": saleID})
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	paused.own("2026-11-11T12:00:00Z", stamp(opens), "2026-11-12T12:00:00Z", stamp(closes), "2026-11-11T20:00:00Z", stamp(opens.Add(90*time.Minute)))
	paused.see()
	paused.do(0)
	paused.do(1)
	paused.then()

	time.Sleep(time.Until(called.Calls[0].From))
	winner, loser := "ada", "ben"
	d.eventually("one of them buys", func() bool {
		if d.buy(saleID, winner).Status == http.StatusAccepted {
			return true
		}
		winner, loser = loser, winner
		return false
	})
	undrawn := d.meet("I entered and was never called", saleID)
	undrawn.own("alice", loser, strings.Repeat("5f", 32), nonces[loser])
	undrawn.see()
	undrawn.end()
}

func complaintOfASecondSize(d drill) {
	const saleID = "size-39-sale"
	for _, id := range []string{saleID, "size-40-sale"} {
		d.change(map[string]any{
			"action": "create", "saleId": id, "stock": 5, "shards": 1, "limitGroup": "shoe",
			"opensAt": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), "closesAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		})
	}
	d.sell("size-40-sale", "alice")
	i := d.meet("I cannot order my size", saleID)
	i.see()
	i.end()
}
