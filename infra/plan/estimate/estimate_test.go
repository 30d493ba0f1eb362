package estimate_test

import (
	"math"
	"testing"

	"flashsale/infra/deploy/price"
	"flashsale/infra/model"
	"flashsale/infra/plan/estimate"
)

// The sales that infra/docs/GUARANTEES.md names.
var sales = []struct {
	name  string
	seeds uint64 // a small sale needs more of them for a steady mean
	sale  estimate.Sale
}{
	{"20,000 users, 1,000 units", 3, estimate.Sale{Users: 20_000, Stock: 1000, Peak: 500, Shards: 25, TableWrites: 6000, Environments: 22, Concurrency: 50}},
	{"100,000 users, 2,000 units", 1, estimate.Sale{Users: 100_000, Stock: 2000, Peak: 5000, Shards: 200, TableWrites: 40_000, Environments: 218, Concurrency: 500}},
	{"50,000 users, 5,000 units", 2, estimate.Sale{Users: 50_000, Stock: 5000, Peak: 2000, Shards: 100, TableWrites: 22_000, Environments: 87, Concurrency: 200}},
}

// figures are means over the seeds, in the order of names.
type figures [6]float64

func (f *figures) add(n float64, each ...float64) {
	for i, x := range each {
		f[i] += x / n
	}
}

var names = [6]string{"seconds until sold", "transactions per order", "conflicts per order", "write units", "peak concurrency", "dollars"}

func dollars(s estimate.Sale, requests, busy, writes float64) float64 {
	l, _ := price.Find("us-east-1", price.Architecture)
	const gb, held = 0.5, 900
	return price.Sum(price.Bill(l, price.Usage{
		Requests: requests, Invocations: requests, WarmGBSeconds: busy * gb, HeldGBSeconds: float64(s.Environments) * gb * held, WriteUnits: writes,
	}))
}

func TestTwoModelsThatShareNothingAgree(t *testing.T) {
	for _, c := range sales {
		t.Run(c.name, func(t *testing.T) {
			s := c.sale
			var plan, check figures
			for seed := range c.seeds {
				r, err := model.In(t, model.Config{
					Seed: seed, Users: s.Users, Stock: int64(s.Stock), Shards: s.Shards, Peak: s.Peak, Repeats: 60, UntilSold: true, NoFinalize: true,
					TableWrites: s.TableWrites, Environments: s.Environments, Concurrency: s.Concurrency,
				})
				if err != nil {
					t.Fatal(err)
				}
				n := float64(c.seeds)
				busy := (r.Busy + r.Warm).Seconds()
				plan.add(n, r.LastSold.Seconds(), float64(r.Transactions)/float64(s.Stock), float64(r.Conflicts)/float64(s.Stock), r.WriteUnits,
					float64(r.Concurrency), dollars(s, r.Invocations, busy, r.WriteUnits))
				e := estimate.Play(s, seed)
				check.add(n, e.Seconds, e.Transactions, e.Conflicts, e.WriteUnits, float64(e.Concurrency), dollars(s, e.Requests, e.Busy, e.WriteUnits))
			}
			for i, name := range names {
				t.Logf("%-22s %10.3f %10.3f  %+.1f %%", name, plan[i], check[i], 100*(check[i]/plan[i]-1))
				if math.Abs(check[i]/plan[i]-1) > 0.10 {
					t.Errorf("%s: the plan's model says %.3f, the other one %.3f", name, plan[i], check[i])
				}
			}
		})
	}
}
