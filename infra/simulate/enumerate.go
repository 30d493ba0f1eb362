package simulate

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"flashsale/shared/ledger/dynamotest"
)

// scenario is one small sale that is run through every plan of accidents.
type scenario struct {
	name   string
	stock  int
	shards int
	// prepare runs before the accidents begin.
	prepare func(*run)
	// act is what happens while accidents may.
	act func(*run)
	// judge checks what the scenario alone can know, when everything is quiet.
	judge func(*run)
}

// run is one run of a scenario under one plan.
type run struct {
	*world
	chooser *chooser
	answers []answer
	found   []string
	claimOf map[string]string // by user: the claim id of the first acceptance
	refused []string          // claim ids of requests that were told no
	// restocked is when units came last.
	restocked time.Time
}

// answer is what a buyer got; code "" with status 0 is none at all.
type answer struct {
	user, key string
	reply     reply
	ok        bool
}

func (r *run) violate(format string, args ...any) {
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

// enumeration is the result of a scenario.
type enumeration struct {
	Runs       int
	Complete   bool // every plan was run within the budget
	Violations []string
}

// enumerate runs the scenario through every plan of up to faults accidents, but
// not more than budget runs. It must be called in a bubble.
func enumerate(s scenario, faults, budget int) enumeration {
	c := &chooser{plan: &plan{}}
	r := &run{world: newWorld(c, func() float64 { return 0.5 }), chooser: c}
	r.db.Fault = func(dynamotest.Call) dynamotest.Fault { return c.fault }
	opens := time.Now().Add(-time.Minute)
	r.commands(fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":"2089-01-01T00:00:00Z","stock":%d,"shards":%d}`,
		saleID, opens.UTC().Format(time.RFC3339), s.stock, s.shards))
	before := r.db.Snapshot()
	var result enumeration
	for result.Runs < budget {
		result.Runs++
		r.db.Restore(before)
		r.reset()
		if s.prepare != nil {
			s.prepare(r)
		}
		c.left, c.active = faults, true
		s.act(r)
		r.repair()
		c.active, c.meanwhile = false, nil
		r.settle(s)
		for _, text := range r.found {
			result.Violations = append(result.Violations, s.name+": "+text+c.told())
		}
		if len(result.Violations) > 0 {
			return result
		}
		if !c.plan.next() {
			result.Complete = true
			return result
		}
	}
	return result
}

// reset empties everything that is not the table.
func (r *run) reset() {
	r.dropQueue()
	r.answers, r.found, r.claimOf, r.refused, r.chooser.story = nil, nil, map[string]string{}, nil, nil
}

// dropQueue loses every message.
func (r *run) dropQueue() {
	r.queue = newQueue()
	r.queue.fault = func(string) dynamotest.Fault { return r.chooser.fault }
}

// buys lets a user click in that environment and keeps the answer.
func (r *run) buys(e *environment, user, key string) answer {
	r.chooser.tell("%s clicks in %s %d", user, e.function, e.number)
	reply, took, ok := e.buy(user, key)
	if took > timeouts[purchasing] {
		r.violate("P16: a purchase took %v", took)
	}
	a := answer{user, key, reply, ok}
	r.chooser.tell("%s is told %d %s %s", user, reply.status, reply.code, reply.claim.ClaimID)
	r.answers = append(r.answers, a)
	r.truthful(a)
	if ok && reply.refuses() {
		r.refused = append(r.refused, e.asked...)
	}
	return a
}

// truthful checks an answer against the table at the instant it was given. Only a
// restock makes untrue what was true.
func (r *run) truthful(a answer) {
	if !a.ok {
		return
	}
	b := readBooks(r.db)
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
		if a.key != "" && holds {
			r.violate("P5: %s, who holds %s, was told sold-out", a.user, held.id)
		}
	case a.reply.code != "busy":
		r.violate("%s was told %q", a.user, a.reply.code)
	}
}

// commands invokes the seeding function until it succeeds, as its schedule would.
func (r *run) commands(event string) (applied bool) {
	for range 10 {
		e := r.start(seeding, 0)
		var out struct {
			Applied bool `json:"applied"`
		}
		took, err := e.command(event, &out)
		r.chooser.tell("seed: %v %+v", err, out)
		if took > timeouts[seeding] {
			r.violate("P16: seeding took %v", took)
		}
		if err == nil {
			return out.Applied
		}
	}
	r.violate("seeding never succeeds: %s", event)
	return false
}

// deliverAll hands every visible message to a function in one batch, and deletes
// what it does not report.
func (r *run) deliverAll(e *environment) {
	batch := r.queue.receive(time.Now(), 100, nil)
	if len(batch) == 0 {
		return
	}
	done, took := e.deliver(batch)
	if took > timeouts[finalizing] {
		r.violate("P16: finalizing took %v", took)
	}
	for _, handle := range done {
		a := r.chooser.choose(point{op: "DeleteMessage"})
		r.chooser.tell("delete %s: %s", handle, a.name)
		if a.name != "failed" {
			r.queue.remove(handle)
		}
	}
}

// repair is the first minutes after, in which accidents may still happen: the
// messages come, and if that does not finish every order, reconciliation runs.
func (r *run) repair() {
	r.deliverAll(r.start(finalizing, 0))
	for range 2 {
		if len(readBooks(r.db).unfinished()) == 0 {
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
	if took > timeouts[reconciling] {
		r.violate("P16: reconciling took %v", took)
	}
	for _, receipt := range out.Receipts {
		if !receipt.Balanced {
			r.violate("P2: the receipt does not balance: %q", receipt.Findings)
		}
	}
}

// settle is the time after the accidents: buyers without an answer ask again,
// messages are delivered, reconciliation runs; then the promises are checked.
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
	for minute := 0; len(readBooks(r.db).unfinished()) > 0 || r.queue.depth() > 0; minute++ {
		if minute == 30 {
			r.violate("P8: after %d minutes %v are without an order, %d messages", minute, readBooks(r.db).unfinished(), r.queue.depth())
			return
		}
		time.Sleep(time.Minute)
		r.reconcile()
		r.deliverAll(r.start(finalizing, 0))
	}
	b := readBooks(r.db)
	r.found = append(r.found, b.audit()...)
	for user, c := range b.claims {
		if slices.Contains(r.refused, c.id) {
			r.violate("P5: a request of %s was refused, and got %s", user, c.id)
		}
	}
	s.judge(r)
	r.replay()
}

// replay repeats everything that was said, and expects that it changes nothing
// and is answered the same (P9).
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
		again, _, _ := r.start(purchasing, 0).buy(a.user, a.key)
		if again.status != 202 || again.body != a.reply.body {
			r.violate("P9: %s was told %s, then %d %s", a.user, a.reply.body, again.status, again.body)
		}
	}
	if after := r.db.Dump(); after != before {
		r.violate("P9: a replay changed the table from\n%s to\n%s", before, after)
	}
}

// bodies of messages, for scenarios that plant them.
func orderMessage(user, claimID string) string {
	text, err := json.Marshal(struct {
		V       int    `json:"v"`
		SaleID  string `json:"saleId"`
		User    string `json:"user"`
		ClaimID string `json:"claimId"`
	}{1, saleID, user, claimID})
	if err != nil {
		panic(err) // strings and a number always encode
	}
	return string(text)
}
