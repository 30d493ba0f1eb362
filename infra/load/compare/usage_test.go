package main

import (
	"os"
	"runtime"
	"testing"
	"time"
)

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
			t.Fatalf("process %d has worked for a minute and used no CPU time", os.Getpid())
		}
	}
}

func TestTheCostOfAnOrderNamesItsLargestPartFirst(t *testing.T) {
	u := usage{enginePart: 4 * time.Second, "PurchaseFunction": 8 * time.Second, ownPart: 5 * time.Second}
	u = u.since(usage{ownPart: time.Second})
	const want = "CPU 4.00 ms, PurchaseFunction 2.00, client and servers 1.00, engine 1.00"
	if got := u.each(4000).String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := u.each(0).total(); got != 0 {
		t.Errorf("no orders cost %v each", got)
	}
}
