package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

// cashier is a simple implementation of a sale that asks for payment. An order's id is its
// buyer's name.
type cashier struct {
	keepsUnits   bool // a flaw: an expired order's unit is not sold again
	takesLate    bool // a flaw: an expired order can be paid
	hastens      bool // a flaw: releases what is not due
	mu           sync.Mutex
	saleID       string
	left         int
	states       map[string]string
	releasesFrom time.Time
}

func (s *cashier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer token-of-")
	own := "/sales/" + s.saleID + "/orders/me"
	claim := map[string]string{"claimId": "claim-" + user, "saleId": s.saleID, "state": s.states[user], "orderId": user}
	switch r.Method + " " + r.URL.Path {
	case "GET /_local/token":
		_, _ = io.WriteString(w, "token-of-"+url.PathEscape(r.URL.Query().Get("sub")))
	case "POST /2015-03-31/functions/SeedFunction/invocations":
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(body), `"saleId":"`)
		s.saleID, _, _ = strings.Cut(rest, `"`)
		s.left, s.states, s.releasesFrom = unpaidStock, map[string]string{}, time.Now().Add(time.Second)
		answer(w, 200, map[string]any{"saleId": s.saleID, "seeded": unpaidStock, "shards": unpaidShards})
	case "POST /2015-03-31/functions/ReleaseFunction/invocations":
		s.release()
		answer(w, 200, map[string]any{})
	case "POST /sales/" + s.saleID + "/orders":
		if s.left == 0 {
			refuse(w, 409, "sold-out")
			return
		}
		s.left--
		s.states[user], claim["state"] = "CONFIRMED", "PENDING"
		delete(claim, "orderId")
		answer(w, 202, claim)
	case "GET " + own:
		if s.states[user] == "" {
			refuse(w, 404, "order-not-found")
			return
		}
		answer(w, 200, claim)
	case "DELETE " + own:
		s.states[user], claim["state"] = "CANCELLED", "CANCELLED"
		s.left++
		answer(w, 200, claim)
	case "POST /_local/pay":
		order := r.URL.Query().Get("order")
		if s.states[order] == "CONFIRMED" || s.takesLate {
			s.states[order] = "PAID"
			answer(w, 200, map[string]string{"outcome": "paid"})
			return
		}
		answer(w, 200, map[string]string{"outcome": "refund-due", "reason": "released"})
	default:
		answer(w, 404, map[string]string{"message": "Not Found"})
	}
}

func (s *cashier) release() {
	if time.Now().Before(s.releasesFrom) && !s.hastens {
		return
	}
	for user, state := range s.states {
		if state == "CONFIRMED" {
			s.states[user] = "EXPIRED"
			if !s.keepsUnits {
				s.left++
			}
		}
	}
}

// balanced is the receipt of a system without faults.
func balanced() books.Receipt {
	return books.Receipt{Claims: 12, Paid: 9, Released: 3, RefundsDue: 1, Balanced: true}
}

func TestASmallSaleIsPaidOrSoldAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		shop *cashier
		want []string
	}{
		{"a shop that keeps its promises", &cashier{}, nil},
		{"one that does not sell expired units again", &cashier{keepsUnits: true}, []string{"P20", "P23", "P24"}},
		{"one that takes the payment of an expired order", &cashier{takesLate: true}, []string{"P24"}},
		{"one that releases what is not due", &cashier{hastens: true}, []string{"P21"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.shop)
			defer server.Close()
			d := demonstration{
				options:  options{concurrency: 4, seed: 7},
				system:   client.System{Client: client.New(server.URL, client.Options{Lambda: server.URL})},
				out:      io.Discard,
				progress: progress{w: io.Discard},
				now:      time.Now, payWithin: time.Second, patience: 30 * time.Second,
			}
			p, err := d.openPayments(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := p.resell(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := balanced()
			r.Paid = int64(p.outcomes.paid)
			if c.shop.keepsUnits {
				r.Unpaid = 3 - int64(p.outcomes.resold)
			}
			got := broken(auditPayments(p.outcomes, &r))
			if c.shop.hastens { // which other orders it releases depends on their time
				got = slices.DeleteFunc(got, func(p string) bool { return p != "P21" })
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("broken promises (-want +got):\n%s%+v", diff, &p.outcomes)
			}
		})
	}
}

func TestTheBooksOfASmallSaleMustAgreeWithTheAnswers(t *testing.T) {
	told := paymentOutcomes{paid: 9, cancelled: 1, expired: 2, late: "refund-due: released", resold: 3, refused: 1}
	for _, c := range []struct {
		name   string
		tamper func(*paymentOutcomes, *books.Receipt)
		want   []string
	}{
		{"as it should be", func(*paymentOutcomes, *books.Receipt) {}, nil},
		{"a payment is not in the books", func(_ *paymentOutcomes, r *books.Receipt) { r.Paid-- }, []string{"P20"}},
		{"an order was released that nobody saw expire", func(_ *paymentOutcomes, r *books.Receipt) { r.Released++ }, []string{"P20"}},
		{"an order is unpaid", func(_ *paymentOutcomes, r *books.Receipt) { r.Unpaid++ }, []string{"P20"}},
		{"an order is pending", func(_ *paymentOutcomes, r *books.Receipt) { r.Pending++ }, []string{"P20"}},
		{"an order expired early", func(o *paymentOutcomes, _ *books.Receipt) { o.early = 1 }, []string{"P21"}},
		{"a unit is left", func(_ *paymentOutcomes, r *books.Receipt) { r.Stock++ }, []string{"P23"}},
		{"a unit is sold twice", func(_ *paymentOutcomes, r *books.Receipt) { r.Claims++ }, []string{"P23"}},
		{"nobody was refused", func(o *paymentOutcomes, _ *books.Receipt) { o.refused = 0 }, []string{"P23"}},
		{"a refund is forgotten", func(_ *paymentOutcomes, r *books.Receipt) { r.RefundsDue = 0 }, []string{"P24"}},
		{"the late payment was taken", func(o *paymentOutcomes, _ *books.Receipt) { o.late = "paid" }, []string{"P24"}},
		{"the recount finds something about payments", func(_ *paymentOutcomes, r *books.Receipt) {
			r.Findings = []books.Finding{{Promise: "P20"}, {Promise: "P21"}, {Promise: "P24"}}
		}, []string{"P20", "P21", "P24"}},
		{"the recount finds something else", func(_ *paymentOutcomes, r *books.Receipt) {
			r.Findings = []books.Finding{{Promise: "P2"}}
		}, []string{"P23"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, r := told, balanced()
			c.tamper(&o, &r)
			if diff := cmp.Diff(c.want, broken(auditPayments(o, &r))); diff != "" {
				t.Errorf("broken promises (-want +got):\n%s", diff)
			}
		})
	}
}
