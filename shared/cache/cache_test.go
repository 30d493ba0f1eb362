package cache

import (
	"testing"
	"time"
)

func TestANewKeyTakesThePlaceOfTheOldestOne(t *testing.T) {
	m := NewMap[int, int](3)
	for i := range 10 {
		m.Put(i, i)
		m.Put(i, 10*i) // takes no further place
		if i > 0 {
			m.Put(i-1, 10*i) // keeps its place and its age
		}
		for k := range i + 1 {
			value, ok := m.Get(k)
			if want := k > i-3; ok != want {
				t.Errorf("after %d keys key %d is known: %t, want %t", i+1, k, ok, want)
			}
			if ok && value != 10*min(k+1, i) {
				t.Errorf("after %d keys key %d has %d", i+1, k, value)
			}
		}
	}
	if len(m.entries) != 3 || len(m.order) != 3 {
		t.Errorf("%d entries in %d places, want 3", len(m.entries), len(m.order))
	}
}

func TestAValueHoldsFromAnInstantUntilAnother(t *testing.T) {
	m := NewMemory[string, int](2)
	from := time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)
	until := from.Add(time.Minute)
	m.Put("a", 7, from, until)
	m.Put("b", 8, time.Time{}, until)
	for _, c := range []struct {
		now  time.Time
		a, b bool
	}{
		{from.Add(-time.Hour), false, true}, {from.Add(-1), false, true}, {from, true, true},
		{until.Add(-1), true, true}, {until, false, false}, {until.Add(time.Hour), false, false},
	} {
		a, knowsA := m.Get("a", c.now)
		b, knowsB := m.Get("b", c.now)
		if knowsA != c.a || knowsB != c.b || knowsA && a != 7 || knowsB && b != 8 || !knowsA && a != 0 {
			t.Errorf("at %v: %d %t and %d %t, want %t and %t", c.now, a, knowsA, b, knowsB, c.a, c.b)
		}
	}
	if _, ok := m.Get("c", from); ok {
		t.Error("a key that was never put is known")
	}
	m.Put("a", 9, until, until.Add(time.Minute))
	if a, ok := m.Get("a", until); a != 9 || !ok {
		t.Errorf("put again: %d, %t", a, ok)
	}
}
