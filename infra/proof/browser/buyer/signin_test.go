package buyer

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/kit/wait"
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
	tab.Wait("location.pathname === '/_local/authorize' && document.querySelector('input') && goods.innerText === '" + saleID + "'")
	tab.Axe()
	browser.Gives(tab, "document.querySelector('main a').href", shop.page(saleID), "the way back is")
	query, err := url.ParseQuery(browser.Eval[string](tab, "location.search.slice(1)"))
	if err != nil || query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" || len(query.Get("code_challenge")) != 43 ||
		!strings.HasSuffix(query.Get("state"), ".s."+saleID) || len(query.Get("state")) != 43+len(".s."+saleID) || len(query.Get("nonce")) != 43 || query.Get("ui_locales") != "en" || query.Get("lang") != "en" || query.Get("redirect_uri") != shop.Stack.API+"/signin" || !strings.Contains(" "+query.Get("scope")+" ", " openid ") {
		t.Errorf("the issuer was asked for %v, %v", query, err)
	}
	focusInput := "document.querySelector('input').matches(':focus')"
	if !browser.Eval[bool](tab, focusInput) {
		focus("input")
	}
	tab.Press(user)
	tab.Press(browser.Enter)
	waitState(tab, "open")
	browser.Gives(tab, "location.href", shop.page(saleID), "the buyer is at")
	focus(button)
	tab.Press(browser.Space)
	waitState(tab, "confirmed")
	browser.Gives(tab, "document.activeElement.id", "line", "the focus is on")
	if got, want := tab.Text("#order"), saleID+"\nOrder id "+shop.claim(t, saleID, user).OrderID; got != want || tab.Text(button) != "" {
		t.Errorf("the page says %q and has the button %q, want %q and none", got, tab.Text(button), want)
	}
	tab.Wait("history.length < 5") // the callback, with its code, is replaced
	focus("#leave")
	tab.Press(browser.Enter)
	waitState(tab, "open")
	tab.WaitText("Sign in now")
}

// A buyer who has signed in long before the opening is signed in at the opening, and so is one whose
// device has slept, or is three hours slow.
func TestASignInIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	saleID, user := shop.create(t, sale{opens: 10 * time.Hour, closes: 20 * time.Hour}), newID("user")
	tab := chromium.Tab(t)
	tab.Clock(-3 * time.Hour)
	tab.Before(patient)
	noteStates(tab)
	var passed atomic.Int64 // of the page's clock, in seconds
	tab.Intercept(func(r browser.Request) browser.Answer {
		if ttl := passed.Load() + 3600; r.Path == "/_local/oauth2/token" && ttl > 3600 {
			return browser.Answer{Status: 200, Body: `{"access_token":"` + shop.token(t, user, "ttl", fmt.Sprint(ttl)) + `"}`}
		}
		return browser.Answer{}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "notOpen")
	tab.Click(button)
	tab.Wait("document.querySelector('input')")
	tab.Type("input", user)
	tab.Press(browser.Enter)
	waitState(tab, "notOpen")
	tab.WaitText("Sign out")
	renewals := func() int { return tab.Count("POST", "/_local/oauth2/token") - 1 }
	for i, pass := range []time.Duration{50 * time.Minute, 5 * time.Minute, 5 * time.Hour} {
		passed.Add(int64(pass / time.Second))
		tab.Advance(pass)
		wait.Until(t, limit, "another renewal", func() bool {
			if renewals() > i {
				t.Fatalf("%d renewals after %v, want %d", renewals(), pass, i)
			}
			passed.Add(1)
			tab.Advance(time.Second)
			return renewals() == i
		})
		tab.Wait("JSON.parse(sessionStorage.token).expires - Date.now() > 3 * 3600000 + 500000")
	}
	tab.Advance(2 * time.Second)
	tab.WaitText("Sign out")
	// The provider has ended it.
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Path == "/_local/oauth2/token" {
			return browser.Answer{Status: 400, Body: `{"error":"invalid_grant"}`}
		}
		return browser.Answer{}
	})
	passTime(t, tab, "notOpen")
	for tab.Text("#leave") != "" {
		tab.Advance(10 * time.Minute)
		time.Sleep(50 * time.Millisecond)
	}
	examine(t, tab, "signedOut", "You have been signed out. Sign in again to continue.")
	n := renewals()
	browser.Check(t, n == 3 && tab.Text("#countdown") != "", "%d renewals, want no more after a refused one, and a countdown", n)
}

