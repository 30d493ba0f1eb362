package explore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/proof/harness"
	"flashsale/shared/ledger"
)

// outage is a sale during which the queue or finalize does not work for hours. It is not
// random like the simulation's sales, and one thing happens at a time.
type outage struct {
	queueFails, finalizeFails bool

	chance   *rand.Rand
	world    *harness.World
	ends     time.Time
	messages int // that the queue accepted
}

const (
	// lostAfterwards is the share of messages that the queue refuses after the outage, too.
	lostAfterwards = 0.01
	// clicksAgain is how often, on average, a buyer without an order number clicks again.
	clicksAgain = 10 * time.Minute
)

// Intercept implements harness.Interceptor.
func (o *outage) Intercept(_ context.Context, _ *harness.Environment, p harness.Point, do func() error) error {
	time.Sleep(5 * time.Millisecond)
	ofQueue := p.Op == "SendMessage" || p.Op == "GetQueueAttributes"
	switch {
	case o.lasts() && o.queueFails && ofQueue:
		return harness.ErrDown
	case !o.lasts() && p.Op == "SendMessage" && sometimes(o.chance, lostAfterwards):
		return harness.ErrDown
	}
	return do()
}

func (o *outage) lasts() bool { return time.Now().Before(o.ends) }

// waitingBuyer is a buyer without an order number, who clicks at that instant.
type waitingBuyer struct {
	user string
	at   time.Time
}

// run returns how long after the outage each order was confirmed, the last one last.
func (o *outage) run(orders int, lasting time.Duration) (confirmed []time.Duration) {
	o.world = harness.NewWorld(o, func() float64 { return 0.5 })
	o.world.Queue.OnSend = func(string, bool) { o.messages++ } // one that is refused does not come so far
	began := time.Now()
	o.ends = began.Add(lasting)
	invoke := func(f harness.Function, event string) {
		var answer any
		_, _ = o.world.Start(f, 0).Command(event, &answer) // reconcile fails while the queue does
	}
	invoke(harness.Seeding, fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":%q,"stock":%d,"shards":8}`,
		harness.SaleID, harness.Stamp(began), harness.Stamp(o.ends.Add(time.Hour)), orders))

	// Most buyers order in the first minute, a fifth of them at any time of the outage.
	var waiting []waitingBuyer
	for n := range orders {
		first := between(o.chance, 0, time.Minute)
		if n%5 == 0 {
			first = between(o.chance, 0, lasting)
		}
		waiting = append(waiting, waitingBuyer{fmt.Sprintf("user-%03d", n), began.Add(first)})
	}
	purchase, finalize := o.world.Start(harness.Purchasing, 0), o.world.Start(harness.Finalizing, 0)
	for pass := began.Add(time.Minute); len(waiting) > 0 && time.Since(o.ends) < 24*time.Hour; {
		buyer := slices.MinFunc(waiting, func(a, b waitingBuyer) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.user, b.user)) })
		message, isMessage := o.world.Queue.Next()
		switch {
		case isMessage && message.Before(pass) && message.Before(buyer.at):
			time.Sleep(time.Until(message))
			batch := o.world.Queue.Receive(time.Now(), 10, nil)
			if o.finalizeFails && o.lasts() {
				continue
			}
			done, _ := finalize.Deliver(batch)
			for _, handle := range done {
				o.world.Queue.Remove(handle)
			}
			unfinished, claims := map[string]bool{}, harness.ReadBooks(o.world.DB, harness.SaleID)
			for _, c := range claims.Unfinished() {
				unfinished[c.User] = true
			}
			waiting = slices.DeleteFunc(waiting, func(b waitingBuyer) bool {
				gone := claims.Claim(b.user).ClaimID != "" && !unfinished[b.user]
				if gone {
					confirmed = append(confirmed, time.Since(o.ends))
				}
				return gone
			})
		case pass.Before(buyer.at):
			time.Sleep(time.Until(pass))
			invoke(harness.Reconciling, `{}`)
			for !pass.After(time.Now()) { // a run that takes longer than a minute leaves out the next
				pass = pass.Add(time.Minute)
			}
		default:
			time.Sleep(time.Until(buyer.at))
			purchase.Buy(harness.SaleID, buyer.user, "")
			waiting[slices.Index(waiting, buyer)].at = time.Now().Add(time.Duration(o.chance.ExpFloat64() * float64(clicksAgain)))
		}
	}
	return confirmed
}

// TestAfterAnOutageOfHours (P8): how long an outage took must not say how long orders wait
// after it. -v prints the figures.
func TestAfterAnOutageOfHours(t *testing.T) {
	for name, fails := range map[string]outage{"the queue refuses": {queueFails: true}, "finalize is broken": {finalizeFails: true}} {
		for _, hours := range []int{1, 3, 8} {
			t.Run(fmt.Sprintf("%s for %d h", name, hours), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					harness.AdvanceClock()
					o := fails
					o.chance = rand.New(rand.NewPCG(uint64(hours), 1))
					const orders = ordersInOutage
					confirmed := o.run(orders, time.Duration(hours)*time.Hour)
					if len(confirmed) < orders {
						t.Fatalf("%d of %d orders were confirmed", len(confirmed), orders)
					}
					last, mostOf := confirmed[orders-1].Round(time.Second), confirmed[orders*99/100-1].Round(time.Second)
					t.Logf("the last order was confirmed %v after it, 99 in 100 within %v; %d messages for %d orders", last, mostOf, o.messages, orders)
					if last > ledger.RepairBound || o.queueFails && mostOf > ledger.ResendBound {
						t.Errorf("want all within %v, and after an outage of the queue 99 in 100 within %v", ledger.RepairBound, ledger.ResendBound)
					}
					// A message for each doubling of an order's age, then one for each quiet time.
					if most := 7 + int(time.Duration(hours)*time.Hour/(ledger.RepairBound-ledger.ResendBound)); o.messages > most*orders {
						t.Errorf("%d messages for %d orders, want at most %d for each", o.messages, orders, most)
					}
				})
			})
		}
	}
}
