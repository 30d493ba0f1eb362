package main

import (
	"testing"
)

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
