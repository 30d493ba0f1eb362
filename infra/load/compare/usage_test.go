package main

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestAProcessesTimeIsReadWhateverItsName(t *testing.T) {
	for _, name := range []string{"bootstrap", "a) S 1 (b", ""} {
		line := "42 (" + name + ") S 7 42 42 0 -1 4194304 1 0 0 0 120 30 0 0 20 0 4 0 100 1 1"
		pid, parent, used, ok := parseStat([]byte(line))
		if !ok || pid != 42 || parent != 7 || used != 1500*time.Millisecond {
			t.Errorf("%q: process %d, parent %d, %v, %v; want 42, 7, 1.5s, true", name, pid, parent, used, ok)
		}
	}
	for _, line := range []string{"", "42", "42 (x", ") (", "42 (x) S 7 42", "x (x) S 7 42 42 0 -1 4194304 1 0 0 0 120 30 0"} {
		if _, _, _, ok := parseStat([]byte(line)); ok {
			t.Errorf("%q was read", line)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("bootstrap", "S 7 42 42 0 -1 4194304 1 0 0 0 120 30")
	f.Add(") S 1 (", "")
	f.Fuzz(func(t *testing.T, name, rest string) {
		_, _, _, _ = parseStat([]byte(name + rest)) // whatever it is, it is no panic
		line := "42 (" + name + ") S 7 42 42 0 -1 4194304 1 0 0 0 120 30 0 0"
		if pid, parent, used, ok := parseStat([]byte(line)); !ok || pid != 42 || parent != 7 || used != 1500*time.Millisecond {
			t.Errorf("%q: process %d, parent %d, %v, %v; want 42, 7, 1.5s, true", line, pid, parent, used, ok)
		}
	})
}

func TestThisProcessIsSeenAtWork(t *testing.T) {
	if runtime.GOOS != "linux" {
		if u := usageNow(); len(u) != 0 {
			t.Errorf("there is no /proc, and yet %v", u)
		}
		return
	}
	before := usageNow()
	for deadline := time.Now().Add(time.Minute); usageNow().since(before)[ownPart] == 0; {
		if time.Now().After(deadline) {
			t.Fatalf("process %d has worked for a minute and used nothing", os.Getpid())
		}
	}
}

func TestTheCostOfAnOrderNamesItsLargestPartFirst(t *testing.T) {
	u := usage{enginePart: 4 * time.Second, "PurchaseFunction": 8 * time.Second, ownPart: 5 * time.Second}
	u = u.since(usage{ownPart: time.Second})
	const want = "processor 4.00 ms, PurchaseFunction 2.00, client and servers 1.00, engine 1.00"
	if got := u.each(4000).String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := u.each(0).total(); got != 0 {
		t.Errorf("no orders cost %v each", got)
	}
}
