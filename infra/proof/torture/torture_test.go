package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// root is the project's folder, in which make host builds.
const root = "../../.."

// release builds package ahead.
func release(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ReleaseFunction", "bootstrap")
	// The flags of `make host`, so that packages are not compiled again.
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-tags", "lambda.norpc", "-ldflags=-s", "-o", program, "./ahead")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	return program
}

func TestNoPromiseIsBrokenWhateverIsKilled(t *testing.T) {
	var out bytes.Buffer
	sum, err := run(t.Context(), config{
		rounds: 1, seed: 1, root: root, release: release(t), sales: 2, buyers: 100, chaos: 8 * time.Second, killAtResponse: 0.04,
	}, &out)
	if err != nil || sum.violations > 0 {
		t.Errorf("%v %v", sum, err)
	}
	if sum.rounds != 1 || sum.kills < 10 || sum.accepted < 20 || sum.paid == 0 || sum.released == 0 || sum.refunds == 0 || sum.events < int64(sum.accepted) {
		t.Errorf("%v: too little happened to prove anything", sum)
	}
	if strings.Contains(out.String(), "answering 0") {
		t.Error("no function was killed at its answer")
	}
	for _, victim := range []string{"Function", engine} {
		if !regexp.MustCompile(victim + ` \d`).MatchString(out.String()) {
			t.Errorf("no %s was killed", victim)
		}
	}
	if t.Failed() {
		t.Logf("output:\n%s", &out)
	}
}

func TestAMissingBuildIsAnError(t *testing.T) {
	if _, err := newMachine(t.TempDir(), "main.go", 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want an error that the stack is missing", err)
	}
}
