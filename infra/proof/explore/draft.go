package explore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"flashsale/infra/proof/harness"
)

// conditions are what a seed may have in addition to the usual faults.
type conditions struct {
	sales int           // 1 to 4 of them, at once
	skew  time.Duration // how far clocks are off at most
	// midnight: a day of UTC ends while the sales are open.
	midnight bool
	// slow: many calls are slow, so that some are in progress at midnight.
	slow bool
	// freezes: environments are frozen for up to twenty minutes.
	freezes bool
	// lag: eventually consistent reads see an older state.
	lag bool
	// halfVisible: readers may see one item of a transaction before another.
	halfVisible bool
	// vagueReasons: cancellations report contention, and the other reasons at random.
	vagueReasons bool
	// seeding: sales are created, restocked and edited by requests that are cut off,
	// sent twice at once and applied late, when buyers are already buying.
	seeding bool
	// poison: poison messages arrive, while buyers' messages are lost.
	poison bool
	// withdraws: the operators withdraw units, whatever is left.
	withdraws bool
	// pays: the sales ask for payment.
	pays bool
	// late: those that do have a late day.
	late bool
	// groups: a user may order in one of the sales only, which are created at different times.
	groups bool
	// recalls: some of the sales are recalled in the end.
	recalls bool
	// draws: of one of the sales the buyers are drawn.
	draws bool
	// publishes: the publishing of events has every fault that it may have, often.
	publishes bool
	// restores: in the end the table is restored to an earlier instant. A draw's entries and calls would be
	// lost, so no sale with a draw is.
	restores bool
}

func drawConditions(r *rand.Rand) conditions {
	c := conditions{
		sales: 1, skew: usualSkew, midnight: sometimes(r, 0.2), freezes: sometimes(r, 0.2), lag: sometimes(r, 0.3),
		halfVisible: sometimes(r, 0.3), vagueReasons: sometimes(r, 0.3), seeding: sometimes(r, 0.2), poison: sometimes(r, 0.15),
	}
	c.slow, c.publishes = c.midnight && sometimes(r, 0.5), sometimes(r, 0.05)
	if sometimes(r, 0.4) {
		c.sales = 2 + r.IntN(3)
	}
	if sometimes(r, 0.2) {
		c.skew = farthestSkew
	}
	return c
}

const (
	// usualSkew is the usual maximum error of a clock, farthestSkew the largest
	// allowed.
	usualSkew    = 50 * time.Millisecond
	farthestSkew = 30 * time.Second
	// hiddenAtMost is how much later than another one item of a transaction may become
	// visible.
	hiddenAtMost = 30 * time.Millisecond
)

// draft is everything that a seed draws before anything runs. Every seed draws which
// kinds of faults it has, so that rare combinations also occur without all the
// others.
type draft struct {
	sales        []saleDraft
	poisons      []string
	firstPass    time.Duration // of reconciliation; the others follow every minute
	environments map[harness.Function]int
	batch        int
	busy         time.Duration // how long a transaction locks its items
	lag          time.Duration // of eventually consistent reads
	rates        faultRates
}

// saleDraft is one sale.
type saleDraft struct {
	id            string
	stock, shards int
	maxStock      int // 0 for none
	maxPerOrder   int // units; 0 for one
	opensAt       time.Duration
	closesAt      time.Duration
	buyers        []buyer
	commands      []command
	grouped       bool
	draw          *drawDraft // nil if it has none
	// twice: each command is sent by two operators at once.
	twice bool
	// payWithin is 0 if the sale asks for no payment.
	payWithin     time.Duration
	cancellations []cancellation // by operators
	// late: it has a late day.
	late bool
}

// lateFor is how long an overdue order of a sale with a late day stays while units are left.
const lateFor = 24 * time.Hour

// buyer is one user's actions.
type buyer struct {
	user   string
	first  time.Duration
	clicks []click
}

type click struct {
	key   string
	units int64         // 0 is one, without saying so
	pause time.Duration // after it
	// twice: the same button is clicked again at once.
	twice bool
	// asks: the buyer queries the order, or the sale, afterwards.
	asks bool
}

