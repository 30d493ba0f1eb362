package main

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// evidence is everything the receipt is made of: what the crowd was told and
// what the books say.
type evidence struct {
	stock, shards int
	crowd         []buyer
	results       []result
	sightings     []sighting
	books         books
	// endedAt is when the books were read.
	endedAt time.Time
}

// line is one promise of the receipt. It holds if nothing is broken.
type line struct {
	promise, says, figure string
	broken                []string
}

func (l *line) breaks(format string, args ...any) {
	l.broken = append(l.broken, fmt.Sprintf(format, args...))
}

func allHold(lines []line) bool {
	return !slices.ContainsFunc(lines, func(l line) bool { return len(l.broken) > 0 })
}

// audit checks every promise that one rush can show. It is pure.
func audit(e evidence) []line {
	return []line{
		e.sold(), e.conserved(), e.oneEach(), e.durable(), e.truthful(), e.repeatable(), e.numbered(), e.inOrder(), e.settled(),
	}
}

// sold: P1, and that scarcity was not made up: who could be served, was.
func (e *evidence) sold() line {
	want := min(e.stock, len(e.crowd))
	l := line{promise: "P1", says: "sold exactly min(stock, buyers)", figure: thousands(len(e.books.claims)) + " of " + thousands(want)}
	if n := len(e.books.claims); n != want {
		l.breaks("%d units were sold, not %d", n, want)
	}
	for _, k := range slices.Sorted(maps.Keys(e.books.shards)) {
		if s := e.books.shards[k]; s.stock < 0 {
			l.breaks("shard %d has %d units left", k, s.stock)
		}
	}
	return l
}

// conserved: P2, per shard and in total.
func (e *evidence) conserved() line {
	b := &e.books
	var left, seeded int64
	claims := map[int]int64{}
	for _, c := range b.claims {
		claims[c.shard]++
	}
	l := line{promise: "P2", says: "stock left + claims = seeded, on every shard"}
	l.broken = append(l.broken, b.malformed...)
	for _, k := range slices.Sorted(maps.Keys(b.shards)) {
		s := b.shards[k]
		left, seeded = left+s.stock, seeded+s.seeded
		if s.stock+claims[k] != s.seeded {
			l.breaks("shard %d: %d left + %d claims, but %d seeded", k, s.stock, claims[k], s.seeded)
		}
		delete(claims, k)
	}
	for _, k := range slices.Sorted(maps.Keys(claims)) {
		l.breaks("%d claims name shard %d, which does not exist", claims[k], k)
	}
	if len(b.shards) != e.shards || b.shardCount != int64(e.shards) {
		l.breaks("%d shards are stored and the sale says %d, but %d were asked for", len(b.shards), b.shardCount, e.shards)
	}
	if seeded != int64(e.stock) || b.seeded != int64(e.stock) {
		l.breaks("the shards were seeded with %d and the sale says %d, but %d were asked for", seeded, b.seeded, e.stock)
	}
	l.figure = fmt.Sprintf("%d + %d = %d", left, len(b.claims), seeded)
	return l
}

// oneEach: P3.
func (e *evidence) oneEach() line {
	l := line{promise: "P3", says: "one order per buyer, all their clicks together"}
	known := map[string]bool{}
	for _, b := range e.crowd {
		known[b.user] = true
	}
	units := map[string]int{}
	for _, c := range e.books.claims {
		if units[c.user]++; units[c.user] == 2 {
			l.breaks("%s holds more than one unit", c.user)
		}
		if !known[c.user] {
			l.breaks("%s is not of the crowd and holds a unit", c.user)
		}
	}
	l.figure = thousands(len(units)) + " buyers"
	return l
}

// durable: P4. Whoever was told of a claim holds that very claim.
func (e *evidence) durable() line {
	l := line{promise: "P4", says: "every accepted click is in the books"}
	held := e.claimsByUser()
	n := 0
	for _, r := range e.results {
		if r.verdict != accepted && r.verdict != alreadyOrdered {
			continue
		}
		if r.verdict == accepted {
			n++
		}
		user := e.crowd[r.buyer].user
		if !slices.ContainsFunc(held[user], func(c claim) bool { return c.claimID == r.reply.claim.ClaimID }) {
			l.breaks("%s was told of claim %s, which the books do not have", user, r.reply.claim.ClaimID)
		}
	}
	l.figure = thousands(n) + " answers"
	return l
}

// truthful: P5 and P6. Every click has an answer, and the answers are true.
func (e *evidence) truthful() line {
	l := line{promise: "P5 P6", says: "the others: sold out or already ordered, truly"}
	told, refused := map[string]bool{}, map[string]bool{}
	for _, s := range e.sightings {
		told[e.crowd[s.buyer].user] = s.found
	}
	var refusals int
	for _, r := range e.results {
		user := e.crowd[r.buyer].user
		switch r.verdict {
		case accepted:
			told[user] = true
		case alreadyOrdered:
			told[user] = true
			refusals++
		case soldOut:
			refused[user] = true
			refusals++
		case unanswered:
			if r.err != nil {
				l.breaks("a click of %s has no answer after %d tries: %v", user, r.tries, r.err)
			} else {
				l.breaks("a click of %s has no answer after %d tries: %s", user, r.tries, r.reply.short())
			}
		default:
			l.breaks("a click of %s was answered %s", user, r.reply.short())
		}
	}
	for _, c := range e.books.claims {
		if !told[c.user] && refused[c.user] {
			l.breaks("%s holds a unit and was told only that it is sold out", c.user)
		}
	}
	var left int64
	for _, s := range e.books.shards {
		left += max(0, s.stock)
	}
	if left > 0 && len(refused) > 0 {
		l.breaks("%d buyers were told that it is sold out, but %d units are left", len(refused), left)
	}
	l.figure = thousands(refusals) + " answers"
	return l
}

// repeatable: P9. With an Idempotency-Key all clicks are one request and get
// one answer; without, one click at most is accepted. (A click without a key
// beside the accepted one may be told that it is sold out: it is refused from
// memory, and the refusal names the status resource.)
func (e *evidence) repeatable() line {
	l := line{promise: "P9", says: "same Idempotency-Key, same answer"}
	clicks := make([][]result, len(e.crowd))
	for _, r := range e.results {
		clicks[r.buyer] = append(clicks[r.buyer], r)
	}
	repeats := 0
	for i, b := range e.crowd {
		var first *result
		wins := 0
		for n := range clicks[i] {
			if clicks[i][n].verdict == accepted {
				wins++
				if first == nil {
					first = &clicks[i][n]
				}
			}
		}
		if b.key == "" {
			if wins > 1 {
				l.breaks("%s sent no key and %d clicks were accepted", b.user, wins)
			}
			continue
		}
		for _, r := range clicks[i] {
			switch {
			case r.verdict == alreadyOrdered:
				l.breaks("%s repeated a keyed click and was told already-ordered", b.user)
			case first != nil && r.verdict == soldOut:
				l.breaks("%s was accepted, and the same key was told sold-out", b.user)
			case first != nil && r.verdict == accepted && r.reply.body != first.reply.body:
				l.breaks("%s got two different answers to one key: %s and %s", b.user, first.reply.short(), r.reply.short())
			}
		}
		repeats += max(0, wins-1)
	}
	l.figure = thousands(repeats) + " repeats"
	return l
}

func (e *evidence) claimsByUser() map[string][]claim {
	m := make(map[string][]claim, len(e.books.claims))
	for _, c := range e.books.claims {
		m[c.user] = append(m[c.user], c)
	}
	return m
}
