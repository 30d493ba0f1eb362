// Package buyer tests the buyer's page in a browser, on the local stack: what a buyer sees
// in each state of a sale, which requests the page makes, and that no press, reload or
// lost answer costs the buyer their place.
package buyer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/wait"
	"flashsale/infra/local/child"
	"flashsale/infra/local/launch"
	"flashsale/infra/proof/browser"
)

// root is the project's folder.
const root = "../../../.."

// limit bounds the start and the end of the stack.
const limit = time.Minute

var (
	chromium *browser.Browser
	shop     *stack // shared by all tests, each with sales and users of its own
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ports, err := child.FreePorts(1)
	if err != nil {
		return 1, err
	}
	local, err := browser.Launch(root, "-parameter", "ImageOrigin="+imageOrigin, "-parameter", fmt.Sprintf(
		"PaymentUrl=/_local/shop/%d?order={orderId}&sale={saleId}&amount={amount}&currency={currency}&payBy={payBy}&signature={signature}", ports[0]))
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, local.Stop(limit)) }()
	shop = &stack{local, client.New(local.API, client.Options{Lambda: local.Lambda})}
	defer shop.Client.Close()
	page := payPage(local.API, ports[0])
	if err := page.Start(context.Background()); err != nil {
		return 1, err
	}
	defer page.Kill()
	if chromium, err = browser.Start(root); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, chromium.Stop()
}

// stack is the local stack.
type stack struct {
	*launch.Stack
	*client.Client
}

// page is the address of a sale's page.
func (s *stack) page(saleID string) string { return s.Stack.API + "/s/" + saleID }

var ids atomic.Int64

// newID returns an id for a sale or a user.
func newID(kind string) string { return fmt.Sprintf("%s-%d", kind, ids.Add(1)) }

// sale is a sale to create; the zero value opened a minute ago, closes in an hour and has
// five units.
type sale struct {
	stock         int
	opens, closes time.Duration // from now
}

// create creates a sale, more are further members of its creation, and returns its id.
func (s *stack) create(t testing.TB, o sale, more ...map[string]any) string {
	t.Helper()
	saleID, now := newID("sale"), time.Now().UTC()
	request := map[string]any{
		"action": "create", "saleId": saleID, "stock": cmp.Or(o.stock, 5), "shards": 1,
		"opensAt": now.Add(cmp.Or(o.opens, -time.Minute)).Format(time.RFC3339), "closesAt": now.Add(cmp.Or(o.closes, time.Hour)).Format(time.RFC3339),
	}
	for _, more := range more {
		maps.Copy(request, more)
	}
	s.seed(t, request)
	return saleID
}

// seed invokes SeedFunction.
func (s *stack) seed(t testing.TB, request map[string]any) {
	t.Helper()
	if err := s.Ask(t.Context(), client.SeedFunction, request, nil); err != nil {
		t.Fatal(err)
	}
}

// buy buys a unit as another client of the user.
func (s *stack) buy(t testing.TB, saleID, user string) {
	t.Helper()
	wait.Until(t, limit, "a unit for "+user, func() bool {
		a, err := s.Buy(t.Context(), saleID, s.token(t, user), "")
		if err != nil || a.Status != 202 && a.RetryAfter < 0 {
			t.Fatalf("buy: %v, %v", a, err)
		}
		return a.Status == 202
	})
}

func (s *stack) token(t testing.TB, user string, more ...string) string {
	t.Helper()
	token, err := s.Token(t.Context(), user, more...)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// claim returns the user's claim as the API shows it.
func (s *stack) claim(t testing.TB, saleID, user string) client.Claim {
	t.Helper()
	a, err := s.Mine(t.Context(), saleID, s.token(t, user))
	if err != nil {
		t.Fatal(err)
	}
	return a.Claim
}

// sold fails the test unless so many units were sold and the books balance.
func (s *stack) sold(t testing.TB, saleID string, claims int) {
	t.Helper()
	wait.Until(t, limit, fmt.Sprintf("%s has %d claims, all of them confirmed", saleID, claims), func() bool {
		receipt, err := s.Receipt(t.Context(), saleID)
		return err == nil && strings.HasSuffix(receipt, fmt.Sprintf("+ %d claims", claims))
	})
}

// tab opens a tab in which the user is signed in; "" is nobody.
func (s *stack) tab(t testing.TB, user string) *browser.Tab {
	t.Helper()
	tab := chromium.Tab(t)
	if user != "" {
		s.signIn(t, tab, user)
	}
	return tab
}

// signIn gives a tab the token that a sign-in would leave there, valid for a day of the shop's.
func (s *stack) signIn(t testing.TB, tab *browser.Tab, user string, more ...string) {
	t.Helper()
	tab.Before(fmt.Sprintf(`sessionStorage.token ??= JSON.stringify({access: %q, expires: %d})`, s.token(t, user, more...), time.Now().Add(24*time.Hour).UnixMilli()))
}

// waitState waits for a state of the page.
func waitState(tab *browser.Tab, state string) {
	tab.Wait(fmt.Sprintf("document.querySelector('main')?.dataset.state === %q", state))
}

// noteStates makes the pages that are opened afterwards note each state that they show.
func noteStates(tab *browser.Tab) {
	tab.Before(`window.shown = [];
		new MutationObserver(() => shown.push(document.querySelector("main")?.dataset.state)).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-state"] })`)
}

// wantNever fails the test if the page has shown one of the states.
func wantNever(t testing.TB, tab *browser.Tab, states ...string) {
	t.Helper()
	for _, state := range browser.Eval[[]string](tab, "shown") {
		browser.Check(t, !slices.Contains(states, state), "the page has been %s", state)
	}
}

// The page's one button, and its one line that matters.
const (
	button = "#act"
	line   = "#line"
)

// waitFor fails the test unless the page has the state now.
func waitFor(t testing.TB, tab *browser.Tab, state string) {
	t.Helper()
	browser.Gives(tab, "main.dataset.state", state, "the page is")
}

// order opens the page of a sale that is open, and presses its button.
func order(tab *browser.Tab, saleID string) {
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.Click(button)
}

// rewrites changes the text of a file of the page before the browser gets it: name is the file's
// before its hash, such as "page".
func rewrites(t testing.TB, tab *browser.Tab, name string, change func(string) string) {
	tab.Intercept(func(r browser.Request) browser.Answer {
		if !strings.HasPrefix(r.Path, "/assets/"+name+".") {
			return browser.Answer{}
		}
		a, err := shop.Send(t.Context(), http.MethodGet, r.Path, "")
		if err != nil {
			t.Error(err)
		}
		return browser.Answer{Status: 200, Header: map[string]string{"Content-Type": a.Header.Get("Content-Type")}, Body: change(string(a.Body))}
	})
}
