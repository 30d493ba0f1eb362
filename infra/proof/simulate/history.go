package simulate

import (
	"fmt"
	"math"
	"slices"

	"flashsale/infra/proof/harness"
)

// Answer is the answer to a purchase.
type Answer int

// The answers that depend on the stock or the user's claim.
const (
	// Unknown is no answer, or one that leaves the outcome open.
	Unknown Answer = iota
	// Bought is an acceptance, the first one or a repeat's.
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
	Claim        string // the claim in the answer
}

// Supply is an addition of units, such as the initial stock, or a withdrawal, which has negative
// Units. Between Call and Return none, some or all of them are available, or gone.
type Supply struct {
	Call, Return int64
	Units        int
}

// History is one sale as seen by its users and operator.
type History struct {
	Attempts []Attempt
	Supplies []Supply
	// Final is the set of users with a claim in the end: it resolves unknown outcomes.
	// Nil means that there were none.
	Final map[string]bool
}

// purchase is the attempt of a user that took a unit, as far as the answers show.
type purchase struct {
	key  string // "" if there was none, or it is unknown
	call int64  // earliest instant at which the unit was taken
	// known is when the first answer showed the purchase; the unit was taken before.
	known int64
	sure  bool // it was accepted, so key and claim are known
	claim string
}

// Check finds answers that no order of events explains. window is how long before its
// call a "sold out" may have been true.
//
// It assumes that purchases happen at their call and refusals at their return. With a
// single addition that is the most favourable order, so a history passes exactly if some
// order of its attempts explains all answers (with a window of 0). Further additions
// make the check weaker: their units are available to purchases from the addition's
// call, but to refusals only from its return. For a withdrawal it is the opposite: its
// units are gone for refusals from its call, and for purchases only from its return. So
// there are no false alarms, but the check may miss a wrong refusal during an addition.
// It takes O(n log n) time for n attempts.
func (h History) Check(window int64) (found []string) {
	bought, found := h.purchases()
	found = append(found, h.checkOversold(bought)...)
	calls := make([]int64, 0, len(bought))
	for _, p := range bought {
		calls = append(calls, p.call)
	}
	slices.Sort(calls)
	additions := 0
	for _, s := range h.Supplies {
		if s.Units >= 0 {
			additions++
		}
	}
	accepted := map[string]bool{}
	for _, a := range h.Attempts {
		p, holds := bought[a.User]
		switch a.Answer {
		case Bought:
			// Only a repeat with the same key may be accepted again.
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
			// With a single addition, the holder of a unit bought it before the stock
			// was gone.
			if a.Key != "" && holds && (additions == 1 || p.known < a.Call) {
				found = append(found, fmt.Sprintf("%+v: holds a claim, %+v", a, p))
			}
		}
	}
	slices.Sort(found)
	return found
}

// purchases finds each holder's purchase: the acceptance, or an attempt without an
// answer. If the accepted attempt has a key, an earlier attempt with the same key but
// without an answer may have taken the unit; without a key it was the accepted attempt
// itself.
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
	for _, user := range harness.Sorted(bought) {
		if p := bought[user]; p.call == math.MaxInt64 {
			found = append(found, fmt.Sprintf("%s holds a claim that no attempt made", user))
			delete(bought, user)
		}
	}
	return bought, found
}

// supplied returns the units that are in the sale at an instant, sold or not: at least and at most.
func (h History) supplied(at int64) (least, most int) {
	for _, s := range h.Supplies {
		added, withdrawn := max(s.Units, 0), min(s.Units, 0)
		if s.Call <= at {
			least, most = least+withdrawn, most+added
		}
		if s.Return <= at {
			least, most = least+added, most+withdrawn
		}
	}
	return least, most
}

// checkOversold compares the units that must have been sold by each instant with those
// that can have been available.
func (h History) checkOversold(bought map[string]purchase) (found []string) {
	if _, total := h.supplied(math.MaxInt64); len(bought) > total {
		found = append(found, fmt.Sprintf("%d bought of %d units", len(bought), total))
	}
	known := make([]int64, 0, len(bought))
	for _, p := range bought {
		known = append(known, p.known)
	}
	slices.Sort(known)
	for i, at := range known {
		if _, most := h.supplied(at); at < math.MaxInt64 && i+1 > most {
			found = append(found, fmt.Sprintf("%d bought by %d, when there were %d units", i+1, at, most))
			break
		}
	}
	return found
}

// mayBeSoldOut reports whether at some instant from window before the call until the
// return all units that were certainly available can have been bought. Purchases only
// increase, so it suffices to check the last instant between two supplies.
func (h History) mayBeSoldOut(calls []int64, a Attempt, window int64) bool {
	instants := []int64{a.Return}
	for _, s := range h.Supplies {
		if before := s.Return - 1; before >= a.Call-window && before < a.Return {
			instants = append(instants, before)
		}
	}
	return slices.ContainsFunc(instants, func(at int64) bool {
		least, _ := h.supplied(at)
		sold, _ := slices.BinarySearch(calls, at+1)
		return sold >= least
	})
}
