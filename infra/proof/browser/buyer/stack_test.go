// Package buyer tests the buyer's page in a browser, on the local stack: what a buyer sees
// in each state of a sale, which requests the page makes, and that no press, reload or
// lost answer costs the buyer their place.
package buyer

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/kit/client"
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
	if shop, err = start("-parameter", "ImageOrigin=https://images.example"); err != nil {
		return 1, err
	}
	defer shop.stop()
	if chromium, err = browser.Start(root); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, chromium.Stop()
}

// stack is a local stack of its own.
type stack struct {
	*launch.Stack
	*client.Client
	data string
}

func start(arguments ...string) (*stack, error) {
	data, err := os.MkdirTemp("", "flashsale-browser")
	if err != nil {
		return nil, err
	}
	s := &stack{data: data}
	if s.Stack, err = launch.New(launch.Built(root), data, arguments...); err != nil {
		return nil, err
	}
	if s.Command.Dir, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if err := s.StartWithin(limit); err != nil {
		return nil, err
	}
	s.Client = client.New(s.Stack.API, client.Options{Lambda: s.Lambda})
	return s, nil
}

func (s *stack) stop() {
	s.Client.Close()
	if err := s.Stop(limit); err != nil {
		fmt.Fprintln(os.Stderr, "stop the stack:", err)
	}
	os.RemoveAll(s.data)
}

// page is the address of a sale's page.
func (s *stack) page(saleID string) string { return s.Stack.API + "/s/" + saleID }

var ids atomic.Int64

// newID returns an id for a sale or a user.
func newID(kind string) string { return fmt.Sprintf("%s-%d", kind, ids.Add(1)) }

// sale is a sale to create; the zero value opened a minute ago, closes in an hour and has
// five units.
type sale struct {
	name          string
	stock         int
	opens, closes time.Duration // from now
}

// create creates a sale and returns its id.
func (s *stack) create(t testing.TB, o sale) string {
	t.Helper()
	now := time.Now()
	saleID := newID("sale")
	err := s.Seed(t.Context(), client.Sale{
		ID: saleID, Name: o.name, Stock: cmp.Or(o.stock, 5), Shards: 1,
		OpensAt: now.Add(cmp.Or(o.opens, -time.Minute)), ClosesAt: now.Add(cmp.Or(o.closes, time.Hour)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return saleID
}

// createWith creates an open sale of five units with more members of its creation.
func (s *stack) createWith(t testing.TB, more map[string]any) string {
	t.Helper()
	saleID, now := newID("sale"), time.Now().UTC()
	request := map[string]any{
		"action": "create", "saleId": saleID, "stock": 5, "shards": 1,
		"opensAt": now.Add(-time.Minute).Format(time.RFC3339), "closesAt": now.Add(time.Hour).Format(time.RFC3339),
	}
	maps.Copy(request, more)
	if err := s.Ask(t.Context(), client.SeedFunction, request, nil); err != nil {
		t.Fatal(err)
	}
	return saleID
}

// operate invokes SeedFunction with an action; more alternates names and values.
func (s *stack) operate(t testing.TB, action, saleID string, more ...string) {
	t.Helper()
	request := map[string]string{"action": action, "saleId": saleID}
	for i := 0; i+1 < len(more); i += 2 {
		request[more[i]] = more[i+1]
	}
	if err := s.Ask(t.Context(), client.SeedFunction, request, nil); err != nil {
		t.Fatal(err)
	}
}

// reschedule moves the opening of a sale, for an hour, to so long from now. It returns when no
// function refuses by what it had read before, which is for two seconds at most.
func (s *stack) reschedule(t testing.TB, saleID string, opens time.Duration) {
	t.Helper()
	at := time.Now().UTC().Add(opens)
	s.operate(t, "reschedule", saleID, "opensAt", at.Format(time.RFC3339), "closesAt", at.Add(time.Hour).Format(time.RFC3339))
	time.Sleep(2 * time.Second)
}

// buy buys a unit as another client of the user.
func (s *stack) buy(t testing.TB, saleID, user string) {
	t.Helper()
	for range 5 {
		a, err := s.Buy(t.Context(), saleID, s.token(t, user), "")
		if err != nil {
			t.Fatal(err)
		}
		if a.Status == 202 {
			return
		}
		if a.RetryAfter < 0 {
			t.Fatalf("buy: %v", a)
		}
		time.Sleep(a.RetryAfter)
	}
	t.Fatal("the shop stays busy")
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
	var receipt string
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if receipt, err = s.Receipt(t.Context(), saleID); err == nil {
			break // every claim is confirmed
		}
	}
	if err != nil || !strings.HasSuffix(receipt, fmt.Sprintf("+ %d claims", claims)) {
		t.Errorf("%s: %s, %v, want %d claims", saleID, receipt, err, claims)
	}
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

// signIn gives a tab the token that a sign-in would leave there, valid for a day.
func (s *stack) signIn(t testing.TB, tab *browser.Tab, user string, more ...string) {
	t.Helper()
	tab.Before(fmt.Sprintf(`sessionStorage.token ??= JSON.stringify({access: %q, expires: Date.now() + 86400000})`, s.token(t, user, more...)))
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
		if slices.Contains(states, state) {
			t.Errorf("the page has been %s", state)
		}
	}
}

// openEarly opens the page of a sale that opens in a few seconds, in the tab, and leaves
// twice as long as that took. On a machine that is too slow for it, the next sale opens later.
func (s *stack) openEarly(t testing.TB, tab *browser.Tab) (saleID string, opens time.Time) {
	t.Helper()
	for wait := 3 * time.Second; wait < limit; wait *= 2 {
		begun := time.Now()
		opens = begun.Add(wait)
		saleID = s.create(t, sale{opens: wait})
		tab.Open(s.page(saleID))
		tab.Wait("!['loading', 'busy'].includes(main.dataset.state)")
		if browser.Eval[string](tab, "main.dataset.state") == "notOpen" && time.Until(opens) > 2*time.Since(begun) {
			return saleID, opens
		}
	}
	t.Fatal("no sale opens after its page is loaded")
	return "", opens
}

// The page's one button, and its one line that matters.
const (
	button = "#act"
	line   = "#line"
)
