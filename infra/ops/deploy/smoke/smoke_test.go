package smoke

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// shop is a small correct shop with a single unit. A test may change its answers, by the request and, for
// one that needs a token, its user.
type shop struct {
	claim    string // the key of the one claim
	polls    int
	busy     int // number of requests to answer "busy" first
	gullible bool
	paid     bool
	spoil    map[string]reply
}

type reply struct {
	status int
	body   string
}

func (s *shop) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	request := r.Method + " " + r.URL.Path
	a, spoilt := s.spoil[strings.TrimSpace(request+" "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))]
	if !spoilt {
		a = s.answer(request, r.Header)
	}
	w.Header().Set("Location", "/sales/s/orders/me")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("Cache-Control", "max-age=1, immutable")
	if strings.HasPrefix(a.body, "<html") {
		w.Header().Set("Content-Type", "text/html")
	}
	w.WriteHeader(a.status)
	fmt.Fprint(w, a.body)
	return w.Result(), nil
}

const (
	scriptless = `<html data-sale="s">`
	notFound   = `{"message":"Not Found"}`
	pending    = `{"claimId":"c1","saleId":"s","state":"PENDING"}`
)

func (s *shop) answer(request string, header http.Header) reply {
	switch request {
	case "GET /sales/s":
		if s.claim != "" {
			return reply{200, `{"saleId":"s","state":"SOLD_OUT"}`}
		}
		return reply{200, `{"saleId":"s","state":"OPEN"}`}
	case "GET /s/s":
		return reply{200, scriptless + `<script src="/assets/page.1.js"></script>`}
	case "GET /assets/page.1.js":
		return reply{200, ""}
	case "GET /sales/s-none":
		return reply{404, `{"code":"sale-not-found"}`}
	case "GET /payments/stripe":
		return reply{404, notFound}
	case "POST /payments/stripe":
		s.paid = s.gullible
		return reply{400, `{"code":"invalid-request"}`}
	case "POST /payments/standard-webhooks":
		return reply{404, `{"code":"provider-not-found"}`}
	case "POST /payments/alipay":
		return reply{400, "fail: invalid-request: the webhook has no valid signature"}
	case "POST /payments/adyen":
		return reply{400, `{"code":"invalid-request","detail":"the webhook has no valid signature"}`}
	case "POST /payments/wechat-pay":
		return reply{400, `{"code":"FAIL","message":"invalid-request: the webhook has no valid signature"}`}
	}
	if header.Get("Authorization") != "Bearer alice" {
		return reply{401, `{"message":"Unauthorized"}`}
	}
	if s.busy > 0 {
		s.busy--
		return reply{503, `{"code":"busy"}`}
	}
	switch request {
	case "POST /sales/s/orders":
		key := header.Get("Idempotency-Key")
		if s.claim != "" && s.claim != key {
			return reply{409, `{"code":"already-ordered","claim":` + pending + `}`}
		}
		s.claim = key
		return reply{202, pending}
	case "GET /sales/s/orders/me":
		switch s.polls++; {
		case s.polls < 3:
			return reply{200, pending}
		case s.paid:
			return reply{200, `{"claimId":"c1","saleId":"s","state":"PAID","orderId":"77"}`}
		}
		return reply{200, `{"claimId":"c1","saleId":"s","state":"CONFIRMED","orderId":"77"}`}
	case "GET /orders/77":
		return reply{200, `{"orderId":"77","saleId":"s","claimId":"c1"}`}
	}
	return reply{404, notFound}
}

// rows makes a smoke test of the shop, and returns the names of the checks that passed and of the others.
func rows(t *testing.T, s *shop, token string) (all []Row, passed, others []string) {
	t.Helper()
	r := Round{URL: "http://127.0.0.1", Sale: "s", Token: token, Key: "k1", LastUnit: true, Bound: 10 * time.Second, Transport: s}
	synctest.Test(t, func(t *testing.T) { all = r.Run(t.Context()) })
	for _, row := range all {
		if row.Passed {
			passed = append(passed, row.Check)
		} else {
			others = append(others, row.Check+": "+row.Got)
		}
	}
	return all, passed, others
}

func TestAnHonestShopPassesEveryCheck(t *testing.T) {
	for _, tt := range []struct {
		name, token     string
		passed, skipped int
	}{
		{"with a token", "alice", 26, 0},
		{"without one, the purchase is skipped", "", 13, 1},
	} {
		all, passed, others := rows(t, &shop{busy: 2}, tt.token)
		var w strings.Builder
		if err := Print(&w, all); err != nil || len(passed) != tt.passed || len(others) != tt.skipped || strings.Count(w.String(), "\n") != len(all) {
			t.Errorf("%s: %v, %d passed, others: %q\n%s", tt.name, err, len(passed), others, &w)
		}
	}
}

