package estimate_test

import (
	"flag"
	"math"
	"testing"

	"flashsale/infra/deploy/price"
	"flashsale/infra/model"
	"flashsale/infra/plan/estimate"
)

var whole = flag.Bool("whole", false, "play the sales that are overrun in their full size; minutes of processor time")

// A sale, with all that it is given. Of those that are overrun more want to buy than
// table, functions and throttle take.
var sales = []struct {
	name  string
	seeds uint64 // a small sale needs more of them for a steady mean
	sale  estimate.Sale
}{
	{"20,000 users, 1,000 units", 3, estimate.Sale{Users: 20_000, Stock: 1000, Peak: 500, Shards: 25, TableWrites: 6000, Environments: 22, Concurrency: 50}},
	{"100,000 users, 2,000 units", 1, estimate.Sale{Users: 100_000, Stock: 2000, Peak: 5000, Shards: 200, TableWrites: 40_000, Environments: 218, Concurrency: 500}},
	{"50,000 users, 5,000 units", 2, estimate.Sale{Users: 50_000, Stock: 5000, Peak: 2000, Shards: 100, TableWrites: 22_000, Environments: 87, Concurrency: 200}},
	{"overrun: 500,000 users, 10,000 units, 50,000 a second", 1, estimate.Sale{
		Users: 500_000, Stock: 10_000, Peak: 50_000, Shards: 285, TableWrites: 40_000, Environments: 2173, Concurrency: 5000, Throttle: 50_000, ItemReads: 3000}},
	{"overrun: 410,000 users, 23,000 units, 61,000 a second", 1, estimate.Sale{
		Users: 410_000, Stock: 23_000, Peak: 61_000, Shards: 285, TableWrites: 40_000, Environments: 2651, Concurrency: 6100, Throttle: 61_000, ItemReads: 3000}},
}

// part is a sale with a share of everything that grows with it. Its rates per shard and
// per environment stay, and so what limits it.
func part(by int, s estimate.Sale) estimate.Sale {
	for _, n := range []*int{&s.Users, &s.Stock, &s.Shards, &s.Environments, &s.Concurrency} {
		*n /= by
	}
	for _, x := range []*float64{&s.Peak, &s.TableWrites, &s.Throttle, &s.ItemReads} {
		*x /= float64(by)
	}
	return s
}

// figures are means over the seeds, in the order of names. All are those of the instant at
// which the last unit is sold.
type figures [8]float64

func (f *figures) add(n float64, each ...float64) {
	for i, x := range each {
		f[i] += x / n
	}
}

var names = [8]string{
	"seconds until sold", "transactions per order", "conflicts per order", "write units", "peak concurrency", "dollars", "give-ups", "refused requests",
}

// few is the share of users below which give-ups and refusals are too rare to compare.
const few = 0.01

func dollars(s estimate.Sale, requests, busy, writes float64) float64 {
	l, _ := price.Find("us-east-1", price.Architecture)
	const gb, held = 0.5, 900
	return price.Sum(price.Bill(l, price.Usage{
		Requests: requests, Invocations: requests, WarmGBSeconds: busy * gb, HeldGBSeconds: float64(s.Environments) * gb * held, WriteUnits: writes,
	}))
}

// planned is the sale in the plan's model.
func planned(t *testing.T, s estimate.Sale, seed uint64) *model.Result {
	t.Helper()
	r, err := model.In(t, model.Config{
		Seed: seed, Users: s.Users, Stock: int64(s.Stock), Shards: s.Shards, Peak: s.Peak, Repeats: 60, UntilSold: true, NoFinalize: true,
		TableWrites: s.TableWrites, Environments: s.Environments, Concurrency: s.Concurrency, GatewayRate: s.Throttle, PartitionReads: s.ItemReads,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

func TestTwoModelsThatShareNothingAgree(t *testing.T) {
	for _, c := range sales {
		t.Run(c.name, func(t *testing.T) {
			s := c.sale
			if s.Throttle > 0 && !*whole {
				s = part(10, s)
			}
			var plan, check figures
			for seed := range c.seeds {
				r := planned(t, s, seed)
				n, stock, at := float64(c.seeds), float64(s.Stock), r.AtLastUnit
				plan.add(n, r.LastSold.Seconds(), float64(at.Transactions)/stock, float64(at.Conflicts)/stock, r.UnitsAtLastUnit, float64(at.Concurrency),
					dollars(s, at.Invocations, (at.Busy+at.Warm).Seconds(), r.UnitsAtLastUnit), at.GiveUps, at.GatewayThrottled+at.LambdaThrottled)
				e := estimate.Play(s, seed)
				check.add(n, e.Seconds, e.Transactions, e.Conflicts, e.WriteUnits, float64(e.Concurrency), dollars(s, e.Requests, e.Busy, e.WriteUnits),
					e.GiveUps, e.Throttled+e.Refused)
			}
			for i, name := range names {
				difference := check[i]/max(plan[i], 1e-9) - 1
				t.Logf("%-22s %10.3f %10.3f  %+.1f %%", name, plan[i], check[i], 100*difference)
				if isFew := i > 5 && max(plan[i], check[i]) < few*float64(s.Users); !isFew && math.Abs(difference) > 0.10 {
					t.Errorf("%s: the plan's model says %.3f, the other one %.3f", name, plan[i], check[i])
				}
			}
		})
	}
}
