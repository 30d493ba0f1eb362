package ledger_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// This test walks through the states of a small draw, from its first call on, with the real ledger:
// 2 shards, 2 or 3 units, 4 entrants. A state is the table, the time, and the actors that wait
// between two of their calls of the table. A step is one of these:
//
//   - an actor begins, and runs to its end or until one of its calls, before which it waits;
//   - one that waits goes on, to its end or until a later call;
//   - the write that one waits with is applied, and it still waits: so a write comes late, and
//     twice if its actor goes on;
//   - time passes to the next instant at which anything changes.
//
// An actor that never goes on has died. The clock of an actor is right, or 30 s behind or ahead. A
// path has so many waits at most. From each table the draw function is then run without waits.
func TestEveryStateOfADraw(t *testing.T) {
	right, wrong := []time.Duration{0}, []time.Duration{-30 * time.Second, 0, 30 * time.Second}
	for _, world := range []drawWorld{
		{name: "a purchase and a run that wait", units: 2, buyers: 1, calls: 2, waits: 2, mayWait: "buy run", clocks: right},
		{name: "two buyers of a shard", units: 2, buyers: 2, calls: 3, waits: 1, mayWait: "buy run", clocks: right},
		{name: "everybody who is called", units: 3, buyers: 3, calls: 3, waits: 1, mayWait: "run", clocks: right},
		{name: "clocks", units: 2, buyers: 1, calls: 2, waits: 1, mayWait: "buy run", clocks: wrong},
		{name: "an addition", units: 2, buyers: 1, calls: 2, waits: 1, mayWait: "run", clocks: right, others: "add"},
		{name: "a withdrawal", units: 2, buyers: 2, calls: 2, waits: 1, mayWait: "withdraw", clocks: right, others: "withdraw"},
		{name: "a unit that is put back", units: 2, buyers: 2, calls: 2, waits: 1, mayWait: "", clocks: right, others: "put back"},
		{name: "everybody buys", large: true, units: 3, buyers: 4, calls: 3, waits: 1, mayWait: "buy run", clocks: right},
		{name: "two wait, for three calls", large: true, units: 2, buyers: 1, calls: 3, waits: 2, mayWait: "buy run", clocks: right},
		{name: "clocks, for three calls", large: true, units: 2, buyers: 1, calls: 3, waits: 1, mayWait: "buy run", clocks: wrong},
		{name: "an addition, for three calls", large: true, units: 2, buyers: 2, calls: 3, waits: 1, mayWait: "run", clocks: right, others: "add"},
	} {
		if world.large && !*walkAll {
			continue
		}
		t.Run(world.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newDrawWalk(t, world)
				w.walk()
				t.Logf("%d states, %d steps, from %d tables", len(w.visited), w.steps, len(w.ended))
			})
		})
	}
}

// drawWorld is one small draw, and what may happen in it.
type drawWorld struct {
	name                 string
	large                bool
	units                int64
	buyers, calls, waits int    // the first entrants in the order of the draw buy
	mayWait, others      string // kinds of actors: that may wait; besides the buyers and the draw function
	clocks               []time.Duration
}

// drawWalk is a walk through the states of a draw.
type drawWalk struct {
	drawWorld
	t       *testing.T
	fixed   *dynamotest.DB // what never changes any more: the roll, the key and the head with the seed
	db      *dynamotest.DB // everything else
	users   []string       // in the order of their ranks
	ranks   []draw.Rank
	visited map[[sha256.Size]byte]bool
	ended   map[[sha256.Size]byte]bool // the tables, at their times, from which the end was looked at
	idle    map[string]bool            // which actor changes nothing in which of these
	queues  [][]*drawNode              // by waits
	steps   int
}

// drawNode is a state, and how it was reached.
type drawNode struct {
	table   *dynamotest.Snapshot
	now     time.Time
	waiting []waiting
	waits   int
	calls   []drawCall // in the table
	from    *drawNode
	by      string
}

func (s *drawNode) path() string {
	if s == nil {
		return ""
	}
	return s.from.path() + "\n  " + s.by
}

