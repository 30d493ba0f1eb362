package buyer

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// A buyer signs in at the issuer and orders, with the keyboard alone.
func TestABuyerSignsInAndOrdersWithTheKeyboard(t *testing.T) {
	t.Parallel()
	saleID, user := shop.create(t, sale{}), newID("user")
	tab := chromium.Tab(t)
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	focus := func(selector string) {
		t.Helper()
		for range 10 {
			tab.Press(browser.Tabulator)
			if browser.Eval[bool](tab, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
				return
			}
		}
		t.Fatalf("%s cannot be reached by the keyboard", selector)
	}
	focus(button)
	tab.Press(browser.Enter)
	tab.Wait("location.pathname === '/_local/authorize' && document.querySelector('input')")
	query, err := url.ParseQuery(browser.Eval[string](tab, "location.search.slice(1)"))
	if err != nil || query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" || len(query.Get("code_challenge")) != 43 ||
		!strings.HasSuffix(query.Get("state"), ".s."+saleID) || len(query.Get("state")) != 43+len(".s."+saleID) || len(query.Get("nonce")) != 43 || query.Get("redirect_uri") != shop.Stack.API+"/signin" || !strings.Contains(" "+query.Get("scope")+" ", " openid ") {
		t.Errorf("the issuer was asked for %v, %v", query, err)
	}
	focusInput := "document.querySelector('input').matches(':focus')"
	if !browser.Eval[bool](tab, focusInput) {
		focus("input")
	}
	tab.Press(user)
	tab.Press(browser.Enter)
	waitState(tab, "open")
	if at := browser.Eval[string](tab, "location.href"); at != shop.page(saleID) {
		t.Errorf("the buyer is at %s", at)
	}
	focus(button)
	tab.Press(browser.Space)
	waitState(tab, "confirmed")
	if on := browser.Eval[string](tab, "document.activeElement.id"); on != "line" {
		t.Errorf("the focus is on %q, want the line", on)
	}
	if shop.claim(t, saleID, user).OrderID == "" {
		t.Error("the user has no order")
	}
	tab.Wait("history.length < 5") // the callback, with its code, is replaced
	focus("#leave")
	tab.Press(browser.Enter)
	waitState(tab, "open")
	tab.WaitText("Sign in now")
}

func TestAnEndedSignInIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		ttl     string // of the token
		expires time.Duration
		opens   time.Duration
	}{
		"refused at the load": {"-60", time.Hour, -time.Minute},
		"ended by the clock":  {"3600", -time.Minute, -time.Minute},
		"ends while waiting":  {"3600", 2 * time.Second, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := chromium.Tab(t)
			tab.Clock(0)
			tab.Before(fmt.Sprintf(`sessionStorage.token ??= JSON.stringify({access: %q, expires: Date.now() + %d})`,
				shop.token(t, newID("user"), "ttl", tt.ttl), tt.expires.Milliseconds()))
			tab.Open(shop.page(shop.create(t, sale{opens: tt.opens, closes: 2 * time.Hour})))
			examine(t, tab, "signedOut", "You have been signed out. Sign in again to continue.")
			if counts := tab.Text("#countdown") != ""; counts != (tt.opens == time.Hour) {
				t.Errorf("counts down: %t", counts)
			}
			tab.Click(button)
			tab.Wait("location.pathname === '/_local/authorize'")
		})
	}
}

// The callback accepts only the answer that this tab has asked for, and sends the buyer to
// a sale of this shop only.
func TestASignInThatWasNotAskedForFails(t *testing.T) {
	asked := `sessionStorage.signin = JSON.stringify({state: "S", nonce: "N", verifier: "V", sale: "moutai"})`
	for name, tt := range map[string]struct {
		before, query string
		back          bool // to the sale
	}{
		"opened directly":  {"", "", false},
		"a code of others": {"", "?code=C&state=S", false},
		"another state":    {asked, "?code=C&state=X", true},
		"no state":         {asked, "?code=C", true},
		"refused":          {asked, "?error=access_denied&state=S", true},
		"a wrong code":     {asked, "?code=C&state=S", true},
		"no sale's state":  {"", "?code=C&state=" + strings.Repeat("S", 43) + ".s.//evil.example", false},
		"an open redirect": {strings.ReplaceAll(asked, "moutai", "/evil.example/"), "?code=C&state=X", false},
		"signed out there": {`sessionStorage.signin = JSON.stringify({sale: "../../x"})`, "", false},
		"broken storage":   {`sessionStorage.signin = "{"; sessionStorage.token = "7"`, "?code=C&state=S", false},
		"no storage":       {`Object.defineProperty(window, "sessionStorage", {get() { throw new DOMException("denied", "SecurityError") }})`, "?code=C&state=S", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := chromium.Tab(t)
			if tt.before != "" {
				tab.Before(tt.before)
			}
			tab.Open(shop.Stack.API + "/signin" + tt.query)
			tab.WaitText("You are not signed in.")
			if back := tab.Text(button) == "Back to the sale"; back != tt.back {
				t.Errorf("a way back to the sale: %v, want %v", back, tt.back)
			}
			if token := browser.Eval[string](tab, "(() => { try { return sessionStorage.token ?? '' } catch { return '' } })()"); strings.Contains(token, "access") {
				t.Errorf("signed in: %s", token)
			}
			if tt.back {
				tab.Axe()
				tab.Click(button)
				tab.Wait("location.pathname === '/s/moutai'")
			}
		})
	}
}

