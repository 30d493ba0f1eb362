package storefront

import (
	"fmt"
	"strings"
	"testing"

	"flashsale/infra/proof/browser"
)

// el is the element of the page.
const el = "document.querySelector('flash-sale')"

// elementPage is the plain page with the element.
func elementPage() page { return pages()["plain with the element"] }

// says waits until the element's shadow root has the text.
func says(tab *browser.Tab, text string) {
	tab.Wait(fmt.Sprintf("%s?.shadowRoot?.textContent.includes(%q)", el, text))
}

// A framework that moves what it keeps, or takes it away for a moment, must not cost a request, a listener or the buyer's place.
func TestTheElementIsMovedAndTakenAway(t *testing.T) {
	t.Parallel()
	saleID, tab := create(t, nil), chromium.Tab(t)
	elementPage().signedIn(tab, saleID, newID("user"))
	tab.Wait(elementPage().find("act"))
	browser.Eval[any](tab, `(() => {
		const box = document.body.appendChild(document.createElement("div"));
		window.kept = [`+el+`, `+el+`.drop];
		box.append(kept[0]);
		document.body.moveBefore?.(kept[0], box);
	})()`)
	elementPage().press(tab, "act")
	tab.Wait("kept[1].state.claim && kept[0].drop === kept[1]")
	tab.HasCount("GET", "/sales/"+saleID, 1)
	browser.Eval[any](tab, "(kept[0].remove(), changes = 0, kept[0].addEventListener('change', () => changes++))")
	tab.Wait("kept[0].drop === kept[1]")
	browser.Eval[any](tab, "document.body.append(kept[0])")
	tab.Wait("changes > 0 && kept[0].shadowRoot.textContent.includes('yours')")
	tab.HasCount("POST", "/sales/"+saleID+"/orders", 1)
}

// A page that was open before the deployment, a framework that writes properties as attributes, and one that sets them
// before the script has been loaded.
func TestPropertiesAreTakenWhenAndHoweverTheyCome(t *testing.T) {
	t.Parallel()
	group, smaller := newID("group"), newID("group")
	create(t, map[string]any{"limitGroup": group})
	create(t, map[string]any{"limitGroup": smaller})
	first, second, tab := create(t, map[string]any{"limitGroup": group}), create(t, map[string]any{"opensAt": "2036-01-01T00:00:00Z", "closesAt": "2036-01-02T00:00:00Z"}), chromium.Tab(t)
	tab.Before(`addEventListener("DOMContentLoaded", () => {
		const e = document.createElement("flash-sale");
		e.setAttribute("words", "[object Object]");
		Object.assign(e, { api: ` + fmt.Sprintf("%q", stack.API) + `, sale: ` + fmt.Sprintf("%q", first) + `, token: null, words: { signIn: "Come in", opens: undefined, closes: null } });
		document.querySelector("flash-sale").replaceWith(e);
	}, { once: true, capture: true })`)
	elementPage().open(tab, first)
	says(tab, "Come in")
	says(tab, "Bottle "+first)
	says(tab, "Closes")
	browser.Eval[any](tab, el+".sale = "+fmt.Sprintf("%q", second))
	says(tab, "Bottle "+second)
	browser.Gives(tab, el+".getAttribute('sale')", second, "the attribute")
	browser.Eval[any](tab, el+".lang = 'zh-TW'")
	tab.Wait(el + ".shadowRoot.querySelector('[lang^=zh]')")
	says(tab, "Come in")
	browser.Eval[any](tab, fmt.Sprintf("Object.assign(%s, { sale: '', group: %q })", el, group))
	tab.Wait(el + ".shadowRoot.querySelectorAll('fieldset:not([hidden]) label').length === 2")
	browser.Eval[any](tab, fmt.Sprintf("%s.group = %q", el, smaller))
	tab.Wait(el + ".shadowRoot.querySelectorAll('fieldset:not([hidden]) label').length === 1")
	browser.Eval[any](tab, "for (const name of ['api', 'sale', 'group', 'lang', 'token', 'words', 'request']) "+el+"[name] = "+el+"[name]")
	browser.Eval[any](tab, el+".removeAttribute('group')")
	browser.Gives(tab, el+".drop === null", true, "without a sale there is no drop")
}

// The shop's own page pays, an event gives the token, and two elements do not disturb each other.
func TestAShopHearsOfEverythingAtOnePlace(t *testing.T) {
	t.Parallel()
	one, other, tab := create(t, unpaid), create(t, unpaid), chromium.Tab(t)
	tab.Open(stack.API + "/s/" + one) // which has loaded some of the same files, without another origin's leave
	tab.Wait("document.querySelector('#line')")
	tab.Before(`addEventListener("DOMContentLoaded", () => {
		if (!document.querySelector("flash-sale")) return;
		heard = { pay: [] };
		document.addEventListener("token", (e) => e.detail.respondWith(user && fetch("/token").then((a) => a.text())));
		document.addEventListener("pay", (e) => { e.preventDefault(); heard.pay.push(e.detail); });
		document.addEventListener("signin", (e) => { user = true; e.target.drop.refresh(); });
		user = false;
		const e = document.querySelector("flash-sale"), fresh = e.cloneNode();
		const second = e.cloneNode();
		second.setAttribute("sale", ` + fmt.Sprintf("%q", other) + `);
		e.replaceWith(fresh, second);
	}, { once: true })`)
	p := elementPage()
	p.signedIn(tab, one, newID("user"))
	p.press(tab, "act")
	tab.Wait(el + ".drop.state.can.includes('buy')")
	p.press(tab, "act")
	p.press(tab, "pay")
	browser.Gives(tab, "location.pathname", "/element.html", "the page after a pay event that was prevented")
	browser.Gives(tab, "heard.pay.length === 1 && new URLSearchParams(heard.pay[0].query).has('signature')", true, "what it has of the payment")
	browser.Gives(tab, "document.querySelectorAll('flash-sale')[1].drop.state.phase", "open", "the other sale is")
	tab.Size(320, 700)
	tab.Axe()
	browser.Gives(tab, "document.documentElement.scrollWidth <= 320", true, "it fits a small screen")
}

// The host of the scripts fails while the page loads.
func TestWithoutWordsTheLinkToTheHostedPageStays(t *testing.T) {
	t.Parallel()
	saleID, tab := create(t, nil), chromium.Tab(t)
	tab.Intercept(func(r browser.Request) browser.Answer {
		return browser.Answer{Refused: strings.Contains(r.Path, "/assets/words-")}
	})
	elementPage().open(tab, saleID)
	tab.Wait(el + "?.drop?.state.phase === 'open'")
	tab.HasText("flash-sale a", "To the drop", "the element shows")
	tab.Forgive("dynamically imported module")
}

// As Safari before 16.4, and the documents of tests.
func TestWithoutAdoptedStyleSheetsItSellsAsWell(t *testing.T) {
	t.Parallel()
	saleID, tab := create(t, nil), chromium.Tab(t)
	tab.Before("delete ShadowRoot.prototype.adoptedStyleSheets")
	elementPage().signedIn(tab, saleID, newID("user"))
	elementPage().press(tab, "act")
	says(tab, "yours")
	tab.Forgive("style-src") // this shop allows no inline style
}
