package system

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"flashsale/infra/local/child"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
)

func TestAnOrderIsPaidOrItsUnitIsReleased(t *testing.T) {
	s := shared(t)
	now := time.Now().UTC()
	creates := func(price, currency string) (failure any) {
		answer, _ := s.seed(fmt.Sprintf(`{"action":"create","saleId":"unpaid","opensAt":%q,"closesAt":%q,"stock":5,"shards":1,"payWithin":1800,"price":%s,"currency":%q}`,
			now.Add(-time.Hour).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339), price, currency))
		return answer["errorMessage"]
	}
	// Stripe charges no part of ten baisa, and counts kronur in hundredths.
	if failure := creates("149901", "OMR"); !strings.Contains(fmt.Sprint(failure), "multiple of 10") {
		t.Errorf("a price that Stripe cannot charge: %v", failure)
	}
	if failure := creates("1.499e5", "ISK"); !strings.Contains(fmt.Sprint(failure), "whole number") {
		t.Errorf("a price with a decimal point: %v", failure)
	}
	if failure := creates("1499e2", "ISK"); failure != nil {
		t.Fatal(failure)
	}
	const own = "/sales/unpaid/orders/me"
	is := func(what string, a answer, status int, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if a.status != status || !strings.Contains(a.raw, part) {
				t.Errorf("%s: %v; want %d with %s", what, a, status, part)
			}
		}
	}
	state := func(user string) answer { return s.must(s.call("GET", own, "", s.bearer(user)...)) }
	cancel := func(user string) answer { return s.must(s.call("DELETE", own, "", s.bearer(user)...)) }
	pay := func(order, more string) answer { return s.must(s.call("POST", "/_local/pay?order="+order+more, "")) }

	// Alice pays at the shop's own page, to which her link leads.
	alice, claim := s.buysAndWaits("unpaid", "alice")
	is("alice's claim", claim, 200, `"payBy":"`, `"paymentUrl":"`+s.shop()+`?order=`+alice+`&sale=unpaid&amount=149900&currency=ISK&payBy=`)
	s.paysAtTheShop(claim.text("paymentUrl"))
	is("twice", pay(alice, "&reference=pi_2"), 200, `"reason":"other-payment"`)
	is("alice's claim", state("alice"), 200, `"state":"PAID"`)
	is("alice's order", s.must(s.call("GET", "/orders/"+alice, "", s.bearer("alice")...)), 200, `"state":"PAID"`)
	is("alice cancels", cancel("alice"), 409, `"code":"order-paid"`)

	// Bob cancels, and pays too late.
	bob, _ := s.buysAndWaits("unpaid", "bob")
	is("bob cancels", cancel("bob"), 200, `"state":"CANCELLED"`)
	is("and again", cancel("bob"), 200, `"state":"CANCELLED"`)
	is("bob pays late", pay(bob, "&provider=standard-webhooks"), 200, `{"outcome":"refund-due","reason":"released"}`)
	is("bob buys again", s.finalAnswer("unpaid", "bob"), 409, `"code":"already-ordered"`)

	// Carol pays a wrong amount, and then what the unit costs.
	carol, _ := s.buysAndWaits("unpaid", "carol")
	is("carol pays too little", pay(carol, "&amount=1&reference=pi_3"), 200, `"reason":"amount"`)
	is("carol's claim", state("carol"), 200, `"state":"CONFIRMED"`)
	is("carol pays", pay(carol, ""), 200, `{"outcome":"paid"}`)

	// Dave pays nothing; an hour later his unit is released, and returns.
	dave, _ := s.buysAndWaits("unpaid", "dave")
	later := ledger.New(s.db(), table, ledger.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	listing, err := later.Listing(context.Background(), "unpaid")
	if err == nil {
		_, err = later.ReleaseDue(context.Background(), listing, 2*time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
	is("dave's claim", state("dave"), 200, `"state":"EXPIRED"`)
	is("dave cancels", cancel("dave"), 409, `"code":"order-expired"`)
	is("dave pays late", pay(dave, ""), 200, `{"outcome":"refund-due","reason":"released"}`)
	s.eventually("bob's and dave's units are back", func() bool {
		return strings.Contains(s.must(s.call("GET", "/sales/unpaid", "")).raw, `"remaining":3`)
	})

	// Erin: nothing that is not signed pays.
	erin, _ := s.buysAndWaits("unpaid", "erin")
	number, err := orderid.Parse(erin)
	if err != nil {
		t.Fatal(err)
	}
	is("an order whose item is not there yet", pay(orderid.String(number+1000), ""), 503, "the order is not there yet")
	body := `{"type":"payment.succeeded","data":{"saleId":"unpaid","orderId":"` + erin + `","paymentId":"pay_9","amount":149900,"currency":"CNY"}}`
	is("unsigned", s.must(s.call("POST", "/payments/standard-webhooks", body, "Content-Type", "application/json")), 400, `"code":"invalid-request"`)
	is("to nobody", s.must(s.call("POST", "/payments/paypal", body, "Content-Type", "application/json")), 404, `"code":"provider-not-found"`)
	is("erin's claim", state("erin"), 200, `"state":"CONFIRMED"`)
	is("a sale without payment", func() answer {
		s.open("final", 1, 1)
		s.buysAndWaits("final", "erin")
		return s.must(s.call("DELETE", "/sales/final/orders/me", "", s.bearer("erin")...))
	}(), 409, `"code":"not-cancellable"`)
	s.refundsDone("unpaid")
}

var due = regexp.MustCompile(`(?m)(\S+#\S+) .*\bDUE\b`)

// refundsDone pays back what is due, as far as the table is concerned.
func (v visit) refundsDone(saleID string) {
	v.t.Helper()
	out, _ := v.flashsale("refund", "list", "--sale", saleID)
	refunds, list, file := due.FindAllStringSubmatch(out, -1), "", filepath.Join(v.t.TempDir(), "refunded.txt")
	for _, refund := range refunds {
		list += refund[1] + "\n"
	}
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil || len(refunds) == 0 {
		v.t.Errorf("nothing is due (%v): %s", err, out)
	}
	want := fmt.Sprintf("of %[1]d payments %[1]d are marked as refunded now; ", len(refunds))
	if out, status := v.flashsale("refund", "mark", "--file", file, "--sale", saleID, "--yes"); status != 0 || !strings.Contains(out, want) {
		v.t.Errorf("status %d: %s, want %q", status, out, want)
	}
}

// paysAtTheShop opens the example's payment page by a link, sends its form twice, as an
// impatient buyer does, and looks for the address. A link of another amount is refused.
func (s visit) paysAtTheShop(link string) {
	s.t.Helper()
	addresses := filepath.Join(s.t.TempDir(), "addresses.jsonl")
	page := child.Program{Name: "payment page", ReadyURL: fmt.Sprintf("http://127.0.0.1:%d/", s.shopPort), AnyStatus: true, Command: child.Command{
		Path: filepath.Join(project, ".build/host/shop"), Args: []string{s.API}, Env: []string{"ADDRESSES=" + addresses, fmt.Sprintf("SHOP_PORT=%d", s.shopPort)},
	}}
	if err := page.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	defer page.Kill()
	asks := func(method, address, form string, status int, part string) *http.Response {
		s.t.Helper()
		r, err := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(form))
		if err != nil {
			s.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		a, err := http.DefaultTransport.RoundTrip(r) // follows no redirect
		if err != nil {
			s.t.Fatal(err)
		}
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		if err != nil || a.StatusCode != status || !strings.Contains(string(body)+a.Header.Get("Location"), part) {
			s.t.Errorf("%s %s: %d %s %s (%v), want %d with %s", method, address, a.StatusCode, body, a.Header.Get("Location"), err, status, part)
		}
		return a
	}
	at := asks("GET", s.API+link, "", http.StatusSeeOther, "/pay?order=").Header.Get("Location")
	asks("GET", at, "", http.StatusOK, "Pay ISK 149900<")
	asks("GET", strings.Replace(at, "amount=149900", "amount=1", 1), "", http.StatusForbidden, "It was changed")
	for range 2 {
		asks("POST", at, "address=1+Main+Street", http.StatusSeeOther, s.API+"/s/unpaid")
	}
	if kept, err := os.ReadFile(addresses); err != nil || !strings.Contains(string(kept), `"address":"1 Main Street"`) {
		s.t.Errorf("the shop has kept %s (%v)", kept, err)
	}
}
