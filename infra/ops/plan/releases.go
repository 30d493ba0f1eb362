package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"flashsale/infra/ops/deploy/price"
	"flashsale/shared/sale"
)

// What the functions do for a sale that asks for payment. A test counts it over the
// in-process table.
const (
	// A payment is a request that reads the order, the sale and, in vain, the payment's guard
	// and refunds, and writes the claim and the guard in a transaction.
	unitsToPay, readsToPay = 4, 5
	// perRelease is how many claims one transaction releases.
	perRelease = 25
	// bytesOfClaim is about the size of a confirmed claim; pages have a megabyte.
	bytesOfClaim, bytesOfPage = 150.0, 1 << 20
	// writers is how many transactions of different shards release at once.
	writers = 16
	// What a call of a pass takes, assumed: a page of claims, a transaction of 26 items,
	// and one that puts units of a shard back.
	pageRead, releaseTime, putBackTime = 150 * time.Millisecond, 40 * time.Millisecond, 40 * time.Millisecond
)

// pass is what releasing a number of claims that are all due takes.
type pass struct {
	calls float64
	took  time.Duration
	usage price.Usage
}

// released returns, as if it were not cut off, a pass over a sale of that many claims, none of them paid.
func released(claims, shards, memoryMB int) pass {
	n, k := float64(claims), float64(shards)
	buckets := math.Ceil(k / 4)
	pages := buckets * math.Ceil(n/buckets*bytesOfClaim/bytesOfPage)
	rounds := math.Ceil(n / k / perRelease) // of a shard, one after the other
	transactions := rounds * min(k, n)
	getShards := 2 * math.Ceil(k/100) // 100 shards a call, before and after
	p := pass{calls: 3 + getShards + pages + transactions + k}
	p.took = time.Duration(pages)*pageRead + time.Duration(rounds*math.Ceil(k/writers))*releaseTime + time.Duration(k)*putBackTime
	p.usage.WriteUnits = 2*(n+transactions) + 4*k + 1
	p.usage.ReadUnits = 2 + 2*k + n*bytesOfClaim/4096
	p.usage.GBSeconds = float64(memoryMB) / 1024 * p.took.Seconds()
	return p
}

// paid returns what that many payments use.
func paid(orders, memoryMB int) (u price.Usage) {
	n := float64(orders)
	u.Requests, u.Invocations, u.LogBytes = n, n, n*bytesPerLine
	u.WriteUnits, u.ReadUnits = n*unitsToPay, n*readsToPay
	u.GBSeconds = float64(memoryMB) / 1024 * n * queryTime.Seconds()
	return u
}

// due are the numbers of claims in the table, each with the shards of such a sale.
var due = []struct{ claims, shards int }{{1_000, 50}, {100_000, sale.MaxShards}, {1_000_000, sale.MaxShards}}

// printReleases prints what a sale that asks for payment needs more.
func printReleases(out io.Writer, memoryMB int, list price.List) {
	_, _ = fmt.Fprintf(out, "\nA sale that asks for payment (payWithin); a page of claims takes %v, a transaction %v\n", pageRead, releaseTime)
	row := func(what, calls, units, took, cost string) {
		_, _ = fmt.Fprintf(out, "  %-44s %8s %12s %8s %8s\n", what, calls, units, took, cost)
	}
	dollars := func(u price.Usage) string { return fmt.Sprintf("$%.4f", price.Sum(price.Bill(list, u))) }
	row("", "calls", "write units", "time", "cost")
	row("1,000 payments", grouped(3*1000), grouped(paid(1000, memoryMB).WriteUnits), "-", dollars(paid(1000, memoryMB)))
	for _, d := range due {
		p := released(d.claims, d.shards, memoryMB)
		row(fmt.Sprintf("release of %s claims, %s shards", grouped(float64(d.claims)), grouped(float64(d.shards))),
			grouped(p.calls), grouped(p.usage.WriteUnits), p.took.Round(time.Second).String(), dollars(p.usage))
	}
	_, _ = fmt.Fprintln(out, "  A run of ReleaseFunction ends after 2 minutes, and the next one continues within a minute.")
}
