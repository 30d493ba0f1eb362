package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// openUnpaid creates a sale that leaves its buyers that long to pay 1,299.00.
func (s *stack) openUnpaid(saleID string, stock, shards int, payWithin time.Duration) {
	s.t.Helper()
	_, failure := s.seed(fmt.Sprintf(`{"action":"create","saleId":%q,"name":"Wine","opensAt":%q,"closesAt":%q,"stock":%d,"shards":%d,"payWithin":%d,"price":129900,"currency":"CNY"}`, saleID,
		time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339), stock, shards, int(payWithin/time.Second)))
	if failure != "" {
		s.t.Fatal(failure)
	}
}

// ordered gives users orders of that long ago, through the functions' own ledger, and
// returns the order ids: nobody wants to wait until a real one is due.
func (s *stack) ordered(saleID string, ago time.Duration, users ...string) []uint64 {
	s.t.Helper()
	past := ledger.New(s.table(), "LedgerTable", ledger.Options{Now: func() time.Time { return time.Now().Add(-ago) }})
	ids := make([]uint64, len(users))
	for i, user := range users {
		p, err := past.Purchase(s.t.Context(), ledger.Request{SaleID: saleID, User: user})
		if err != nil {
			s.t.Fatal(err)
		}
		c := past.Confirm(s.t.Context(), []ledger.ClaimRef{{SaleID: saleID, User: user, ClaimID: p.Claim.ID}})[0]
		if c.Err != nil {
			s.t.Fatal(c.Err)
		}
		ids[i] = c.Order.ID
	}
	return ids
}

// pay records a payment as the function that receives it does, and returns the refund
// that is due instead, if there is one.
func (s *stack) pay(saleID string, order uint64, reference string) *sale.Refund {
	s.t.Helper()
	done, err := ledger.New(s.table(), "LedgerTable", ledger.Options{}).Pay(s.t.Context(), sale.Payment{
		Provider: "stripe", Reference: reference, SaleID: saleID, OrderID: order, Amount: 129900, Currency: "CNY",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return done.Refund
}

type releasePass struct {
	SaleID   string
	Released int
	PutBack  int
	Complete bool
}

func (s *stack) release(payload string) []releasePass {
	s.t.Helper()
	a := s.invoke("ReleaseFunction", payload)
	var body struct{ Passes []releasePass }
	if err := json.Unmarshal([]byte(a.raw), &body); err != nil || a.header.Get(client.FunctionError) != "" {
		s.t.Fatalf("release: %v, %v", a, err)
	}
	return body.Passes
}

func TestUnitsOfOrdersThatWereNotPaidAreSoldAgain(t *testing.T) {
	t.Parallel()
	s := boot(t, "-schedules=false", "-parameter", "ReleaseGraceSeconds=1200")
	s.openUnpaid("wine", 6, 2, time.Minute)
	s.create("moutai", 3, 1, time.Now().Add(-2*time.Hour), time.Now().Add(time.Hour))
	due := s.ordered("wine", 30*time.Minute, "alice", "bob", "carol", "dora")
	s.ordered("wine", 80*time.Second, "emil", "fred") // due, but within the grace
	s.ordered("moutai", time.Hour, "alice")           // never to be paid
	for i, id := range due[:2] {
		if s.pay("wine", id, fmt.Sprint("pi_", i)) != nil {
			t.Fatal("a refund is due")
		}
	}
	passes := s.release(`{}`)
	if len(passes) != 1 || passes[0] != (releasePass{"wine", 2, 2, true}) {
		t.Fatalf("got %+v, want carol's and dora's units put back", passes)
	}
	for _, user := range []string{"gina", "hugo"} {
		if a := s.finalAnswer("wine", user); a.status != http.StatusAccepted {
			t.Errorf("%s: %v, want a returned unit", user, a)
		}
	}
	if a := s.finalAnswer("wine", "iris"); a.text("code") != "sold-out" {
		t.Errorf("iris: %v, want no third unit (P23)", a)
	}
	if a := s.finalAnswer("wine", "carol"); a.text("code") != "already-ordered" {
		t.Errorf("carol: %v, want no second order (P3)", a)
	}
	if refund := s.pay("wine", due[2], "pi_late"); refund == nil || refund.Reason != sale.RefundReleased {
		t.Errorf("a late payment: %+v, want a refund due (P24)", refund)
	}
	s.eventually("every order has its id", func() bool {
		r := s.reconcile()
		return len(r) == 2 && r[1]["pending"] == 0.0 && r[1]["paid"] == 2.0 && r[1]["unpaid"] == 4.0 && r[1]["released"] == 2.0 &&
			r[1]["refundsDue"] == 1.0 && r[1]["balanced"] == true
	})

	number := orderid.String(due[2])
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"sales"}, []string{"balanced; 2 paid, 4 unpaid, 2 released, 1 REFUNDS DUE"}},
		{[]string{"receipt", "-sale", "wine"}, []string{"refunds due               1", "balanced: stock left + claims = seeded + units put back"}},
		{[]string{"buyer", "-sale", "wine", "-user", "carol"}, []string{"released by expiry", "a refund is due: stripe#pi_late", "your order " + number + " is expired"}},
		{[]string{"buyer", "-sale", "wine", "-user", "alice"}, []string{"paid: stripe#pi_0"}},
		{[]string{"refunds", "-sale", "wine"}, []string{"stripe#pi_late", "released", "DUE", "1 refunds due, 0 done"}},
		{[]string{"refunds", "-sale", "wine", "-go", "-payment", "stripe#pi_late"}, []string{"is marked as refunded"}},
		{[]string{"refunds", "-sale", "wine", "-go", "-payment", "stripe#pi_late"}, []string{"nothing changed now"}},
		{[]string{"refunds"}, []string{"0 refunds due, 1 done"}},
	} {
		out, status := s.operator(c.args...)
		for _, want := range c.want {
			if status != 0 || !strings.Contains(out, want) {
				t.Errorf("%v: status %d, no %q in\n%s", c.args, status, want, out)
			}
		}
	}
}
