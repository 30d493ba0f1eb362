package enumerate

import (
	"slices"
	"time"

	"flashsale/infra/proof/harness"
)

// finishAndCheck runs after the faults: buyers without an answer retry, messages are
// delivered, reconciliation runs; then the promises are checked.
func (r *run) finishAndCheck(s scenario) {
	r.DB.ApplyPending()
	asked := r.answers
	for _, a := range asked {
		for range 5 {
			if a.ok && a.reply.Code != "busy" {
				break
			}
			a = r.buyIn(r.Start(harness.Purchasing, 0), a.saleID, a.user, a.key)
		}
		if !a.ok || a.reply.Code == "busy" {
			r.violate("P5: %s never gets an answer", a.user)
		}
	}
	for calm := time.Now(); len(r.unfinished()) > 0 || r.Queue.Depth() > 0; {
		if time.Since(calm) > harness.TimeToFinish(0) {
			r.violate("P8: after %v %v are without an order, %d messages", time.Since(calm), r.unfinished(), r.Queue.Depth())
			return
		}
		time.Sleep(time.Minute)
		r.reconcile()
		r.deliverAll(r.Start(harness.Finalizing, 0))
	}
	r.finishRecall()
	if s.drawn != nil {
		r.resumeDraw()
	}
	for _, id := range r.sales {
		b := harness.ReadBooks(r.DB, id)
		r.violations = append(r.violations, b.Audit()...)
		for _, c := range b.Claims {
			if slices.Contains(r.refused, c.ClaimID) {
				r.violate("P5: a request of %s was refused, and got %s", c.User, c.ClaimID)
			}
		}
	}
	s.check(r)
	r.replay()
}

// replay repeats all requests and messages, and expects no change and the same answers
// (P9).
func (r *run) replay() {
	before := r.DB.Dump()
	finalizer := r.Start(harness.Finalizing, 0)
	for _, body := range r.Queue.SentBodies() {
		r.Queue.Put(body, time.Now())
	}
	r.deliverAll(finalizer)
	for _, a := range r.answers {
		if a.key == "" || a.reply.Status != 202 {
			continue
		}
		again, _, _ := r.Start(harness.Purchasing, 0).Buy(a.saleID, a.user, a.key)
		if again.Status != 202 || again.Body != a.reply.Body {
			r.violate("P9: %s was told %s, then %d %s", a.user, a.reply.Body, again.Status, again.Body)
		}
	}
	if after := r.DB.Dump(); after != before {
		r.violate("P9: a replay changed the table from\n%s to\n%s", before, after)
	}
}
