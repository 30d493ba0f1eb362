package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"flashsale/shared/ledger/dynamotest"
)

// draft is a whole sale as its seed draws it, before anything runs. Every seed
// draws which kinds of accidents and surprises it has at all, so that rare
// combinations are not drowned by everything happening everywhere.
type draft struct {
	stock, shards int
	buyers        []buyer
	commands      []command
	poisons       []string
	environments  map[function]int
	batch         int
	opensAt       time.Duration // from the beginning, like every instant here
	closesAt      time.Duration
	busy          time.Duration // how long a transaction keeps its items
	weather       weather
}

// buyer is what one user does.
type buyer struct {
	user   string
	first  time.Duration
	clicks []click
}

type click struct {
	key   string
	pause time.Duration // after it
	// twice: another click of the same button comes at once.
	twice bool
	// asks: looks at the order, or the sale, afterwards.
	asks bool
}

// command is what the operator does.
type command struct {
	number int // in the order of drawing
	at     time.Duration
	// event is what is said, at its first time.
	event func(now time.Time) string
	edit  bool
	units int
	// whenGone lets it come that much after the last unit was sold, if that is
	// before at: when shards are being closed and reopened.
	whenGone bool
	delay    time.Duration
	// again repeats the command of that number instead; -1 if it does not.
	again int
}

func drawSale(r *rand.Rand) draft {
	users := int(5 * math.Pow(40, r.Float64()))
	d := draft{
		stock:        max(1, int(float64(users)*math.Pow(10, 2*r.Float64()-1))),
		environments: map[function]int{seeding: 1, reconciling: 1},
		batch:        1 + r.IntN(25),
		opensAt:      between(r, 5*time.Second, 20*time.Second),
		busy:         between(r, 0, 15*time.Millisecond),
	}
	d.shards = 1 + r.IntN(min(8, d.stock))
	for _, f := range []function{purchasing, finalizing, querying} {
		d.environments[f] = 1 + r.IntN(6)
	}
	d.closesAt = d.opensAt + 24*time.Hour
	if sometimes(r, 0.3) {
		d.closesAt = d.opensAt + between(r, 5*time.Second, 3*time.Minute)
	}
	d.weather = drawWeather(r)
	if sometimes(r, 0.3) {
		d.poisons = poisons
	}
	for i := range users {
		d.buyers = append(d.buyers, drawBuyer(r, i, d.opensAt))
	}
	d.commands = drawCommands(r, d)
	return d
}

func sometimes(r *rand.Rand, share float64) bool { return r.Float64() < share }

// drawWeather draws each accident with even chances of none, some and much.
func drawWeather(r *rand.Rand) weather {
	rate := func(much float64) float64 { return []float64{0, much / 5, much}[r.IntN(3)] }
	w := weather{
		table: dynamotest.Rates{
			Conflict: rate(0.2), Throttle: rate(0.1), ServerError: rate(0.1), LostReply: rate(0.15),
			ApplyLate: rate(0.1), Unprocessed: rate(0.3), Late: between(r, time.Millisecond, 4*time.Second),
		},
		sends:   rate(0.3),
		latency: between(r, 2*time.Millisecond, 40*time.Millisecond),
		slow:    rate(0.05),
		crash:   rate(0.02),
		recycle: rate(0.2),
	}
	w.disorder.shuffled, w.disorder.twice = rate(1), rate(0.3)
	return w
}

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

// drawCommands draws the operator's day: always the creation, perhaps restocks,
// pauses, reschedulings and repeats.
func drawCommands(r *rand.Rand, d draft) []command {
	created := func(now time.Time) string {
		began := now
		return fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":%q,"stock":%d,"shards":%d}`,
			saleID, stamp(began.Add(d.opensAt)), stamp(began.Add(d.closesAt)), d.stock, d.shards)
	}
	all := []command{{event: created, units: d.stock, again: -1}}
	during := func() time.Duration { return d.opensAt + time.Duration(r.ExpFloat64()*float64(8*time.Second)) }
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
				at: during(), units: units, again: -1, whenGone: sometimes(r, 0.7), delay: time.Duration(r.ExpFloat64() * float64(20*time.Millisecond)),
				event: func(time.Time) string {
					return fmt.Sprintf(`{"action":"add","saleId":%q,"seedId":"batch-%d","stock":%d}`, saleID, i, units)
				},
			})
		}
	}
	if sometimes(r, 0.3) {
		at := during()
		for range 1 + r.IntN(2) {
			all = append(all, paused(at, "pause"))
			at += between(r, 100*time.Millisecond, 15*time.Second)
			all = append(all, paused(at, "resume"))
			at += between(r, 100*time.Millisecond, 15*time.Second)
		}
	}
	if sometimes(r, 0.2) {
		opens, closes := between(r, -10*time.Second, 10*time.Second), between(r, 11*time.Second, 2*time.Minute)
		all = append(all, command{at: during(), edit: true, again: -1, event: func(now time.Time) string {
			return fmt.Sprintf(`{"action":"reschedule","saleId":%q,"opensAt":%q,"closesAt":%q,"at":%q}`,
				saleID, stamp(now.Add(opens)), stamp(now.Add(closes)), stamp(now))
		}})
	}
	for range r.IntN(3) {
		all = append(all, command{at: during(), again: r.IntN(len(all))})
	}
	for i := range all {
		all[i].number = i
	}
	return all
}

func paused(at time.Duration, action string) command {
	return command{at: at, edit: true, again: -1, event: func(now time.Time) string {
		return fmt.Sprintf(`{"action":%q,"saleId":%q,"at":%q}`, action, saleID, stamp(now))
	}}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
