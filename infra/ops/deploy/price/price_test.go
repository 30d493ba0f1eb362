package price

import (
	"math"
	"os"
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
	for people, want := range map[int][2]float64{
		0: {0, 0}, 10_000: {0, 0}, 10_001: {0.0055, 0.015}, 100_000: {495, 1350}, 500_000: {2335, 7350}, 2_000_000: {7885, 29_850},
	} {
		if lite, essentials := SignIns(people); math.Abs(lite-want[0]) > 1e-6 || math.Abs(essentials-want[1]) > 1e-6 {
			t.Errorf("%d people: $%v and $%v, want %v", people, lite, essentials, want)
		}
	}
}

func TestTheFunctionsHaveTheArchitectureThatIsPriced(t *testing.T) {
	text, err := os.ReadFile("../../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "Architectures:"); n != 1 || !strings.Contains(string(text), "Architectures: ["+Architecture+"]") {
		t.Errorf("the template names architectures %d times, want once, %s", n, Architecture)
	}
}
