package simulate

import (
	"fmt"
	"time"

	"flashsale/shared/ledger/dynamotest"
)

// scenario is one small sale that is run through every plan of accidents.
type scenario struct {
	name   string
	stock  int
	shards int
	// maxStock is the creation's; 0 is none.
	maxStock int
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
	// withdrawn are the units that each withdrawal answered, by its event.
	withdrawn map[string]int
}

// answer is what a buyer got; code "" with status 0 is none at all.
type answer struct {
	user, key string
	reply     reply
	ok        bool
}

// enumeration is the result of a scenario.
type enumeration struct {
	Runs       int
	Complete   bool // every plan was run within the budget
	Violations []string
}

// enumerate runs the scenario through every plan of up to faults accidents, of
// which another's request that overlaps is as many as overlap says, but not more
// than budget runs. It must be called in a bubble.
func enumerate(s scenario, faults, overlap, budget int) enumeration {
	c := &chooser{plan: &plan{}, overlap: overlap}
	r := &run{world: newWorld(c, func() float64 { return 0.5 }), chooser: c}
	r.db.Fault = func(dynamotest.Call) dynamotest.Fault { return c.fault }
	opens := time.Now().Add(-time.Minute)
	limit := ""
	if s.maxStock > 0 {
		limit = fmt.Sprintf(`,"maxStock":%d`, s.maxStock)
	}
	r.commands(fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":"2089-01-01T00:00:00Z","stock":%d,"shards":%d%s}`,
		saleID, opens.UTC().Format(time.RFC3339), s.stock, s.shards, limit))
	before := r.db.Snapshot()
	var result enumeration
	for result.Runs < budget {
		result.Runs++
		// Every run begins at the same second of a minute: order ids know no
		// fractions of one, so what a run meets may depend on when in it it began.
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
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
			result.Complete = !c.plan.astray
			return result
		}
		if c.plan.astray {
			return result
		}
	}
	return result
}

// reset empties everything that is not the table.
func (r *run) reset() {
	r.dropQueue()
	r.answers, r.found, r.refused, r.chooser.story = nil, nil, nil, nil
	r.claimOf, r.withdrawn, r.restocked = map[string]string{}, map[string]int{}, time.Time{}
}

// dropQueue loses every message.
func (r *run) dropQueue() {
	r.queue = newQueue()
	r.queue.fault = func(string) dynamotest.Fault { return r.chooser.fault }
}