// actor is somebody who acts with a ledger without a memory.
type actor struct {
	kind, name string
	id         string // of its changes and claims
	does       func(*ledger.Ledger) error
	clock      time.Duration
	began      time.Time
}

// waiting is an actor that waits before a call.
type waiting struct {
	actor
	log  []answered // of the calls before
	text string     // of the call
	// late makes the call; nil if it reads.
	late func() error
}

// answered is a call that was answered, at that time of the actor's clock.
type answered struct {
	out  any
	err  error
	at   time.Time
	text string
}

func newDrawWalk(t *testing.T, of drawWorld) *drawWalk {
	world, db, _ := faulty(t)
	world.Ctx = t.Context() // without a limit
	w := &drawWalk{drawWorld: of, t: t, fixed: db, db: newDB(), queues: make([][]*drawNode, of.waits+1)}
	w.visited, w.ended, w.idle = map[[sha256.Size]byte]bool{}, map[[sha256.Size]byte]bool{}, map[string]bool{}
	w.users, w.ranks = world.Rolled(func(c *sale.Creation) {
		if of.others == "put back" {
			c.PayWithin = payWithin
		}
	}, of.units, 2, 4)
	for _, it := range db.Items(table) {
		if !isFixed(it) {
			if _, err := w.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: it}); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.arrive(&drawNode{table: w.db.Snapshot(), now: world.Now(), by: "the first call is due"})
	return w
}

// isFixed reports whether an item does not change once a draw has its seed.
func isFixed(it map[string]types.AttributeValue) bool {
	pk, _, _ := strings.Cut(textIn(it, "pk"), "#")
	return pk == "ROLL" || pk == "DRAWKEY" || textIn(it, "sk") == "HEAD"
}

func (w *drawWalk) walk() {
	for waits := range w.queues {
		for len(w.queues[waits]) > 0 && !w.t.Failed() {
			s := w.queues[waits][0]
			w.queues[waits] = w.queues[waits][1:]
			w.leave(s)
		}
	}
}

// leave makes every step from a state.
func (w *drawWalk) leave(s *drawNode) {
	w.db.Restore(s.table)
	v := w.look()
	for i, one := range s.waiting {
		if one.does != nil {
			w.act(s, one, slices.Delete(slices.Clone(s.waiting), i, i+1))
		}
		if one.late != nil {
			w.db.Restore(s.table)
			_ = one.late() // refused or not
			w.steps++
			w.arrive(&drawNode{w.db.Snapshot(), s.now, s.waiting, s.waits, s.calls, s, "late: " + one.name})
		}
	}
	key := v.key(s.now)
	if !w.ended[key] {
		w.ended[key] = true
		w.end(s)
	}
	for _, a := range w.actors(s, &v) {
		// What an actor does that begins depends on nobody who waits.
		idle := fmt.Sprint(key, a.name)
		if s.waits == w.waits && w.idle[idle] {
			continue
		}
		w.idle[idle] = !w.act(s, waiting{actor: a}, s.waiting)
	}
	if at := v.next(s.now, w.calls); !at.IsZero() {
		w.db.Restore(s.table)
		w.arrive(&drawNode{s.table, at, outlasting(s.waiting), s.waits, s.calls, s, "it is " + at.Format(time.TimeOnly)})
	}
}

// outlasting are those who still wait when time has passed: the buyers, and of others the writes.
func outlasting(all []waiting) (left []waiting) {
	for _, one := range all {
		if one.kind != "buy" {
			one.log, one.does = nil, nil
		}
		if one.does != nil || one.late != nil {
			left = append(left, one)
		}
	}
	return left
}

