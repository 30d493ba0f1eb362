package plan

import (
	"io/fs"
	"math"
	"regexp"
	"time"

	"flashsale/functions/page/assets"
	"flashsale/infra/ops/deploy/price"
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

// referred is a file that the page's HTML refers to: the words of one language, and its scripts are joined.
var referred = regexp.MustCompile(`(?:href|src)="(?:/assets/|{{asset)`)

// filesOfPage is how many scripts, styles and pictures the page loads, but for those that few sales need.
func filesOfPage() float64 {
	html, err := fs.ReadFile(assets.Files, "page.html")
	if err != nil {
		panic(err) // the file is part of this program
	}
	return float64(len(referred.FindAll(html, -1)))
}

// pagesOf is what the pages of so many buyers use.
func pagesOf(people float64, front bool) (u price.Usage) {
	files := filesOfPage()
	pages, sales, claims := people*(htmlPerBuyer+files), people*float64(salesPerBuyer), people*claimsPerBuyer
	if front {
		u.EdgeRequests = pages + sales + claims
		pages = min(pages, caches*(watched.Minutes()+files))
		sales = min(sales, caches*(watched+seen).Seconds())
	}
	u.Requests = pages + sales + claims
	u.Invocations, u.LogBytes = u.Requests, bytesPerLine*u.Requests
	u.GBSeconds = price.Memory / 1024.0 * (pages*pageTime.Seconds() + (sales+claims)*queryTime.Seconds())
	u.ReadUnits = sales + claims
	return u
}

// pageRate is how many requests a second Lambda admits to PageFunction, in the environments
// that no function has reserved and QueryFunction does not need.
func (a advice) pageRate() float64 {
	return float64(perConcurrency * (a.accountConcurrency() - a.reserved() - a.queries))
}

// pagesWithoutFront is how many pages may be opened within the arrival time. Beyond that their
// files exceed pageRouteRate, which holds for each route by itself, or HTML and files exceed
// pageRate, and the API needs a front. The account's requests a second suffice for as many.
func (a advice) pagesWithoutFront() float64 {
	files := filesOfPage()
	return math.Floor(arrival.Seconds() * min(pageRouteRate/files, a.pageRate()/(1+files)))
}
