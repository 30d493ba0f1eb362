package operator

import (
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/proof/browser"
)

const root = "../../../.."

// On the local stack an operator signs in and changes a sale; a viewer sees it.
func TestAnOperatorOnTheLocalStack(t *testing.T) {
	t.Parallel()
	stack, err := browser.Launch(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Stop(time.Minute); err != nil {
			t.Error(err)
		}
	})
	c := client.New(stack.API, client.Options{Lambda: stack.Lambda})
	t.Cleanup(c.Close)
	err = c.Seed(t.Context(), client.Sale{ID: "moutai", Name: "Moutai", Stock: 10, Shards: 2, OpensAt: time.Now().Add(-time.Minute), ClosesAt: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	signIn := func(who, role string) *browser.Tab {
		tab := chromium.Tab(t)
		tab.Open(stack.Operate + "/#sale/moutai")
		tab.WaitText("Sign in to operate sales.")
		tab.Click("button.main")
		tab.Wait("document.querySelector('select')")
		tab.Type("input:not([type=hidden])", who)
		browser.Eval[string](tab, "document.querySelector('select').value = '"+role+"'")
		tab.Press(browser.Enter)
		waitHeading(tab, "Moutai")
		return tab
	}
	tab, viewer := signIn("kim", "operator"), signIn("dave", "viewer")
	tab.WaitText("10 of 10 left")
	tab.Type("#note", "the price is wrong")
	tab.Click("button.pause")
	tab.WaitText("Certain. Moutai: paused, no unit is sold.", "kim✓ verified paused it")
	viewer.WaitText("kim paused it. “the price is wrong”")
	browser.Check(t, viewer.Text(".actions, .others button") == "", "a viewer has actions")
	press(tab, "add")
	tab.Type("#units", "5")
	tab.Click("dialog button.main")
	tab.WaitText("Certain. Moutai: 15 units in all.")
	tab.Wait("document.querySelectorAll('.trail .sure').length === 2")
	viewer.WaitText("15 of 15 left")
}
