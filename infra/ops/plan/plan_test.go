package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/deploy/price"
	"flashsale/infra/ops/target"
	"flashsale/infra/ops/target/targettest"
)

func wished(users int, stock int64, peak float64) wish {
	return wish{users: users, stock: stock, maxPerOrder: 1, peak: peak, latency: 20 * time.Millisecond, writes: tableQuota, enter: 72 * time.Hour, keep: 24 * time.Hour}
}

func printed(t *testing.T, out io.Writer, flags string) int {
	t.Helper()
	c := Command(&target.Flags{})
	c.SetOut(out)
	c.SetErr(out)
	return cli.Execute(t.Context(), c, strings.Fields(flags))
}

func TestAdviceFollowsTheDemandUpToWhatLimitsIt(t *testing.T) {
	slower, fours := wished(100_000, 100_000, 1000), wished(1000, 100, 500)
	slower.latency, fours.maxPerOrder = 50*time.Millisecond, 4
	for _, c := range []struct {
		name           string
		wish           wish
		shards, writes int
		quotas         []string // to raise
	}{
		{"a small sale has a tenth as many shards as units", wished(1000, 100, 500), 10, 4000, nil},
		{"a tenth as many as orders, if each has four", fours, 2, 4000, nil},
		{"one unit has one shard", wished(1000, 1, 500), 1, 4000, nil},
		{"a rate has a shard for 20 orders a second", wished(100_000, 10_000, 1000), 50, 11_000, nil},
		{"with slower transactions for 1,000 orders a second × 25 ms ÷ 0.2", slower, 125, 11_000, nil},
		{"a peak beyond the table's quota is planned for the quota", wished(500_000, 10_000, 50_000), 285, 40_000, []string{"API Gateway", "Lambda", "DynamoDB"}},
	} {
		a := advise(c.wish)
		if a.shards != c.shards || a.warmWrites != c.writes {
			t.Errorf("%s: %d shards, %d writes; want %d, %d", c.name, a.shards, a.warmWrites, c.shards, c.writes)
		}
		if most := float64(a.concurrency) * perConcurrency; a.throttle < c.wish.peak || a.throttle > most {
			t.Errorf("%s: the gateway lets in %g, Lambda %g, for a peak of %g", c.name, a.throttle, most, c.wish.peak)
		}
		var services []string
		for _, q := range a.quotas() {
			service, _, _ := strings.Cut(q, ":")
			services = append(services, service)
		}
		if !slices.Equal(services, c.quotas) {
			t.Errorf("%s: quotas of %q are to be raised, want %q", c.name, services, c.quotas)
		}
	}
}

func TestASaleOfAGroupNeedsHalfAsMuchAgainForEachTry(t *testing.T) {
	w := wished(5000, 2000, 500)
	alone := expect(w, advise(w))
	w.grouped = true
	group := expect(w, advise(w))
	if more := group.writeUnits - alone.writeUnits; more < 2*float64(w.stock) || more > 4*float64(w.stock) {
		t.Errorf("%.2f write units more for an order in a group, want 2 for each of up to two tries", more/float64(w.stock))
	}
}

// Beside each row is what a simulation of the real functions had, the mean of ten seeds for the small sales.
func TestWhatIsExpectedIsNearASimulation(t *testing.T) {
	for _, c := range []struct {
		users            int
		stock            int64
		peak             float64
		seconds, dollars float64 // simulated; dollars for 1,000 orders
	}{
		{100, 20, 20, 1.02, 0.0916},
		{1000, 100, 100, 1.17, 0.0995},
		{10_000, 1000, 1000, 1.18, 0.0907},
		{100_000, 5000, 10_000, 1.17, 0.1779},
		{500_000, 10_000, 50_000, 2.37, 0.4450},
		{1_000_000, 20_000, 100_000, 4.47, 0.4625},
	} {
		w := wished(c.users, c.stock, c.peak)
		a := advise(w)
		r := expect(w, a)
		seconds, dollars := r.soldOut.Seconds(), 1000*price.Sum(r.bill(w, a))/float64(r.orders)
		if r.orders != c.stock || math.Abs(seconds/c.seconds-1) > 0.15 || math.Abs(dollars/c.dollars-1) > 0.05 {
			t.Errorf("%d users: %d orders in %v s, $%v for 1,000; simulated %d in %v s, $%v", c.users, r.orders, seconds, dollars, c.stock, c.seconds, c.dollars)
		}
	}
}

