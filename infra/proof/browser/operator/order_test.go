package operator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/proof/browser"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// story has alice order and pay, and looks for her.
func story(t *testing.T, s *shop, tab *browser.Tab) (orderID string) {
	t.Helper()
	id := s.buys("moutai", "alice")
	if _, err := s.book.Pay(t.Context(), sale.Payment{Provider: "stripe", Reference: "pi_1", SaleID: "moutai", OrderID: id, Amount: 89900, Currency: "CNY"}); err != nil {
		t.Fatal(err)
	}
	tab.Type("#user", "alice")
	tab.Click("form[role=search] button")
	tab.WaitText("Support may say")
	return orderid.String(id)
}

func TestAnOrderIsCancelledOnceFromItsBuyersStory(t *testing.T) {
	t.Parallel()
	s, tab := moutai(t, object{"price": 89900})
	tab.Size(320, 800)
	n, gate := 0, make(chan struct{})
	tab.Intercept(func(r browser.Request) browser.Answer {
		switch {
		case r.Method == "POST":
			n++
			return browser.Answer{Lost: n == 1}
		case n > 0 && r.Path == "/operate/sales/moutai": // what the page shows meanwhile is of before, and of the answer
			return browser.Answer{Until: gate}
		}
		return browser.Answer{}
	})
	order := story(t, s, tab)
	tab.Click("button.cancel")
	tab.WaitText("Cancel order "+order+", which is Paid?", "Its payment of CN¥899.00 becomes a refund due", "This cannot be taken back, and alice can never order again in this sale.")
	tab.Axe()
	tab.Click(".cancelling button[type=button]") // no
	tab.Wait("!document.querySelector('.cancelling') && document.activeElement.querySelector('button.cancel')")
	n = posts(tab, "moutai")
	browser.Check(t, n == 0, "%d changes are sent before the answer", n)
	tab.Click("button.cancel")
	tab.Click("input[value=kept]")
	tab.Type("#moved", "the box is torn")
	tab.Click(".cancelling button.main")
	tab.WaitText("Certain. Moutai: order " + order + " is cancelled; its payment stripe#pi_1 goes back; its unit: kept from everybody.")
	browser.Gives(tab, "document.querySelector('.badge').dataset.state + ' ' + [...document.querySelectorAll('dl time')].map((t) => t.innerText).includes('?')", "OPEN false", "the sale after the cancellation of an order")
	close(gate)
	tab.Wait("document.querySelector('.story').innerText.includes('Cancelled') && !document.querySelector('button.cancel')")
	sent := bodies(tab)
	var body object
	if len(sent) != 1 || json.Unmarshal([]byte(sent[0]), &body) != nil {
		t.Fatalf("sent %q, want one change", sent)
	}
	id, _ := body["id"].(string)
	delete(body, "id")
	want := object{"action": "cancel", "orderId": order, "expected": "PAID", "unit": "kept", "note": "the box is torn"}
	diff := cmp.Diff(want, body)
	browser.Check(t, diff == "" && len(id) == 36, "id %q (-want +got):\n%s", id, diff)
}

func TestWhoCancelsSecondIsToldByWhom(t *testing.T) {
	t.Parallel()
	s, tab := moutai(t, object{"price": 89900})
	order := story(t, s, tab)
	tab.Click("button.cancel")
	s.by(t, "carol", "moutai", true, object{"id": "c", "action": "cancel", "orderId": order, "expected": "PAID", "unit": "back"})
	tab.Click(".cancelling button.main")
	tab.WaitText("Not done. Moutai: cancelling an order was refused: the order was cancelled by carol")
	tab.Wait("!document.querySelector('button.cancel')")
	browser.Check(t, !browser.Eval[bool](tab, "document.querySelector('dialog').open"), "it asks once more")
	viewer := s.tab(t, "viewer dave")
	s.look(viewer, "#sale/moutai", "Moutai")
	viewer.Type("#user", "alice")
	viewer.Click("form[role=search] button")
	viewer.WaitText("Support may say")
	text := viewer.Text("#main")
	browser.Check(t, !strings.Contains(text, "Cancel this order"), "a viewer may cancel")
}
