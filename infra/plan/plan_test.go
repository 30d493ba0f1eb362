package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/infra/model"
)

func wished(users int, stock int64, peak float64) wish {
	return wish{users: users, stock: stock, peak: peak, window: 10 * time.Millisecond, latency: 20 * time.Millisecond, memory: 512, seed: 1}
}

func TestAdviceFollowsTheDemandUpToWhatLimitsIt(t *testing.T) {
	for _, c := range []struct {
		name           string
		wish           wish
		shards, writes int
		limitedBy      string
	}{
		{"a small sale has a tenth as many shards as units", wished(1000, 100, 500), 10, 4000, "the shards"},
		{"one unit has one shard", wished(1000, 1, 500), 1, 4000, "the shards"},
		{"a rate has a shard for 20 orders a second", wished(100_000, 10_000, 1000), 50, 11_000, "the shards"},
		{"a peak beyond the table's quota is planned for the quota", wished(500_000, 10_000, 50_000), 285, 40_000, "the table's quota"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := advise(c.wish)
			if a.limitedBy == c.limitedBy && a.shards == c.shards && a.warmWrites == c.writes {
				return
			}
			t.Errorf("%d shards, %d writes, limited by %s; want %d, %d, %s", a.shards, a.warmWrites, a.limitedBy, c.shards, c.writes, c.limitedBy)
		})
	}
}

func TestAWiderWindowNeedsMoreShards(t *testing.T) {
	w := wished(100_000, 100_000, 1000)
	w.window = 25 * time.Millisecond
	if got := advise(w).shards; got != 125 {
		t.Errorf("%d shards, want 1,000 orders/s × 25 ms ÷ 0.2 = 125", got)
	}
}

func TestTheThrottleLetsThePeakInAndNoMoreThanTheFunctionsTake(t *testing.T) {
	for _, w := range []wish{wished(1000, 100, 5), wished(100_000, 10_000, 1000), wished(500_000, 10_000, 50_000)} {
		a := advise(w)
		if most := float64(a.concurrency) * perConcurrency; a.throttle < w.peak || a.throttle > most {
			t.Errorf("a peak of %g: the gateway lets in %g, Lambda %g", w.peak, a.throttle, most)
		}
	}
}

func TestQuotasBelowThePeakAreNamed(t *testing.T) {
	if got := advise(wished(1000, 100, 500)).quotas; len(got) != 0 {
		t.Errorf("a small sale: %v, want none", got)
	}
	all := strings.Join(advise(wished(500_000, 10_000, 50_000)).quotas, "\n")
	for _, service := range []string{"API Gateway", "Lambda", "DynamoDB"} {
		if !strings.Contains(all, service) {
			t.Errorf("quotas to raise: %q does not name %s", all, service)
		}
	}
}

func TestArgumentsOutOfRangeAreRefused(t *testing.T) {
	for _, arguments := range []string{
		"", "-users 0 -stock 1 -peak 1", "-users 1 -stock 0 -peak 1", "-users 1 -stock 1 -peak 0", "-users 1 -stock 1 -peak NaN",
		"-users 1 -stock 1 -peak 1 -w 1s", "-users 1 -stock 1 -peak 1 -latency 0s", "-users 1 -stock 1 -peak 1 -memory 64",
		"-users 1 -stock 1 -peak 1 more", "-users x",
	} {
		if _, _, err := parse(strings.Fields(arguments), io.Discard); err == nil {
			t.Errorf("%q: no error", arguments)
		}
	}
}

func TestAPlanIsPrintedAndDrawn(t *testing.T) {
	w := wished(3000, 200, 400)
	chart := filepath.Join(t.TempDir(), "charts", "plan.html")
	var out, progress bytes.Buffer
	if err := run(t, w, output{out: &out, progress: &progress, chart: chart}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"shards", "WarmWriteUnitsPerSecond", "PurchaseRateLimit", "sold out after", "winners", "losers", "conflicts", "give-ups", "per 1,000 orders", chart} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the plan says nothing of %q:\n%s", part, out.String())
		}
	}
	if !strings.Contains(progress.String(), "100 % of the units sold") {
		t.Errorf("progress: %q", progress.String())
	}
	drawing, err := os.ReadFile(chart)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(drawing, []byte("<polyline")); n != 4 || bytes.Contains(drawing, []byte("http")) {
		t.Errorf("the chart has %d curves, want 4 and nothing from elsewhere", n)
	}
}

func TestForMachinesItIsOneObjectWithTheAgreedKeys(t *testing.T) {
	var out bytes.Buffer
	o := output{json: true, out: &out, progress: io.Discard, chart: filepath.Join(t.TempDir(), "plan.html")}
	if err := run(t, wished(2000, 100, 300), o); err != nil {
		t.Fatal(err)
	}
	var got map[string]float64
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	want := []string{
		"shards", "buckets", "warmWrites", "concurrency", "ordersPerSecond", "limitOrdersPerSecond", "secondsToSellOut",
		"winnersP99Ms", "losersP99Ms", "conflictRate", "giveUps", "writeUnits", "dollars", "dollarsPer1000Orders",
	}
	for _, key := range want {
		if _, ok := got[key]; !ok {
			t.Errorf("no %s", key)
		}
	}
	if len(got) != len(want) || got["secondsToSellOut"] <= 0 || got["dollars"] <= 0 || got["writeUnits"] < 600 {
		t.Errorf("got %v", got)
	}
}

func TestTheBillCountsWhatAWSCounts(t *testing.T) {
	r := &model.Result{Config: model.Config{MemoryMB: 1024}, WriteUnits: 2e6, ReadUnits: 8e6}
	r.Invocations, r.QueueCalls, r.Busy = 1e6, 1e6, 1000*time.Second
	want := map[string]float64{"HTTP API requests": 1, "Lambda": 0.2133334, "DynamoDB writes": 1.25, "DynamoDB reads": 1, "SQS": 0.4}
	for _, c := range bill(r, advice{}) {
		if w, ok := want[c.what]; ok && (c.dollars < 0.999*w || c.dollars > 1.001*w) {
			t.Errorf("%s: $%.4f, want $%.4f", c.what, c.dollars, w)
		}
	}
}

func TestThousandsAreGrouped(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := grouped(x); got != want {
			t.Errorf("%g: %s, want %s", x, got, want)
		}
	}
}
