package storefront

import (
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"flashsale/infra/proof/browser"
)

// page is a page of an example, and where its controls are.
type page struct {
	origin, path string
	root         string // the document, or the shadow root that has the controls
	signIn, buy  string
	cancel       []string // pressed in turn
}

var (
	own     = page{root: "document", signIn: "signIn", buy: "buy", cancel: []string{"cancel"}}
	element = page{root: "document.querySelector('flash-sale').shadowRoot", signIn: "act", buy: "act", cancel: []string{"cancel", "sure"}}
)

func pages() map[string]page {
	of := func(p page, origin, path string) page {
		p.origin, p.path = origin, path
		return p
	}
	return map[string]page{
		"plain": of(own, plain, "/"), "plain with the element": of(element, plain, "/element.html"),
		"React": of(own, react, "/"), "React with the element": of(element, react, "/element.html"),
	}
}

func (p page) open(tab *browser.Tab, saleID string) {
	tab.Open(p.origin + p.path + "?sale=" + saleID)
}

// signedIn opens the page signed in.
func (p page) signedIn(tab *browser.Tab, saleID, user string) {
	tab.Open(p.origin + "/signin?user=" + user + "&back=" + url.QueryEscape(p.path+"?sale="+saleID))
}

// find is an expression for a control that is shown, by its id.
func (p page) find(id string) string {
	return fmt.Sprintf("[%s?.getElementById(%q)].find((e) => e?.checkVisibility() && e.getAttribute('aria-disabled') !== 'true')", strings.Replace(p.root, ").", ")?.", 1), id)
}

// press presses a control as soon as it is shown.
func (p page) press(tab *browser.Tab, id string) {
	tab.Wait(p.find(id))
	browser.Eval[any](tab, p.find(id)+".click()")
}

func TestABuyerBuysOnTheShopsOwnPages(t *testing.T) {
	t.Parallel()
	for name, p := range pages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			saleID, user := create(t, unpaid), newID("user")
			tab := chromium.Tab(t)
			p.open(tab, saleID)
			tab.Wait(p.find(p.signIn))
			p.signedIn(tab, saleID, user)
			p.press(tab, p.buy)
			tab.Wait(p.find("pay"))
			tab.Reload()
			tab.Wait(p.find("pay"))
			tab.HasCount("POST", "/sales/"+saleID+"/orders", 1)
			p.press(tab, "pay")
			tab.Wait("document.querySelector('#address')") // the payment page's
			p.open(tab, saleID)                            // the buyer comes back without having paid
			for _, id := range p.cancel {
				p.press(tab, id)
			}
			tab.Wait("!" + p.find("pay"))
			is := state(t, saleID, user)
			browser.Check(t, is == "CANCELLED", "the order is %s", is)
			stored := browser.Eval[string](tab, "JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie")
			browser.Check(t, stored == "{}", "it stored %s", stored)
		})
	}
}

func TestABuyerComesBackFromPayingToTheShopsOwnPage(t *testing.T) {
	t.Parallel()
	p, saleID, user := pages()["plain"], create(t, unpaid), newID("user")
	tab := chromium.Tab(t)
	p.signedIn(tab, saleID, user)
	p.press(tab, p.buy)
	p.press(tab, "pay")
	tab.Wait("document.querySelector('#address')")
	browser.Eval[any](tab, "document.querySelector('#address').value = 'Somewhere 1', document.querySelector('#act').click()")
	tab.Wait(fmt.Sprintf("location.origin === %q && document.querySelector('#line')?.textContent === 'Paid.'", plain))
}

// The order was made elsewhere, after the page was opened.
func TestAnOrderThatIsThereIsShown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "plain with the element"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, saleID, user := pages()[name], create(t, unpaid), newID("user")
			tab := chromium.Tab(t)
			p.signedIn(tab, saleID, user)
			tab.Wait(p.find(p.buy))
			token, err := api.Token(t.Context(), user)
			if err == nil {
				_, err = api.Buy(t.Context(), saleID, token, "")
			}
			if err != nil {
				t.Fatal(err)
			}
			p.press(tab, p.buy)
			tab.Wait(p.find("pay"))
		})
	}
}

// A shop whose stack does not know it is to see that long before the opening, and not when everybody orders.
func TestAnOriginThatIsNotAllowedSellsNothing(t *testing.T) {
	t.Parallel()
	for path, text := range map[string]string{"/": "document.body.innerText", "/element.html": element.root + "?.textContent"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			saleID, tab := create(t, nil), chromium.Tab(t)
			page{origin: foreign, path: path}.signedIn(tab, saleID, newID("user"))
			tab.Wait(text + "?.includes('busy')")
			browser.Gives(tab, "document.querySelectorAll('#buy').length", 0, "buttons to buy")
			tab.HasCount("POST", "/sales/"+saleID+"/orders", 0)
			tab.Forgive("blocked by CORS policy")
		})
	}
}

func TestAMiniProgramBuysWithARequestOfItsOwn(t *testing.T) {
	t.Parallel()
	saleID, user := create(t, unpaid), newID("user")
	token, err := api.Token(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	example := filepath.Join(project, "miniprogram") // where it finds the package
	if out, err := exec.CommandContext(t.Context(), "cp", "-r", absolute("infra/ops/consumers/storefront/miniprogram"), example).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "node", "miniprogram.mjs", filepath.Join(example, "page.js"), stack.API, saleID, token).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "navigate /pages/pay?order=") {
		t.Errorf("%v, %s", err, out)
	}
	is := state(t, saleID, user)
	browser.Check(t, is == "CANCELLED", "the order is %s", is)
}
