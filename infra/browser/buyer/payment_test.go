package buyer

import (
	"strings"
	"testing"
	"time"

	"flashsale/infra/browser"
	"flashsale/infra/client"
)

// createUnpaid creates a sale that asks for payment within half an hour.
func (s *stack) createUnpaid(t testing.TB) string {
	t.Helper()
	saleID, now := newID("sale"), time.Now().UTC()
	request := map[string]any{
		"action": "create", "saleId": saleID, "stock": 5, "shards": 1, "payWithin": 1800,
		"opensAt": now.Add(-time.Minute).Format(time.RFC3339), "closesAt": now.Add(time.Hour).Format(time.RFC3339),
	}
	if err := s.Ask(t.Context(), client.SeedFunction, request, nil); err != nil {
		t.Fatal(err)
	}
	return saleID
}

// buysUnpaid opens the page of such a sale and orders.
func buysUnpaid(t *testing.T) (tab *browser.Tab, saleID string) {
	t.Helper()
	saleID = shop.createUnpaid(t)
	tab = shop.tab(t, newID("user"))
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.Click(button)
	waitState(tab, "confirmed")
	if got := tab.Text("#detail"); !strings.HasPrefix(got, "Pay until ") {
		t.Errorf("the page says %q", got)
	}
	return tab, saleID
}

func TestABuyerPays(t *testing.T) {
	t.Parallel()
	tab, saleID := buysUnpaid(t)
	examine(t, tab, "confirmed", "Your order is confirmed.")
	if got := tab.Text(button); got != "Pay now" {
		t.Fatalf("the button says %q", got)
	}
	tab.Click(button)
	tab.WaitText(`{"outcome":"paid"}`)
	tab.Open(shop.page(saleID))
	waitState(tab, "paid")
	for _, id := range []string{"act", "cancel"} {
		if !browser.Eval[bool](tab, id+".hidden") {
			t.Errorf("a paid order has the button %s", id)
		}
	}
}

func TestABuyerCancels(t *testing.T) {
	t.Parallel()
	tab, _ := buysUnpaid(t)
	browser.Eval[bool](tab, "window.confirm = () => false, true")
	tab.Click("#cancel")
	waitState(tab, "confirmed")
	browser.Eval[bool](tab, "window.confirm = () => true, true")
	tab.Click("#cancel")
	waitState(tab, "cancelled")
}

// The page follows no address that might be a script.
func TestAnAddressOfAnotherKindIsNoButton(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Change("page.js", "const to = claim?.paymentUrl;", `const to = "javascript:alert(1)";`)
	saleID := shop.createUnpaid(t)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.Click(button)
	waitState(tab, "confirmed")
	if !browser.Eval[bool](tab, "act.hidden") {
		t.Errorf("the page offers %q", tab.Text(button))
	}
}
