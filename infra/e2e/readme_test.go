package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fences are a document's fenced blocks that hold a text.
func fences(markdown, holding string) []string {
	var all []string
	for i, block := range strings.Split(markdown, "```") {
		if i%2 == 1 && strings.Contains(block, holding) {
			_, block, _ = strings.Cut(block, "\n")
			all = append(all, strings.TrimSpace(block))
		}
	}
	return all
}

func (s *stack) readme() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.root, "README.md"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func TestTheReadmesPurchaseWorksAsItStands(t *testing.T) {
	s := boot(t, "-demo-sale")
	s.eventually("the demonstration sale is open", func() bool {
		return s.must(s.call("GET", "/sales/demo", "")).text("state") == "OPEN"
	})
	var commands []string
	for _, block := range fences(s.readme(), "curl") {
		commands = append(commands, strings.Split(block, "\n")...)
	}
	if len(commands) < 3 {
		t.Fatalf("the README has %d commands with curl", len(commands))
	}
	bought, followed := false, false
	for i, answer := range s.shell(commands) {
		bought = bought || strings.HasPrefix(answer, "HTTP/1.1 202 Accepted")
		followed = followed || strings.HasPrefix(answer, `{"claimId":`)
		switch {
		case strings.HasPrefix(answer, "HTTP/"):
			s.inContract(commands[i], answer)
		case answer != "" && !strings.HasPrefix(answer, "{"):
			t.Errorf("%s answers %q", commands[i], answer)
		}
	}
	if !bought || !followed {
		t.Errorf("a unit was bought: %v, its claim was shown: %v", bought, followed)
	}
}

func TestTheReadmesRequestsToTheOperatorsDoorWork(t *testing.T) {
	s := boot(t)
	var requests []string
	for _, block := range fences(s.readme(), `{"action":"create"`) {
		requests = append(requests, strings.Split(block, "\n")...)
	}
	if len(requests) < 5 {
		t.Fatalf("the README has %d requests", len(requests))
	}
	for _, request := range requests {
		body, failed := s.seed(request)
		names := "applied saleId seeded shards"
		if !strings.Contains(request, `"stock"`) { // an edit
			names = "applied changedAt closesAt opensAt paused saleId seeded shards"
		}
		if got := strings.Join(slices.Sorted(maps.Keys(body)), " "); failed != "" || body["applied"] != true || got != names {
			t.Errorf("%s: %v %s", request, body, failed)
		}
		if again, failed := s.seed(request); strings.Contains(request, `"seedId"`) && (failed != "" || again["applied"] != false) {
			t.Errorf("%s again: %v %s", request, again, failed)
		}
	}
}
