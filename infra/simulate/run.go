package simulate

import (
	"fmt"
	"time"
)

func (r *run) violate(format string, args ...any) {
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

// inTime checks that a function answered before Lambda would have killed it.
func (r *run) inTime(f function, took time.Duration) {
	if took > timeouts[f] {
		r.violate("P16: %s took %v", f, took)
	}
}

// buys sends a user's purchase to that environment and records the answer.
func (r *run) buys(e *environment, user, key string) answer {
	r.chooser.tell("%s clicks in %s %d", user, e.function, e.number)
	reply, took, ok := e.buy(saleID, user, key)
	r.inTime(purchasing, took)
	a := answer{user, key, reply, ok}
	r.chooser.tell("%s is told %d %s %s", user, reply.status, reply.code, reply.claim.ClaimID)
	r.answers = append(r.answers, a)
	r.truthful(e, a)
	if ok && reply.refuses() {
		r.refused = append(r.refused, e.asked...)
	}
	return a
}

// truthful checks an answer against the table at that instant. Only a restock can
// invalidate a correct refusal.
func (r *run) truthful(e *environment, a answer) {
	if !a.ok {
		return
	}
	b := readBooks(r.db, saleID)
	held, holds := b.claims[a.user]
	switch {
	case a.reply.status == 202, a.reply.code == "already-ordered":
		if !holds || held.id != a.reply.claim.ClaimID {
			r.violate("P4: %s was told of claim %q and holds %q", a.user, a.reply.claim.ClaimID, held.id)
		}
		if first := r.claimOf[a.user]; first != "" && first != a.reply.claim.ClaimID {
			r.violate("P9: %s was told of claims %s and %s", a.user, first, a.reply.claim.ClaimID)
		}
		r.claimOf[a.user] = a.reply.claim.ClaimID
	case a.reply.code == "sold-out":
		if left := b.stock(); left != 0 && time.Since(r.restocked) >= remembered {
			r.violate("P6: %s was told sold-out with %d units left", a.user, left)
		}
		if holds && e.mustKnow(a.key) {
			r.violate("P5: %s, who holds %s, was told sold-out", a.user, held.id)
		}
	case a.reply.code != "busy":
		r.violate("%s was told %q", a.user, a.reply.code)
	}
}

// commands invokes SeedFunction until it succeeds, as its schedule would.
func (r *run) commands(event string) (applied bool) {
	answer, code := r.asks(event)
	if code != "" {
		r.violate("seeding fails with %s: %s", code, event)
	}
	return answer.Applied
}

// seedAnswer is the part of SeedFunction's answer that scenarios use.
type seedAnswer struct {
	Applied   bool `json:"applied"`
	Withdrawn int  `json:"withdrawn"`
}

// asks invokes SeedFunction until it succeeds or refuses.
func (r *run) asks(event string) (out seedAnswer, code string) {
	for range 10 {
		e := r.start(seeding, 0)
		out = seedAnswer{}
		took, err := e.command(event, &out)
		r.chooser.tell("seed: %v %+v", err, out)
		r.inTime(seeding, took)
		if code = codeOf(err); err == nil || code == "conflicting-request" {
			return out, code
		}
	}
	r.violate("seeding never succeeds: %s", event)
	return out, code
}

// withdraws takes units out of the sale, despite all accidents, and expects the same
// answer to every repeat of the request.
func (r *run) withdraws(seedID string, units int) {
	event := fmt.Sprintf(`{"action":"withdraw","saleId":%q,"seedId":%q,"stock":%d}`, saleID, seedID, units)
	took, code := r.asks(event)
	if before, known := r.withdrawn[event]; code != "" || known && before != took.Withdrawn {
		r.violate("P9: %s: %d units, before %d %s", event, took.Withdrawn, before, code)
	}
	r.withdrawn[event] = took.Withdrawn
}

// deliverAll delivers all visible messages to a function in one batch, and deletes
// those that it does not report.
func (r *run) deliverAll(e *environment) {
	batch := r.queue.receive(time.Now(), 100, nil)
	if len(batch) == 0 {
		return
	}
	done, took := e.deliver(batch)
	r.inTime(finalizing, took)
	for _, handle := range done {
		a := r.chooser.choose(finalizing, point{op: "DeleteMessage"})
		r.chooser.tell("delete %s: %s", handle, a.name)
		if a.name != "failed" {
			r.queue.remove(handle)
		}
	}
}

// repair runs the first minutes afterwards, in which accidents may still happen:
// messages are delivered, and if that does not finish every order, reconciliation runs.
func (r *run) repair() {
	r.deliverAll(r.start(finalizing, 0))
	for range 2 {
		if len(readBooks(r.db, saleID).unfinished()) == 0 {
			return
		}
		time.Sleep(time.Minute)
		r.reconcile()
		r.deliverAll(r.start(finalizing, 0))
	}
}

func (r *run) reconcile() {
	e := r.start(reconciling, 0)
	var out struct {
		Receipts []struct {
			Balanced bool     `json:"balanced"`
			Findings []string `json:"findings"`
		} `json:"receipts"`
	}
	took, err := e.command("{}", &out)
	r.chooser.tell("reconcile: %v %+v", err, out)
	r.inTime(reconciling, took)
	for _, receipt := range out.Receipts {
		if !receipt.Balanced {
			r.violate("P2: the receipt does not balance: %q", receipt.Findings)
		}
	}
}
