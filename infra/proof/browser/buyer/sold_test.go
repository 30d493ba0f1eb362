package buyer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// imageOrigin is the stack's parameter ImageOrigin.
const imageOrigin = "https://images.example"

// shows makes the shop answer with such a sale, and the stack's images with a picture.
func shows(tab *browser.Tab, saleID, state, more string) {
	sale := saleIn(state, -time.Hour, more)
	tab.Intercept(func(r browser.Request) browser.Answer {
		switch {
		case r.URL == imageOrigin+"/none.svg":
			return browser.Answer{Status: 404}
		case strings.HasPrefix(r.URL, imageOrigin+"/"):
			return browser.Answer{Status: 200, Header: map[string]string{"Content-Type": "image/svg+xml"},
				Body: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3"><path fill="#c96f4a" d="M0 0h4v3H0z"/></svg>`}
		case r.Method == http.MethodGet && r.Path == "/sales/"+saleID:
			return sale
		}
		return browser.Answer{}
	})
}

// hasRead waits until the page has read what it shows.
func hasRead(tab *browser.Tab) {
	tab.Wait("!['loading', 'busy'].includes(document.querySelector('main')?.dataset.state ?? 'loading')")
}

// group creates three sales of a group: of five units, of one, and of five.
func group(t testing.TB) (groupID string, sizes map[string]string) {
	t.Helper()
	groupID, sizes = newID("group"), map[string]string{}
	for size, stock := range map[string]int{"42": 5, "43": 1, "44": 5} {
		sizes[size] = shop.create(t, sale{}, map[string]any{
			"name": "Trail Runner · size " + size, "stock": stock, "limitGroup": groupID, "payWithin": 1800, "price": 89900, "currency": "CNY",
		})
	}
	return groupID, sizes
}

// ofSize is JavaScript for the label of a size.
func ofSize(size string) string {
	return fmt.Sprintf("[...document.querySelectorAll('label')].find((l) => l.innerText.includes(%q))", size)
}

func choose(tab *browser.Tab, size string) { browser.Eval[any](tab, ofSize(size)+".click()") }

func TestWhatIsSoldIsShownAndNothingOfElsewhere(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	saleID := shop.create(t, sale{})
	open := func(more string) {
		shows(tab, saleID, "OPEN", more)
		tab.Open(shop.page(saleID))
		waitState(tab, "open")
	}
	const whole = `,"payWithin":60,"price":89900,"currency":"CNY","about":"<b>Numbered</b>\nHand-made.","link":"https://shop.example/a"`
	open(whole + `,"image":"` + imageOrigin + `/a.svg"`)
	tab.Wait("document.querySelector('#picture img').naturalWidth > 0")
	got := tab.Text("#price") + ", " + tab.Text(button)
	browser.Check(t, got == "CN¥899.00, Order for CN¥899.00", "%q on the page and on the button", got)
	got = tab.Text("#about")
	browser.Check(t, got == "<b>Numbered</b>\nHand-made.", "the text is %q", got)
	browser.Gives(tab, "link.href + ' ' + link.rel + ' ' + document.querySelector('#picture img').alt", "https://shop.example/a noreferrer Trail Runner", "link and picture")
	left, bar := tab.Text("#left"), browser.Eval[float64](tab, "bar.position")
	browser.Check(t, strings.HasPrefix(left, "120 of 300 left at ") && bar == 0.4, "%q, %v of the bar", left, bar)
	for _, scheme := range []string{"dark", "light"} {
		tab.Prefer("prefers-color-scheme", scheme)
		examine(t, tab, "open", "The sale is open.")
	}
	for _, link := range []string{"javascript:alert(1)", "http://shop.example/", "data:text/html,x"} {
		open(`,"link":"` + link + `"`)
		browser.Check(t, tab.Text("#link") == "", "the page links to %s", link)
	}
	noPicture := func() {
		tab.Wait("document.querySelector('#picture img')?.complete ?? true")
		if time.Sleep(50 * time.Millisecond); !browser.Eval[bool](tab, "picture.hidden") {
			t.Error("a picture that cannot be loaded leaves a gap")
		}
	}
	open(`,"image":"` + imageOrigin + `/none.svg"`)
	noPicture()
	open(`,"image":"https://other.example/a.svg"`)
	noPicture() // the policy stops it
	tab.Forgive("Content Security Policy")
}

// The name, the picture and the room for the price are in the HTML, so that what a buyer is about to
// press does not move.
func TestNothingMovesWhileThePageLoads(t *testing.T) {
	t.Parallel()
	more := map[string]any{"name": "Trail Runner", "image": imageOrigin + "/a.svg", "about": "Hand-made.", "payWithin": 1800, "price": 89900, "currency": "CNY"}
	saleID := shop.create(t, sale{}, more)
	more["limitGroup"] = newID("group")
	shop.create(t, sale{}, more)
	for _, address := range []string{shop.page(saleID), fmt.Sprint(shop.Stack.API, "/g/", more["limitGroup"])} {
		for _, size := range [][2]int64{{320, 700}, {1280, 800}} {
			tab := shop.tab(t, newID("user"))
			tab.Size(size[0], size[1])
			tab.Before(`window.moved = 0; new PerformanceObserver((list) => { for (const { value } of list.getEntries()) moved += value }).observe({ type: "layout-shift", buffered: true })`)
			shows(tab, "", "", "") // the pictures
			tab.Open(address)
			browser.Gives(tab, "document.title", "Trail Runner", "the title is")
			waitState(tab, "open")
			tab.Wait("document.querySelector('#picture img').naturalWidth > 0")
			moved := browser.Eval[float64](tab, "new Promise((done) => setTimeout(() => done(moved), 100))")
			browser.Check(t, moved <= 0.1, "%s at %d pixels: the layout shift is %v, want at most 0.1", address, size[0], moved)
		}
	}
}

func TestTheSalesOfAGroupAreOneChoiceAndOneOrder(t *testing.T) {
	t.Parallel()
	user := newID("user")
	tab := shop.tab(t, user)
	groupID, sizes := group(t)
	page := shop.Stack.API + "/g/" + groupID
	note := func(size string) string {
		return browser.Eval[string](tab, ofSize(size)+".querySelector('small').innerText")
	}
	tab.Open(page)
	waitState(tab, "open")
	if got := []string{tab.Text("#name"), tab.Text(button), note("43"), note("44")}; !slices.Equal(got, []string{"Trail Runner", "Select size", "1 left", "5 left"}) {
		t.Fatalf("the page shows %q", got)
	}
	tab.Click(button) // orders nothing: it leads to the choice
	browser.Gives(tab, "document.activeElement.name", "size", "the button leads to")
	wantKeys(t, tab)
	choose(tab, "43")
	examine(t, tab, "open", "The sale is open.")
	shop.buy(t, sizes["43"], newID("other"))
	tab.Click(button)
	waitState(tab, "soldOut")
	choose(tab, "42")
	waitState(tab, "open")
	if got := note("43"); got != "Sold out" {
		t.Fatalf("what is sold out says %q", got)
	}
	choose(tab, "43")
	waitState(tab, "soldOut")
	tab.HasText("#detail", "Another one may still be there: choose it.", "beside what is sold out the page says")
	choose(tab, "42")
	tab.Click(button)
	waitState(tab, "unpaid")
	tab.Click("#cancel")
	got := tab.Text("#ask")
	browser.Check(t, strings.Contains(got, "neither this one nor any other of these"), "before the cancellation the page says %q", got)
	// A page that has been open since before the order.
	becomes := func(user string) {
		browser.Eval[any](tab, fmt.Sprintf("(sessionStorage.token = JSON.stringify({access: %q, expires: Date.now() + 1e9}), true)", shop.token(t, user)))
	}
	becomes(newID("user"))
	tab.Open(shop.page(sizes["44"]))
	waitState(tab, "open")
	becomes(user)
	tab.Click(button)
	for _, when := range []string{"after an order", "at the load"} {
		tab.Wait("!['open', 'sending', 'loading'].includes(document.querySelector('main')?.dataset.state ?? 'loading')")
		if got := tab.Text(line); got != "You have already ordered another one of these." {
			t.Fatalf("%s the page of 44 says %q", when, got)
		}
		tab.Reload()
	}
	examine(t, tab, "elsewhere", "You have already ordered another one of these.")
	tab.Click(button)
	tab.Wait("location.pathname === '/s/" + sizes["42"] + "'")
}

// A choice that is over says so in a word, and sizes are in the order in which people look for them.
func TestATileSaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	scenes(tab, `tiles: { first: { a: { name: "Shoe 10" }, b: { name: "Shoe 9.5", state: "RECALLED" }, c: { name: "Shoe 9", state: "PAUSED" }, d: { name: "Shoe 11", state: "SOLD_OUT" } } },
		shirts: { first: { a: { name: "Shirt 大" }, b: { name: "Shirt XL" }, c: { name: "Shirt 小" }, d: { name: "Shirt M" } } }, tickets: { first: { a: { name: "Show · Friday" }, b: { name: "Show · Saturday" } } },`)
	for id, want := range map[string]string{"tiles": "Size, 9 Paused, 9.5 Recalled, 10 7 left, 11 Sold out; Select size", "shirts": "Your choice, 小 7 left, M 7 left, 大 7 left, XL 7 left; Select one", "tickets": "Your choice, Friday 7 left, Saturday 7 left; Select one"} {
		tab.Open(shop.Stack.API + "/g/" + id)
		hasRead(tab)
		browser.Gives(tab, `[...sizes.children].map((e) => e.innerText.replaceAll("\n", " ").trim()).join(", ") + "; " + act.innerText`, want, "the choice is")
	}
}

// The order is in the last sale that the shop lists; the sales are open, then paused.
func TestAHolderFindsTheOrderInWhicheverSaleOfTheGroupItIs(t *testing.T) {
	t.Parallel()
	tab := chromium.Tab(t)
	groupID, sizes := group(t)
	user, last := newID("user"), "42"
	for size, saleID := range sizes {
		if saleID > sizes[last] {
			last = size
		}
	}
	shop.buy(t, sizes[last], user)
	shop.signIn(t, tab, user)
	for _, paused := range []bool{false, true} {
		for _, saleID := range sizes {
			if paused {
				shop.seed(t, map[string]any{"action": "pause", "saleId": saleID})
			}
		}
		tab.Open(shop.Stack.API + "/g/" + groupID)
		hasRead(tab)
		if state, name := browser.Eval[string](tab, "main.dataset.state"), tab.Text("#name"); state != "unpaid" && state != "reserved" || name != "Trail Runner · size "+last {
			t.Fatalf("paused: %t: %s, %s", paused, state, name)
		}
	}
}
