package system

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
)

// rush opens a sale and sends users who click several times at once and send no key, and whose winners
// ask for their orders. It checks the answers against each other and the table, and returns the number
// of winners.
func (s visit) rush(saleID string, stock, shards, users, clicks int) (winners int) {
	s.t.Helper()
	s.open(saleID, stock, shards)
	h := verdict.New(verdict.Sale{Units: int64(stock), Shards: shards, Own: true, Steady: true})
	r := rush.Rush{API: s.client, SaleID: saleID, InFlight: 64, Patience: patience, Whole: true, Insists: true, History: h}
	for i := range users {
		user := fmt.Sprintf("user-%d", i)
		r.Crowd = append(r.Crowd, rush.Buyer{User: user, Clicks: clicks, Token: strings.TrimPrefix(s.bearer(user)[1], "Bearer ")})
	}
	r.Run(s.t.Context(), func() {})
	r.Follow(s.t.Context())
	for _, f := range slices.Concat(h.Findings(), h.Compare(s.balanced(saleID))) {
		s.t.Error(f)
	}
	return h.Winners()
}

func TestASaleSellsOutUnderDoubleClicks(t *testing.T) {
	s := shared(t)
	const stock = 40
	if winners := s.rush("double-clicks", stock, 4, 150, 3); winners != stock {
		t.Errorf("%d were given a claim, want %d", winners, stock)
	}
	if a := s.must(s.call("GET", "/sales/double-clicks", "")); a.body["remaining"] != 0.0 || a.text("state") != "SOLD_OUT" {
		t.Errorf("the sale page says %v", a)
	}
}

func TestABuyerFollowsTheOrderToItsID(t *testing.T) {
	s := shared(t)
	s.open("followed", 5, 1)
	alice := append(s.bearer("alice-follows"), "Idempotency-Key", `"once"`)
	first := s.must(s.buy("followed", alice...))
	if first.status != http.StatusAccepted || first.header.Get("Location") != "/sales/followed/orders/me" ||
		first.header.Get("Retry-After") == "" || first.text("state") != "PENDING" || len(first.body) != 4 {
		t.Fatalf("got %v %v", first, first.header)
	}
	var order string
	s.eventually("the claim is confirmed", func() bool {
		a := s.must(s.call("GET", "/sales/followed/orders/me", "", alice...))
		if a.status != http.StatusOK || a.text("claimId") != first.text("claimId") {
			t.Fatalf("status: %v", a)
		}
		order = a.text("orderId")
		return a.text("state") == "CONFIRMED"
	})
	// The claim is confirmed shortly before the order is written.
	s.eventually("the buyer's own order is there", func() bool {
		a := s.must(s.call("GET", "/orders/"+order, "", alice...))
		if a.status != http.StatusNotFound && (a.status != http.StatusOK || a.text("orderId") != order || a.text("saleId") != "followed") {
			t.Fatalf("own order: %v", a)
		}
		return a.status == http.StatusOK
	})
	if a := s.must(s.call("GET", "/orders/"+order, "", s.bearer("bob")...)); a.status != http.StatusNotFound || a.text("code") != "order-not-found" {
		t.Errorf("somebody else's order: %v", a)
	}
	if a := s.must(s.call("GET", "/sales/followed/orders/me", "", s.bearer("bob")...)); a.status != http.StatusNotFound {
		t.Errorf("no order: %v", a)
	}
	for i := range 4 {
		s.finalAnswer("followed", fmt.Sprint("other-", i))
	}
	if a := s.finalAnswer("followed", "late"); a.text("code") != "sold-out" || a.text("order") != "/sales/followed/orders/me" {
		t.Errorf("late: %v", a)
	}
	alice[3] = "once" // bare this time
	if again := s.must(s.buy("followed", alice...)); again.status != http.StatusAccepted || again.raw != first.raw {
		t.Errorf("the repeat after sell-out: %v, want %v", again, first)
	}
	alice[3] = "twice"
	again := s.must(s.buy("followed", alice...))
	claim, _ := again.body["claim"].(map[string]any)
	if again.status != http.StatusConflict || again.text("code") != "already-ordered" || claim["claimId"] != first.text("claimId") {
		t.Errorf("another request: %v", again)
	}
}