// actors are those who may begin in a state.
func (w *drawWalk) actors(s *drawNode, v *drawTable) (all []actor) {
	add := func(kind, name string, clock time.Duration, does func(*ledger.Ledger) error) {
		name = fmt.Sprintf("%s (%v)", name, clock)
		all = append(all, actor{kind, name, fmt.Sprintf("%s at %d, %d", name, s.now.Unix(), len(s.waiting)), does, clock, s.now.Add(clock)})
	}
	for _, clock := range w.clocks {
		add("run", "run", clock, w.run)
		for _, user := range w.users[:w.buyers] {
			if _, holds := v.claims[user]; !holds {
				add("buy", user, clock, w.buy(user))
			}
		}
	}
	switch holder := w.users[0]; {
	case w.others == "add" && !v.changed:
		add(w.others, w.others, 0, func(l *ledger.Ledger) error {
			_, err := l.Add(w.t.Context(), sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 1})
			return err
		})
	case w.others == "withdraw" && len(v.calls) == 0:
		add(w.others, w.others, 0, func(l *ledger.Ledger) error {
			_, err := l.Withdraw(w.t.Context(), sale.Withdrawal{SaleID: "moutai", SeedID: "fewer", Stock: 1})
			return err
		})
	case w.others == "put back" && v.ids[holder] != "":
		add(w.others, w.others, 0, func(l *ledger.Ledger) error {
			l.Confirm(w.t.Context(), []ledger.ClaimRef{{SaleID: "moutai", User: holder, ClaimID: v.ids[holder]}})
			if _, err := l.Cancel(w.t.Context(), "moutai", holder); err != nil {
				return err
			}
			listing, err := l.Listing(w.t.Context(), "moutai")
			if err == nil {
				_, err = l.ReleaseDue(w.t.Context(), listing, grace)
			}
			return err
		})
	}
	return all
}

// run is a run of the draw function once the seed is known.
func (w *drawWalk) run(l *ledger.Ledger) error {
	d, err := l.DrawState(w.t.Context(), "moutai", drawGap)
	if err != nil {
		return err
	}
	if d.Last.Number == 0 || d.Last.Complete {
		if !d.HasStock {
			return nil
		}
		if begun, err := l.BeginCall(w.t.Context(), d, w.ranks, drawGap); err != nil || !begun {
			return err
		}
	}
	_, err = l.FinishCall(w.t.Context(), "moutai", w.ranks, drawGap)
	return err
}

func (w *drawWalk) buy(user string) func(*ledger.Ledger) error {
	return func(l *ledger.Ledger) error {
		_, err := l.Purchase(w.t.Context(), ledger.Request{SaleID: "moutai", User: user, CallGap: drawGap})
		return err
	}
}

// act lets an actor begin or go on, beside the others who wait. It reports whether it wrote.
func (w *drawWalk) act(s *drawNode, one waiting, others []waiting) (wrote bool) {
	w.db.Restore(s.table)
	w.steps++
	var mu sync.Mutex
	log, made, clock := slices.Clone(one.log), 0, one.began
	mayWait := s.waits < w.waits && strings.Contains(w.mayWait, one.kind) &&
		!slices.ContainsFunc(others, func(o waiting) bool { return o.kind == one.kind })
	l := w.ledgerOver(one.id, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return clock
	}, func(op string, in any, call func() (any, error)) (any, error) {
		if update, ok := in.(*dynamodb.UpdateItemInput); ok && textIn(update.Key, "pk") == "STOCK#moutai#1" {
			time.Sleep(time.Millisecond) // the ledger edits both shards at once; here always in the same order
		}
		mu.Lock()
		defer mu.Unlock()
		if made++; made <= len(log) {
			clock = log[made-1].at
			return log[made-1].out, log[made-1].err
		}
		if mayWait && made > 1 && made > len(one.log)+1 {
			next := waiting{one.actor, slices.Clone(log), textOf(in), nil}
			if dynamotest.IsWrite(op) {
				next.late = func() error { _, err := call(); return err }
			}
			by := fmt.Sprintf("%s until its call %d, %s", one.name, made, op)
			w.arrive(&drawNode{w.db.Snapshot(), s.now, append(slices.Clone(others), next), s.waits + 1, s.calls, s, by})
		}
		clock, wrote = s.now.Add(one.clock), wrote || dynamotest.IsWrite(op)
		out, err := call()
		if !mayWait {
			return out, err // nobody needs the log
		}
		log = append(log, answered{out, err, clock, fmt.Sprintln(clock.UnixMilli(), textOf(out), err)})
		return out, err
	})
	if err := one.does(l); sale.CodeOf(err) == sale.Internal {
		w.t.Errorf("%s fails: %v%s", one.name, err, s.path())
	}
	if wrote || len(one.log) > 0 {
		w.arrive(&drawNode{w.db.Snapshot(), s.now, others, s.waits, s.calls, s, one.name})
	}
	return wrote
}

