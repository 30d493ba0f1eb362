// Package client tests flashsale.js, the client of the buyer's page and of shops' own pages, without a browser: in node, against
// scripted answers and by a clock of its own.
package client

import (
	"os/exec"
	"testing"
)

func TestTheClientKnowsWhatShopsGetWrong(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=dot", "flashsale.test.mjs").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