// An app opens the shop in a browser of its own, and the provider leads to another one, which has
// neither the verifier nor the sale.
func TestASignInThatEndsInAnotherBrowserGoesOnThere(t *testing.T) {
	t.Parallel()
	user, groupID := newID("user"), newID("group")
	shop.createWith(t, map[string]any{"limitGroup": groupID})
	first, other := chromium.Tab(t), chromium.Tab(t)
	first.Open(shop.Stack.API + "/g/" + groupID)
	waitState(first, "open")
	browser.Eval[any](first, `sizes.querySelector("label").click()`)
	first.Click(button)
	first.Wait("location.pathname === '/_local/authorize'")
	state := browser.Eval[string](first, "new URLSearchParams(location.search).get('state')")
	other.Open(shop.Stack.API + "/signin?code=C&state=" + state)
	other.WaitText("This sign-in was begun in another app or browser.")
	other.Axe()
	other.Screenshot("buyer-sign-in-elsewhere")
	other.Click(button)
	other.Wait("location.pathname === '/_local/authorize' && document.querySelector('input')")
	for _, call := range other.Calls() {
		if strings.HasPrefix(call, "POST") {
			t.Errorf("the code of another browser was exchanged: %s", call)
		}
	}
	other.Type("input", user)
	other.Press(browser.Enter)
	waitState(other, "open")
	if at := browser.Eval[string](other, "location.pathname"); at != "/g/"+groupID || other.Text("#leave") == "" {
		t.Errorf("the buyer is at %s", at)
	}
}

func TestWithoutStorageTheSaleIsShown(t *testing.T) {
	t.Parallel()
	tab := chromium.Tab(t)
	tab.Before(`Object.defineProperty(window, "sessionStorage", {get() { throw new DOMException("denied", "SecurityError") }})`)
	tab.Open(shop.page(shop.create(t, sale{})))
	waitState(tab, "open")
	tab.Click(button)
	tab.WaitText("You are not signed in.")
}

// Some providers want to be told, and some know the page under one origin only.
func TestASignInAtAProviderOfAnotherKind(t *testing.T) {
	saleID := shop.create(t, sale{})
	elsewhere := strings.Replace(shop.Stack.API, "127.0.0.1", "localhost", 1)
	with := func(tab *browser.Tab, attribute, value string) {
		tab.Intercept(func(r browser.Request) browser.Answer {
			switch {
			case r.Path == "/s/"+saleID && strings.HasPrefix(r.URL, shop.Stack.API):
				a, err := shop.Send(t.Context(), "GET", r.Path, "")
				if err != nil {
					t.Error(err)
				}
				return browser.Answer{Status: 200, Header: map[string]string{"Content-Type": "text/html"},
					Body: strings.Replace(string(a.Body), attribute+`=""`, attribute+`="`+value+`"`, 1)}
			case strings.HasPrefix(r.Path, "/logout?"):
				return browser.Answer{Status: 302, Header: map[string]string{"Location": shop.Stack.API + "/signin"}}
			case strings.HasPrefix(r.URL, elsewhere):
				return browser.Answer{Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<title>elsewhere</title>"}
			}
			return browser.Answer{}
		})
		tab.Open(shop.page(saleID))
		waitState(tab, "open")
	}
	t.Run("signs out there, too", func(t *testing.T) {
		t.Parallel()
		tab := chromium.Tab(t)
		tab.Before(fmt.Sprintf(`if (!sessionStorage.signin) sessionStorage.token ??= JSON.stringify({access: %q, expires: Date.now() + 3600000})`, shop.token(t, newID("user"))))
		with(tab, "data-logout", "/logout")
		tab.Click("#leave")
		tab.Wait("location.pathname.startsWith('/s/') && document.body.innerText.includes('Sign in now')")
		want := "GET /logout?client_id=buyers-page&logout_uri=" + url.QueryEscape(shop.Stack.API+"/signin")
		if calls := strings.Join(tab.Calls(), " "); !strings.Contains(calls, want) {
			t.Errorf("the requests are %s, want %s", calls, want)
		}
	})
	t.Run("moves to the page's own origin", func(t *testing.T) {
		t.Parallel()
		tab := chromium.Tab(t)
		with(tab, "data-origin", elsewhere)
		tab.Click(button)
		tab.Wait("document.title === 'elsewhere'")
		if at := browser.Eval[string](tab, "location.href"); at != elsewhere+"/s/"+saleID {
			t.Errorf("the buyer is at %s", at)
		}
	})
}
