package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"flashsale/infra/local/child"
)

const sleeper = "TORTURE_TEST_SLEEPER"

// TestMain is also the main function of the child that these tests find.
func TestMain(m *testing.M) {
	if os.Getenv(sleeper) != "" {
		time.Sleep(time.Hour) // until it is killed; without a timer the runtime would find a deadlock
	}
	os.Exit(m.Run())
}

func TestVictimsAreKnownByTheirProgram(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// /proc shows the target of a link, so the program must be a copy.
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]string{}
	for path, kind := range map[string]string{"PurchaseFunction/bootstrap": "PurchaseFunction", "bin/dynoxide": engine, "bin/other": ""} {
		program := filepath.Join(t.TempDir(), path)
		if err := errors.Join(os.Mkdir(filepath.Dir(program), 0o755), os.WriteFile(program, text, 0o755)); err != nil {
			t.Fatal(err)
		}
		p, err := child.Start(child.Command{Path: program, Env: []string{sleeper + "=1"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Stop(0) })
		if kind != "" {
			want[p.Pid()] = kind
		}
	}
	found, err := victims(os.Getpid())
	if err != nil || len(found) != len(want) {
		t.Errorf("found %v %v, want %v", found, err, want)
	}
	for _, v := range found {
		if want[v.Pid] != v.kind {
			t.Errorf("process %d is %q, want %q", v.Pid, v.kind, want[v.Pid])
		}
	}
}