// The page did not run when the token ended, as on a phone whose buyer pays in another app.
func TestABuyerWhoComesBackAfterTheTokensEndStaysSignedIn(t *testing.T) {
	t.Parallel()
	saleID, user := shop.create(t, sale{}, unpaid), newID("user")
	shop.buy(t, saleID, user)
	tab, slow := shop.tab(t, ""), make(chan struct{})
	renewed := browser.Answer{Status: 200, Until: slow, Body: fmt.Sprintf(`{"access_token":%q,"expires_in":3600}`, shop.token(t, user))}
	tab.Answers("POST", "", renewed, renewed)
	tab.Before(`sessionStorage.token ??= JSON.stringify({ access: "A", expires: Date.now() - 1000, refresh: "R" })`)
	tab.Open(shop.page(saleID))
	waitState(tab, "signedOut")
	close(slow)
	waitState(tab, "unpaid")
	tab.Reload() // a renewal is tried once a minute
	waitState(tab, "unpaid")
	browser.Eval[any](tab, `(sessionStorage.token = JSON.stringify({ ...JSON.parse(sessionStorage.token), expires: 1 }), document.dispatchEvent(new Event("visibilitychange")))`)
	tab.Wait("JSON.parse(sessionStorage.token).expires > 1")
	waitFor(t, tab, "unpaid")
	tab.WaitText("Sign out")
}

// A provider that fails is not asked by all pages every second, and who signs out meanwhile stays signed out.
func TestARenewalIsTriedOnceAMinute(t *testing.T) {
	t.Parallel()
	user := newID("user")
	tab := shop.tab(t, "")
	tab.Clock(0)
	scenes(tab, `s: {}`)
	slow := make(chan struct{})
	busy := browser.Answer{Status: 503, Body: "{}"}
	tab.Answers("POST", "", busy, busy, busy, browser.Answer{Status: 200, Until: slow, Body: `{"access_token":"` + shop.token(t, user) + `"}`})
	tab.Before(fmt.Sprintf(`sessionStorage.token = JSON.stringify({ access: %q, expires: Date.now() + 200000, refresh: "R" })`, shop.token(t, user)))
	renewals := func() int { return tab.Count("POST", "/_local/oauth2/token") }
	tab.Open(shop.page("s"))
	waitState(tab, "open")
	for want := 1; want < 4; want++ {
		wait.Until(t, limit, "another renewal", func() bool { return renewals() >= want })
		time.Sleep(100 * time.Millisecond) // its answer
		if browser.Eval[any](tab, "pass(50)"); renewals() != want {
			t.Fatalf("%d renewals, want %d", renewals(), want)
		}
		tab.Advance(12 * time.Second)
	}
	wait.Until(t, limit, "the last renewal", func() bool { return renewals() == 4 })
	browser.Eval[any](tab, "sessionStorage.removeItem('token')")
	close(slow)
	time.Sleep(200 * time.Millisecond)
	browser.Gives(tab, "sessionStorage.token ?? ''", "", "who has signed out is signed in again")
}

// never is the answer of who does not answer.
var never = browser.Answer{Until: make(chan struct{})}

// The shop refuses a token at the opening, and its renewal fails twice.
func TestAnOrderOutlastsARenewalThatFails(t *testing.T) {
	for name, renewal := range map[string]browser.Answer{
		"no answer": never, "no network": {Refused: true}, "a failure": {Status: 503, Body: "{}"}, "too many": {Status: 429, Body: "{}"}, "no JSON": {Status: 200, Body: "<html>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			saleID, user := shop.create(t, sale{}), newID("user")
			tab := shop.tab(t, "")
			tab.Clock(0)
			noteStates(tab)
			tab.Before(fmt.Sprintf(`sessionStorage.token ??= JSON.stringify({access: %q, expires: %d, refresh: "R"})`, shop.token(t, user), time.Now().Add(time.Hour).UnixMilli()))
			tab.Open(shop.page(saleID))
			waitState(tab, "open")
			tab.Answers("POST", "", browser.Problem(401, "unauthorized", ""), renewal, renewal, browser.Answer{Status: 200, Body: `{"access_token":"` + shop.token(t, user) + `"}`})
			tab.Click(button)
			tab.Wait("['sending', 'busy'].includes(main.dataset.state)")
			tab.Advance(14 * time.Second)
			passTime(t, tab, "busy", "confirmed")
			passTime(t, tab, "confirmed")
			wantNever(t, tab, "signedOut", "stuckOrder")
			wantKeys(t, tab, "", "page")
			shop.sold(t, saleID, 1)
		})
	}
}

// The shop refuses the token when the page is loaded, and nothing renews it.
func TestAnEndedSignInIsSaid(t *testing.T) {
	t.Parallel()
	tab := chromium.Tab(t)
	shop.signIn(t, tab, newID("user"), "ttl", "-60")
	tab.Open(shop.page(shop.create(t, sale{})))
	examine(t, tab, "signedOut", "You have been signed out. Sign in again to continue.")
	tab.Click(button)
	tab.Wait("location.pathname === '/_local/authorize'")
}

