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

// The sizes of a group may allow different numbers. The buyer's wish is kept, and of each size it is at most what that allows.
func TestWhatIsWantedOfAGroupIsAtMostWhatTheChosenSizeAllows(t *testing.T) {
	t.Parallel()
	groupID := newID("group")
	for size, most := range map[string]int{"41": 1, "42": 2, "43": 3} {
		shop.create(t, sale{}, unpaid, map[string]any{"name": "Trail Runner · size " + size, "limitGroup": groupID, "maxPerOrder": most})
	}
	tab := shop.tab(t, newID("user"))
	tab.Open(shop.Stack.API + "/g/" + groupID)
	waitState(tab, "open")
	choose(tab, "43")
	tab.WaitText("How many?")
	browser.Eval[any](tab, "document.querySelector('#units label:nth-of-type(3)').click()")
	for _, c := range [][2]string{{"43", "Order 3 for CN¥2,697.00"}, {"42", "Order 2 for CN¥1,798.00"}, {"41", "Order for CN¥899.00"}, {"43", "Order 3 for CN¥2,697.00"}} {
		choose(tab, c[0])
		tab.HasText(button, c[1], "of size %s the button says", c[0])
	}
}

// A page that does not get the file with the choice still sells: one unit.
func TestWithoutTheFileOfUnitsOneIsOrdered(t *testing.T) {
	t.Parallel()
	user := newID("user")
	saleID := shop.create(t, sale{}, unpaid, map[string]any{"maxPerOrder": 3})
	tab := shop.tab(t, user)
	tab.Intercept(func(r browser.Request) browser.Answer {
		return browser.Answer{Refused: strings.HasPrefix(r.Path, "/assets/units")}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.HasText(button, "Order for CN¥899.00", "without the file the button says")
	tab.Click(button)
	waitState(tab, "unpaid")
	tab.HasText(line, "You got one. Pay to keep it.", "of one the page says")
	got := shop.claim(t, saleID, user).Count()
	browser.Check(t, got == 1, "the order has %d units, want 1", got)
}
