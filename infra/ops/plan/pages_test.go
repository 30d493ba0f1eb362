package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/deploy/demand"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestPagesAreCountedRequestByRequest(t *testing.T) {
	files := float64(filesOfPage())
	if files < 3 {
		t.Fatalf("the page loads %v files", files)
	}
	bare, behind := visitors(10_000, 512, false), visitors(10_000, 512, true)
	// The HTML, its files and the sale, by each of 10,000 within ten seconds.
	if want := 1000 * (2 + files); bare.rate != want {
		t.Errorf("%v requests a second, want %v", bare.rate, want)
	}
	// The HTML three times, the sale 15 times, the claim once.
	all := 10_000 * (19 + files)
	if bare.usage.Requests != all || bare.usage.Invocations != all || bare.usage.EdgeRequests != 0 || behind.usage.EdgeRequests != all {
		t.Errorf("%+v and with a front %+v; want %v requests", bare.usage, behind.usage, all)
	}
	if bare.usage.ReadUnits != 160_000 || math.Abs(bare.usage.GBSeconds-0.5*(10_000*(3+files)*0.005+160_000*0.010)) > 1e-6 {
		t.Errorf("%+v", bare.usage)
	}
	// Behind a front only own claims grow with the crowd.
	more := visitors(100_000, 512, true)
	if grown := more.usage.Requests - behind.usage.Requests; grown != 90_000 || more.rate != behind.rate || more.rate > 1000 {
		t.Errorf("ten times the pages are %v more requests behind a front, %v a second", grown, more.rate)
	}
	if few := visitors(10, 512, true); few.usage.Requests != 10*(19+files) {
		t.Errorf("ten pages are %v requests behind a front: fewer than without cannot be more", few.usage.Requests)
	}
}

func TestAFrontIsRequiredWhereARouteOrLambdaRefusesPages(t *testing.T) {
	files := float64(filesOfPage())
	for _, c := range []struct {
		name        string
		wish        wish
		files, page float64 // requests a second that the files' route and PageFunction take
	}{
		{"a small sale: PageRateLimit", wished(1000, 100, 500), pageRouteRate, 8600},
		{"a large sale: the environments that cannot be reserved", wished(500_000, 10_000, 50_000), pageRouteRate, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := advise(c.wish)
			limit := pagesWithoutFront(a)
			fits := func(pages float64) bool {
				return pages*files/arrival.Seconds() <= c.files && pages*(1+files)/arrival.Seconds() <= c.page
			}
			if !fits(limit) || fits(limit+1) {
				t.Errorf("a front is required above %v pages of %v files", limit, files)
			}
			if rate := visitors(int(limit), 512, false).rate; rate > gatewayQuota {
				t.Errorf("%v pages make %v requests a second, more than the account takes", limit, rate)
			}
		})
	}
}

// Deploying does the sum in words, with the template's defaults.
func TestDeployingHasTheRequestsOfAPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/DEPLOYING.md")
	if err != nil {
		t.Fatal(err)
	}
	d, err := demand.Read("../../../template.yaml", "us-east-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	route, free := float64(defaultOf(d, "PageRateLimit")), lambdaQuota
	for _, f := range d.Functions {
		free -= f.Reserved
	}
	const pages = 2_000
	rate := func(pages float64) (all, files float64) {
		return visitors(int(pages), 512, false).rate, pages * float64(filesOfPage()) / arrival.Seconds()
	}
	all, files := rate(pages)
	if more, moreFiles := rate(pages + 1000); files > route || all > float64(perConcurrency*free) || moreFiles <= route && more <= float64(perConcurrency*free) {
		t.Errorf("%v pages make %v requests a second, %v for files; a route takes %v and Lambda %v", pages, all, files, route, perConcurrency*free)
	}
	for _, want := range []string{
		fmt.Sprintf("HTML, files and the sale, %d together. %s pages", perOpening(), grouped(pages)),
		"are " + grouped(all) + " requests a second, " + grouped(files) + " of them for files",
		"`PageRateLimit` admits " + grouped(route) + " of those",
		"in the " + grouped(float64(free)) + " environments",
		"up to " + grouped(pages) + " pages without a front",
	} {
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("DEPLOYING.md lacks %q", want)
		}
	}
}

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
