package enumerate

import (
	"fmt"
	"time"

	"flashsale/infra/proof/harness"
)

func (r *run) violate(format string, args ...any) {
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

// checkDuration checks that a function answered before Lambda would have killed it.
func (r *run) checkDuration(f harness.Function, took time.Duration) {
	if took > harness.Timeouts[f] {
		r.violate("P16: %s took %v", f, took)
	}
}

// buy sends a user's purchase to that environment and records the answer.
func (r *run) buy(e *harness.Environment, user, key string) answer {
	return r.buyIn(e, harness.SaleID, user, key)
}

func (r *run) buyIn(e *harness.Environment, saleID, user, key string) answer {
	r.chooser.logf("%s clicks in %s %d for %s", user, e.Function, e.Number, saleID)
	reply, took, ok := e.Buy(saleID, user, key)
	r.checkDuration(harness.Purchasing, took)
	a := answer{saleID, user, key, reply, ok}
	r.chooser.logf("%s is told %d %s %s", user, reply.Status, reply.Code, reply.Claim.ClaimID)
	r.answers = append(r.answers, a)
	r.checkAnswer(e, a)
	if ok && reply.Refuses() {
		r.refused = append(r.refused, e.ClaimIDs...)
	}
	return a
}

// checkAnswer checks an answer against the table at that instant. Only a restock can
// invalidate a correct refusal.
func (r *run) checkAnswer(e *harness.Environment, a answer) {
	if !a.ok {
		return
	}
	b := harness.ReadBooks(r.DB, a.saleID)
	held := b.Claim(a.user).ClaimID
	holds := held != ""
	switch {
	case a.reply.Code == "already-ordered" && a.reply.Claim.ClaimID == "":
		if other := harness.ReadBooks(r.DB, a.reply.SaleID).Claim(a.user); other.ClaimID == "" || holds || a.reply.SaleID == a.saleID {
			r.violate("P34: %s was told of an order in %q and holds %q in %s", a.user, a.reply.SaleID, held, a.saleID)
		}
	case a.reply.Status == 202, a.reply.Code == "already-ordered":
		if !holds || held != a.reply.Claim.ClaimID {
			r.violate("P4: %s was told of claim %q and holds %q", a.user, a.reply.Claim.ClaimID, held)
		}
		if first := r.claimOf[a.user]; first != "" && first != a.reply.Claim.ClaimID {
			r.violate("P9: %s was told of claims %s and %s", a.user, first, a.reply.Claim.ClaimID)
		}
		r.claimOf[a.user] = a.reply.Claim.ClaimID
	case a.reply.Code == "sold-out":
		if left := b.Stock(); left != 0 && time.Since(r.restocked) >= harness.RefusalAge {
			r.violate("P6: %s was told sold-out with %d units left", a.user, left)
		}
		if holds && e.MustFindClaim(a.key) {
			r.violate("P5: %s, who holds %s, was told sold-out", a.user, held)
		}
	case harness.ReadDraw(r.DB, a.saleID).Refuses(a.user, a.reply.Code, time.Now()):
	case b.Recalled && (a.reply.Code == "recalled" || a.reply.Code == "sale-paused"):
	case a.reply.Code != "busy":
		r.violate("%s was told %q", a.user, a.reply.Code)
	}
}

// mustSeed invokes SeedFunction until it succeeds, as its schedule would.
func (r *run) mustSeed(event string) (applied bool) {
	answer, code := r.seed(event)
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

// seed invokes SeedFunction until it succeeds or refuses.
func (r *run) seed(event string) (out seedAnswer, code string) {
	for range 10 {
		e := r.Start(harness.Seeding, 0)
		out = seedAnswer{}
		took, err := e.Command(event, &out)
		r.chooser.logf("seed: %v %+v", err, out)
		r.checkDuration(harness.Seeding, took)
		if code = harness.CodeOf(err); err == nil || code == "conflicting-request" || code == "recalled" {
			return out, code
		}
	}
	r.violate("seeding never succeeds: %s", event)
	return out, code
}

// withdraw takes units out of the sale, despite all faults, and expects the same
// answer to every repeat of the request.
func (r *run) withdraw(seedID string, units int) {
	event := fmt.Sprintf(`{"action":"withdraw","saleId":%q,"seedId":%q,"stock":%d}`, harness.SaleID, seedID, units)
	took, code := r.seed(event)
	if before, known := r.withdrawn[event]; code != "" || known && before != took.Withdrawn {
		r.violate("P9: %s: %d units, before %d %s", event, took.Withdrawn, before, code)
	}
	r.withdrawn[event] = took.Withdrawn
}

// deliverAll delivers all visible messages to a function in one batch, and deletes
// those that it does not report.
func (r *run) deliverAll(e *harness.Environment) {
	batch := r.Queue.Receive(time.Now(), 100, nil)
	if len(batch) == 0 {
		return
	}
	done, took := e.Deliver(batch)
	r.checkDuration(harness.Finalizing, took)
	for _, handle := range done {
		a := r.chooser.choose(harness.Finalizing, harness.Point{Op: "DeleteMessage"})
		r.chooser.logf("delete %s: %s", handle, a.name)
		if a.name != "failed" {
			r.Queue.Remove(handle)
		}
	}
}

// repair runs the first minutes afterwards, in which faults may still happen:
// messages are delivered, and if that does not finish every order, reconciliation runs.
func (r *run) repair() {
	r.deliverAll(r.Start(harness.Finalizing, 0))
	for range 2 {
		if len(r.unfinished()) == 0 {
			return
		}
		time.Sleep(time.Minute)
		r.reconcile()
		r.deliverAll(r.Start(harness.Finalizing, 0))
	}
}

// unfinished returns the users of all sales whose claim has no order yet.
func (r *run) unfinished() (users []string) {
	for _, id := range r.sales {
		for _, c := range harness.ReadBooks(r.DB, id).Unfinished() {
			users = append(users, c.User)
		}
	}
	return users
}

func (r *run) reconcile() {
	e := r.Start(harness.Reconciling, 0)
	var out struct {
		Receipts []struct {
			Balanced bool     `json:"balanced"`
			Findings []string `json:"findings"`
		} `json:"receipts"`
	}
	took, err := e.Command("{}", &out)
	r.chooser.logf("reconcile: %v %+v", err, out)
	r.checkDuration(harness.Reconciling, took)
	for _, receipt := range out.Receipts {
		if !receipt.Balanced {
			r.violate("P2: the receipt does not balance: %q", receipt.Findings)
		}
	}
}
