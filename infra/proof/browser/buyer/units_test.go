package buyer

import (
	"fmt"
	"strings"
	"testing"

	"flashsale/infra/proof/browser"
)

// Of three units one buyer orders two at once. The next one, who wants two as well, still does after a reload, is told
// what is left, and gets it with one press.
func TestTwoAreOrderedTogetherAndWhatIsLeftWithOnePress(t *testing.T) {
	t.Parallel()
	saleID := shop.create(t, sale{stock: 3}, unpaid, map[string]any{"maxPerOrder": 2, "name": "Feitian"})
	two := fmt.Sprintf("[...document.querySelectorAll('#units label')].find((l) => l.innerText === %q).click()", "2")
	choosing := func() *browser.Tab {
		tab := shop.tab(t, newID("user"))
		tab.Open(shop.page(saleID))
		waitState(tab, "open")
		tab.WaitText("How many?")
		got := tab.Text(button)
		browser.Check(t, got == "Order for CN¥899.00", "the button says %q before anything is chosen", got)
		browser.Eval[any](tab, two)
		tab.WaitText("2 × CN¥899.00 = CN¥1,798.00")
		return tab
	}
	first, next := choosing(), choosing()
	examine(t, first, "open", "The sale is open.")
	first.HasText(button, "Order 2 for CN¥1,798.00", "the button says")
	first.Click(button)
	examine(t, first, "unpaid", "You got 2. Pay to keep them.")
	got := first.Text("#order")
	browser.Check(t, strings.HasPrefix(got, "2 × Feitian\n2 × CN¥899.00 = CN¥1,798.00\nOrder id "), "the order is %q", got)

	next.Reload()
	waitState(next, "open")
	next.WaitText("Order 2 for CN¥1,798.00")
	next.Click(button)
	examine(t, next, "notEnough", "Only 1 is left, fewer than you asked for.")
	next.HasText(button, "Order for CN¥899.00", "the button offers")
	next.Click(button)
	waitState(next, "unpaid")
	next.HasText(line, "You got one. Pay to keep it.", "of one the page says")
	next.HasText("#units", "", "beside an order is still asked")
}
