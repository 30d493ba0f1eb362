package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/samconfig"
	"flashsale/infra/ops/deploy/demand"
	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/model"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func wished(users int, stock int64, peak float64) wish {
	return wish{users: users, stock: stock, peak: peak, window: 10 * time.Millisecond, latency: 20 * time.Millisecond, memory: 512, writes: tableQuota, seed: 1, region: "us-east-1"}
}

func TestAdviceFollowsTheDemandUpToWhatLimitsIt(t *testing.T) {
	wider := wished(100_000, 100_000, 1000)
	wider.window = 25 * time.Millisecond
	for _, c := range []struct {
		name           string
		wish           wish
		shards, writes int
	}{
		{"a small sale has a tenth as many shards as units", wished(1000, 100, 500), 10, 4000},
		{"one unit has one shard", wished(1000, 1, 500), 1, 4000},
		{"a rate has a shard for 20 orders a second", wished(100_000, 10_000, 1000), 50, 11_000},
		{"with a wider window for 1,000 orders a second × 25 ms ÷ 0.2", wider, 125, 11_000},
		{"a peak beyond the table's quota is planned for the quota", wished(500_000, 10_000, 50_000), 285, 40_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := advise(c.wish)
			if a.shards != c.shards || a.warmWrites != c.writes {
				t.Errorf("%d shards, %d writes; want %d, %d", a.shards, a.warmWrites, c.shards, c.writes)
			}
		})
	}
}

func TestASaleOfAGroupNeedsHalfAsMuchAgainForEachTry(t *testing.T) {
	w := wished(5000, 2000, 500)
	units := map[bool]float64{}
	for _, grouped := range []bool{false, true} {
		w.grouped = grouped
		a := advise(w)
		r, err := model.In(t, scene(w, a, nil))
		if err != nil || r.Left > 0 {
			t.Fatalf("%d units left (%v)", r.Left, err)
		}
		units[grouped] = r.WriteUnits / float64(w.stock)
	}
	if most := units[false] + 3.5; units[true] < units[false]+2 || units[true] > most {
		t.Errorf("%.2f write units for an order in a group, %.2f elsewhere", units[true], units[false])
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
	if strings.Contains(all, "burst") {
		t.Errorf("quotas to raise: %q names a burst, which AWS raises for nobody", all)
	}
}

func TestReadsOfTheSalesPageBeyondTheTableAreNamed(t *testing.T) {
	crowd := wished(500_000, 10_000, 50_000)
	behind := crowd
	behind.front = true
	for _, c := range []struct {
		name   string
		wish   wish
		reads  float64
		excess bool
	}{
		{"seven environments and ten shards", wished(1000, 100, 500), 42, false},
		{"680 environments and a hundred of the shards", crowd, 34_680, true},
		{"with a front its twenty caches", behind, 1020, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := advise(c.wish)
			if reads, advice := a.pageReads(c.wish.front), a.pageReadsAdvice(c.wish.front); reads != c.reads || (advice != "") != c.excess {
				t.Errorf("%v read units a second, advice %q", reads, advice)
			}
		})
	}
}

// What an environment reads for a second of the sale's page is the ledger's own count.
func TestReadsOfTheSalesPageAreCountedCallByCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(opens))
		db := dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
		for _, shards := range []int{10, 150} {
			id := fmt.Sprint("wine-", shards)
			c := sale.Creation{SaleID: id, Stock: 5000, Shards: shards, OpensAt: opens, ClosesAt: opens.Add(time.Hour)}
			if _, err := ledger.New(db, "T", ledger.Options{}).Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			db.ResetUsage()
			environment := ledger.New(db, "T", ledger.Options{})
			for range 100 {
				s, err := environment.Sale(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := environment.Remaining(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second / 101)
			}
			_, reads := db.Consumed()
			if want := (advice{shards: shards, queryRate: 1}).pageReads(false); reads != want {
				t.Errorf("%d shards: %v read units, the plan counts %v", shards, reads, want)
			}
		}
	})
}

func TestThePlanKnowsTheTemplatesDefaults(t *testing.T) {
	d, err := demand.Read("../../../template.yaml", "us-east-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{
		"WarmReadUnitsPerSecond": warmReads, "PaymentRateLimit": webhookRate, "PageRateLimit": pageRouteRate, "OperateReservedConcurrency": operators, "ReconcileReservedConcurrency": reconcilers, "ReleaseReservedConcurrency": releasers, "DrawReservedConcurrency": drawers,
		// The environments of these are those that no function has reserved.
		"PageReservedConcurrency": 0, "PayReservedConcurrency": 0, "PublishReservedConcurrency": 0,
	} {
		if got := defaultOf(d, name); got != want {
			t.Errorf("%s is %d by default, the plan counts on %d", name, got, want)
		}
	}
}

