package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/kit/client"
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

// Operators have an API and environments of their own, so a crowd that takes all of the buyers'
// slows them down by no more than it slows the machine.
func TestAnOperatorIsAnsweredWhileACrowdFloodsTheBuyersAPI(t *testing.T) {
	const presses, crowd, bearable = 10, 100, 10 * time.Second
	s := boot(t, "-concurrency", "60", "-parameter", "PurchaseReservedConcurrency=0") // the crowd may have all that is not reserved
	s.open("rush", 1_000_000, 8)
	system, err := client.Find(t.Context(), s.at.API, client.Options{Transport: s.checked(&http.Transport{})})
	if err != nil {
		t.Fatal(err)
	}
	ada := client.Operator{Client: system.Client, API: system.Operate, Token: s.token("ada", "role=operator")}
	press := func(when string) (took []time.Duration) {
		for n := range presses {
			body := fmt.Sprintf(`{"id":"%s-%d","action":"pause"}`, when, n)
			if n%2 == 1 {
				var standing struct{ Seen string }
				a, err := ada.Operate(t.Context(), client.OperatorRequest{Method: http.MethodGet, Route: "/operate/sales/{saleId}", Path: map[string]string{"saleId": "rush"}})
				if err == nil {
					err = json.Unmarshal(a.Body, &standing)
				}
				if err != nil {
					t.Errorf("%s: %v, %v", when, a, err)
				}
				body = fmt.Sprintf(`{"id":"%s-%d","action":"resume","seen":%q}`, when, n, standing.Seen)
			}
			began := time.Now()
			a, err := ada.Operate(t.Context(), client.OperatorRequest{
				Method: http.MethodPost, Route: "/operate/sales/{saleId}/changes", Path: map[string]string{"saleId": "rush"},
				Body: body,
			})
			took = append(took, time.Since(began))
			if err != nil || a.Status != http.StatusOK || took[n] > bearable {
				t.Errorf("%s: after %v %v, %v", when, took[n], a, err)
			}
		}
		slices.Sort(took)
		return took
	}
	press("warm")
	calm := press("calm")

	tokens := make([][]string, crowd)
	for n := range tokens {
		tokens[n] = s.bearer(fmt.Sprint("user-", n))
	}
	flood, end := context.WithCancel(t.Context())
	defer end()
	var answered, turnedAway atomic.Int64
	var buying sync.WaitGroup
	for _, header := range tokens {
		buying.Go(func() {
			for flood.Err() == nil {
				a, err := s.call("POST", "/sales/rush/orders", "", header...)
				if answered.Add(1); err == nil && a.text("code") == "" && a.status >= 429 {
					turnedAway.Add(1)
				}
			}
		})
	}
	s.eventually("buyers are turned away", func() bool { return turnedAway.Load() > 0 })
	began, before := time.Now(), answered.Load()
	busy := press("flood")
	rate := float64(answered.Load()-before) / time.Since(began).Seconds()
	end()
	buying.Wait()
	t.Logf("%d presses: calm %v to %v, median %v; with %.0f buyers' requests a second, %d of %d turned away: %v to %v, median %v",
		presses, calm[0], calm[presses-1], calm[presses/2], rate, turnedAway.Load(), answered.Load(), busy[0], busy[presses-1], busy[presses/2])
}
