package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/deploy/price"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// The plan's counts of a payment and of a pass are those of the ledger itself.
func TestPaymentsAndReleasesAreCountedCallByCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)))
		db := dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
		environment := func() *ledger.Ledger { return ledger.New(db, "T", ledger.Options{}) }
		const claims, shards, payers = 300, 20, 10
		l := environment()
		c := sale.Creation{
			SaleID: "wine", Stock: 500, Shards: shards, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), PayWithin: time.Minute,
		}
		if _, err := l.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		refs := make([]ledger.ClaimRef, claims+payers)
		perShard := map[int]int{}
		for i := range refs {
			p, err := l.Purchase(t.Context(), ledger.Request{SaleID: "wine", User: fmt.Sprint("user-", i)})
			if err != nil {
				t.Fatal(err)
			}
			refs[i] = ledger.ClaimRef{SaleID: "wine", User: p.Claim.User, ClaimID: p.Claim.ID}
			if i >= payers {
				perShard[p.Claim.Shard]++
			}
		}
		orders := make([]uint64, len(refs))
		for i, c := range l.Confirm(t.Context(), refs) {
			if c.Err != nil {
				t.Fatal(c.Err)
			}
			orders[i] = c.Order.ID
		}
		for i := range payers {
			db.ResetUsage()
			p := sale.Payment{Provider: "stripe", Reference: fmt.Sprint("pi_", i), SaleID: "wine", OrderID: orders[i], Amount: 1, Currency: "EUR"}
			if _, err := environment().Pay(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			calls := 0
			for _, n := range db.Calls() {
				calls += n
			}
			if writes, reads := db.Consumed(); calls != 3 || writes != unitsToPay || reads > readsToPay {
				t.Fatalf("a payment is %v, %v write and %v read units", db.Calls(), writes, reads)
			}
		}

		time.Sleep(time.Minute)
		db.ResetUsage()
		listing, err := environment().Listing(t.Context(), "wine")
		if err != nil {
			t.Fatal(err)
		}
		done, err := environment().ReleaseDue(t.Context(), listing, 0)
		if err != nil || done.Released != claims || !done.Complete {
			t.Fatalf("got %+v (%v)", done, err)
		}
		calls := 0.0
		for _, n := range db.Calls() {
			calls += float64(n)
		}
		// The claims of a real sale are not spread evenly over the shards.
		extra := 0.0
		for _, n := range perShard {
			extra += math.Ceil(float64(n)/perRelease) - math.Ceil(float64(claims)/shards/perRelease)
		}
		want := released(claims, shards, 512)
		if writes, _ := db.Consumed(); len(perShard) != shards || calls != want.calls+extra || writes != want.usage.WriteUnits+2*extra {
			t.Errorf("a pass is %v calls and %v write units, the plan says %v and %v, and %v transactions more for uneven shards; %v",
				calls, writes, want.calls, want.usage.WriteUnits, extra, db.Calls())
		}
	})
}

func TestReleasesArePrintedWithTheirTimeAndCost(t *testing.T) {
	var out bytes.Buffer
	list, _ := price.Find("us-east-1", price.Architecture)
	printReleases(&out, 512, list)
	for _, want := range []string{
		"1,000 payments", "release of 1,000 claims, 50 shards", "release of 100,000 claims, 1,000 shards", "1m28s", "212,001",
		"release of 1,000,000 claims, 1,000 shards",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