// defaultOf returns a number's default in the template, or -1 if there is none.
func defaultOf(d demand.Demand, name string) int {
	for _, p := range d.Parameters {
		if n, err := strconv.Atoi(p.Value); err == nil && p.Name == name {
			return n
		}
	}
	return -1
}

func TestEachFigureIsPrintedBesideItsParameter(t *testing.T) {
	number := regexp.MustCompile(`[\d,]*\d`)
	for _, w := range []wish{wished(1000, 100, 500), wished(500_000, 10_000, 50_000)} {
		w.region = "eu-west-1" // which has no prices here
		a := advise(w)
		var out bytes.Buffer
		printText(&out, w, a, &model.Result{}, &model.Result{}, "")
		for name, value := range a.parameters(output{opens: opens}) {
			before, _, found := strings.Cut(out.String(), "("+name+")")
			if !found {
				continue
			}
			figures := number.FindAllString(before, -1)
			if got := strings.ReplaceAll(figures[len(figures)-1], ",", ""); got != value {
				t.Errorf("%g requests a second: %s stands beside %s, and is %s", w.peak, name, got, value)
			}
		}
		for _, text := range []string{"(QueryRateLimit)", "(QueryBurstLimit)", "(PurchaseRateLimit)", "(PurchaseBurstLimit)", "unknown for eu-west-1"} {
			if !strings.Contains(out.String(), text) {
				t.Errorf("the plan does not print %s", text)
			}
		}
	}
}