// command is one action of the operator.
type command struct {
	number int // in the order of drawing
	at     time.Duration
	// event returns the request when it is first sent.
	event func(now time.Time) string
	// inDraw is event of one that depends on how far a draw has come; mayConflict: it may be
	// refused for that.
	inDraw      func(m *runningSale, now time.Time) string
	mayConflict bool

	edit, extends bool
	units         int
	// withdraws: its answer contains how many units it took.
	withdraws bool
	// recalls: after it the sale accepts no other.
	recalls bool
	// whenSoldOut sends it that long after the last unit was sold, if that is before at:
	// when shards are being closed and reopened.
	whenSoldOut bool
	delay       time.Duration
	// again repeats the command of that number instead; -1 if it does not.
	again int
}

func drawSales(r *rand.Rand, c conditions) draft {
	d := draft{
		environments: map[harness.Function]int{harness.Seeding: 1, harness.Reconciling: 1, harness.Publishing: 4},
		batch:        1 + r.IntN(25),
		busy:         between(r, 0, 15*time.Millisecond),
	}
	for _, f := range []harness.Function{harness.Purchasing, harness.Finalizing, harness.Querying} {
		d.environments[f] = 1 + r.IntN(6)
	}
	d.rates = drawFaultRates(r)
	if sometimes(r, 0.3) {
		d.poisons = harness.PoisonMessages
	}
	users := max(3, int(5*math.Pow(40, r.Float64()))/c.sales)
	opens := between(r, 5*time.Second, 20*time.Second)
	if c.pays {
		d.environments[harness.Paying], d.environments[harness.Releasing] = 1+r.IntN(4), 2
	}
	if c.recalls {
		d.environments[harness.Releasing] = 2
	}
	if c.draws {
		d.environments[harness.Drawing] = 3
	}
	for i := range c.sales {
		if i == 0 && c.draws {
			d.sales = append(d.sales, drawDrawnSale(r, c, users))
			continue
		}
		d.sales = append(d.sales, drawSale(r, c, i, users, opens))
		opens += between(r, 0, 3*time.Second)
	}
	d.firstPass = between(r, 0, time.Minute)
	d.applyConditions(r, c)
	return d
}

// applyConditions changes the draft to satisfy the conditions.
func (d *draft) applyConditions(r *rand.Rand, c conditions) {
	w := &d.rates
	if c.lag {
		d.lag, w.table.Stale = between(r, time.Millisecond, 10*time.Second), 0.3
	}
	if c.halfVisible {
		w.table.Hidden, w.table.HiddenFor = 0.5, hiddenAtMost
		if !c.draws {
			d.firstPass = max(0, d.sales[0].opensAt) + between(r, 0, 3*time.Second) // while most buyers arrive
		}
	}
	if c.vagueReasons {
		w.table.Cancel = 0.2
	}
	if c.slow {
		w.slow = 0.3
	}
	if c.freezes {
		w.freeze = 0.1
	}
	if c.seeding {
		d.environments[harness.Seeding] = 3
	}
	if c.poison {
		d.poisons, w.sends = harness.PoisonMessages, 0.3
	}
}

func drawSale(r *rand.Rand, c conditions, number, users int, opensAt time.Duration) saleDraft {
	s := saleDraft{id: harness.SaleID, opensAt: opensAt, stock: max(1, int(float64(users)*math.Pow(10, 2*r.Float64()-1)))}
	if number > 0 {
		s.id = fmt.Sprint(harness.SaleID, "-", number+1)
	}
	s.shards = 1 + r.IntN(min(8, s.stock))
	if c.pays {
		s.payWithin, s.late = harness.PayWithin, c.late
	}
	s.grouped = c.groups
	if c.seeding {
		// It opens while it is still being created.
		s.opensAt, s.twice = between(r, -time.Second, 2*time.Second), true
	}
	s.closesAt = s.opensAt + 24*time.Hour
	if sometimes(r, 0.3) {
		s.closesAt = s.opensAt + between(r, 5*time.Second, 3*time.Minute)
	}
	for i := range users {
		s.buyers = append(s.buyers, drawBuyer(r, i, max(0, s.opensAt)))
	}
	s.commands = drawCommands(r, s, c)
	if c.groups {
		s.commands[0].at = time.Duration(number) * 2 * time.Second
	}
	return s
}

