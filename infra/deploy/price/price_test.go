package price

import (
	"math"
	"strings"
	"testing"
)

func TestABillIsTheSumOfItsLines(t *testing.T) {
	bill := Bill(Usage{
		Requests: 1e6, Invocations: 1e6, GBSeconds: 1e6, WriteUnits: 1e6, ReadUnits: 1e6, QueueCalls: 1e6, LogBytes: 1 << 30,
	})
	if want := 1 + 0.20 + 13.3334 + 0.625 + 0.125 + 0.40 + 0.50; math.Abs(Sum(bill)-want) > 1e-9 {
		t.Errorf("a million of each and a gigabyte of logs cost $%v, want $%v", Sum(bill), want)
	}
	var w strings.Builder
	Print(&w, bill, 500_000)
	for _, part := range []string{"$16.183400", "per 1,000", "$0.0324"} {
		if !strings.Contains(w.String(), part) {
			t.Errorf("no %s in\n%s", part, &w)
		}
	}
}

func TestNothingIsSaidOfOrdersWithoutAny(t *testing.T) {
	var w strings.Builder
	Print(&w, Bill(Usage{}), 0)
	if strings.Contains(w.String(), "per 1,000") || Sum(Bill(Usage{})) != 0 {
		t.Errorf("\n%s", &w)
	}
}