// ledgerOver is a ledger over the table, with a hook around its calls but those for what is fixed.
func (w *drawWalk) ledgerOver(id string, now func() time.Time, hook dynamotest.Hook) *ledger.Ledger {
	api := dynamotest.WithHook(w.db, func(op string, in any, call func() (any, error)) (any, error) {
		if get, ok := in.(*dynamodb.GetItemInput); ok && isFixed(get.Key) {
			return w.fixed.GetItem(w.t.Context(), get)
		}
		return hook(op, in, call)
	})
	return ledger.New(api, table, ledger.Options{Now: now, NewID: func() string { return id }, Random: func() float64 { return 0 }})
}

// end expects that runs of the draw function a minute apart call people within three minutes of
// the instant at which a call is due, or let everybody in (P31), and that then whoever is called
// gets a unit, and nobody else (P29, P30).
func (w *drawWalk) end(s *drawNode) {
	w.db.Restore(s.table)
	at := s.now
	alone := func(does func(*ledger.Ledger) error) error {
		return does(w.ledgerOver(fmt.Sprint("end ", at), func() time.Time { return at }, func(_ string, _ any, call func() (any, error)) (any, error) { return call() }))
	}
	var v drawTable
	var c drawCall
	for minute := 0; ; minute++ {
		if err := alone(w.run); err != nil {
			w.t.Errorf("a run fails: %v%s", err, s.path())
			return
		}
		if v = w.look(); v.stock == 0 {
			return
		}
		if len(v.calls) > 0 {
			c = v.calls[len(v.calls)-1]
		}
		if at.UnixMilli() < c.until && (c.open || c.complete && c.lo != c.hi) {
			break
		}
		if due := time.UnixMilli(c.until).Add(drawGap); c.complete && c.lo != c.hi && at.Before(due) {
			at, minute = due, -1
			continue
		}
		if minute == 3 {
			w.t.Errorf("%d units are left, and nobody is called (P31)%s", v.stock, s.path())
			return
		}
		at = at.Add(time.Minute)
	}
	if from := time.UnixMilli(c.from); at.Before(from) {
		at = from
	}
	for i, user := range w.users {
		if _, holds := v.claims[user]; holds {
			continue
		}
		switch err, isTurn := alone(w.buy(user)), c.open || c.calls(w.ranks[i]); {
		case isTurn && err == nil:
			v.stock--
		case isTurn && v.stock > 0 || !isTurn && err == nil:
			w.t.Errorf("it is the turn of %s: %t; they are told %v (P29, P30)%s", user, isTurn, err, s.path())
		}
	}
}

// drawTable is what the table says.
type drawTable struct {
	calls   []drawCall
	stock   int64
	claims  map[string]int64  // when they were accepted, by user
	ids     map[string]string // of claims that are not released
	changed bool              // units have been added
	text    string            // of what anything depends on
}

type drawCall struct {
	from, until    int64
	lo, hi         draw.Rank
	open, complete bool
}

func (c *drawCall) calls(r draw.Rank) bool {
	return c.complete && !c.open && r.Compare(c.lo) > 0 && r.Compare(c.hi) <= 0
}