func sometimes(r *rand.Rand, share float64) bool { return r.Float64() < share }

func drawBuyer(r *rand.Rand, number int, opensAt time.Duration) buyer {
	b := buyer{user: fmt.Sprintf("user-%03d", number), first: opensAt + time.Duration(r.ExpFloat64()*float64(2*time.Second))}
	if sometimes(r, 0.2) {
		b.first = between(r, 0, opensAt+time.Second)
	}
	keyed, fresh := sometimes(r, 0.6), sometimes(r, 0.1)
	for i := range 1 + r.IntN(4) {
		c := click{pause: time.Duration(r.ExpFloat64() * float64(time.Second)), twice: sometimes(r, 0.2), asks: sometimes(r, 0.3)}
		if sometimes(r, 0.05) {
			c.pause = between(r, time.Second, 2*time.Minute)
		}
		if keyed {
			c.key = "key-" + b.user
		}
		if keyed && fresh {
			c.key = fmt.Sprintf("key-%s-%d", b.user, i)
		}
		b.clicks = append(b.clicks, c)
	}
	return b
}

// creation is the request that creates the sale.
func (d saleDraft) creation(now time.Time) string {
	asks := ""
	if d.payWithin > 0 {
		asks = harness.AsksForPayment(d.payWithin)
	}
	if d.late {
		asks += `,"lateDays":1`
	}
	if d.grouped {
		asks += `,"limitGroup":"shoe"`
	}
	if d.maxStock > 0 {
		asks += fmt.Sprintf(`,"maxStock":%d`, d.maxStock)
	}
	if d.maxPerOrder > 0 {
		asks += fmt.Sprintf(`,"maxPerOrder":%d`, d.maxPerOrder)
	}
	if d.draw != nil {
		asks += fmt.Sprintf(`,"enterFrom":%q,"enterUntil":%q,"keepHours":%d`, harness.Stamp(now.Add(d.draw.enterFrom)), harness.Stamp(now.Add(d.draw.enterUntil)), keepFor/time.Hour)
	}
	return fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":%q,"stock":%d,"shards":%d%s}`,
		d.id, harness.Stamp(now.Add(d.opensAt)), harness.Stamp(now.Add(d.closesAt)), d.stock, d.shards, asks)
}