func TestEveryWrongAnswerIsNoticed(t *testing.T) {
	for _, tt := range []struct {
		name, check, request string
		reply                reply
	}{
		{"the page is closed", "open sale's page: 200 CLOSED", "GET /sales/s", reply{200, `{"saleId":"s","state":"CLOSED"}`}},
		{"the page is another sale's", "open sale's page", "GET /sales/s", reply{200, `{"saleId":"x","state":"OPEN"}`}},
		{"the buyer's page has no script", "buyer's page: 200 text/html, 20 bytes", "GET /s/s", reply{200, scriptless}},
		{"the script is gone", "buyer's page: script: 404", "GET /assets/page.1.js", reply{404, "no such file"}},
		{"any sale exists", "unknown sale's page: 200 OPEN", "GET /sales/s-none", reply{200, `{"saleId":"s-none","state":"OPEN"}`}},
		{"anybody may buy", "purchase without token: 202 PENDING", "POST /sales/s/orders", reply{202, pending}},
		{"a forged token is good", "purchase with forged token: 202", "POST /sales/s/orders " + forged, reply{202, ""}},
		{"a purchase is final at once", "purchase: 202 CONFIRMED", "POST /sales/s/orders alice", reply{202, `{"claimId":"c1","saleId":"s","state":"CONFIRMED"}`}},
		{"every purchase is accepted", "another purchase: 202 PENDING", "POST /sales/s/orders alice", reply{202, pending}},
		{"the order never comes", "order id: 200 PENDING", "GET /sales/s/orders/me alice", reply{200, pending}},
		{"the order is not found", "the order: 404 order-not-found", "GET /orders/77 alice", reply{404, `{"code":"order-not-found"}`}},
		{"webhooks have no route", "unsigned: stripe: 404", "POST /payments/stripe", reply{404, notFound}},
		{"webhooks ask for a token", "unsigned: standard-webhooks: 401", "POST /payments/standard-webhooks", reply{401, `{"message":"Unauthorized"}`}},
		{"anybody may pay", "unsigned: stripe: 200", "POST /payments/stripe", reply{200, `{"outcome":"paid"}`}},
		{"the payment waits for its order", "unsigned: stripe: 503", "POST /payments/stripe", reply{503, `{"code":"busy"}`}},
		{"payments by GET", "payment by GET: 200", "GET /payments/stripe", reply{200, `{"outcome":"ignored"}`}},
		{"the order is paid by an unsigned webhook", "the order, not paid: 200 PAID", "gullible", reply{}},
		{"the sale never becomes sold out", "the last unit is sold: 200 OPEN", "GET /sales/s", reply{200, `{"saleId":"s","state":"OPEN"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, _, others := rows(t, &shop{spoil: map[string]reply{tt.request: tt.reply}, gullible: tt.request == "gullible"}, "alice")
			if !strings.Contains(strings.Join(others, "\n"), tt.check) {
				t.Errorf("failed %q, want %q among them", others, tt.check)
			}
			if err := Print(&strings.Builder{}, all); !errors.Is(err, ErrMismatch) {
				t.Errorf("%v, want %v", err, ErrMismatch)
			}
		})
	}
}

// browsing answers as the shop, with CORS headers, and preflights itself.
type browsing struct {
	*shop
	reads, orders string // the origins that may
}

func (b browsing) RoundTrip(r *http.Request) (*http.Response, error) {
	allowed := b.reads
	if r.Method == http.MethodOptions {
		allowed = b.orders
	}
	if r.Method != http.MethodOptions {
		a, err := b.shop.RoundTrip(r)
		a.Header.Set("Access-Control-Allow-Origin", allowed)
		return a, err
	}
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusNoContent)
	if allowed == r.Header.Get("Origin") {
		w.Header().Set("Access-Control-Allow-Origin", allowed)
		w.Header().Set("Access-Control-Allow-Methods", "GET,POST")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization,Idempotency-Key")
	}
	a := w.Result()
	a.Header = w.Header()
	return a, nil
}

// Behind a front everybody can read a sale, so that a page which may not order is noticed at the opening.
func TestWhetherAPageOfAnOriginMayReadAndOrderIsTried(t *testing.T) {
	const page = "https://www.shop.example"
	for allowed, want := range map[[2]string][2]bool{
		{page, page}: {true, true}, {"*", page}: {true, true}, {"*", ""}: {true, false}, {"", ""}: {false, false}, {"*", "https://shop.example"}: {true, false},
	} {
		r := Round{URL: "http://127.0.0.1", Sale: "s", Origin: page, Bound: time.Second, Transport: browsing{&shop{}, allowed[0], allowed[1]}}
		var got [2]bool
		synctest.Test(t, func(t *testing.T) {
			for _, row := range r.Run(t.Context()) {
				switch row.Check {
				case "the sale, from the origin":
					got[0] = row.Passed
				case "an order, from the origin":
					got[1] = row.Passed
				}
			}
		})
		if got != want {
			t.Errorf("%q: reads and orders %v, want %v", allowed, got, want)
		}
	}
}
