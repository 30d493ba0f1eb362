package operator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/proof/browser"
	"flashsale/shared/sale"
)

const order = "523415642750058497"

// cancel cancels the order of a sale, once.
func (s *shop) cancel(w http.ResponseWriter, one object, actor string, change object, known bool) {
	saleID := one["saleId"].(string)
	if by := s.cancelled[saleID]; by != "" && !known {
		refuse(w, sale.Refusef(sale.ChangedMeanwhile, "the order was cancelled by %s", by), nil)
		return
	}
	s.cancelled[saleID], s.bodies[saleID+" "+fmt.Sprint(change["id"])] = actor, fmt.Sprint(saleID, change)
	answer(w, 200, object{"saleId": saleID, "seeded": one["seeded"], "shards": one["shards"], "applied": !known, "changeId": change["id"], "orderId": change["orderId"],
		"cancelledAt": instant(time.Now()), "unit": change["unit"], "payment": "stripe#pi_1"})
}

// story looks for alice.
func story(tab *browser.Tab) {
	tab.Type("#user", "alice")
	tab.Click("form[role=search] button")
	tab.WaitText("Support may say")
}

func TestAnOrderIsCancelledOnceFromItsBuyersStory(t *testing.T) {
	t.Parallel()
	_, tab := moutai(t, nil)
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
	story(tab)
	tab.Click("button.cancel")
	tab.WaitText("Cancel order "+order+", which is Paid?", "Its payment of CNY 899.00 becomes a refund due", "This cannot be taken back, and alice can never order again in this sale.")
	tab.Axe()
	tab.Click(".cancelling button[type=button]") // no
	tab.Wait("!document.querySelector('.cancelling') && document.activeElement.querySelector('button.cancel')")
	if n := posts(tab, "moutai"); n != 0 {
		t.Errorf("%d changes are sent before the answer", n)
	}
	tab.Click("button.cancel")
	tab.Click("input[value=kept]")
	tab.Type("#moved", "the box is torn")
	tab.Click(".cancelling button.main")
	tab.WaitText("Certain. Moutai: order " + order + " is cancelled; its payment stripe#pi_1 goes back; its unit: kept from everybody.")
	if got := browser.Eval[string](tab, "document.querySelector('.badge').dataset.state + ' ' + [...document.querySelectorAll('dl time')].map((t) => t.innerText).includes('?')"); got != "OPEN false" {
		t.Errorf("the cancellation of an order makes the sale %s, want open, with its window", got)
	}
	close(gate)
	tab.Wait("document.querySelector('.story').innerText.includes('Cancelled') && !document.querySelector('button.cancel')")
	sent := bodies(tab)
	var body object
	if len(sent) != 1 || json.Unmarshal([]byte(sent[0]), &body) != nil {
		t.Fatalf("sent %q, want one change", sent)
	}
	id, _ := body["id"].(string)
	delete(body, "id")
	want := object{"action": "cancel", "orderId": order, "saw": "PAID", "unit": "kept", "note": "the box is torn"}
	if diff := cmp.Diff(want, body); diff != "" || len(id) != 36 {
		t.Errorf("id %q (-want +got):\n%s", id, diff)
	}
}

func TestWhoCancelsSecondIsToldByWhomAndAViewerCannot(t *testing.T) {
	t.Parallel()
	s, tab := moutai(t, nil)
	story(tab)
	tab.Click("button.cancel")
	s.mu.Lock()
	s.cancelled["moutai"] = "carol"
	s.mu.Unlock()
	tab.Click(".cancelling button.main")
	tab.WaitText("Not done. Moutai: cancelling an order was refused: the order was cancelled by carol")
	tab.Wait("!document.querySelector('button.cancel')")
	if browser.Eval[bool](tab, "document.querySelector('dialog').open") {
		t.Error("it asks once more")
	}

	s.add("baijiu", "Baijiu", nil)
	viewer := s.tab(t, "viewer dave")
	s.look(viewer, "#sale/baijiu", "Baijiu")
	story(viewer)
	if text := viewer.Text("#main"); strings.Contains(text, "Cancel this order") {
		t.Error("a viewer may cancel")
	}
}
