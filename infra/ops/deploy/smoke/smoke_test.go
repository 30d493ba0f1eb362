package smoke

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// shop is a small correct shop with a single unit. A test may change its answers.
type shop struct {
	mu    sync.Mutex
	claim string // the key of the one claim
	polls int
	busy  int // number of requests to answer "busy" first
	spoil func(w http.ResponseWriter, r *http.Request) bool
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spoil != nil && s.spoil(w, r) {
		return
	}
	if strings.HasPrefix(r.URL.Path, "/payments/") {
		switch {
		case r.Method != "POST":
			w.WriteHeader(404)
			fmt.Fprint(w, `{"message":"Not Found"}`)
		case r.URL.Path == "/payments/stripe":
			w.WriteHeader(400)
			fmt.Fprint(w, `{"code":"invalid-request"}`)
		default:
			w.WriteHeader(404)
			fmt.Fprint(w, `{"code":"provider-not-found"}`)
		}
		return
	}
	user := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	say := func(status int, body string) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
	const claim = `{"claimId":"c1","saleId":"s","state":%q,"orderId":%q}`
	switch r.Method + " " + r.URL.Path {
	case "GET /sales/s":
		state := "OPEN"
		if s.claim != "" {
			state = "SOLD_OUT"
		}
		say(200, `{"saleId":"s","state":"`+state+`"}`)
		return
	case "GET /s/s":
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		say(200, `<html data-sale="s"><script src="/assets/page.1.js"></script></html>`)
		return
	case "GET /assets/page.1.js":
		w.Header().Set("Cache-Control", "max-age=1, immutable")
		say(200, "")
		return
	case "GET /sales/s-none":
		say(404, `{"code":"sale-not-found"}`)
		return
	}
	if user != "alice" {
		say(401, `{"message":"Unauthorized"}`)
		return
	}
	if s.busy > 0 {
		s.busy--
		say(503, `{"code":"busy"}`)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "POST /sales/s/orders":
		key := r.Header.Get("Idempotency-Key")
		if s.claim != "" && s.claim != key {
			say(409, `{"code":"already-ordered","claim":`+fmt.Sprintf(claim, "PENDING", "")+`}`)
			return
		}
		s.claim = key
		w.Header().Set("Location", "/sales/s/orders/me")
		say(202, fmt.Sprintf(claim, "PENDING", ""))
	case "GET /sales/s/orders/me":
		if s.polls++; s.polls < 3 {
			say(200, fmt.Sprintf(claim, "PENDING", ""))
			return
		}
		say(200, fmt.Sprintf(claim, "CONFIRMED", "77"))
	case "GET /orders/77":
		say(200, `{"orderId":"77","saleId":"s","claimId":"c1"}`)
	default:
		say(404, `{"message":"Not Found"}`)
	}
}

func round(t *testing.T, s *shop) Round {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return Round{URL: server.URL, Sale: "s", Token: "alice", Key: "k1", LastUnit: true, Bound: 10 * time.Second}
}

// outcome returns the checks that passed, failed and were skipped.
func outcome(rows []Row) (passed, failed, skipped []string) {
	for _, r := range rows {
		switch {
		case r.Skipped:
			skipped = append(skipped, r.Check)
		case r.Passed:
			passed = append(passed, r.Check)
		default:
			failed = append(failed, r.Check+": "+r.Got)
		}
	}
	return passed, failed, skipped
}

func TestAnHonestShopPassesEveryCheck(t *testing.T) {
	rows := round(t, &shop{busy: 2}).Run(t.Context())
	if passed, failed, skipped := outcome(rows); len(passed) != 20 || failed != nil || skipped != nil {
		t.Errorf("passed %q\nfailed %q\nskipped %q", passed, failed, skipped)
	}
	var w strings.Builder
	if err := Print(&w, rows); err != nil || strings.Count(w.String(), "\n") != 20 {
		t.Errorf("%v\n%s", err, &w)
	}
}

func TestWithoutATokenThePurchaseIsSkipped(t *testing.T) {
	r := round(t, &shop{})
	r.Token = ""
	rows := r.Run(t.Context())
	if passed, failed, skipped := outcome(rows); len(passed) != 10 || failed != nil || len(skipped) != 1 {
		t.Errorf("passed %q\nfailed %q\nskipped %q", passed, failed, skipped)
	}
	if err := Print(&strings.Builder{}, rows); err != nil {
		t.Errorf("a skipped check counts as a failure: %v", err)
	}
}

