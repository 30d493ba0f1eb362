package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"flashsale/infra/deploy/price"
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
	// The HTML three times, the sale three times, the claim once.
	all := 10_000 * (7 + files)
	if bare.usage.Requests != all || bare.usage.Invocations != all || bare.usage.EdgeRequests != 0 || behind.usage.EdgeRequests != all {
		t.Errorf("%+v and with a front %+v; want %v requests", bare.usage, behind.usage, all)
	}
	if bare.usage.ReadUnits != 40_000 || math.Abs(bare.usage.GBSeconds-0.5*(10_000*(3+files)*0.005+40_000*0.010)) > 1e-6 {
		t.Errorf("%+v", bare.usage)
	}
	// Behind a front only own claims grow with the crowd.
	more := visitors(100_000, 512, true)
	if grown := more.usage.Requests - behind.usage.Requests; grown != 90_000 || more.rate != behind.rate || more.rate > 1000 {
		t.Errorf("ten times the pages are %v more requests behind a front, %v a second", grown, more.rate)
	}
	if few := visitors(10, 512, true); few.usage.Requests != 10*(7+files) {
		t.Errorf("ten pages are %v requests behind a front: fewer than without cannot be more", few.usage.Requests)
	}
}

func TestAFrontIsRequiredWhereThePagesExceedTheAccount(t *testing.T) {
	for _, a := range []advice{advise(wished(1000, 100, 500)), advise(wished(500_000, 10_000, 50_000))} {
		limit := pagesWithoutFront(a)
		free := float64(perConcurrency * (a.accountConcurrency() - a.concurrency - a.finalizers - reconcilers - releasers))
		if within, above := visitors(int(limit), 512, false).rate, visitors(int(limit)+2, 512, false).rate; within > min(gatewayQuota, free) || above <= min(gatewayQuota, free) {
			t.Errorf("%v pages make %v requests a second and two more %v; the account has %v", limit, within, above, min(gatewayQuota, free))
		}
	}
}

// Deploying does the sum in words.
func TestDeployingHasTheRequestsOfAPage(t *testing.T) {
	text, err := os.ReadFile("../docs/DEPLOYING.md")
	if err != nil {
		t.Fatal(err)
	}
	const pages = 8_000
	rate, files := grouped(visitors(pages, 512, false).rate), grouped(pages*float64(filesOfPage())/arrival.Seconds())
	for _, want := range []string{
		fmt.Sprintf("HTML, files and the sale, %d together. %s pages", perOpening(), grouped(pages)),
		"are " + rate + " requests a second, " + files + " of them for files",
	} {
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("DEPLOYING.md lacks %q", want)
		}
	}
}

func TestTheTableOfPagesHasARowForEachNumber(t *testing.T) {
	var out bytes.Buffer
	list, _ := price.Find("us-east-1", price.Architecture)
	printPages(&out, wished(1000, 100, 500), advise(wished(1000, 100, 500)), list)
	for _, want := range []string{"\n         1,000 ", "\n        10,000 ", "\n       100,000 ", "A front is required above "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	t.Log(out.String())
}