// The callback accepts only the answer that this tab has asked for, and sends the buyer to
// a sale of this shop only.
func TestASignInThatWasNotAskedForFails(t *testing.T) {
	tokens := func(nonce, more string) string {
		return fmt.Sprintf(`{"id_token":"h.%s.s"%s}`, base64.RawURLEncoding.EncodeToString([]byte(`{"nonce":"`+nonce+`"}`)), more)
	}
	asked := `sessionStorage.signin = JSON.stringify({state: "S", nonce: "N", verifier: "V", sale: "moutai"})`
	for name, tt := range map[string]struct {
		before, query string
		back          bool   // to the sale
		tokens        string // of the provider, for the code; "" if it is asked, "never" if it does not answer
	}{
		"opened directly":  {"", "", false, ""},
		"a code of others": {"", "?code=C&state=S", false, ""},
		"another state":    {asked, "?code=C&state=X", true, ""},
		"no state":         {asked, "?code=C", true, ""},
		"refused":          {asked, "?error=access_denied&state=S", true, ""},
		"a wrong code":     {asked, "?code=C&state=S", true, ""},
		"no sale's state":  {"", "?code=C&state=" + strings.Repeat("S", 43) + ".s.//evil.example", false, ""},
		"an open redirect": {strings.ReplaceAll(asked, "moutai", "/evil.example/"), "?code=C&state=X", false, ""},
		"signed out there": {`sessionStorage.signin = JSON.stringify({sale: "../../x"})`, "", false, ""},
		"broken storage":   {`sessionStorage.signin = "{"; sessionStorage.token = "7"`, "?code=C&state=S", false, ""},
		"no storage":       {denied, "?code=C&state=S", false, ""},
		"another nonce":    {asked, "?code=C&state=S", true, tokens("M", `,"access_token":"A"`)},
		"no access token":  {asked, "?code=C&state=S", true, tokens("N", "")},
		"no answer":        {asked, "?code=C&state=S", true, "never"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := chromium.Tab(t)
			if tt.before != "" {
				tab.Before(tt.before)
			}
			tab.Clock(0)
			tab.Intercept(func(r browser.Request) browser.Answer {
				switch {
				case r.Method != http.MethodPost || tt.tokens == "":
					return browser.Answer{}
				case tt.tokens == "never":
					return never
				}
				return browser.Answer{Status: 200, Body: tt.tokens}
			})
			tab.Open(shop.Stack.API + "/signin" + tt.query)
			if tt.tokens == "never" {
				tab.WaitText("Signing you in …")
				tab.Advance(15 * time.Second)
			}
			tab.WaitText("You are not signed in.")
			back := tab.Text(button) == "Back to the sale"
			browser.Check(t, back == tt.back, "a way back to the sale: %v, want %v", back, tt.back)
			token := browser.Eval[string](tab, "(() => { try { return sessionStorage.token ?? '' } catch { return '' } })()")
			browser.Check(t, !strings.Contains(token, "access"), "signed in: %s", token)
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
	shop.create(t, sale{}, map[string]any{"limitGroup": groupID})
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
	other.Click(button)
	other.Wait("location.pathname === '/_local/authorize' && document.querySelector('input')")
	for _, call := range other.Calls() {
		browser.Check(t, !strings.HasPrefix(call, "POST"), "the code of another browser was exchanged: %s", call)
	}
	other.Type("input", user)
	other.Press(browser.Enter)
	waitState(other, "open")
	at := browser.Eval[string](other, "location.pathname")
	browser.Check(t, at == "/g/"+groupID && other.Text("#leave") != "", "the buyer is at %s", at)
}

// The provider comes back to one address of the shop only, whose storage must have what the sign-in began with.
func TestASignInBeginsAtTheAddressToWhichTheProviderComesBack(t *testing.T) {
	t.Parallel()
	tab, saleID := chromium.Tab(t), shop.create(t, sale{})
	page, err := shop.Send(t.Context(), http.MethodGet, "/s/"+saleID, "")
	if err != nil {
		t.Fatal(err)
	}
	tab.Intercept(func(r browser.Request) browser.Answer {
		a := browser.Answer{Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "there"}
		switch {
		case r.Path == "/s/"+saleID:
			a.Body = strings.Replace(string(page.Body), `data-origin=""`, `data-origin="https://shop.example"`, 1)
		case !strings.HasPrefix(r.URL, "https://shop.example/"):
			return browser.Answer{}
		}
		return a
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.Click(button)
	tab.Wait("location.href === 'https://shop.example/s/" + saleID + "'")
}

// A storage that another version has written, or that the browser denies, is no sign-in and hides no sale.
func TestWithoutAStorageThatItUnderstandsThePageShowsTheSale(t *testing.T) {
	t.Parallel()
	saleID := shop.create(t, sale{})
	for _, before := range []string{
		`sessionStorage.token = "7"`, `sessionStorage.token = "null"`, `sessionStorage.token = '"x"'`, `sessionStorage.token = "{"`, `sessionStorage.token = "[]"`, denied, absent,
	} {
		tab := chromium.Tab(t)
		tab.Before(before)
		tab.Open(shop.page(saleID))
		waitState(tab, "open")
		tab.WaitText("Sign in now")
		if tab.Click(button); before == denied || before == absent {
			tab.Wait("ask.role === 'alert' && ask.innerText === 'You cannot sign in here: this app or browser stores nothing. Open the sale in your usual browser.'")
		}
	}
}

// Without a storage: some browsers deny it, and in some apps there is none.
const (
	denied = `Object.defineProperty(window, "sessionStorage", {get() { throw new DOMException("denied", "SecurityError") }})`
	absent = `Object.defineProperty(window, "sessionStorage", {value: null})`
)
