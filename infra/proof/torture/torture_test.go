package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
	if t.Failed() {
		t.Logf("output:\n%s", &out)
	}
}

func TestTheSummaryIsOneLineForMachines(t *testing.T) {
	sum := summary{rounds: 3, kills: 40, accepted: 500, resent: 30, paid: 60, released: 7, refunds: 8, events: 900, repeats: 12, violations: 1}
	if got, want := sum.String(), "rounds=3 kills=40 accepted=500 resent=30 paid=60 released=7 refunds=8 events=900 repeats=12 violations=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAMissingBuildIsAnError(t *testing.T) {
	if _, err := newMachine(t.TempDir(), "main.go", 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want an error that the stack is missing", err)
	}
}

func TestAProgramIsStartedAgainUntilItServes(t *testing.T) {
	m, err := newMachine(root, "main.go", 0) // no function runs here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(m.dir) })
	if err := m.start(t.Context(), m.queues); err != nil {
		t.Fatal(err)
	}
	// serves waits until the queues have said so that often: they answer before their queues are there.
	serves := func(times int) {
		t.Helper()
		var log []byte
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			log, err = os.ReadFile(filepath.Join(m.dir, "stack.log"))
			if err == nil && strings.Count(string(log), "SQS serves at "+m.queues.ReadyURL) == times {
				return
			}
		}
		t.Fatalf("the queues have not served %d times: %s %v", times, log, err)
	}
	serves(1)
	first := m.queues.Pid()
	m.queues.Kill()
	if !m.queues.Ended() {
		t.Error("the killed queues have not ended")
	}
	if err := m.start(t.Context(), m.queues); err != nil {
		t.Fatal(err)
	}
	serves(2)
	if again := m.queues.Pid(); again == first {
		t.Errorf("process %d again", again)
	}
	if err := m.stop(); err != nil {
		t.Error(err)
	}
}