func TestASaleEndsWhoeverComes(t *testing.T) {
	for _, c := range []struct {
		name string
		wish wish
		left int64
		ends time.Duration // 0: not sold out
	}{
		{"one person, one unit", wished(1, 1, 1), 0, 736 * time.Millisecond},
		{"more units than people", wished(1000, 5000, 500), 4000, 0},
		{"months", wished(100_000_000, 5_000_000, 1), 0, 5_129_300 * time.Second},
		{"everybody at once", wished(100_000_000, 5_000_000, 1_000_000), 0, 1173 * time.Second},
	} {
		r := expect(c.wish, advise(c.wish))
		if off := r.soldOut - c.ends; r.left != c.left || off < -c.ends/50 || off > c.ends/50 {
			t.Errorf("%s: %d units left, sold out after %v, want %d and %v", c.name, r.left, r.soldOut, c.left, c.ends)
		}
	}
}

func TestAFrontIsRequiredWhereARouteOrLambdaRefusesPages(t *testing.T) {
	files := filesOfPage()
	// A route of the page refuses files, or there are no more environments than cannot be reserved, for files and HTML.
	route, lambda := math.Floor(arrival.Seconds()*pageRouteRate/files), math.Floor(arrival.Seconds()*perConcurrency*keptFree/(1+files))
	for want, w := range map[float64]wish{route: wished(1000, 100, 500), lambda: wished(500_000, 10_000, 50_000)} {
		if got := advise(w).pagesWithoutFront(); got != want {
			t.Errorf("%d users: a front is required above %v pages, want %v", w.users, got, want)
		}
	}
	if own, behind := pagesOf(1e6, false), pagesOf(1e6, true); behind.EdgeRequests != own.Requests || behind.Requests > own.Requests/10 {
		t.Errorf("with a front %+v, without %+v", behind, own)
	}
}

func TestADrawSpreadsWhatARushWantsAtOnce(t *testing.T) {
	w := wished(1_000_000, 10_000, 50_000)
	d := drawnAmong(w)
	// A page of the roll each, at a random moment of an hour.
	if want := 1e6 / 3600; math.Abs(d.requests-want) > 1e-6 || d.writes > 100 {
		t.Errorf("%v requests and %v write units in the busiest second, want %v and few", d.requests, d.writes, want)
	}
	if d.calls != 7 { // for 10,000, 2,000, 400, 80, 16, 4 and 1 of which four fifths come
		t.Errorf("%d calls, want 7", d.calls)
	}
	if u := d.usage; u.Requests != 1e6+2e6+3e4 || u.WriteUnits != 1e6+1e4*6.04 {
		t.Errorf("%+v", d)
	}
	w.enter = time.Hour
	if d := drawnAmong(w); math.Abs(d.requests-rush*1e6/3600) > 1e-6 {
		t.Errorf("with an hour to enter %v requests", d.requests)
	}
}

