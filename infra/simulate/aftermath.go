package simulate

import (
	"slices"
	"time"
)

// settle runs after the accidents: buyers without an answer retry, messages are
// delivered, reconciliation runs; then the promises are checked.
func (r *run) settle(s scenario) {
	r.db.ApplyPending()
	asked := r.answers
	for _, a := range asked {
		for range 5 {
			if a.ok && a.reply.code != "busy" {
				break
			}
			a = r.buys(r.start(purchasing, 0), a.user, a.key)
		}
		if !a.ok || a.reply.code == "busy" {
			r.violate("P5: %s never gets an answer", a.user)
		}
	}
	for minute := 0; len(readBooks(r.db, saleID).unfinished()) > 0 || r.queue.depth() > 0; minute++ {
		if minute == patience {
			r.violate("P8: after %d minutes %v are without an order, %d messages", minute, readBooks(r.db, saleID).unfinished(), r.queue.depth())
			return
		}
		time.Sleep(time.Minute)
		r.reconcile()
		r.deliverAll(r.start(finalizing, 0))
	}
	b := readBooks(r.db, saleID)
	r.found = append(r.found, b.audit()...)
	for user, c := range b.claims {
		if slices.Contains(r.refused, c.id) {
			r.violate("P5: a request of %s was refused, and got %s", user, c.id)
		}
	}
	s.judge(r)
	r.replay()
}

// replay repeats all requests and messages, and expects no change and the same answers
// (P9).
func (r *run) replay() {
	before := r.db.Dump()
	finalizer := r.start(finalizing, 0)
	for _, body := range r.queue.everSent() {
		r.queue.put(body, time.Now())
	}
	r.deliverAll(finalizer)
	for _, a := range r.answers {
		if a.key == "" || a.reply.status != 202 {
			continue
		}
		again, _, _ := r.start(purchasing, 0).buy(saleID, a.user, a.key)
		if again.status != 202 || again.body != a.reply.body {
			r.violate("P9: %s was told %s, then %d %s", a.user, a.reply.body, again.status, again.body)
		}
	}
	if after := r.db.Dump(); after != before {
		r.violate("P9: a replay changed the table from\n%s to\n%s", before, after)
	}
}
