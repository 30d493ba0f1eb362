package system

import (
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
	"flashsale/shared/orderid"
)

func TestAnOrderIsPaidOrItsMoneyGoesBack(t *testing.T) {
	s := shared(t)
	now := time.Now().UTC()
	// Stripe counts kronur in hundredths, and the page does not.
	if body, failed := s.seed(fmt.Sprintf(`{"action":"create","saleId":"unpaid","opensAt":%q,"closesAt":%q,"stock":5,"shards":1,"payWithin":1800,"price":1499e2,"currency":"ISK"}`,
		now.Add(-time.Hour).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339))); failed != "" {
		t.Fatal(body)
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
	pay := func(order, more string) answer { return s.must(s.call("POST", "/_local/pay?order="+order+more, "")) }

	// Alice pays at the shop's own page, to which her link leads.
	alice, claim := s.buysAndWaits("unpaid", "alice")
	is("alice's claim", claim, 200, `"payBy":"`, `"paymentUrl":"`+s.shop()+`?order=`+alice+`&sale=unpaid&amount=149900&currency=ISK&payBy=`)
	s.paysAtTheShop(claim.text("paymentUrl"))
	is("twice", pay(alice, "&reference=pi_2"), 200, `"reason":"other-payment"`)
	is("alice's claim", s.must(s.call("GET", own, "", s.bearer("alice")...)), 200, `"state":"PAID"`)
	is("alice's order", s.must(s.call("GET", "/orders/"+alice, "", s.bearer("alice")...)), 200, `"state":"PAID"`)

	// Bob cancels, and pays too late.
	bob, _ := s.buysAndWaits("unpaid", "bob")
	is("bob cancels", s.must(s.call("DELETE", own, "", s.bearer("bob")...)), 200, `"state":"CANCELLED"`)
	is("bob pays late", pay(bob, "&provider=standard-webhooks"), 200, `{"outcome":"refund-due","reason":"released"}`)
	s.eventually("bob's unit is back", func() bool {
		return strings.Contains(s.must(s.call("GET", "/sales/unpaid", "")).raw, `"remaining":4`)
	})
	number, err := orderid.Parse(bob)
	if err != nil {
		t.Fatal(err)
	}
	is("an order whose item is not there yet", pay(orderid.String(number+1000), ""), 503, "the order is not there yet")
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