// drawCommands draws the operator's commands: always the creation, perhaps restocks,
// pauses, reschedulings and repeats.
func drawCommands(r *rand.Rand, d saleDraft, c conditions) []command {
	all := []command{{event: d.creation, units: d.stock, again: -1}}
	during, longest := func() time.Duration { return d.opensAt + time.Duration(r.ExpFloat64()*float64(8*time.Second)) }, 15*time.Second
	if d.draw != nil {
		during, longest = func() time.Duration { return between(r, d.draw.enterFrom, d.draw.until) }, 20*time.Minute
	}
	if sometimes(r, 0.5) {
		times := 1 + r.IntN(3)
		if sometimes(r, 0.3) {
			times = 4 + r.IntN(8)
		}
		for i := range times {
			units := 1 + r.IntN(1+d.stock/2)
			if sometimes(r, 0.5) {
				units = 1 + r.IntN(d.shards)
			}
			all = append(all, command{
				at: during(), units: units, again: -1, whenSoldOut: sometimes(r, 0.7), delay: time.Duration(r.ExpFloat64() * float64(20*time.Millisecond)),
				event: func(time.Time) string {
					return fmt.Sprintf(`{"action":"add","saleId":%q,"seedId":"batch-%d","stock":%d}`, d.id, i, units)
				},
			})
		}
	}
	if sometimes(r, 0.3) {
		at := during()
		for range 1 + r.IntN(2) {
			all = append(all, paused(d.id, at, "pause"))
			at += between(r, 100*time.Millisecond, longest)
			all = append(all, paused(d.id, at, "resume"))
			at += between(r, 100*time.Millisecond, longest)
		}
	}
	if d.draw != nil {
		all = append(all, drawDrawCommands(r, d)...)
	} else if sometimes(r, 0.2) {
		opens, closes := between(r, -10*time.Second, 10*time.Second), between(r, 11*time.Second, 2*time.Minute)
		all = append(all, command{at: during(), edit: true, again: -1, event: func(now time.Time) string {
			return fmt.Sprintf(`{"action":"reschedule","saleId":%q,"opensAt":%q,"closesAt":%q,"at":%q}`,
				d.id, harness.Stamp(now.Add(opens)), harness.Stamp(now.Add(closes)), harness.Stamp(now))
		}})
	}
	if d.payWithin > 0 && sometimes(r, 0.5) {
		for i := range 1 + r.IntN(2) {
			at, longer, by := during()+between(r, 0, 2*harness.PayWithin), between(r, time.Second, 8*time.Minute), ""
			if sometimes(r, 0.5) {
				by = `,"actor":"ana"`
			}
			all = append(all, command{at: at, edit: true, extends: true, mayConflict: true, again: -1, event: func(now time.Time) string {
				return fmt.Sprintf(`{"action":"extend","saleId":%q,"changeId":"longer-%d","at":%q,"until":%q%s}`, d.id, i, harness.Stamp(now), harness.Stamp(now.Add(longer)), by)
			}})
		}
	}
	if c.withdraws {
		for i := range 1 + r.IntN(4) {
			units := 1 + r.IntN(2*d.stock)
			if sometimes(r, 0.5) {
				units = 1 + r.IntN(1+d.stock/4)
			}
			at := d.opensAt + time.Duration(r.ExpFloat64()*float64(time.Second)) // while most of them buy
			if d.draw != nil {
				at = min(d.draw.until, d.opensAt+between(r, -10*time.Minute, 2*time.Minute))
			}
			all = append(all, command{
				at: at, withdraws: true, mayConflict: d.draw != nil, again: -1,
				event: func(time.Time) string {
					return fmt.Sprintf(`{"action":"withdraw","saleId":%q,"seedId":"typo-%d","stock":%d}`, d.id, i, units)
				},
			})
		}
	}
	for range r.IntN(3) {
		again := r.IntN(len(all))
		all = append(all, command{at: during(), again: again, mayConflict: all[again].mayConflict})
	}
	if c.recalls && sometimes(r, 0.8) {
		all = append(all, drawRecall(r, d, all))
	}
	for i := range all {
		all[i].number = i
	}
	return all
}

// drawRecall draws a recall after all other commands: soon, while most buyers buy and pay, or when
// the sale is closed and may be drained.
func drawRecall(r *rand.Rand, d saleDraft, others []command) command {
	at := d.opensAt + time.Duration(r.ExpFloat64()*float64(20*time.Second))
	if closed := d.closesAt + between(r, 0, 25*time.Minute); closed < time.Hour && sometimes(r, 0.6) {
		at = closed
	}
	if d.draw != nil {
		at = between(r, 0, d.draw.until)
	}
	for _, c := range others {
		at = max(at, c.at+time.Millisecond)
	}
	return command{at: at, edit: true, recalls: true, again: -1, event: func(time.Time) string {
		return fmt.Sprintf(`{"action":"recall","saleId":%q,"changeId":"the-recall","actor":"ana","note":"defective"}`, d.id)
	}}
}

func paused(sale string, at time.Duration, action string) command {
	return command{at: at, edit: true, again: -1, event: func(now time.Time) string {
		return fmt.Sprintf(`{"action":%q,"saleId":%q,"changeId":"%s-%d","actor":"ana","note":"too hot","at":%q}`, action, sale, action, at, harness.Stamp(now))
	}}
}
