package simulate

import (
	"fmt"
	"math"
	"slices"
)

// Answer is what a purchase was told.
type Answer int

// The answers that say something about the stock or the user's claim.
const (
	// Unknown is no answer, or one that leaves the outcome open.
	Unknown Answer = iota
	// Bought is an acceptance, the first one or that of a repeat.
	Bought
	// Already is "already ordered".
	Already
	// SoldOut is "sold out".
	SoldOut
)

// Attempt is one purchase request. Instants are in nanoseconds.
type Attempt struct {
	User, Key    string // Key "" if there was none
	Call, Return int64
	Answer       Answer
	Claim        string // the claim that it was told of
}

// Restock is an addition of units, the first stock included. Between Call and
// Return none, some or all of them are there.
type Restock struct {
	Call, Return int64
	Units        int
}

// Withdrawal is units that were taken out again. Between Call and Return none, some
// or all of them are gone.
type Withdrawal struct {
	Call, Return int64
	Units        int
}

// History is what users and operator saw of one sale.
type History struct {
	Attempts    []Attempt
	Restocks    []Restock
	Withdrawals []Withdrawal
	// Final holds who has a claim in the end: it decides what became of unknown
	// outcomes. Nil means that there were none.
	Final map[string]bool
}

// purchase is the one attempt of a user that took a unit, as far as the answers
// tell.
type purchase struct {
	key  string // "" if there was none, or it is not known
	call int64  // the unit was taken at this instant or later
	// known is when the first answer came that told of it; it was taken before.
	known int64
	sure  bool // it was accepted, so key and claim are known
	claim string
}

// Check finds what no order of events explains. window is for how long before
// its call a "sold out" may have been true.
//
// A purchase may have happened at its call, a refusal at its return: with one
// stock, nothing can ask for more, so a history passes exactly if one order of
// its attempts explains all answers (with a window of 0). Each further restock
// begins an epoch, and there the check gives way: units count as there from the
// restock's call for whoever bought, and only from its return for whoever was
// refused. A withdrawal is the other way round: its units count as gone from its call
// for whoever was refused, and only from its return for whoever bought. So it never objects to what was right, but may miss a refusal in the
// middle of a restock. It takes time n·log n for n attempts.
func (h History) Check(window int64) (found []string) {
	bought, found := h.purchases()
	found = append(found, h.checkOversold(bought)...)
	calls := make([]int64, 0, len(bought))
	for _, p := range bought {
		calls = append(calls, p.call)
	}
	slices.Sort(calls)
	accepted := map[string]bool{}
	for _, a := range h.Attempts {
		p, holds := bought[a.User]
		switch a.Answer {
		case Bought:
			// Only a repeat with the same key is accepted again.
			if a.Claim != p.claim || a.Key != p.key || a.Key == "" && accepted[a.User] {
				found = append(found, fmt.Sprintf("%+v: bought a second time, %+v", a, p))
			}
			accepted[a.User] = true
		case Already:
			if !holds || p.call > a.Return || a.Claim != p.claim {
				found = append(found, fmt.Sprintf("%+v: had not ordered before, %+v", a, p))
			}
			if holds && p.key != "" && p.key == a.Key {
				found = append(found, fmt.Sprintf("%+v: was not recognised as the repeat of %+v", a, p))
			}
		case SoldOut:
			if !h.mayBeSoldOut(calls, a, window) {
				found = append(found, fmt.Sprintf("%+v: there were always units left", a))
			}
			// With one stock, who holds a unit was there before it was gone.
			if a.Key != "" && holds && (len(h.Restocks) == 1 || p.known < a.Call) {
				found = append(found, fmt.Sprintf("%+v: holds a claim, %+v", a, p))
			}
		}
	}
	slices.Sort(found)
	return found
}

// purchases finds each holder's purchase: the acceptance, or what had no answer.
// If an acceptance was told with a key, an attempt without an answer but with
// the same key may have been first; without a key it was that very attempt.
func (h History) purchases() (map[string]purchase, []string) {
	var found []string
	bought := map[string]purchase{}
	of := func(user string) purchase {
		if p, seen := bought[user]; seen {
			return p
		}
		return purchase{call: math.MaxInt64, known: math.MaxInt64}
	}
	for _, a := range h.Attempts {
		p := of(a.User)
		switch a.Answer {
		case Bought:
			if !p.sure {
				p.key, p.claim, p.sure = a.Key, a.Claim, true
			}
			p.call = min(p.call, a.Call)
		case Already:
			if !p.sure {
				p.claim = a.Claim
			}
		default:
			continue
		}
		p.known = min(p.known, a.Return)
		bought[a.User] = p
	}
	for _, a := range h.Attempts {
		p := of(a.User)
		switch {
		case a.Answer != Unknown || !h.Final[a.User]:
			continue
		case p.sure && (p.key == "" || p.key != a.Key):
			continue
		case !p.sure && p.call == math.MaxInt64:
			p.key = a.Key
		case p.key != a.Key:
			p.key = "" // one of several with different keys
		}
		p.call = min(p.call, a.Call)
		bought[a.User] = p
	}
	for _, user := range sorted(bought) {
		if p := bought[user]; p.call == math.MaxInt64 {
			found = append(found, fmt.Sprintf("%s was told of a claim that no attempt made", user))
			delete(bought, user)
		}
	}
	return bought, found
}

// checkOversold compares what must have been sold by each instant with what can
// have been there.
func (h History) checkOversold(bought map[string]purchase) (found []string) {
	total := 0
	for _, r := range h.Restocks {
		total += r.Units
	}
	for _, w := range h.Withdrawals {
		total -= w.Units
	}
	if len(bought) > total {
		found = append(found, fmt.Sprintf("%d bought of %d units", len(bought), total))
	}
	known := make([]int64, 0, len(bought))
	for _, p := range bought {
		known = append(known, p.known)
	}
	slices.Sort(known)
	for i, at := range known {
		there := 0
		for _, r := range h.Restocks {
			if r.Call <= at {
				there += r.Units
			}
		}
		for _, w := range h.Withdrawals {
			if w.Return <= at {
				there -= w.Units
			}
		}
		if at < math.MaxInt64 && i+1 > there {
			found = append(found, fmt.Sprintf("%d bought by %d, when there were %d units", i+1, at, there))
			break
		}
	}
	return found
}

// mayBeSoldOut reports whether at some instant from window before the call to
// the return all units that were surely there can have been bought. Purchases
// only become more, so of every epoch its last instant decides.
func (h History) mayBeSoldOut(calls []int64, a Attempt, window int64) bool {
	instants := []int64{a.Return}
	for _, r := range h.Restocks {
		if before := r.Return - 1; before >= a.Call-window && before < a.Return {
			instants = append(instants, before)
		}
	}
	for _, at := range instants {
		there := 0
		for _, r := range h.Restocks {
			if r.Return <= at {
				there += r.Units
			}
		}
		for _, w := range h.Withdrawals {
			if w.Call <= at {
				there -= w.Units
			}
		}
		sold, _ := slices.BinarySearch(calls, at+1)
		if sold >= there {
			return true
		}
	}
	return false
}