func TestArgumentsOutOfRangeAreRefused(t *testing.T) {
	for _, arguments := range []string{
		"", "-users 0 -stock 1 -peak 1", "-users 1 -stock 0 -peak 1", "-users 1 -stock 1 -peak 0", "-users 1 -stock 1 -peak NaN",
		"-users 1 -stock 1 -peak 1 -w 1s", "-users 1 -stock 1 -peak 1 -latency 0s", "-users 1 -stock 1 -peak 1 -memory 64", "-users 1 -stock 1 -peak 1 -writes 100",
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
	for _, part := range []string{
		"shards", "WarmWriteUnitsPerSecond", "PurchaseRateLimit", "FinalizeMaximumConcurrency", "QueryReservedConcurrency", "sale's page",
		"advised rate", "busy rate", "ceiling", "refused by the throttle", "sold out after", "winners", "losers", "conflicts", "give-ups", "per 1,000", chart,
		"open pages", "\n         1,000 ", "\n        10,000 ", "\n       100,000 ", "A front is required above ",
		"1,000 payments", "release of 1,000 claims, 50 shards", "release of 100,000 claims, 1,000 shards", "1m28s", "212,001", "release of 1,000,000 claims, 1,000 shards",
		// $1.00 for the events, $0.02 for 100,000 invocations, $0.0333 for 2,500 GB-seconds,
		// $0.0326 for 70 MB of log lines.
		"\n  sign-ins                   $0.00 if 3,000 people sign in ", "\n  access log  ", "\n  traces  ", "\n  each month  ", "\n  left out  ",
		"1,000,000 events", "100,000 calls", "$1.0859",
	} {
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
	if n := bytes.Count(drawing, []byte("<path")); n != 7 || bytes.Contains(drawing, []byte("http")) {
		t.Errorf("the chart has %d curves, want 7 and nothing from elsewhere", n)
	}
	for _, part := range []string{
		">units left</text>", ">a second, logarithmic</text>", ">transactions a second</text>", ">answers a second</text>",
		">simulated seconds since the opening</text>", ">opening</text>", ">sold out</text>", ">advised rate of orders</text>",
		"</span> requests ", "</span> orders accepted ", "</span> orders confirmed ",
		"3,000 users want 200 units", "a transaction takes 20ms and keeps an item busy for 10ms",
	} {
		if !bytes.Contains(drawing, []byte(part)) {
			t.Errorf("the chart does not have %s", part)
		}
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
		"shards", "buckets", "warmWrites", "concurrency", "finalizeConcurrency", "queryConcurrency", "accountConcurrency",
		"ordersPerSecond", "ordersPerSecondUnshared", "advisedOrdersPerSecond", "busyOrdersPerSecond", "ceilingOrdersPerSecond",
		"bucketOrdersPerSecond", "tableOrdersPerSecond", "secondsToSellOut", "lastConfirmedSeconds",
		"winnersP99Ms", "losersP99Ms", "orders", "conflictRate", "conflicts", "giveUps", "writeUnits", "dollars", "dollarsPer1000Orders", "signInDollars", "pagesWithoutFront",
	}
	for _, key := range want {
		if _, ok := got[key]; !ok {
			t.Errorf("no %s", key)
		}
	}
	if len(got) != len(want) || got["secondsToSellOut"] <= 0 || got["lastConfirmedSeconds"] < got["secondsToSellOut"] || got["dollars"] <= 0 || got["writeUnits"] < 600 {
		t.Errorf("got %v", got)
	}
}

func TestARehearsalIsPlannedWithItsShardsItsRateAndNothingReady(t *testing.T) {
	w := wished(400, 200, 40)
	w.shards, w.steady, w.cold, w.concurrency = 3, true, true, 1000
	a := advise(w)
	r, err := model.In(t, scene(w, a, nil))
	if err != nil || a.shards != 3 || r.Config.Shards != 3 || r.LambdaThrottled > 0 || r.WinnersP99 > time.Second {
		t.Fatalf("%d shards, %v; %v refused, p99 %v", a.shards, err, r.LambdaThrottled, r.WinnersP99)
	}
	w.concurrency = 2
	if few, err := model.In(t, scene(w, advise(w), nil)); err != nil || few.GatewayThrottled+few.RateThrottled+few.LambdaThrottled == 0 {
		t.Errorf("two environments refuse nobody (%v)", err)
	}
	if rate := r.OrdersPerSecond(); rate < 36 || rate > 45 || r.Conflicts == 0 {
		t.Errorf("%.1f orders a second and %d conflicts, want the constant rate of 40 and some", rate, r.Conflicts)
	}
	for _, line := range bill(&r, a) {
		if strings.Contains(line.What, "provisioned") {
			t.Errorf("the bill has %s", line.What)
		}
	}
	w.cold = false
	if w.check() == nil {
		t.Error("more environments may be ready than there may be")
	}
	w.concurrency = 0
	for shards, fine := range map[int]bool{-1: false, 0: true, 200: true, 201: false} {
		if w.shards = shards; (w.check() == nil) != fine {
			t.Errorf("%d shards for 200 units: %v", shards, w.check())
		}
	}
}

func TestTheBillCountsWhatAWSCounts(t *testing.T) {
	r := &model.Result{Config: model.Config{MemoryMB: 1024}, WriteUnits: 2e6, ReadUnits: 7e6}
	r.Invocations, r.PurchaseInvocations, r.QueueCalls = 3e6, 2e6, 1e6
	r.Busy, r.Warm, r.Polls = 1000*time.Second, 2000*time.Second, 1e6
	r.GatewayThrottled, r.RateThrottled, r.LambdaThrottled = 7e6, 5e5, 5e5
	perSecond := map[string]float64{ // what Lambda's GB-seconds count
		"Lambda": 1000 + 1e6*queryTime.Seconds(), "Lambda, in provisioned environments": 2000, "provisioned concurrency": 10 * 900,
	}
	want := map[string]float64{"requests": 4e6, "invocations": 4e6, "write units": 2e6, "read units": 8e6, "calls": 1e6}
	for _, line := range bill(r, advice{provisioned: 10}) {
		if w, ok := want[line.Unit]; ok && line.Counted != w {
			t.Errorf("%s: %g %s, want %g: API Gateway bills no request that its throttle refused", line.What, line.Counted, line.Unit, w)
		}
		if line.Unit == "GB-seconds" && line.Counted != perSecond[line.What] {
			t.Errorf("%s: %g GB-seconds, want %g", line.What, line.Counted, perSecond[line.What])
		}
	}
}

func TestTheRatesHaveTheirOrder(t *testing.T) {
	for _, w := range []wish{wished(1000, 100, 500), wished(500_000, 10_000, 50_000)} {
		r := advise(w).rates
		if n := float64(advise(w).shards); r.advised != 20*n || r.busy != 50*n || r.ceiling != 100*n || r.buckets < 50*n {
			t.Errorf("%g shards: %+v; want 20, 50 and 100 orders a second of each, and about 60 of the buckets", n, r)
		}
	}
}

func TestWhatThePlanWritesPassesThePreflight(t *testing.T) {
	for _, w := range []wish{wished(50_000, 5000, 2000), wished(500_000, 10_000, 50_000)} {
		o := applied(t)
		a := advise(w)
		if err := apply(o, a); err != nil {
			t.Fatal(err)
		}
		d := deployment(t, o, preflight.Limits{
			Concurrency: a.accountConcurrency(), Unreserved: a.accountConcurrency(), TableReads: tableQuota, TableWrites: tableQuota,
			Rate: a.gatewayRate(), Burst: 5000,
		})
		for _, f := range preflight.Run(t.Context(), d) {
			if f.Verdict == preflight.Failed || f.Verdict == preflight.Warning && strings.HasPrefix(f.Check, "API ") {
				t.Errorf("%g requests a second: %s: %s", w.peak, f.Check, f.Says)
			}
		}
		d.Account = account{preflight.Limits{Concurrency: a.accountConcurrency() - 1, Unreserved: a.accountConcurrency() - 1}}
		if a.accountConcurrency() > lambdaQuota && preflight.Print(io.Discard, preflight.Run(t.Context(), d)) == nil {
			t.Errorf("%g requests a second: the preflight takes an account with one execution less than the plan asks for", w.peak)
		}
		d.Account = account{preflight.Limits{Rate: a.gatewayRate() - 1, Burst: 5000}}
		if a.gatewayRate() > gatewayQuota && !slices.ContainsFunc(preflight.Run(t.Context(), d), func(f preflight.Finding) bool {
			return f.Verdict == preflight.Warning && f.Check == "API throttle"
		}) {
			t.Errorf("%g requests a second: the preflight says nothing of an account with one request a second less than the plan asks for", w.peak)
		}
	}
}

func TestAfterTheSaleOnlyWhatCannotBeTakenBackStays(t *testing.T) {
	o := applied(t)
	if err := apply(o, advise(wished(500_000, 10_000, 50_000))); err != nil {
		t.Fatal(err)
	}
	if err := rest(o); err != nil {
		t.Fatal(err)
	}
	e, err := samconfig.Read(o.config, o.environment)
	want := map[string]string{"CreateUserPool": "true", "WarmWriteUnitsPerSecond": "40000", "MaxWriteRequestUnits": "40000"}
	if diff := cmp.Diff(want, e.Parameters); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// A smaller sale later: the table cannot be cooled.
	small := advise(wished(100_000, 10_000, 1000))
	if err := apply(o, small); err != nil {
		t.Fatal(err)
	}
	if e, err = samconfig.Read(o.config, o.environment); err != nil || e.Parameters["WarmWriteUnitsPerSecond"] != "40000" {
		t.Errorf("after a plan for %d write units the table is to have %s (%v), want the 40000 that it has", small.warmWrites, e.Parameters["WarmWriteUnitsPerSecond"], err)
	}
	for _, f := range preflight.Run(t.Context(), deployment(t, o, preflight.Limits{Concurrency: 2000, Unreserved: 2000, TableReads: tableQuota, TableWrites: tableQuota, Rate: 10_000, Burst: 10_000})) {
		if f.Verdict == preflight.Failed {
			t.Errorf("%s: %s", f.Check, f.Says)
		}
	}
}

var opens = time.Date(2030, 11, 11, 12, 0, 0, 0, time.UTC)

// applied is an environment to apply plans to.
func applied(t *testing.T) output {
	t.Helper()
	o := output{config: filepath.Join(t.TempDir(), "samconfig.toml"), environment: "dev", opens: opens, progress: io.Discard}
	text := "[dev.deploy.parameters]\nregion = \"us-east-1\"\nparameter_overrides = [\"CreateUserPool=true\"]\n"
	if err := os.WriteFile(o.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

type account struct{ limits preflight.Limits }

func (a account) Limits(context.Context, string) (preflight.Limits, error) { return a.limits, nil }

// deployment is what make preflight judges, the day before.
func deployment(t *testing.T, o output, limits preflight.Limits) preflight.Deployment {
	t.Helper()
	e, err := samconfig.Read(o.config, o.environment)
	if err != nil {
		t.Fatal(err)
	}
	d, err := demand.Read("../../../template.yaml", e.Region, e.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	return preflight.Deployment{Demand: d, Account: account{limits}, Now: opens.Add(-24 * time.Hour)}
}
