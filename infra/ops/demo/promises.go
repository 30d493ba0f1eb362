package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/rush"
)

// evidence holds the inputs of the receipt: the answers to the crowd and the books.
type evidence struct {
	stock, shards int
	crowd         []rush.Buyer
	results       []rush.Result
	sightings     []rush.Sighting
	books         *books.Sale
	findings      []books.Finding // from the recount
	// endedAt is when the books were read.
	endedAt time.Time
}

// line is one promise on the receipt. The promise holds if broken is empty.
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

// recounted adds the recount's findings about the line's promise.
func (l *line) recounted(e *evidence) {
	for _, f := range e.findings {
		if f.Promise == l.promise || l.promise == "P2" && !slices.Contains(ownLine, f.Promise) {
			l.breaks("%s", f.Text)
		}
	}
}

// ownLine lists the promises with their own line for the recount's findings; findings about
// other promises go to P2.
var ownLine = []string{"P1", "P3", "P7", "P8"}

// audit checks every promise that one rush can test. It has no side effects.
func audit(e evidence) []line {
	return []line{
		e.sold(), e.conserved(), e.oneEach(), e.durable(), e.truthful(), e.repeatable(), e.numbered(), e.inOrder(), e.settled(),
	}
}

// sold checks P1, and also that no unit stayed unsold while a buyer wanted it.
func (e *evidence) sold() line {
	want := min(e.stock, len(e.crowd))
	l := line{promise: "P1", says: "sold exactly min(stock, buyers)", figure: thousands(len(e.books.Claims)) + " of " + thousands(want) + " bottles"}
	if n := len(e.books.Claims); n != want {
		l.breaks("%d units were sold, not %d", n, want)
	}
	l.recounted(e)
	return l
}

// conserved checks P2 and that the sale has the requested stock and shards. It also reports
// the findings whose promise has no line.
func (e *evidence) conserved() line {
	b := e.books
	l := line{promise: "P2", says: "left + sold = stock, on every shard"}
	l.recounted(e)
	if len(b.Shards) != e.shards {
		l.breaks("%d shards are stored, but %d were asked for", len(b.Shards), e.shards)
	}
	if b.Seeded != int64(e.stock) {
		l.breaks("%d units were seeded, but %d were asked for", b.Seeded, e.stock)
	}
	l.figure = fmt.Sprintf("%s + %s = %s bottles", thousands(int(b.Stock())), thousands(len(b.Claims)), thousands(int(b.Seeded)))
	return l
}

// oneEach checks P3.
func (e *evidence) oneEach() line {
	l := line{promise: "P3", says: "one order per buyer, however they click"}
	known := map[string]bool{}
	for _, b := range e.crowd {
		known[b.User] = true
	}
	l.recounted(e)
	units := map[string]bool{}
	for _, c := range e.books.Claims {
		if units[c.User] = true; !known[c.User] {
			l.breaks("%s is not in the crowd but holds a unit", c.User)
		}
	}
	l.figure = thousands(len(units)) + " buyers"
	return l
}

// durable checks P4: every claim in an answer is the buyer's stored claim.
func (e *evidence) durable() line {
	l := line{promise: "P4", says: "every accepted click is in the table"}
	held := e.claimsByUser()
	n := 0
	for _, r := range e.results {
		if r.Verdict != rush.Accepted && r.Verdict != rush.AlreadyOrdered {
			continue
		}
		if r.Verdict == rush.Accepted {
			n++
		}
		user := e.crowd[r.Buyer].User
		if !slices.ContainsFunc(held[user], func(c books.Claim) bool { return c.ClaimID == r.Reply.Claim.ClaimID }) {
			l.breaks("%s got an answer with claim %s, which the books do not have", user, r.Reply.Claim.ClaimID)
		}
	}
	l.figure = thousands(n) + " accepted clicks"
	return l
}

// truthful checks P5 and P6: every click has an answer, and the answers are true.
func (e *evidence) truthful() line {
	l := line{promise: "P5 P6", says: "every other click got a true refusal"}
	told, refused := map[string]bool{}, map[string]bool{}
	for _, s := range e.sightings {
		told[e.crowd[s.Buyer].User] = s.Found
	}
	var refusals int
	for _, r := range e.results {
		user := e.crowd[r.Buyer].User
		switch r.Verdict {
		case rush.Accepted:
			told[user] = true
		case rush.AlreadyOrdered:
			told[user] = true
			refusals++
		case rush.SoldOut:
			refused[user] = true
			refusals++
		case rush.Unanswered:
			if r.Err != nil {
				l.breaks("a click of %s has no answer after %d tries: %v", user, r.Tries, r.Err)
			} else {
				l.breaks("a click of %s has no answer after %d tries: %s", user, r.Tries, r.Reply)
			}
		default:
			l.breaks("a click of %s got the answer %s", user, r.Reply)
		}
	}
	for _, c := range e.books.Claims {
		if !told[c.User] && refused[c.User] {
			l.breaks("%s holds a unit but only got sold-out", c.User)
		}
	}
	left := e.books.Stock()
	if left > 0 && len(refused) > 0 {
		l.breaks("%d buyers got sold-out, but %d units are left", len(refused), left)
	}
	l.figure = thousands(refusals) + " refused clicks"
	return l
}

// repeatable checks P9: with an Idempotency-Key all clicks are one request and get one
// answer; without a key, at most one click is accepted. (A buyer's other click without a key
// may get sold-out: it is refused from memory, and the refusal names the status resource.)
func (e *evidence) repeatable() line {
	l := line{promise: "P9", says: "same Idempotency-Key, same answer"}
	clicks := make([][]rush.Result, len(e.crowd))
	for _, r := range e.results {
		clicks[r.Buyer] = append(clicks[r.Buyer], r)
	}
	repeats := 0
	for i, b := range e.crowd {
		var first *rush.Result
		wins := 0
		for n := range clicks[i] {
			if clicks[i][n].Verdict == rush.Accepted {
				wins++
				if first == nil {
					first = &clicks[i][n]
				}
			}
		}
		if b.Key == "" {
			if wins > 1 {
				l.breaks("%s sent no key and %d clicks were accepted", b.User, wins)
			}
			continue
		}
		for _, r := range clicks[i] {
			switch {
			case r.Verdict == rush.AlreadyOrdered:
				l.breaks("%s repeated a click with a key and got already-ordered", b.User)
			case first != nil && r.Verdict == rush.SoldOut:
				l.breaks("%s was accepted, and the same key got sold-out", b.User)
			case first != nil && r.Verdict == rush.Accepted && !bytes.Equal(r.Reply.Body, first.Reply.Body):
				l.breaks("%s got two different answers to one key: %s and %s", b.User, first.Reply, r.Reply)
			}
		}
		repeats += max(0, wins-1)
	}
	l.figure = thousands(repeats) + " repeated clicks"
	return l
}

func (e *evidence) claimsByUser() map[string][]books.Claim {
	m := make(map[string][]books.Claim, len(e.books.Claims))
	for _, c := range e.books.Claims {
		m[c.User] = append(m[c.User], c)
	}
	return m
}