func TestEveryWrongAnswerIsNoticed(t *testing.T) {
	// answer replaces the answers to one request.
	answer := func(request string, status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method+" "+r.URL.Path != request || r.Header.Get("Authorization") != "Bearer alice" && strings.HasPrefix(request, "POST /sales") {
				return false
			}
			w.Header().Set("Location", "/sales/s/orders/me")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}
	}
	bought, paid := false, false
	tests := []struct {
		name, check string
		spoil       func(http.ResponseWriter, *http.Request) bool
	}{
		{"the page is closed", "open sale's page: 200 CLOSED", answer("GET /sales/s", 200, `{"saleId":"s","state":"CLOSED"}`)},
		{"the page is another sale's", "open sale's page", answer("GET /sales/s", 200, `{"saleId":"x","state":"OPEN"}`)},
		{"the buyer's page has no script", "buyer's page: 200 text/html, 20 bytes", func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Security-Policy", "default-src 'none'")
			return answer("GET /s/s", 200, `<html data-sale="s">`)(w, r)
		}},
		{"the script is gone", "buyer's page: script: 404", answer("GET /assets/page.1.js", 404, "no such file")},
		{"any sale exists", "unknown sale's page: 200 OPEN", answer("GET /sales/s-none", 200, `{"saleId":"s-none","state":"OPEN"}`)},
		{"anybody may buy", "purchase without token: 202 PENDING", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != "POST" || r.Header.Get("Authorization") != "" {
				return false
			}
			w.WriteHeader(202)
			fmt.Fprint(w, `{"claimId":"c9","saleId":"s","state":"PENDING"}`)
			return true
		}},
		{"a forged token is good", "purchase with forged token: 202", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != "POST" || r.Header.Get("Authorization") != "Bearer "+forged {
				return false
			}
			w.WriteHeader(202)
			return true
		}},
		{"a purchase is final at once", "purchase: 202 CONFIRMED", answer("POST /sales/s/orders", 202, `{"claimId":"c1","saleId":"s","state":"CONFIRMED"}`)},
		{"every purchase is accepted", "another purchase: 202 PENDING", answer("POST /sales/s/orders", 202, `{"claimId":"c1","saleId":"s","state":"PENDING"}`)},
		{"the order never comes", "order id: 200 PENDING", answer("GET /sales/s/orders/me", 200, `{"claimId":"c1","saleId":"s","state":"PENDING"}`)},
		{"the order is not found", "the order: 404 order-not-found", answer("GET /orders/77", 404, `{"code":"order-not-found"}`)},
		{"webhooks have no route", "unsigned: stripe: 404", answer("POST /payments/stripe", 404, `{"message":"Not Found"}`)},
		{"webhooks ask for a token", "unsigned: standard-webhooks: 401", answer("POST /payments/standard-webhooks", 401, `{"message":"Unauthorized"}`)},
		{"anybody may pay", "unsigned: stripe: 200", answer("POST /payments/stripe", 200, `{"outcome":"paid"}`)},
		{"the payment waits for its order", "unsigned: stripe: 503", answer("POST /payments/stripe", 503, `{"code":"busy"}`)},
		{"payments by GET", "payment by GET: 200", answer("GET /payments/stripe", 200, `{"outcome":"ignored"}`)},
		{"the order is paid by it", "the order, not paid: 200 PAID", func(w http.ResponseWriter, r *http.Request) bool {
			if paid = paid || r.URL.Path == "/payments/stripe" && bought; r.Method == "POST" && r.URL.Path == "/sales/s/orders" {
				bought = true
			}
			return paid && answer("GET /sales/s/orders/me", 200, `{"claimId":"c1","saleId":"s","state":"PAID","orderId":"77"}`)(w, r)
		}},
		{"the sale never becomes sold out", "the last unit is sold: 200 OPEN", answer("GET /sales/s", 200, `{"saleId":"s","state":"OPEN"}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := round(t, &shop{spoil: tt.spoil})
			r.Bound = 300 * time.Millisecond
			rows := r.Run(t.Context())
			_, failed, _ := outcome(rows)
			if !strings.Contains(strings.Join(failed, "\n"), tt.check) {
				t.Errorf("failed %q, want %q among them", failed, tt.check)
			}
			if err := Print(&strings.Builder{}, rows); !errors.Is(err, ErrMismatch) {
				t.Errorf("%v, want %v", err, ErrMismatch)
			}
		})
	}
}
