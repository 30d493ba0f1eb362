package enumerate

import (
	"fmt"
	"time"

	"flashsale/infra/proof/harness"
)

// entrants are those who enter the draws. Who is called when depends on the dice of the run.
var entrants = []string{harness.PageUser, "bob", "carol", "dave"}

// drawScenarios are the scenarios of a sale with a draw, from entering to the second call. What
// comes before is done once. The units are kept for a week, in which there is time for all plans of
// one fault, but not of two.
var drawScenarios = []scenario{
	{
		name: "people enter a draw",
		drawn: func(r *run) {
			r.createDraw(1, 1, 7*24*time.Hour)
			r.enter("bob")
		},
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.enter(harness.PageUser) }) }, func() { r.enter(harness.PageUser) })
			r.enter("bob")
		},
		check: func(r *run) {
			r.withoutFaults(func() { r.enter(harness.PageUser) })
			for user := range r.entered {
				if r.DB.Item(harness.TableName, fmt.Sprintf("ENTRY#%s#%02x", harness.SaleID, harness.LeafOf(user).Page()), user) == nil {
					r.violate("P27: %s was told of having entered, and has not", user)
				}
			}
		},
	},
	{
		name: "a roll is closed", mostFaults: 1,
		drawn: func(r *run) {
			r.createDraw(1, 1, enteringLasts)
			r.enter(entrants...)
			r.until(enteringLasts + harness.DrawTimes.Settle)
		},
		act: func(r *run) { r.lead() },
		check: func(r *run) {
			for _, user := range entrants {
				if !harness.ReadDraw(r.DB, harness.SaleID).Closed || !harness.IsOnRoll(r.DB, harness.SaleID, user) {
					r.violate("P27: %s has entered, and is not on the roll", user)
				}
			}
		},
	},
	{
		name: "the first call by two runs at once", mostFaults: 1,
		drawn: func(r *run) {
			r.createDraw(2, 2, enteringLasts)
			r.enter(entrants...)
			r.leadTo(0)
		},
		act:   func(r *run) { r.during(func() { r.withoutFaults(r.lead) }, r.lead) },
		check: func(r *run) { r.checkCall(1) },
	},
	{
		name: "whoever is called buys, and nobody else", mostFaults: 1,
		drawn: func(r *run) {
			r.createDraw(2, 2, enteringLasts)
			r.enter(entrants...)
			r.leadTo(1)
		},
		act: func(r *run) {
			e := r.Start(harness.Purchasing, 0)
			for _, user := range entrants {
				e = r.alive(e)
				r.buy(e, user, "key-"+user)
			}
		},
		check: func(r *run) { r.checkCall(1) },
	},
	{
		// Between any two calls of the draw function the purchase of somebody of the first call is
		// applied, which had no answer then.
		name: "the second call, and a purchase of the first one that is applied late", mostFaults: 1,
		drawn: func(r *run) {
			r.createDraw(2, 2, enteringLasts)
			r.enter(entrants...)
			r.leadTo(1)
			called := r.called(1)
			r.chooser.holdsBack = true
			if got, _, _ := r.Start(harness.Purchasing, 0).Buy(harness.SaleID, called[0], ""); got.Code != "busy" {
				r.violate("P5: %s was told %q without an answer of the table", called[0], got.Code)
			}
			r.chooser.holdsBack = false
			time.Sleep(keepHours*time.Hour + harness.DrawTimes.Gap)
		},
		act: func(r *run) {
			r.during(func() { r.DB.ApplyPending() }, r.lead)
			time.Sleep(time.Minute)
			r.withoutFaults(r.lead) // the next run, which completes the call if this one was cut off
		},
		check: func(r *run) { r.checkCall(2) },
	},
}

const (
	// enteringLasts is how long people may enter, and beginsAfter after how much more the sale
	// begins. A unit is kept for keepHours.
	enteringLasts = 10 * time.Minute
	beginsAfter   = 10 * time.Minute
	keepHours     = 168
)

