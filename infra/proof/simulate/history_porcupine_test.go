package simulate

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// stateOfSale is the state of the sequential model.
type stateOfSale struct {
	left    int
	holders map[string]string // user → the key of the purchase
}

// sequential is the model that must explain every history: sequential purchases of one
// unit each, one per user.
var sequential = porcupine.Model{
	Init: func() any { return stateOfSale{holders: map[string]string{}} },
	Step: func(state, input, _ any) (bool, any) {
		s := state.(stateOfSale)
		if supply, ok := input.(Supply); ok {
			return s.left+supply.Units >= 0, stateOfSale{s.left + supply.Units, s.holders}
		}
		return s.step(input.(Attempt))
	},
	Equal: func(a, b any) bool {
		x, y := a.(stateOfSale), b.(stateOfSale)
		return x.left == y.left && maps.Equal(x.holders, y.holders)
	},
}

func (s stateOfSale) step(a Attempt) (bool, stateOfSale) {
	key, holds := s.holders[a.User]
	repeat := holds && a.Key != "" && a.Key == key
	switch a.Answer {
	case Bought:
		if holds || s.left == 0 {
			return repeat, s
		}
		holders := maps.Clone(s.holders)
		holders[a.User] = a.Key
		return true, stateOfSale{s.left - 1, holders}
	case Already:
		return holds && !repeat, s
	default:
		return s.left == 0 && !(holds && a.Key != ""), s
	}
}

// explained asks the general checker whether some order explains the history.
func explained(t *testing.T, h History) bool {
	t.Helper()
	var ops []porcupine.Operation
	for _, s := range h.Supplies {
		ops = append(ops, porcupine.Operation{Input: s, Call: s.Call, Return: s.Return})
	}
	took := map[string]Attempt{}
	for _, a := range h.Attempts {
		// Of several without a key one took the unit: an accepted one, else the
		// earliest, which any order would prefer.
		best, seen := took[a.User]
		if a.Answer == Bought || a.Answer == Unknown && (!seen || best.Answer == Unknown && a.Call < best.Call) {
			took[a.User] = a
		}
	}
	for _, a := range h.Attempts {
		if a.Answer == Unknown {
			if !h.Final[a.User] || a.Key == "" && a != took[a.User] {
				continue // it did nothing
			}
			a.Answer, a.Return = Bought, math.MaxInt64-1
		}
		ops = append(ops, porcupine.Operation{Input: a, Call: a.Call, Return: a.Return})
	}
	switch result := porcupine.CheckOperationsTimeout(sequential, ops, time.Minute); result {
	case porcupine.Ok:
		return true
	case porcupine.Illegal:
		return false
	default:
		t.Fatalf("the general checker says %q", result)
		return false
	}
}

// randomHistory is a history of up to ten attempts. It is what a sequential
// sale would have answered, or, half the time, that with one answer changed.
func randomHistory(r *rand.Rand, restocks, withdrawals int) History {
	n := 1 + r.IntN(10)
	instants := r.Perm(2 * (n + restocks + withdrawals))
	interval := func(i int) (int64, int64) {
		a, b := int64(10*instants[2*i]), int64(10*instants[2*i+1])
		return min(a, b), max(a, b)
	}
	h := History{Supplies: []Supply{{Call: -2, Return: -1, Units: r.IntN(4)}}, Final: map[string]bool{}}
	type event struct {
		at              int64
		attempt, supply int // one of them is -1
	}
	var order []event
	for i := range restocks + withdrawals {
		call, ret := interval(n + i)
		s := Supply{Call: call, Return: ret}
		if i < restocks {
			s.Units = 1 + r.IntN(2)
		}
		h.Supplies = append(h.Supplies, s)
		order = append(order, event{call + r.Int64N(ret-call), -1, i + 1})
	}
	for i := range n {
		user := fmt.Sprint("user-", r.IntN(4))
		a := Attempt{User: user, Claim: "claim of " + user}
		if user == "user-0" || user == "user-1" {
			a.Key = "key of " + user
		}
		a.Call, a.Return = interval(i)
		h.Attempts = append(h.Attempts, a)
		order = append(order, event{a.Call + r.Int64N(a.Return-a.Call), i, -1})
	}
	slices.SortFunc(order, func(a, b event) int { return int(a.at - b.at) })
	s := stateOfSale{left: h.Supplies[0].Units, holders: map[string]string{}}
	for _, e := range order {
		if e.supply >= 0 {
			supply := &h.Supplies[e.supply]
			if supply.Units == 0 { // a withdrawal, of what is there
				supply.Units = -r.IntN(s.left + 1)
			}
			s.left += supply.Units
			continue
		}
		a := &h.Attempts[e.attempt]
		answers := []Answer{Bought, Already, SoldOut}
		r.Shuffle(len(answers), func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
		for _, a.Answer = range answers {
			if ok, next := s.step(*a); ok {
				s = next
				break
			}
		}
		if r.IntN(6) == 0 {
			a.Answer = Unknown
		}
	}
	for user := range s.holders {
		h.Final[user] = true
	}
	if r.IntN(2) == 0 {
		h.Attempts[r.IntN(n)].Answer = Answer(1 + r.IntN(3))
	}
	for _, a := range h.Attempts {
		if a.Answer == Bought || a.Answer == Already {
			h.Final[a.User] = true
		}
	}
	return h
}

func TestTheLinearCheckAgreesWithAGeneralOneWhileThereIsOneStock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	good := 0
	for range 20_000 {
		h := randomHistory(r, 0, 0)
		want := explained(t, h)
		if found := h.Check(0); (len(found) == 0) != want {
			t.Fatalf("%+v\nan order explains it: %t, the check finds %q", h, want, found)
		}
		if want {
			good++
		}
	}
	if good < 2000 || good > 18_000 {
		t.Errorf("%d of 20,000 histories could be explained: the test compares too little", good)
	}
}

func TestTheLinearCheckNeverObjectsToWhatAnOrderExplains(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	bad := 0
	for range 20_000 {
		h := randomHistory(r, 1+r.IntN(2), r.IntN(3))
		found := h.Check(0)
		if len(found) > 0 && explained(t, h) {
			t.Fatalf("%+v\nan order explains it, the check finds %q", h, found)
		}
		if len(found) > 0 {
			bad++
		}
	}
	if bad < 1000 {
		t.Errorf("the check objects to %d of 20,000 histories only", bad)
	}
}
