package checks

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// dryRun returns what make would run for a target, without what it builds first.
func dryRun(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "make", append([]string{"-n", "-o", "host", "-o", "operator", "-o", "deployer"}, arguments...)...)
	c.Dir, c.Env = root, append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestAVariableThatATargetDoesNotKnowIsAnError(t *testing.T) {
	for command, unknown := range map[string]string{
		"refunds CSV=1": "CSV", "pause SALE=a STOCK=5": "STOCK", "add SALE=a ID=b": "ID", "smoke SLAE=a": "SLAE", "pause SALE=a BUILD=b": "BUILD", "CSV=1": "CSV",
		"orders SALE=a CSV=1": "", "pause SALE=a NOTE=b ID=c ENV=dev TABLE=t QUEUE=q": "", "refunds AWS_REGION=a": "",
	} {
		out, err := dryRun(t, strings.Fields(command)...)
		if unknown == "" && err != nil || unknown != "" && (err == nil || !strings.Contains(out, " does not know "+unknown+": ")) {
			t.Errorf("make %s: %v, %s", command, err, out)
		}
	}
}

// An operator pastes ids of users and sales into commands: a value that is part of a command's text would be run.
func TestNoValueGivenToMakeIsPartOfACommand(t *testing.T) {
	known := exec.CommandContext(t.Context(), "awk", "-f", "infra/make/known.awk", "Makefile", "Makefile")
	known.Dir = root
	out, err := known.Output()
	if err != nil {
		t.Fatal(err)
	}
	marker := t.TempDir() + "/run"
	given := map[string][]string{} // by target
	for word := range strings.FieldsSeq(string(out)) {
		target, name, ok := strings.Cut(word, "/")
		if ok && target != "" && name != "" && name != "MAKE" {
			given[target] = append(given[target], name+"=$(shell touch "+marker+")$$(touch "+marker+")`touch "+marker+"`';\"")
		}
	}
	if len(given["pause"]) == 0 {
		t.Fatalf("the variables of make pause are not known: %s", out)
	}
	for target, variables := range given {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			if out, _ := dryRun(t, append([]string{target}, variables...)...); strings.Contains(out, marker) {
				t.Errorf("a value is part of a command:\n%s", out)
			}
			if _, err := os.Stat(marker); err == nil {
				t.Error("a value was run")
			}
		})
	}
}