// createDraw creates the sale, which people may enter at once, for so long.
func (r *run) createDraw(stock, shards int, entering time.Duration) {
	now := time.Now()
	r.created = now
	r.mustSeed(fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":"2089-01-01T00:00:00Z","stock":%d,"shards":%d,"enterFrom":%q,"enterUntil":%q,"keepHours":%d}`,
		harness.SaleID, harness.Stamp(now.Add(entering+beginsAfter)), stock, shards, harness.Stamp(now), harness.Stamp(now.Add(entering)), keepHours))
}

// until waits until that long after the creation.
func (r *run) until(after time.Duration) { time.Sleep(time.Until(r.created.Add(after))) }

// enter enters users into the draw.
func (r *run) enter(users ...string) {
	for _, user := range users {
		got, took, ok := r.Start(harness.Purchasing, 0).Enter(harness.SaleID, user)
		r.checkDuration(harness.Purchasing, took)
		r.chooser.logf("%s enters: %t %d %s", user, ok, got.Status, got.Body)
		switch {
		case ok && got.Status == 200:
			r.entered[user] = true
		case ok && got.Code != "busy":
			r.violate("P27: %s, who may enter, is told %d %s", user, got.Status, got.Code)
		}
	}
}

// lead runs the draw function once.
func (r *run) lead() {
	var out harness.Courses
	took, err := r.Start(harness.Drawing, 0).Command("{}", &out)
	r.chooser.logf("draw: %v %+v", err, out)
	r.checkDuration(harness.Drawing, took)
}

// leadTo leads the draw to the instant at which the first call is due, or to its call of that
// number, which has begun then.
func (r *run) leadTo(number int) {
	r.until(enteringLasts + harness.DrawTimes.Settle)
	for time.Since(r.created) < enteringLasts+beginsAfter-time.Minute {
		r.lead()
		time.Sleep(time.Minute)
	}
	r.until(enteringLasts + beginsAfter)
	for minute := 0; harness.ReadDraw(r.DB, harness.SaleID).Calls() < number; minute++ {
		if minute == 5 {
			r.violate("P31: there is no call %d", number)
			return
		}
		r.lead()
		time.Sleep(time.Minute)
	}
}

// resumeDraw makes the runs of the minutes that follow: what was cut off is completed.
func (r *run) resumeDraw() {
	for range 3 {
		r.lead()
		time.Sleep(time.Minute)
	}
}

// called are the entrants of a call.
func (r *run) called(number int) (users []string) {
	d := harness.ReadDraw(r.DB, harness.SaleID)
	for _, user := range entrants {
		if d.CallOf(user) == number {
			users = append(users, user)
		}
	}
	return users
}

// checkCall leads the draw to the call of that number, or a later one, without faults, and checks
// that there are people in it, each of whom gets a unit, and that nobody else does.
func (r *run) checkCall(number int) {
	for minute := 0; ; minute++ {
		d := harness.ReadDraw(r.DB, harness.SaleID)
		if d.Calls() >= number && len(r.called(d.Calls())) > 0 || harness.ReadBooks(r.DB, harness.SaleID).Stock() == 0 {
			break
		}
		if minute == 6 {
			r.violate("P31: units are left, and there is no call %d", number)
			return
		}
		r.lead()
		time.Sleep(time.Minute)
	}
	time.Sleep(harness.DrawTimes.Gap)
	newest := harness.ReadDraw(r.DB, harness.SaleID).Calls()
	for _, user := range entrants {
		before, isCalled := harness.ReadBooks(r.DB, harness.SaleID).Claim(user).ClaimID, harness.ReadDraw(r.DB, harness.SaleID).CallOf(user) == newest
		got := r.buy(r.Start(harness.Purchasing, 0), user, "")
		if before == "" && isCalled != (got.reply.Status == 202) {
			r.violate("P29, P30: %s is told %d %s, and it is their turn: %t", user, got.reply.Status, got.reply.Code, isCalled)
		}
	}
	r.repair()
	r.violations = append(r.violations, harness.ReadBooks(r.DB, harness.SaleID).Audit()...)
}