func TestTheWindowAndTheOperatorDecide(t *testing.T) {
	s := shared(t)
	now := time.Now()
	s.create("will-open", 5, 1, now.Add(time.Hour), now.Add(2*time.Hour))
	s.create("was-open", 5, 1, now.Add(-2*time.Hour), now.Add(-time.Hour))
	s.open("now", 1, 1)
	alice, bob := s.bearer("alice"), s.bearer("bob")
	expect := func(saleID string, header []string, status int, code string) answer {
		t.Helper()
		a := s.must(s.buy(saleID, header...))
		if a.status != status || a.text("code") != code || (status >= 400 && a.header.Get("Content-Type") != "application/problem+json") {
			t.Errorf("%s: got %v %v, want %d %s", saleID, a, a.header, status, code)
		}
		return a
	}
	retryAfter := expect("will-open", alice, 403, "sale-not-open").header.Get("Retry-After")
	left := time.Until(now.Add(time.Hour))
	if seconds, err := strconv.Atoi(retryAfter); err != nil || seconds > 3600 || seconds < int(left/time.Second) {
		t.Errorf("Retry-After is %q, want the seconds until it opens: %v to 3600", retryAfter, left)
	}
	expect("was-open", alice, 410, "sale-closed")
	expect("nowhere", alice, 404, "sale-not-found")
	operate := func(payload string, applied bool) {
		t.Helper()
		body, failed := s.seed(payload)
		if failed != "" || body["applied"] != applied {
			t.Errorf("%s: %v %s", payload, body, failed)
		}
	}
	operate(`{"action":"pause","saleId":"now"}`, true)
	s.eventually("the pause is known everywhere", func() bool {
		return s.must(s.buy("now", alice...)).text("code") == "sale-paused"
	})
	if a := expect("now", alice, 503, "sale-paused"); a.header.Get("Retry-After") == "" {
		t.Error("a paused sale does not say when to come back")
	}
	operate(`{"action":"resume","saleId":"now"}`, true)
	s.eventually("the sale goes on", func() bool { return s.must(s.buy("now", alice...)).status == 202 })
	expect("now", bob, 409, "sold-out")
	operate(`{"action":"add","saleId":"now","seedId":"second","stock":1}`, true)
	operate(`{"action":"add","saleId":"now","seedId":"second","stock":1}`, false)
	s.eventually("the restocked sale sells", func() bool { return s.must(s.buy("now", bob...)).status == 202 })
	operate(`{"action":"add","saleId":"now","seedId":"typo","stock":3}`, true)
	operate(`{"action":"withdraw","saleId":"now","seedId":"back","stock":9}`, true)
	operate(`{"action":"withdraw","saleId":"now","seedId":"back","stock":9}`, false)
	carol := s.bearer("carol")
	s.eventually("what was withdrawn is not sold", func() bool { return s.must(s.buy("now", carol...)).text("code") == "sold-out" })
	operate(fmt.Sprintf(`{"action":"reschedule","saleId":"will-open","opensAt":%q,"closesAt":%q}`,
		now.Add(-time.Hour).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339)), true)
	s.eventually("the rescheduled sale sells", func() bool { return s.must(s.buy("will-open", bob...)).status == 202 })
	// As the operator's command does it: what is empty goes, the rest stays, and a repeat changes nothing.
	describe := []string{"sale", "describe", "now", "--name", "Now $(id)", "--about", "53 % vol.", "--link", ""}
	for range 2 {
		if out, code := s.flashsale(describe...); code != 0 || !strings.Contains(out, "\nnow is shown as \"Now $(id)\", about \"53 % vol.\"; pages that are loaded from two seconds on have it\n") {
			t.Errorf("describe: %d %s", code, out)
		}
	}
	said := time.Now()
	s.eventually("buyers read it", func() bool { return s.must(s.call("GET", "/sales/now", "")).text("about") == "53 % vol." })
	if late := time.Since(said); late > 2*time.Second {
		t.Errorf("buyers read it %v after it was described", late)
	}
	if out, code := s.flashsale("sale", "describe", "now", "--image", "https://images.example/a.jpg"); code != 1 || !strings.HasSuffix(out, "\nflashsale: NOT DESCRIBED: invalid-request: no image can be shown: the stack's parameter ImageOrigin is empty\n") {
		t.Errorf("a picture: %d %s", code, out)
	}
	s.balanced("now")
}
