package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const sleeper = "TORTURE_TEST_SLEEPER"

// TestMain is also the child that these tests kill.
func TestMain(m *testing.M) {
	if os.Getenv(sleeper) != "" {
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the test closes it
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestChildrenAreFoundByTheirProgramAndKilled(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// /proc shows a link's target, so the program must be a file of its own.
	dir := filepath.Join(t.TempDir(), "PurchaseFunction")
	program := filepath.Join(dir, "bootstrap")
	text, err := os.ReadFile(own)
	if err := errors.Join(err, os.Mkdir(dir, 0o755), os.WriteFile(program, text, 0o755)); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program)
	command.Env = append(os.Environ(), sleeper+"=1")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	found, err := children(os.Getpid())
	if err != nil || len(found) != 1 || found[0] != (victim{command.Process.Pid, "PurchaseFunction"}) {
		t.Fatalf("found %v %v, want process %d", found, err, command.Process.Pid)
	}
	if kill(found[0], command.Process.Pid) {
		t.Error("killed the child of somebody else")
	}
	if !kill(found[0], os.Getpid()) {
		t.Error("not killed")
	}
	err = command.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
	if kill(found[0], os.Getpid()) {
		t.Error("killed again what has ended")
	}
}

func FuzzParentOf(f *testing.F) {
	f.Add("42 (bootstrap) S 7 42 42 0 -1")
	f.Add("42 (a) S 1 (b) R 9 1")
	f.Add("")
	f.Add(") S x")
	f.Fuzz(func(t *testing.T, stat string) {
		above, err := parentOf(stat)
		if err != nil && !errors.Is(err, errMalformedStat) {
			t.Errorf("%q: %v", stat, err)
		}
		if strings.HasPrefix(stat, "42 (bootstrap) S 7 ") && !strings.Contains(stat[14:], ")") && above != 7 {
			t.Errorf("%q: parent %d, want 7", stat, above)
		}
	})
}

func TestAProcessNameMayHoldParenthesesAndSpaces(t *testing.T) {
	if above, err := parentOf("42 (a) S 1 (b) R 9 1"); err != nil || above != 9 {
		t.Errorf("parent %d %v, want 9", above, err)
	}
}
