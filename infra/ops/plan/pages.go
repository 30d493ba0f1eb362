package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"time"

	"flashsale/functions/page/assets"
	"flashsale/infra/ops/deploy/price"
	"flashsale/shared/webpage"
)

// A buyer opens the page, signs in and comes back: the HTML is loaded three times (the
// sale's, the sign-in's callback, the sale's again) and its files once, because they may be
// kept. The sale is read at both loads of its page, once more before the opening, and each
// time that a page looks again, the own claim after the sign-in.
const (
	htmlPerBuyer, claimsPerBuyer = 3, 1
	salesPerBuyer                = 3 + int(seen/again)
	// arrival is how long it takes until everybody has opened the page after a message to
	// all, watched how long a page is open before the opening, and seen how long after it.
	arrival, watched, seen = 10 * time.Second, 10 * time.Minute, 15 * time.Minute
	// again is about how often a page that is seen reads a sale that may change.
	again = 75 * time.Second
	// pageTime is about how long PageFunction takes.
	pageTime = 5 * time.Millisecond
	// caches is about how many of CloudFront's regional caches ask the API, each once a
	// second for the sale and once a minute for the HTML.
	caches = 20
)

// shown are the numbers of open pages in the table.
var shown = []int{1_000, 10_000, 100_000}

// filesOfPage is how many scripts, styles and pictures the page loads.
func filesOfPage() int {
	own, err := fs.ReadDir(assets.Files, ".")
	common, failed := fs.ReadDir(webpage.Common, ".")
	if err := errors.Join(err, failed); err != nil {
		panic(err) // the files are part of this program
	}
	return len(own) - 2 + len(common) // without the HTML, and the script that only sales with a draw load
}

// perOpening is how many requests a page makes when it is opened.
func perOpening() int { return 1 + filesOfPage() + 1 }

// crowd is what a number of open pages demands of the API.
type crowd struct {
	rate  float64 // requests a second while they are opened
	usage price.Usage
}

// visitors returns the demand of n buyers' pages.
func visitors(n int, memoryMB int, front bool) crowd {
	people, files := float64(n), float64(filesOfPage())
	pages, sales, claims := people*(htmlPerBuyer+files), people*float64(salesPerBuyer), people*claimsPerBuyer
	all := pages + sales + claims
	c := crowd{rate: people * float64(perOpening()) / arrival.Seconds()}
	if front {
		c.usage.EdgeRequests = all
		pages = min(pages, caches*(watched.Minutes()+files))
		sales = min(sales, caches*(watched+seen).Seconds())
		c.rate = min(c.rate, caches*float64(perOpening()))
	}
	requests := pages + sales + claims
	c.usage.Requests, c.usage.Invocations, c.usage.LogBytes = requests, requests, bytesPerLine*requests
	c.usage.GBSeconds = float64(memoryMB) / 1024 * (pages*pageTime.Seconds() + (sales+claims)*queryTime.Seconds())
	c.usage.ReadUnits = unitsPerPoll * (sales + claims)
	return c
}

// pageRate is how many requests a second Lambda admits to PageFunction, in the environments
// that no function has reserved.
func (a advice) pageRate() float64 {
	return float64(perConcurrency * (a.accountConcurrency() - a.reserved()))
}

// pagesWithoutFront is how many pages may be opened within the arrival time. Beyond that their
// files exceed PageThrottle, which holds for each route by itself, or HTML and files exceed
// pageRate, and the API needs a front. The account's requests a second suffice for as many.
func pagesWithoutFront(a advice) float64 {
	files := float64(filesOfPage())
	return math.Floor(arrival.Seconds() * min(pageRouteRate/files, a.pageRate()/(1+files)))
}

// printPages prints the demand of open pages, with and without a front.
func printPages(out io.Writer, w wish, a advice) {
	_, _ = fmt.Fprintf(out, "\nThe buyer's page (each makes %d requests when it is opened, all are opened within %v, and %d in all with signing in)\n",
		perOpening(), arrival, perOpening()+htmlPerBuyer+salesPerBuyer+claimsPerBuyer-2)
	row := func(pages, rate, cost, frontRate, frontCost string) {
		_, _ = fmt.Fprintf(out, "  %12s %24s %9s %24s %9s\n", pages, rate, cost, frontRate, frontCost)
	}
	row("open pages", "API requests a second", "cost", "API, with a front", "cost")
	for _, n := range shown {
		bare, behind := visitors(n, w.memory, false), visitors(n, w.memory, true)
		dollars := func(c crowd) string { return fmt.Sprintf("$%.2f", price.Sum(price.Bill(c.usage))) }
		row(grouped(float64(n)), grouped(bare.rate), dollars(bare), grouped(behind.rate), dollars(behind))
	}
	_, _ = fmt.Fprintf(out, "  A front is required above %s open pages: PageThrottle admits %s requests for files a second, and Lambda %s to PageFunction, HTML and files, in the environments that are not reserved.\n",
		grouped(pagesWithoutFront(a)), grouped(pageRouteRate), grouped(a.pageRate()))
}
