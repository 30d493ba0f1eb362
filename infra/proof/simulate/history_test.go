package simulate

import (
	"slices"
	"testing"
)

func TestAHistoryIsCheckedAgainstWhatCanHaveHappened(t *testing.T) {
	one := []Supply{{Call: 0, Return: 1, Units: 1}}
	two := []Supply{{Call: 0, Return: 1, Units: 1}, {Call: 100, Return: 200, Units: 1}}
	bought := func(user, key string, call, ret int64) Attempt {
		return Attempt{User: user, Key: key, Call: call, Return: ret, Answer: Bought, Claim: user}
	}
	told := func(user, key string, answer Answer, call, ret int64) Attempt {
		a := Attempt{User: user, Key: key, Call: call, Return: ret, Answer: answer}
		if answer == Already {
			a.Claim = user
		}
		return a
	}
	gone := Supply{Call: 100, Return: 200, Units: -1}
	oneGone := append(slices.Clone(one), gone)
	oneOfTwoGone := []Supply{{Call: 0, Return: 1, Units: 2}, gone}
	tests := []struct {
		name   string
		h      History
		window int64
		broken bool
	}{
		{"one unit, one buyer", History{Supplies: one, Attempts: []Attempt{bought("a", "", 2, 3)}}, 0, false},
		{"one unit, two buyers", History{Supplies: one, Attempts: []Attempt{bought("a", "", 2, 3), bought("b", "", 2, 3)}}, 0, true},
		{"two units for one user", History{Supplies: two, Attempts: []Attempt{bought("a", "", 300, 301), bought("a", "", 302, 303)}}, 0, true},
		{"a repeat with the same key", History{Supplies: one, Attempts: []Attempt{bought("a", "k", 2, 3), bought("a", "k", 4, 5)}}, 0, false},
		{"a second unit before the restock began", History{Supplies: two, Attempts: []Attempt{bought("a", "", 2, 3), bought("b", "", 50, 60)}}, 0, true},
		{"a second unit while the restock runs", History{Supplies: two, Attempts: []Attempt{bought("a", "", 2, 3), bought("b", "", 50, 150)}}, 0, false},
		{"sold out before anybody bought", History{Supplies: one, Attempts: []Attempt{told("b", "", SoldOut, 2, 3), bought("a", "", 4, 5)}}, 0, true},
		{"sold out while the last one is bought", History{Supplies: one, Attempts: []Attempt{told("b", "", SoldOut, 2, 5), bought("a", "", 4, 9)}}, 0, false},
		{"sold out after the restock", History{Supplies: two, Attempts: []Attempt{bought("a", "", 2, 3), told("b", "", SoldOut, 210, 220)}}, 0, true},
		{"sold out after the restock, within the window", History{Supplies: two, Attempts: []Attempt{bought("a", "", 2, 3), told("b", "", SoldOut, 210, 220)}}, 20, false},
		{"sold out for a holder who repeats with a key", History{Supplies: one, Attempts: []Attempt{bought("a", "k", 2, 3), told("a", "k", SoldOut, 4, 5)}}, 0, true},
		{"sold out for a holder without a key", History{Supplies: one, Attempts: []Attempt{bought("a", "", 2, 3), told("a", "", SoldOut, 4, 5)}}, 0, false},
		{"already ordered, but not yet", History{Supplies: one, Attempts: []Attempt{told("a", "", Already, 2, 3), bought("a", "", 4, 5)}}, 0, true},
		{"already ordered by an attempt without an answer",
			History{Supplies: one, Final: map[string]bool{"a": true}, Attempts: []Attempt{told("a", "", Unknown, 2, 3), told("a", "", Already, 4, 5)}}, 0, false},
		{"already ordered by nobody", History{Supplies: one, Attempts: []Attempt{told("a", "", Already, 4, 5)}}, 0, true},
		{"sold out because of an attempt without an answer",
			History{Supplies: one, Final: map[string]bool{"a": true}, Attempts: []Attempt{told("a", "", Unknown, 2, 3), told("b", "", SoldOut, 4, 5)}}, 0, false},
		{"a unit that was withdrawn is bought", History{Supplies: oneGone, Attempts: []Attempt{bought("a", "", 2, 300)}}, 0, true},
		{"a unit that was withdrawn had been bought", History{Supplies: []Supply{{Call: 0, Return: 1, Units: 1}, gone, {Call: 250, Return: 260, Units: 1}},
			Attempts: []Attempt{bought("a", "", 2, 220)}}, 0, true},
		{"another unit is bought", History{Supplies: oneOfTwoGone, Attempts: []Attempt{bought("a", "", 2, 300)}}, 0, false},
		{"sold out before the withdrawal", History{Supplies: oneOfTwoGone, Attempts: []Attempt{bought("a", "", 2, 3), told("b", "", SoldOut, 10, 20)}}, 0, true},
		{"sold out while the withdrawal runs", History{Supplies: oneOfTwoGone, Attempts: []Attempt{bought("a", "", 2, 3), told("b", "", SoldOut, 110, 120)}}, 0, false},
		{"sold out with a unit that was not withdrawn", History{Supplies: oneOfTwoGone, Attempts: []Attempt{told("b", "", SoldOut, 210, 220)}}, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if found := tt.h.Check(tt.window); (len(found) > 0) != tt.broken {
				t.Errorf("found %q, want something: %t", found, tt.broken)
			}
		})
	}
}
