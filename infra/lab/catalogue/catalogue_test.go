package catalogue

import (
	"slices"
	"strings"
	"testing"

	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/tally"
)

// A strategy without a flaw holds everywhere, ours with a key among them; one that fails
// somewhere names what is wrong with it.
func TestWhoFailsSomewhereNamesAFlaw(t *testing.T) {
	for _, spec := range All() {
		if _, ok := verdicts[spec.Name]; !ok {
			t.Errorf("nothing is expected of %s", spec.Name)
		}
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
