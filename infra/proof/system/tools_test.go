package system

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// With what somebody tries a stack on AWS, the one on this machine can be tried.
func TestTheCommandsThatTryADeployedStackWorkOnThisMachine(t *testing.T) {
	s := shared(t)
	folder := t.TempDir()
	tokens, report := filepath.Join(folder, "tokens of buyers"), filepath.Join(folder, "a report.html")
	for _, c := range []struct {
		command string
		says    []string
	}{
		{"flashsale stack smoke", []string{"ok    buyer's page: script", "ok    another purchase", "ok    the order ", "ok    unsigned: stripe", "ok    unsigned: standard-webhooks", "ok    the order, not paid", "ok    the last unit is sold", "ok    the receipt"}},
		{"flashsale stack rehearse --rate 10 --duration 2s --stock 5 --shards 1 --report '" + report + "'", []string{"of 5 units on 1 shards", "balanced: stock left + claims = seeded", "no broken promise was seen", "5 orders; what they cost is counted on AWS only", "report: " + report}},
		{"flashsale stack tokens --count 3 --out '" + tokens + "'", []string{"3 access tokens are in " + tokens}},
	} {
		out, ok := s.shell(c.command)
		for _, want := range c.says {
			if !ok || !strings.Contains(out, want) {
				t.Errorf("%s ended well: %t, and does not say %q:\n%s", c.command, ok, want, out)
			}
		}
	}
	different := map[string]bool{}
	for token := range strings.FieldsSeq(readFile(t, tokens)) {
		different[token] = true
		if a := s.must(s.call(http.MethodGet, "/sales/none/orders/me", "", bearer(token)...)); a.status == http.StatusUnauthorized {
			t.Errorf("a token of flashsale stack tokens is refused: %v", a)
		}
	}
	if len(different) != 3 {
		t.Errorf("%d different tokens, want 3", len(different))
	}
}
