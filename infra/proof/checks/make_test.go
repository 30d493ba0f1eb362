package checks

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	for command, unknown := range map[string]string{"demo PAYMENT=1": "PAYMENT", "lab BUILD=b": "BUILD", "SHELL=b": "SHELL", "demo PAYMENTS=1 AWS_REGION=a": ""} {
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

// SAM's makefile builder passes stdout on as it comes, and keeps stderr back until the target fails.
func TestABuildTellsItsProgressWhereItIsShown(t *testing.T) {
	for artifacts, want := range map[string]string{"": "stderr", "/tmp": "stdout"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			said := filepath.Join(t.TempDir(), "said") // once this is there the command ends, or in half a minute
			c := exec.CommandContext(t.Context(), "bash", "infra/make/tell.sh", "sh", "-c", `for _ in $(seq 300); do [ -e "$0" ] && exit; sleep 0.1; done`, said)
			c.Dir, c.Env = root, append(os.Environ(), "ARTIFACTS_DIR="+artifacts)
			stdout, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			stderr, err := c.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			told, other := bufio.NewReader(stderr), io.Reader(stdout)
			if want == "stdout" {
				told, other = bufio.NewReader(stdout), stderr
			}
			line, err := told.ReadString('\n')
			if !strings.HasPrefix(line, "sh -c, ") || err != nil {
				t.Errorf("%s has %q, %v, want the progress", want, line, err)
			}
			if err := os.WriteFile(said, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(other); len(rest) > 0 || err != nil {
				t.Errorf("the other stream has %q, %v", rest, err)
			}
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
