package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/verdict"
)

// till sells the small sale. It knows a buyer by the token, which is the buyer's number, and an
// order by that number plus a million.
type till struct {
	keepsUnits bool // a flaw: an expired order's unit is not sold again
	takesLate  bool // a flaw: an expired order can be paid
	hastens    bool // a flaw: releases what is not due
	scheduled  bool // releases half a minute after orders are due
	// busy, if not nil, has the payments that were reported once and answered with "busy".
	busy map[string]bool

	mu       sync.Mutex
	opened   time.Time
	left     int
	states   map[string]string // by token
	payments map[string]string // by token
	refunds  map[string]string // reasons by payment
}

func (s *till) open() {
	s.opened, s.left = time.Now(), unpaidStock
	s.states, s.payments, s.refunds = map[string]string{}, map[string]string{}, map[string]string{}
}

func (s *till) claim(token string) client.Answer {
	c := client.Claim{ClaimID: "c-" + token, SaleID: testSale, State: s.states[token], OrderID: strconv.Itoa(s.order(token))}
	return client.Answer{Status: http.StatusOK, RetryAfter: -1, Claim: c}
}

func (*till) order(token string) int {
	n, _ := strconv.Atoi(token)
	return n + 1_000_000
}

func (s *till) Buy(_ context.Context, _, token, _ string) (client.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return refused("sold-out", http.StatusConflict, -1), nil
	}
	s.left--
	s.states[token] = "CONFIRMED"
	return taken(token), nil
}

func (s *till) Mine(_ context.Context, _, token string) (client.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scheduled && time.Since(s.opened) > payWithin+30*time.Second {
		s.expire()
	}
	if s.states[token] == "" {
		return refused("order-not-found", http.StatusNotFound, -1), nil
	}
	return s.claim(token), nil
}

func (s *till) Cancel(_ context.Context, _, token string) (client.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[token] = "CANCELLED"
	s.left++
	return s.claim(token), nil
}

func (s *till) release(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.opened) >= payWithin || s.hastens {
		s.expire()
	}
	return nil
}

func (s *till) expire() {
	for token, state := range s.states {
		if state != "CONFIRMED" {
			continue
		}
		if s.states[token] = "EXPIRED"; !s.keepsUnits {
			s.left++
		}
	}
}

func (s *till) pay(_ context.Context, provider string, p webhook.Payment) (client.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy != nil && !s.busy[p.PaymentID] {
		s.busy[p.PaymentID] = true
		return refused("busy", http.StatusServiceUnavailable, time.Second), nil
	}
	order, _ := strconv.Atoi(p.OrderID)
	token, reference := strconv.Itoa(order-1_000_000), provider+"#"+p.PaymentID
	body := `{"outcome":"paid"}`
	if s.states[token] == "CONFIRMED" || s.takesLate {
		s.states[token], s.payments[token] = "PAID", reference
	} else {
		body, s.refunds[reference] = `{"outcome":"refund-due","reason":"released"}`, "released"
	}
	return client.Answer{Status: http.StatusOK, Body: []byte(body)}, nil
}

// soldSmall plays the small sale at the till.
func soldSmall(t *testing.T, s *till) (h *verdict.History) {
	t.Helper()
	h = verdict.New(verdict.Sale{Units: unpaidStock, Shards: unpaidShards, Own: true, AsksForPayment: true})
	synctest.Test(t, func(t *testing.T) {
		s.open()
		var tokens []string
		for user := range unpaidStock + lateBuyers {
			tokens = append(tokens, strconv.Itoa(user))
		}
		r := rush{
			client: s, sale: testSale, tokens: tokens, inflight: 4, patience: time.Minute, tally: newTally(), insists: true,
			history: h, payer: s.pay, release: s.release,
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := r.sellAgain(ctx); err != nil {
			t.Fatal(err)
		}
	})
	return h
}

func TestASmallSaleIsPaidOrSoldAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		till  *till
		found string // the promise
	}{
		{"a shop that keeps its promises", &till{}, ""},
		{"one that does not sell expired units again", &till{keepsUnits: true}, ""}, // the receipt counts them
		{"one that takes the payment of an expired order", &till{takesLate: true}, "P24"},
		{"one that releases what is not due", &till{hastens: true}, "P21"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := soldSmall(t, c.till).Findings()
			if (len(found) == 0) != (c.found == "") || !strings.Contains(fmt.Sprint(found), c.found) {
				t.Errorf("found %v, want %q", found, c.found)
			}
			states := map[string]int{}
			for _, state := range c.till.states {
				states[state]++
			}
			if want := map[string]int{"PAID": unpaidStock, "EXPIRED": returned - 1, "CANCELLED": 1}; c.name == "a shop that keeps its promises" && !maps.Equal(states, want) {
				t.Errorf("the orders are %v, want %v", states, want)
			}
		})
	}
}