func TestThePlanKnowsTheTemplatesDefaults(t *testing.T) {
	text, err := os.ReadFile("../../../template.yaml")
	for _, want := range []string{"BatchSize: " + strconv.Itoa(batch) + "\n", "MemorySize: " + strconv.Itoa(price.Memory) + "\n", "Architectures: [" + price.Architecture + "]\n",
		fmt.Sprintf("[HasReserves, %d, !Ref AWS::NoValue]", operators), fmt.Sprintf("          ThrottlingRateLimit: %d\n", webhookRate),
	} {
		if err != nil || strings.Count(string(text), want) != 1 {
			t.Errorf("%v: the template has %q not once", err, want)
		}
	}
	for limit, times := range map[int]int{pageRouteRate: 4, reconcilers: 4} { // routes of the page, and functions that run once at a time
		want := map[bool]string{true: fmt.Sprintf("ThrottlingRateLimit: %d\n", limit), false: fmt.Sprintf("[HasReserves, %d, !Ref AWS::NoValue]", limit)}[limit > 1]
		if n := strings.Count(string(text), want); n != times {
			t.Errorf("the template has %q %d times, want %d", want, n, times)
		}
	}
}

func TestEachFigureIsPrintedBesideItsParameter(t *testing.T) {
	number := regexp.MustCompile(`[\d,/]*\d`)
	for _, w := range []wish{wished(1000, 100, 500), wished(500_000, 10_000, 50_000)} {
		var out bytes.Buffer
		if code := printed(t, &out, fmt.Sprintf("--users %d --stock %d --peak %g --draw", w.users, w.stock, w.peak)); code != cli.ExitFine {
			t.Fatalf("exit %d: %s", code, &out)
		}
		a := advise(w)
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
		for _, text := range []string{
			"(QueryRate)", "(PurchaseRate)", "(FinalizeMaximumConcurrency)", "(PurchaseReservedConcurrency)",
			"shards", "WarmWriteUnitsPerSecond", "orders a second", "sold out after", "conflicts", "per 1,000 orders", "people sign in", "required above",
			"requests in the busiest second",
		} {
			if !strings.Contains(out.String(), text) {
				t.Errorf("the plan does not print %q:\n%s", text, &out)
			}
		}
	}
}

func TestAProgramReadsThePlanThatPeopleRead(t *testing.T) {
	o := applied(t)
	const sizes = "--users 500000 --stock 10000 --peak 50000 --draw"
	var out, errs bytes.Buffer
	c := Command(&o.to)
	c.SetOut(&out)
	c.SetErr(&errs)
	code := cli.Execute(t.Context(), c, strings.Fields(sizes+" -o json --apply dev --opens 2026-11-11T12:00:00Z"))
	var read planJSON
	w := wished(500_000, 10_000, 50_000)
	w.drawn, w.enter, w.keep = true, 72*time.Hour, 24*time.Hour
	a := advise(w)
	o.opens = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	if want := planned(o, w, a, expect(w, a)); code != cli.ExitFine || json.Unmarshal(out.Bytes(), &read) != nil || !reflect.DeepEqual(read, want) {
		t.Errorf("exit %d, got %+v, want %+v", code, read, want)
	}
	if !strings.Contains(errs.String(), "After the sale: `flashsale plan --apply dev --config "+o.to.Config+" --rest`.") || read.Parameters["WarmFrom"] != "at(2026-11-11T11:50:00)" || read.Draw.Calls == 0 {
		t.Errorf("%s%+v", &errs, read)
	}
	out.Reset()
	if code := printed(t, &out, "--users 10 --stock 20 --peak 1 -o json"); code != cli.ExitFine || json.Unmarshal(out.Bytes(), &read) != nil || strings.Contains(out.String(), "soldOut") || strings.Contains(out.String(), "WarmFrom") {
		t.Errorf("exit %d, %s", code, &out)
	}
}

