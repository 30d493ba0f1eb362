package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryFaultOfAScenarioHappens(t *testing.T) {
	for _, s := range All() {
		if s.Stock < 1 || s.Buyers < 1 || s.Patience <= s.SlowFor+slowLeast+slowSpread || (s.Later > 0) != (len(s.Faults) > 0) {
			t.Errorf("%s: %+v cannot be run", s.Name, s)
		}
		for _, f := range s.Faults {
			// A strategy that passes none of the points must meet the fault, too.
			if last := f.When[len(f.When)-1]; last.Share == 0 {
				t.Errorf("%s: %s may never happen", s.Name, f.Do)
			}
		}
	}
}

func TestACrowdIsRepeatedByItsSeed(t *testing.T) {
	for _, s := range All() {
		crowd := s.Crowd(7)
		if diff := cmp.Diff(crowd, s.Crowd(7)); diff != "" {
			t.Errorf("%s: the same seed made another crowd:\n%s", s.Name, diff)
		}
		if cmp.Equal(crowd, s.Crowd(8)) {
			t.Errorf("%s: another seed made the same crowd", s.Name)
		}
		if want := s.Buyers + max(1, s.Clicks) - 1 + s.Later; len(crowd) != want {
			t.Errorf("%s: %d clicks, want %d", s.Name, len(crowd), want)
		}
		for i, c := range crowd {
			latest := s.Within + s.Ahead
			if c.Later {
				latest = s.LaterWithin
			}
			inOrder := i == 0 || c.Later && !crowd[i-1].Later || c.Later == crowd[i-1].Later && c.After >= crowd[i-1].After
			if c.After < 0 || c.After >= latest || !inOrder {
				t.Errorf("%s: click %d comes after %v", s.Name, i, c.After)
			}
		}
	}
}
