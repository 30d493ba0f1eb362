package e2e

import (
	"net/http"
	"sync"
	"testing"
)

func TestOverItsLimitsTheStackAnswersAsAWSDoesAndServesTheOthers(t *testing.T) {
	t.Parallel()
	// A bucket of 30 tokens, refilled by one a second, and two environments for
	// purchases.
	s := boot(t, "-parameter", "PurchaseRateLimit=1", "-parameter", "PurchaseBurstLimit=30",
		"-parameter", "PurchaseReservedConcurrency=2")
	s.open("rush", 5, 1)
	const buyers = 60
	answers := make([]answer, buyers)
	tokens := make([][]string, buyers)
	for i := range tokens {
		tokens[i] = s.bearer(string(rune('a'+i%26)) + string(rune('a'+i/26)))
	}
	var crowd sync.WaitGroup
	for i := range answers {
		crowd.Go(func() {
			a, err := s.buy("rush", tokens[i]...)
			if err != nil {
				t.Error(err)
			}
			answers[i] = a
		})
	}
	crowd.Wait()
	told := map[int]int{}
	for _, a := range answers {
		told[a.status]++
		switch a.status {
		case http.StatusAccepted, http.StatusConflict:
		case http.StatusTooManyRequests:
			if a.text("message") != "Too Many Requests" {
				t.Errorf("beyond the throttle: %v", a)
			}
		case http.StatusServiceUnavailable:
			if a.text("message") != "Service Unavailable" && a.text("code") != "busy" {
				t.Errorf("beyond the concurrency: %v", a)
			}
		default:
			t.Errorf("an answer that no limit gives: %v", a)
		}
	}
	if n := told[http.StatusTooManyRequests]; n < 1 || n > buyers-30 {
		t.Errorf("%v, want 1 to %d beyond a bucket of 30", told, buyers-30)
	}
	if told[http.StatusServiceUnavailable] == 0 {
		t.Errorf("%v: requests of a whole crowd all found one of two environments", told)
	}
	if accepted := told[http.StatusAccepted]; accepted < 1 || accepted > 5 {
		t.Errorf("%d accepted, want 1 to 5", accepted)
	}
	if a := s.must(s.call("GET", "/sales/rush", "")); a.status != http.StatusOK {
		t.Errorf("the sale's page: %v", a)
	}
	if claims := len(s.books("rush").Claims); claims != told[http.StatusAccepted] {
		t.Errorf("%d claims of %d accepted", claims, told[http.StatusAccepted])
	}
}