func TestArgumentsOutOfRangeAreRefused(t *testing.T) {
	for _, arguments := range []string{
		"", "--users 0 --stock 1 --peak 1", "--users 1 --stock 0 --peak 1", "--users 1 --stock 1 --peak 0", "--users 1 --stock 1 --peak NaN",
		"--users 1 --stock 1 --peak 1 --latency 0s", "--users 1 --stock 1 --peak 1 --writes 100",
		"--users 1 --stock 1 --peak 1 --enter 1h", "--users 1 --stock 1 --peak 1 --rest", "--users 1 --stock 1 --peak 1 --opens 2026-11-11T12:00:00Z", "--users 1 --stock 1 --peak 1 --draw --enter 1s", "--users 1 --stock 1 --peak 1 --draw --enter 2161h",
		"--users 1 --stock 1 --peak 1 --draw --keep 30m", "--users 1 --stock 1 --peak 1 --draw --keep 90m", "--users 1 --stock 1 --peak 1 --draw --keep 169h",
		"--users 1 --stock 1 --peak 1 more", "--users x", "--users 1 --stock 5000001 --peak 1", "--users 100000001 --stock 1 --peak 1", "--users 1 --stock 1 --peak 1000001",
	} {
		if code := printed(t, io.Discard, arguments); code != cli.ExitUsage {
			t.Errorf("%q: exit %d, want %d", arguments, code, cli.ExitUsage)
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
		e, failed := o.to.Environment()
		template, err := preflight.Read("../../../template.yaml", e.Region, e.Parameters)
		if err := errors.Join(failed, err); err != nil {
			t.Fatal(err)
		}
		limits := preflight.Limits{Concurrency: a.accountConcurrency(), Unreserved: a.accountConcurrency(), TableWrites: tableQuota, Rate: a.gatewayRate()}
		theDayBefore := preflight.Deployment{Template: template, Lookup: account{limits: limits}, Now: opens.Add(-24 * time.Hour)}
		for _, f := range preflight.Run(t.Context(), theDayBefore) {
			if f.Verdict == preflight.Failed || f.Verdict == preflight.Warning && strings.HasPrefix(f.Check, "API ") {
				t.Errorf("%g requests a second: %s: %s", w.peak, f.Check, f.Says)
			}
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
	e, err := o.to.Environment()
	want := map[string]string{"CreateUserPool": "true", "WarmWriteUnitsPerSecond": "40000", "MaxWriteRequestUnits": "40000"}
	if diff := cmp.Diff(want, e.Parameters); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestTheTablesMostIsAtLeastWhatThePlanAndItsWarmthNeed(t *testing.T) {
	small := advise(wished(1000, 100, 100))
	for warm, want := range map[string][2]string{"1000": {"4000", "40000"}, "90000": {"90000", "90000"}} { // and at rest
		o := applied(t)
		if err := write(o, map[string]string{warmth: warm}); err != nil {
			t.Fatal(err)
		}
		if err := apply(o, small); err != nil {
			t.Fatal(err)
		}
		if e, err := o.to.Environment(); err != nil || e.Parameters["MaxWriteRequestUnits"] != want[0] || e.Parameters[warmth] != warm {
			t.Errorf("%s warm, for a plan of %d: at most %s (%v), want %s", warm, small.warmWrites, e.Parameters["MaxWriteRequestUnits"], err, want[0])
		}
		if err := rest(o); err != nil {
			t.Fatal(err)
		}
		if e, err := o.to.Environment(); err != nil || e.Parameters["MaxWriteRequestUnits"] != want[1] {
			t.Errorf("%s warm, at rest: at most %s (%v), want %s", warm, e.Parameters["MaxWriteRequestUnits"], err, want[1])
		}
	}
}

var opens = time.Date(2030, 11, 11, 12, 0, 0, 0, time.UTC)

// applied is an environment to apply plans to.
func applied(t *testing.T) output {
	t.Helper()
	o := output{to: target.Flags{Config: filepath.Join(t.TempDir(), "samconfig.toml"), Env: "dev"}, opens: opens, out: io.Discard}
	text := "[dev.deploy.parameters]\nregion = \"us-east-1\"\nparameter_overrides = [\"CreateUserPool=true\"]\n"
	targettest.File(t, o.to.Config, text)
	return o
}

type account struct {
	preflight.Lookup
	limits preflight.Limits
}

func (a account) Limits(context.Context, string) (preflight.Limits, error) { return a.limits, nil }