func TestTheSmallSalesReceiptCountsWhatCameBackAndWasSoldAgain(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*books.Receipt)
		want  string
	}{
		"as it should":                {func(*books.Receipt) {}, ""},
		"a unit is left":              {func(r *books.Receipt) { r.Stock++ }, "P23"},
		"a unit is sold twice":        {func(r *books.Receipt) { r.Claims++ }, "P23"},
		"a payment is not recorded":   {func(r *books.Receipt) { r.Paid-- }, "P24"},
		"a refund is forgotten":       {func(r *books.Receipt) { r.RefundsDue = 0 }, "P24"},
		"a finding about payments":    {func(r *books.Receipt) { r.Findings = []books.Finding{{Promise: "P20"}} }, "P20"},
		"a finding of something else": {func(r *books.Receipt) { r.Findings = []books.Finding{{Promise: "P2"}} }, "P23"},
	} {
		r := &books.Receipt{Claims: unpaidStock + returned, Released: returned, Paid: unpaidStock, RefundsDue: 1}
		c.spoil(r)
		lines := auditPayments(verdict.New(verdict.Sale{AsksForPayment: true}), &books.Sale{}, r)
		if got := strings.Join(broken(lines), " "); got != c.want {
			t.Errorf("%s: broken are %q, want %q", name, got, c.want)
		}
	}
}

func TestBuyersPayCancelOrLetTheirOrdersExpire(t *testing.T) {
	for _, tt := range []struct {
		name            string
		till            *till
		orders          map[client.Outcome]int64
		webhooks, found int
	}{
		{"as it should", &till{scheduled: true}, map[client.Outcome]int64{paid: 6, cancelled: 1, expired: 2, refundDue: 1}, 7, 0},
		{"nothing is released", &till{}, map[client.Outcome]int64{paid: 6, cancelled: 1, notSettled: 3}, 6, 0},
		{"a provider must come again", &till{scheduled: true, busy: map[string]bool{}}, map[client.Outcome]int64{paid: 6, cancelled: 1, expired: 2, refundDue: 1}, 7, 0},
		{"what has expired can be paid", &till{scheduled: true, takesLate: true}, map[client.Outcome]int64{paid: 7, cancelled: 1, expired: 2}, 7, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tally, h := newTally(), verdict.New(verdict.Sale{Own: true, AsksForPayment: true})
			synctest.Test(t, func(t *testing.T) {
				tt.till.open()
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				run := rush{
					client: tt.till, sale: testSale, visits: everyTenth(fates), tokens: strings.Split("0 1 2 3 4 5 6 7 8", " "), inflight: 4,
					patience: time.Minute, payer: tt.till.pay, tally: tally, history: h,
				}
				run.run(ctx, time.Now(), func() {})
			})
			if diff := cmp.Diff(tt.orders, tally.orders); diff != "" {
				t.Errorf("orders (-want +got):\n%s", diff)
			}
			if got := tally.webhook.count(); got != int64(tt.webhooks) || len(h.Findings()) != tt.found {
				t.Errorf("%d webhooks answered, findings %q", got, h.Findings())
			}
		})
	}
}
