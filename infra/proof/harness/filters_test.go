package harness

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheFiltersAreThoseOfTheTemplate(t *testing.T) {
	template, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`- Pattern: '(.*)'`).FindAllStringSubmatch(string(template), -1) {
		want = append(want, m[1])
	}
	for _, f := range filters {
		got = append(got, f.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filters (-template +here):\n%s", diff)
	}
}
