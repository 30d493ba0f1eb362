// Package enumerate runs small sales (scenarios.go) through every plan of a few faults, and
// checks the promises after each. A plan says which call has which fault, and between which
// two calls another's request runs. `make enumerate` runs it; infra/proof/harness has the fakes and
// the judges.
//
// To read it, begin with enumerate in enumerate.go: it repeats a scenario until the plan
// has walked through every choice of faults (faults.go). In each run the scenario
// acts (run.go), the faults stop, and what must be true of a quiet sale is checked
// (finish.go).
package enumerate

import (
	"fmt"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/harness"
)

// scenario is one small sale that is run under every plan of faults.
type scenario struct {
	name   string
	stock  int
	shards int
	// maxStock and payWithin are the creation's; 0 is none.
	maxStock  int
	payWithin time.Duration
	// grouped: the sale shares a limit with otherSale, which has 9 units on 9 shards.
	grouped bool
	// drawn, if not nil, creates the sale with a draw and leads it to where all runs begin.
	drawn func(*run)
	// mostFaults is how many faults a plan has at most, whatever is asked for; 0 is no limit.
	mostFaults int
	// prepare runs before the faults begin.
	prepare func(*run)
	// act runs while faults may happen.
	act func(*run)
	// check makes the scenario's own checks when all orders are finished.
	check func(*run)
}

// run is one run of a scenario under one plan.
type run struct {
	*harness.World
	chooser    *chooser
	sales      []string // ids
	answers    []answer
	violations []string
	claimOf    map[string]string // by user: the claim id of the first acceptance, in whichever sale
	refused    []string          // claim ids of refused requests
	// restocked is when units were last added.
	restocked time.Time
	// withdrawn are the units in each withdrawal's answer, by its event.
	withdrawn map[string]int
	// told is how many callers were told that a change was made for them, by its event.
	told map[string]int
	// paid are the payments that were recorded, and what their providers were told.
	paid map[harness.Payment]harness.PaymentAnswer
	// entered are the users who were told that they have entered the draw.
	entered map[string]bool
	// created is when the sale with a draw was.
	created time.Time
}

// answer is a buyer's answer; code "" with status 0 is no answer.
type answer struct {
	saleID    string
	user, key string
	reply     harness.Reply
	ok        bool
}

// enumeration is the result of a scenario.
type enumeration struct {
	Runs       int
	Complete   bool // every plan was run within the budget
	Violations []string
}

// enumerate runs the scenario through every plan of up to that many faults, where an
// overlapping request counts as overlap faults, in at most budget runs. It must be
// called in a synctest bubble.
func enumerate(s scenario, faults, overlap, budget int) enumeration {
	c := &chooser{plan: &plan{}, overlap: overlap}
	r := &run{World: harness.NewWorld(c, func() float64 { return 0.5 }), chooser: c, sales: []string{harness.SaleID}}
	r.DB.Fault = func(dynamotest.Call) dynamotest.Fault { return c.current() }
	opens := time.Now().Add(-time.Minute)
	limit := ""
	if s.maxStock > 0 {
		limit = fmt.Sprintf(`,"maxStock":%d`, s.maxStock)
	}
	if s.payWithin > 0 {
		limit += harness.AsksForPayment(s.payWithin)
	}
	if s.grouped {
		limit += `,"limitGroup":"shoe"`
	}
	if s.drawn != nil {
		r.reset()
		harness.StoreEmptyPages(r.DB, harness.SaleID, entrants)
		s.drawn(r)
	} else {
		r.mustSeed(fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":"2089-01-01T00:00:00Z","stock":%d,"shards":%d%s}`,
			harness.SaleID, opens.UTC().Format(time.RFC3339), s.stock, s.shards, limit))
	}
	if s.grouped {
		r.sales = append(r.sales, otherSale)
		r.mustSeed(fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":"2089-01-01T00:00:00Z","stock":9,"shards":9,"limitGroup":"shoe"}`,
			otherSale, opens.UTC().Format(time.RFC3339)))
	}
	before := r.DB.Snapshot()
	var result enumeration
	for result.Runs < budget {
		result.Runs++
		// Every run begins at the start of a minute: order ids contain whole seconds,
		// so a run may depend on the fraction of a second at which it begins.
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		r.DB.Restore(before)
		r.reset()
		if s.prepare != nil {
			s.prepare(r)
		}
		if c.faultsLeft, c.active = faults, true; s.mostFaults > 0 {
			c.faultsLeft = min(faults, s.mostFaults)
		}
		s.act(r)
		c.active = !s.grouped // reconcile looks at several sales at once, in any order
		r.repair()
		c.active, c.meanwhile = false, nil
		r.finishAndCheck(s)
		for _, text := range r.violations {
			result.Violations = append(result.Violations, s.name+": "+text+c.logText())
		}
		if len(result.Violations) > 0 {
			return result
		}
		if !c.plan.next() {
			result.Complete = !c.plan.nondeterministic
			return result
		}
		if c.plan.nondeterministic {
			return result
		}
	}
	return result
}

// reset clears everything except the table.
func (r *run) reset() {
	r.dropQueue()
	r.answers, r.violations, r.refused, r.chooser.log = nil, nil, nil, nil
	r.claimOf, r.withdrawn, r.told, r.restocked = map[string]string{}, map[string]int{}, map[string]int{}, time.Time{}
	r.paid, r.entered = map[harness.Payment]harness.PaymentAnswer{}, map[string]bool{}
}

// dropQueue loses every message.
func (r *run) dropQueue() {
	r.Queue = harness.NewQueue()
	r.Queue.Fault = func(string) dynamotest.Fault { return r.chooser.current() }
}

// plan walks depth-first through every sequence of choices in the runs of a
// deterministic scenario. Later choices and their options may depend on earlier ones
// and need not be known in advance.
type plan struct {
	path []branch
	at   int
	// nondeterministic: a run had other choices than the previous one under the same plan, so the
	// scenario is not deterministic and the walk proves nothing.
	nondeterministic bool
}

type branch struct{ taken, options int }

// choose returns this run's option, 0…options-1. The first run takes 0
// everywhere.
func (p *plan) choose(options int) int {
	if options < 2 {
		return 0
	}
	if p.at == len(p.path) {
		p.path = append(p.path, branch{0, options})
	}
	b := p.path[p.at]
	p.at++
	if b.options != options {
		p.nondeterministic = true
		return 0
	}
	return b.taken
}

// next advances to the next run, or reports that there is none.
func (p *plan) next() bool {
	p.nondeterministic = p.nondeterministic || p.at < len(p.path)
	p.path, p.at = p.path[:p.at], 0
	for i := len(p.path) - 1; i >= 0; i-- {
		if p.path[i].taken++; p.path[i].taken < p.path[i].options {
			p.path = p.path[:i+1]
			return true
		}
	}
	return false
}
