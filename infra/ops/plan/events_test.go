package main

import (
	"bytes"
	"strings"
	"testing"

	"flashsale/infra/ops/deploy/price"
)

func TestEventsArePrintedWithTheirCost(t *testing.T) {
	var out bytes.Buffer
	list, _ := price.Find("us-east-1", price.Architecture)
	printEvents(&out, 512, list)
	// $1.00 for the events, $0.02 for 100,000 invocations, $0.0333 for 2,500 GB-seconds,
	// $0.0326 for 70 MB of log lines.
	for _, want := range []string{"1,000,000 events", "100,000 calls", "$1.0859"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
