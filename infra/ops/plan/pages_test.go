package main

import (
	"math"
	"testing"
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
		{"a small sale: PageThrottle", wished(1000, 100, 500), pageRouteRate, 8600},
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
