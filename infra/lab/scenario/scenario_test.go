package scenario

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/lab/shop"
)

func TestEveryScenarioCanBeRun(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] || !regexp.MustCompile(`^[a-z-]+$`).MatchString(s.Name) || s.Does == "" {
			t.Errorf("%q: the name is taken or malformed, or it says nothing", s.Name)
		}
		seen[s.Name] = true
		if s.Stock < 1 || s.Buyers < 1 || s.Spread <= 0 || s.Patience <= s.SlowFor+slowLeast+slowSpread {
			t.Errorf("%s: %+v cannot be run", s.Name, s)
		}
		if (s.Clicks > 1) != (s.Ahead > 0) {
			t.Errorf("%s: %d clicks come %v before the others", s.Name, s.Clicks, s.Ahead)
		}
		if (s.Later > 0) != (len(s.Faults) > 0) || (s.Later > 0) != (s.LaterSpread > 0) {
			t.Errorf("%s: %d buyers come after %d faults", s.Name, s.Later, len(s.Faults))
		}
		for _, f := range s.Faults {
			for _, w := range f.When {
				byPoint := slices.Contains([]shop.Point{shop.Locked, shop.Read, shop.Taken, shop.Recorded, shop.Queued}, w.Point) && w.Pass > 0 && w.Share == 0
				byShare := w.Point == "" && w.Share > 0 && w.Share < 1
				if byPoint == byShare || w.Server < 0 {
					t.Errorf("%s: %s has the trigger %+v", s.Name, f.Do, w)
				}
			}
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
			latest := s.Spread + s.Ahead
			if c.Later {
				latest = s.LaterSpread
			}
			inOrder := i == 0 || c.Later && !crowd[i-1].Later || c.Later == crowd[i-1].Later && c.After >= crowd[i-1].After
			if c.After < 0 || c.After >= latest || !inOrder {
				t.Errorf("%s: click %d comes after %v", s.Name, i, c.After)
			}
		}
	}
}
