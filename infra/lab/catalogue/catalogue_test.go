package catalogue

import (
	"slices"
	"strings"
	"testing"

	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/tally"
)

func TestEveryVerdictIsExpectedOfSomethingThatExists(t *testing.T) {
	names := map[string]bool{}
	for _, s := range All() {
		names[s.Name] = true
		if _, ok := verdicts[s.Name]; !ok {
			t.Errorf("nothing is expected of %s", s.Name)
		}
	}
	for name, e := range verdicts {
		if !names[name] {
			t.Errorf("verdicts are expected of %s, which does not exist", name)
		}
		for sc, some := range e.except {
			if !slices.ContainsFunc(scenario.All(), func(s scenario.Scenario) bool { return s.Name == sc }) {
				t.Errorf("%s: there is no scenario %s", name, sc)
			}
			if len(some) == 0 || slices.Contains(some, tally.NotRun) {
				t.Errorf("%s in %s: expects %q", name, sc, some)
			}
		}
	}
}

// A strategy without a flaw holds everywhere, ours with a key among them; one that fails
// somewhere names what is wrong with it.
func TestWhoFailsSomewhereNamesAFlaw(t *testing.T) {
	for _, spec := range All() {
		for _, sc := range scenario.All() {
			holds := slices.Equal(Expected(spec.Name, sc.Name), only(tally.Holds))
			if !holds && sc.Applies(&spec) && spec.Flaw == "" {
				t.Errorf("%s: %v expected in %s and no flaw named", spec.Name, Expected(spec.Name, sc.Name), sc.Name)
			}
			if spec.Family == "ours" && !strings.HasSuffix(spec.Name, "-no-key") && !holds {
				t.Errorf("%s in %s: expected %v", spec.Name, sc.Name, Expected(spec.Name, sc.Name))
			}
		}
	}
}