func (w *drawWalk) look() drawTable {
	v := drawTable{claims: map[string]int64{}, ids: map[string]string{}}
	var text strings.Builder
	for _, it := range w.db.Items(table) {
		pk, sk := textIn(it, "pk"), textIn(it, "sk")
		switch kind, _, _ := strings.Cut(pk, "#"); {
		case kind == "CLAIM": // check says whether its instant is right
			v.claims[sk] = numberIn(it, "acceptedAt")
			if it["releasedAt"] == nil {
				v.ids[sk] = textIn(it, "claimId")
			}
			fmt.Fprintln(&text, sk, numberIn(it, "shard"), v.ids[sk] != "")
			continue
		case kind == "CHANGES" || kind == "ORDER" || sk == "CREATE": // nothing depends on more of it
			text.WriteString(kind)
			continue
		case kind == "STOCK":
			v.stock += numberIn(it, "stock")
		case kind == "DRAW":
			c := drawCall{from: numberIn(it, "from"), until: numberIn(it, "until"), open: it["open"] != nil, complete: it["hi"] != nil}
			c.lo, _ = draw.ParseRank(textIn(it, "lo"))
			c.hi, _ = draw.ParseRank(textIn(it, "hi"))
			v.calls = append(v.calls, c)
		case strings.Contains(sk, "more"):
			v.changed = true
		}
		for _, name := range slices.Sorted(maps.Keys(it)) {
			switch value := it[name].(type) {
			case *types.AttributeValueMemberS:
				text.WriteString(name + value.Value)
			case *types.AttributeValueMemberN:
				text.WriteString(name + value.Value)
			default:
				text.WriteString(name + textOf(value))
			}
		}
	}
	v.text = text.String()
	return v
}

func (v *drawTable) key(now time.Time) [sha256.Size]byte {
	return sha256.Sum256(fmt.Append(nil, now.UnixMilli(), v.text))
}

// next is the next instant at which anything changes; zero in the middle of the last call.
func (v *drawTable) next(now time.Time, last int) time.Time {
	if len(v.calls) == 0 {
		return time.Time{}
	}
	c := v.calls[len(v.calls)-1]
	from, until := time.UnixMilli(c.from).UTC(), time.UnixMilli(c.until).UTC()
	for _, at := range []time.Time{from, from.Add(drawGap), until, until.Add(drawGap - 30*time.Second), until.Add(drawGap)} {
		if at.After(now) && (len(v.calls) < last || at.Before(until)) {
			return at
		}
	}
	return time.Time{}
}

// arrive checks the state that the table is in, and notes it if it is new.
func (w *drawWalk) arrive(s *drawNode) {
	v := w.look()
	w.check(s, &v)
	s.calls = v.calls
	hash := sha256.New()
	key := v.key(s.now)
	hash.Write(key[:])
	var texts []string
	for _, one := range s.waiting {
		text := one.name + one.text
		for _, a := range one.log {
			text += a.text
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	fmt.Fprintf(hash, "%q", texts)
	if key = [sha256.Size]byte(hash.Sum(nil)); !w.visited[key] {
		w.visited[key] = true
		w.queues[s.waits] = append(w.queues[s.waits], s)
	}
}

// check expects the promises of the table. The calls of the node are those of the state before.
func (w *drawWalk) check(s *drawNode, v *drawTable) {
	var newest drawCall
	for k, c := range v.calls {
		if newest = c; k < len(s.calls) && s.calls[k].complete && c.hi != s.calls[k].hi {
			w.t.Errorf("others are called than before (P30)%s", s.path())
		}
	}
	kept := int64(0)
	for i, user := range w.users {
		at, holds := v.claims[user]
		if holds && !slices.ContainsFunc(v.calls, func(c drawCall) bool {
			return c.from <= at && at < c.until && (c.open || c.calls(w.ranks[i]))
		}) {
			w.t.Errorf("%s bought out of turn (P29)%s", user, s.path())
		}
		if !holds && newest.calls(w.ranks[i]) {
			kept++
		}
	}
	if v.stock < kept {
		w.t.Errorf("%d units are left for %d people who are called (P30)%s", v.stock, kept, s.path())
	}
}

func textOf(in any) string {
	text, err := json.Marshal(in)
	if err != nil {
		panic(err) // requests and answers are plain data
	}
	return string(text)
}

func textIn(it map[string]types.AttributeValue, name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func numberIn(it map[string]types.AttributeValue, name string) (n int64) {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		n, _ = strconv.ParseInt(v.Value, 10, 64)
	}
	return n
}
