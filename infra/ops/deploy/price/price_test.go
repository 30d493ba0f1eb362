package price

import (
	"math"
	"strings"
	"testing"
)

func TestABillIsTheSumOfItsLines(t *testing.T) {
	bill := Bill(Usage{
		Requests: 1e6, Invocations: 1e6, GBSeconds: 1e6, WarmGBSeconds: 1e6, HeldGBSeconds: 1e6,
		WriteUnits: 1e6, ReadUnits: 1e6, QueueCalls: 1e6, Events: 1e6, LogBytes: 1 << 30, EdgeRequests: 1e6,
	})
	if want := 1 + 0.20 + 13.3334 + 7.7778 + 3.3334 + 0.625 + 0.125 + 0.40 + 1 + 0.50 + 1 + 0.60; math.Abs(Sum(bill)-want) > 1e-9 {
		t.Errorf("a million of each and a gigabyte of logs cost $%v, want $%v", Sum(bill), want)
	}
	var w strings.Builder
	Print(&w, bill, 500_000)
	for _, part := range []string{" 1,000,000 requests ", "$29.89", "per 1,000 orders", "$0.06"} {
		if !strings.Contains(w.String(), part) {
			t.Errorf("no %s in\n%s", part, &w)
		}
	}
}

func TestPeopleWhoSignInCostByTheStepsOfTheirNumber(t *testing.T) {
	for people, want := range map[int]float64{0: 0, 10_000: 0, 10_001: 0.0055, 100_000: 495, 500_000: 2335, 2_000_000: 7885} {
		if got := SignIns(people); math.Abs(got-want) > 1e-6 {
			t.Errorf("%d people: $%v, want $%v", people, got, want)
		}
	}
}
