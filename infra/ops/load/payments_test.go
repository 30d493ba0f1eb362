package main

import (
	"context"
	"fmt"
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
	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
)

// till sells the small sale. It knows a buyer by the token, which is the buyer's number, and an
// order by that number plus a million.
type till struct {
	keepsUnits bool // a flaw: an expired order's unit is not sold again
	takesLate  bool // a flaw: an expired order can be paid
	hastens    bool // a flaw: releases what is not due
	busy       bool // not a flaw: the first report of each payment is answered with "busy"

	mu       sync.Mutex
	opened   time.Time
	left     int
	states   map[string]string // by token
	reported map[string]bool   // by payment
}

func (s *till) answer(status int, token string) client.Answer {
	c := client.Claim{ClaimID: "c-" + token, SaleID: "s", State: s.states[token]}
	if status == http.StatusAccepted {
		c.State = "PENDING"
	} else {
		order, _ := strconv.Atoi(token)
		c.OrderID = strconv.Itoa(order + 1_000_000)
	}
	return client.Answer{Status: status, RetryAfter: -1, Claim: c}
}

func (s *till) Buy(_ context.Context, _, token, _ string) (client.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return client.Answer{Status: http.StatusConflict, Code: "sold-out", RetryAfter: -1}, nil
	}
	s.left--
	s.states[token] = "CONFIRMED"
	return s.answer(http.StatusAccepted, token), nil
}

func (s *till) Mine(_ context.Context, _, token string) (client.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer(http.StatusOK, token), nil
}

func (s *till) Cancel(_ context.Context, _, token string) (client.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[token] = "CANCELLED"
	s.left++
	return s.answer(http.StatusOK, token), nil
}

func (s *till) release(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, state := range s.states {
		if state == "CONFIRMED" && (s.hastens || time.Since(s.opened) >= payWithin) {
			if s.states[token] = "EXPIRED"; !s.keepsUnits {
				s.left++
			}
		}
	}
	return nil
}

func (s *till) pay(_ context.Context, _ string, p webhook.Payment) (client.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy && !s.reported[p.PaymentID] {
		s.reported[p.PaymentID] = true
		return client.Answer{Status: http.StatusServiceUnavailable, Code: "busy", RetryAfter: time.Second}, nil
	}
	order, _ := strconv.Atoi(p.OrderID)
	token := strconv.Itoa(order - 1_000_000)
	if s.states[token] != "CONFIRMED" && !s.takesLate {
		return client.Answer{Status: http.StatusOK, Body: []byte(`{"outcome":"refund-due","reason":"released"}`)}, nil
	}
	s.states[token] = "PAID"
	return client.Answer{Status: http.StatusOK, Body: []byte(`{"outcome":"paid"}`)}, nil
}

func TestASmallSaleIsPaidOrSoldAgain(t *testing.T) {
	honest := map[client.Outcome]int64{paid: unpaidStock, cancelled: 1, expired: returned - 1, refundDue: 1}
	for name, c := range map[string]struct {
		till   *till
		found  string // the promise
		orders map[client.Outcome]int64
	}{
		"a shop that keeps its promises":                 {&till{}, "", honest},
		"one whose provider must come again":             {&till{busy: true}, "", honest},
		"one that does not sell expired units again":     {&till{keepsUnits: true}, "", nil}, // the receipt counts them
		"one that takes the payment of an expired order": {&till{takesLate: true}, "P24", nil},
		"one that releases what is not due":              {&till{hastens: true}, "P21", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.till.opened, c.till.left, c.till.states, c.till.reported = time.Now(), unpaidStock, map[string]string{}, map[string]bool{}
				visits := make([]visit, unpaidStock+lateBuyers)
				for i := range visits {
					visits[i].Buyer = rush.Buyer{User: userName(i), Token: strconv.Itoa(i), Clicks: 1}
				}
				o := options{demo: true, crowd: crowd{inflight: 4, patience: time.Minute}}
				b := o.newBuyers(c.till, "s", visits, verdict.Sale{Units: unpaidStock, Shards: unpaidShards, Own: true, AsksForPayment: true})
				b.payer, b.release = c.till.pay, c.till.release
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				if err := b.sellAgain(ctx); err != nil {
					t.Fatal(err)
				}
				if found := b.History.Findings(); (len(found) == 0) != (c.found == "") || !strings.Contains(fmt.Sprint(found), c.found) {
					t.Errorf("found %v, want %q", found, c.found)
				}
				if diff := cmp.Diff(counts(c.orders), b.tally.orders); c.orders != nil && diff != "" {
					t.Errorf("orders (-want +got):\n%s", diff)
				}
			})
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
		broken := ""
		for _, l := range auditPayments(verdict.New(verdict.Sale{AsksForPayment: true}), &books.Sale{}, r) {
			if len(l.broken) > 0 {
				broken += l.promise
			}
		}
		if broken != c.want {
			t.Errorf("%s: broken are %q, want %q", name, broken, c.want)
		}
	}
}
