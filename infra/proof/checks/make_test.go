package checks

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// dryRun returns what make would run for a target.
func dryRun(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "make", append([]string{"-n"}, arguments...)...)
	c.Dir, c.Env = root, append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestAVariableThatNoTargetKnowsIsAnError(t *testing.T) {
	for command, unknown := range map[string]string{"run SHOPS=1": "SHOPS", "lab BUILD=b": "BUILD", "SHELL=b": "SHELL", "run SHOP=1 AWS_REGION=a": ""} {
		out, err := dryRun(t, strings.Fields(command)...)
		if (err == nil) != (unknown == "") || unknown != "" && !strings.Contains(out, "there is no variable "+unknown+":") {
			t.Errorf("make %s: %v, %s", command, err, out)
		}
	}
}

// People paste values into commands: one that is part of a command's text would be run.
func TestNoValueGivenToMakeIsPartOfACommand(t *testing.T) {
	makefile := strings.ReplaceAll(read(t, "Makefile"), "\\\n", "")
	taken := regexp.MustCompile(`(?m)^override TAKES := (.*)`).FindStringSubmatch(makefile)
	targets := regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(makefile, -1)
	if taken == nil || len(targets) < 10 {
		t.Fatalf("the Makefile takes %q and has the targets %q", taken, targets)
	}
	marker := t.TempDir() + "/run"
	variables := strings.Fields(taken[1])
	for i := range variables {
		variables[i] += "=$(shell touch " + marker + ")$$(touch " + marker + ")`touch " + marker + "`';\""
	}
	for _, target := range targets {
		t.Run(target[1], func(t *testing.T) {
			t.Parallel()
			if out, err := dryRun(t, append([]string{target[1]}, variables...)...); err != nil || strings.Contains(out, marker) {
				t.Errorf("a value is part of a command: %v\n%s", err, out)
			}
			if _, err := os.Stat(marker); err == nil {
				t.Error("a value was run")
			}
		})
	}
}
