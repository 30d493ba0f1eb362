package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"flashsale/infra/kit/client"
)

// The template's functions, roles and schedule lead a draw with dice of the stack's own: of two
// who have entered for one unit, the one who is called buys it.
func TestADrawCallsOneOfTwoForOneUnit(t *testing.T) {
	t.Parallel()
	s := boot(t, "-parameter", "DrawSettleSeconds=1", "-parameter", "DrawDiceSeconds=3", "-parameter", "DrawGapSeconds=4")
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
	until := time.Now().Add(4 * time.Second)
	opens := until.Add(8 * time.Second)
	_, failure := s.seed(fmt.Sprintf(`{"action":"create","saleId":"shoes","opensAt":%q,"closesAt":%q,"stock":1,"shards":1,"enterFrom":%q,"enterUntil":%q,"keepHours":1}`,
		opens.UTC().Format(time.RFC3339Nano), at(2*time.Hour), at(-time.Hour), until.UTC().Format(time.RFC3339Nano)))
	if failure != "" {
		t.Fatal(failure)
	}
	users := []string{"alice", "bob"}
	for _, user := range users {
		if a := s.must(s.call(http.MethodPut, "/sales/shoes/entries/me", "", s.bearer(user)...)); a.status != http.StatusOK || len(a.text("leaf")) != 64 {
			t.Fatalf("%s enters: %v", user, a)
		}
	}
	if a := s.must(s.buy("shoes", s.bearer("alice")...)); a.text("code") != "sale-not-open" {
		t.Errorf("before the draw: %v", a)
	}
	// The schedule's run of the next minute would do the same. While one is on its way, this one is
	// refused.
	time.Sleep(time.Until(until))
	s.eventually("the first call", func() bool {
		_, _ = s.client.Invoke(t.Context(), client.DrawFunction, []byte(`{"saleId":"shoes"}`))
		a := s.must(s.call(http.MethodGet, "/sales/shoes", ""))
		return a.text("state") == "OPEN"
	})
	bought := 0
	for _, user := range users {
		switch a := s.finalAnswer("shoes", user); {
		case a.status == http.StatusAccepted:
			bought++
		case a.status != http.StatusForbidden || a.text("code") != "not-your-turn":
			t.Errorf("%s: %v", user, a)
		}
	}
	if a := s.finalAnswer("shoes", "carol"); a.text("code") != "not-your-turn" {
		t.Errorf("who has not entered: %v", a)
	}
	if bought != 1 {
		t.Errorf("%d buy, want one", bought)
	}
	s.balanced("shoes")
}
