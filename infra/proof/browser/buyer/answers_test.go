package buyer

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// saleIs is an answer to a read of a sale that opens then, as seen from now; more members
// begin with a comma.
func saleIs(state string, opens time.Duration, more string) browser.Answer {
	now := time.Now().UTC()
	at := now.Add(opens)
	return browser.Answer{Status: 200, Body: fmt.Sprintf(`{"name":"S","state":%q,"opensAt":%q,"closesAt":%q,"now":%q%s}`,
		state, at.Format(time.RFC3339Nano), at.Add(9*time.Hour).Format(time.RFC3339Nano), now.Format(time.RFC3339Nano), more)}
}

// answers makes the answers to reads of the sale, to looks at the order and to orders. A nil
// one lets the request pass.
func answers(tab *browser.Tab, sale, mine, order func() browser.Answer) {
	tab.Intercept(func(r browser.Request) browser.Answer {
		answer := map[bool]func() browser.Answer{true: mine, false: sale}[strings.HasSuffix(r.Path, "/me")]
		if r.Method == http.MethodPost {
			answer = order
		}
		if answer == nil || !strings.HasPrefix(r.Path, "/sales/") {
			return browser.Answer{}
		}
		return answer()
	})
}

func noOrder() browser.Answer { return browser.Problem(404, "order-not-found", "") }

func TestTheUnitsAreSaidOnlyBeforeTheOpening(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, "")
	for name, tt := range map[string]struct {
		state string
		opens time.Duration
		more  string
		says  string
	}{
		"not open":             {"NOT_OPEN", time.Hour, `,"remaining":7`, "7 for sale"},
		"not open, and many":   {"NOT_OPEN", time.Hour, `,"remaining":7000,"approximate":true`, "about 7,000 for sale"},
		"not open, and empty":  {"NOT_OPEN", time.Hour, `,"remaining":0`, ""},
		"open":                 {"OPEN", -time.Hour, `,"remaining":7`, ""},
		"paused":               {"PAUSED", -time.Hour, `,"remaining":7`, ""},
		"not open, and unsaid": {"NOT_OPEN", time.Hour, ``, ""},
	} {
		answers(tab, func() browser.Answer { return saleIs(tt.state, tt.opens, tt.more) }, nil, nil)
		tab.Open(shop.page(newID("sale")))
		tab.WaitText("Closes ")
		var says string
		if lines := strings.Split(tab.Text("#facts"), "\n"); len(lines) > 2 {
			says = lines[2]
		}
		if says != tt.says {
			t.Errorf("%s: the page says %q of the units, want %q", name, says, tt.says)
		}
	}
}

// The shop knows only when it refuses the order that all units are sold.
func TestARefusedOrderSaysWhetherUnitsMayComeBack(t *testing.T) {
	for says, mayReturn := range map[string]bool{
		"Units may come back. This page checks again every minute or so.": true, "Every unit has found a buyer.": false,
	} {
		t.Run(fmt.Sprint(mayReturn), func(t *testing.T) {
			t.Parallel()
			tab, saleID := shop.tab(t, newID("user")), newID("sale")
			tab.Clock(0)
			var busy atomic.Bool
			answers(tab, func() browser.Answer {
				if busy.Load() {
					return browser.Problem(503, "busy", "")
				}
				return saleIs("OPEN", -time.Hour, "")
			}, noOrder, func() browser.Answer {
				return browser.Answer{Status: 409, Body: fmt.Sprintf(`{"code":"sold-out","mayReturn":%t}`, mayReturn)}
			})
			tab.Open(shop.page(saleID))
			waitState(tab, "open")
			busy.Store(true)
			tab.Click(button)
			waitState(tab, "soldOut")
			if detail := tab.Text("#detail"); detail != says {
				t.Errorf("the page says %q, want %q", detail, says)
			}
			tab.Advance(91 * time.Second) // it looks again, and the shop is busy
			want := map[bool]int{true: 2, false: 1}[mayReturn]
			tab.Wait(fmt.Sprintf("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/sales/%s')).length === %d", saleID, want))
			tab.Advance(time.Second)
			waitState(tab, "soldOut")
		})
	}
}

// What was read of the sale may be older than the refusal of the order, which then says when
// the sale opens.
func TestAnOrderOfASaleThatWasPutOffSaysWhenItOpens(t *testing.T) {
	for name, tt := range map[string]struct {
		then        browser.Answer // the sale, when it is read again
		least, most string         // of the countdown
	}{
		"by the refusal": {saleIs("OPEN", -time.Hour, ""), "00:59:00", "01:00:00"},
		"by the sale":    {saleIs("NOT_OPEN", 3*time.Hour, ""), "02:59:00", "03:00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := shop.tab(t, newID("user"))
			var ordered atomic.Bool
			answers(tab, func() browser.Answer {
				if ordered.Load() {
					return tt.then
				}
				return saleIs("OPEN", -time.Hour, "")
			}, noOrder, func() browser.Answer {
				ordered.Store(true)
				return browser.Problem(409, "sale-not-open", "3600")
			})
			tab.Open(shop.page(newID("sale")))
			waitState(tab, "open")
			tab.Click(button)
			waitState(tab, "notOpen")
			tab.Wait("countdown.innerText")
			if shown := tab.Text("#countdown"); shown < tt.least || shown > tt.most {
				t.Errorf("the countdown says %s, want %s to %s", shown, tt.least, tt.most)
			}
		})
	}
}

// The refusal of a second order does not say what becomes of payments of the first.
func TestARefusedSecondOrderShowsWhatBecomesOfTheFirst(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	var ordered atomic.Bool
	answers(tab, func() browser.Answer { return saleIs("OPEN", -time.Hour, "") }, func() browser.Answer {
		if !ordered.Load() {
			return noOrder()
		}
		return browser.Answer{Status: 200, Body: `{"claimId":"C","state":"EXPIRED","orderId":"1","refunds":[{"amount":89900,"currency":"CNY"}]}`}
	}, func() browser.Answer {
		ordered.Store(true)
		return browser.Answer{Status: 409, Body: `{"code":"already-ordered","claim":{"claimId":"C","state":"EXPIRED","orderId":"1"}}`}
	})
	tab.Open(shop.page(newID("sale")))
	waitState(tab, "open")
	tab.Click(button)
	waitState(tab, "expired")
	tab.Advance(5 * time.Second)
	tab.WaitText("Your payment of CN¥899.00 will be paid back.")
}

// The button then reads the sale, and orders nothing.
func TestASaleThatCouldNotBeReadIsReadAgainByThePress(t *testing.T) {
	for state, refused := range map[string]browser.Answer{
		"other": browser.Problem(451, "not-in-this-country", ""), "stuck": browser.Problem(503, "busy", ""),
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			tab := shop.tab(t, newID("user"))
			tab.Clock(0)
			var pressed atomic.Bool
			answers(tab, func() browser.Answer {
				if pressed.Load() {
					return saleIs("OPEN", -time.Hour, "")
				}
				return refused
			}, noOrder, nil)
			tab.Open(shop.page(newID("sale")))
			for range 60 {
				if browser.Eval[string](tab, "document.querySelector('main').dataset.state") == state {
					break
				}
				tab.Advance(10 * time.Second)
				time.Sleep(20 * time.Millisecond)
			}
			waitState(tab, state)
			tab.WaitText("Try again")
			pressed.Store(true)
			tab.Click(button)
			passTime(t, tab, "open")
			wantKeys(t, tab)
		})
	}
}

func TestAShopWithoutASignInSaysThatNobodyCanOrder(t *testing.T) {
	const nobody = "You cannot order on this page: the shop has not set up sign-in for it."
	const press = "Press once. If the shop is busy, this page keeps trying for you. You get at most one unit."
	for name, tt := range map[string]struct {
		without, signedIn bool
		detail, button    string
	}{
		"signed out":                           {false, false, "Sign in now, so that you can order without delay.", "Sign in"},
		"signed in":                            {false, true, press, "Order one"},
		"signed out, and without a sign-in":    {true, false, nobody, ""},
		"signed in before it was switched off": {true, true, press, "Order one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			saleID, tab := shop.create(t, sale{}), chromium.Tab(t)
			if tt.signedIn {
				shop.signIn(t, tab, newID("user"))
			}
			tab.Intercept(func(r browser.Request) browser.Answer {
				if !tt.without || r.Path != "/s/"+saleID {
					return browser.Answer{}
				}
				a, err := shop.Send(t.Context(), http.MethodGet, r.Path, "")
				if err != nil {
					t.Error(err)
				}
				return browser.Answer{Status: 200, Header: map[string]string{"Content-Type": "text/html"},
					Body: regexp.MustCompile(`data-authorize="[^"]*"`).ReplaceAllString(string(a.Body), `data-authorize=""`)}
			})
			tab.Open(shop.page(saleID))
			waitState(tab, "open")
			if detail, label := tab.Text("#detail"), tab.Text(button); detail != tt.detail || label != tt.button {
				t.Errorf("the page says %q, and %q on its button, want %q and %q", detail, label, tt.detail, tt.button)
			}
			if leave := tab.Text("#leave") != ""; leave != tt.signedIn {
				t.Errorf("the buyer can sign out: %t, want %t", leave, tt.signedIn)
			}
		})
	}
}

// A sale may be put off after an order, whose time to pay is the shop's, also after a sleep in which the
// page's clock stood still.
func clockOfAnUnpaidOrder(t testing.TB, tab *browser.Tab) {
	saleID := newID("sale")
	shop.signIn(t, tab, newID("user"))
	tab.Clock(0)
	var putOff atomic.Bool
	payBy := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	answers(tab, func() browser.Answer {
		if putOff.Load() {
			return saleIs("NOT_OPEN", 5*time.Hour, `,"payWithin":1800`)
		}
		return saleIs("OPEN", -time.Hour, `,"payWithin":1800`)
	}, func() browser.Answer {
		return browser.Answer{Status: 200, Body: fmt.Sprintf(`{"claimId":"C","state":"CONFIRMED","orderId":"1","payBy":%q}`, payBy)}
	}, nil)
	tab.Open(shop.page(saleID))
	waitState(tab, "unpaid")
	putOff.Store(true)
	tab.Sleep(10 * time.Minute)
	tab.Wait("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/sales/" + saleID + "')).length === 2")
	tab.WaitText("Opens ")
	tab.Advance(2 * time.Second)
	if shown := tab.Text("#countdown"); !strings.HasPrefix(shown, "00:") {
		t.Errorf("the countdown says %s, want less than an hour", shown)
	}
}

// By the page's own measure of the shop's clock: an answer's way takes its time, too.
func TestTheSaleOpensOnTheSecond(t *testing.T) {
	t.Parallel()
	const left = 5500 * time.Millisecond
	tab := shop.tab(t, newID("user"))
	tab.Clock(0)
	tab.Before(`const real = fetch; window.fetch = async (...a) => { const r = await real(...a); window.received ??= performance.now(); return r; }`)
	for range 3 { // a page that looks only once a second is late by another part of it each time
		answers(tab, func() browser.Answer { return saleIs("NOT_OPEN", left, `,"remaining":1`) }, nil, nil)
		tab.Open(shop.page(newID("sale")))
		waitState(tab, "notOpen")
		late := browser.Eval[float64](tab, fmt.Sprintf(`(() => {
			while (main.dataset.state === "notOpen") clock.advance(10);
			return performance.now() - received - %d;
		})()`, left.Milliseconds()))
		if late < -50 || late > 150 {
			t.Errorf("the sale opens %v ms late", late)
		}
	}
}

func TestABrokenStorageIsNoSignIn(t *testing.T) {
	t.Parallel()
	saleID := shop.create(t, sale{})
	for _, stored := range []string{"7", "null", `"x"`, "{", "[]"} {
		tab := chromium.Tab(t)
		tab.Before(fmt.Sprintf("sessionStorage.token = %q", stored))
		tab.Open(shop.page(saleID))
		waitState(tab, "open")
		tab.WaitText("Sign in now")
	}
}

// What the provider answers is a sign-in only if it is what this tab has asked for.
func TestASignInIsTheProvidersAnswerToThisTab(t *testing.T) {
	tokens := func(nonce, more string) string {
		return fmt.Sprintf(`{"id_token":"h.%s.s"%s}`, base64.RawURLEncoding.EncodeToString([]byte(`{"nonce":"`+nonce+`"}`)), more)
	}
	const access = `,"access_token":"A"`
	for name, tt := range map[string]struct {
		status  int
		body    string
		seconds float64 // how long it lasts; 0 if there is none
	}{
		"for an hour":             {200, tokens("N", access+`,"expires_in":3600`), 3600},
		"for an unknown time":     {200, tokens("N", access), 300},
		"with another nonce":      {200, tokens("M", access), 0},
		"without an access token": {200, tokens("N", ""), 0},
		"refused":                 {400, tokens("N", access), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			saleID, tab := shop.create(t, sale{}), chromium.Tab(t)
			tab.Before(fmt.Sprintf(`sessionStorage.signin ??= JSON.stringify({state: "S", nonce: "N", verifier: "V", sale: %q})`, saleID))
			tab.Intercept(func(r browser.Request) browser.Answer {
				switch {
				case r.Method == http.MethodPost:
					return browser.Answer{Status: tt.status, Body: tt.body}
				case strings.HasSuffix(r.Path, "/me"):
					return noOrder()
				}
				return browser.Answer{}
			})
			tab.Open(shop.Stack.API + "/signin?code=C&state=S")
			if tt.seconds == 0 {
				tab.WaitText("You are not signed in.")
				if is := browser.Eval[bool](tab, "'token' in sessionStorage"); is {
					t.Error("the tab has a token")
				}
				return
			}
			waitState(tab, "open")
			left := browser.Eval[float64](tab, "(JSON.parse(sessionStorage.token).expires - Date.now()) / 1000")
			if left > tt.seconds || left < tt.seconds-60 {
				t.Errorf("the sign-in lasts for another %v s, want %v", left, tt.seconds)
			}
		})
	}
}

// Only a refused sign-in ends the looks at an order.
func TestALookAtAnOrderMayFail(t *testing.T) {
	for says, failed := range map[string]browser.Answer{
		"Your order is confirmed.":  browser.Problem(503, "busy", "1"),
		"You have been signed out.": browser.Problem(401, "unauthorized", ""),
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			tab := shop.tab(t, newID("user"))
			tab.Clock(0)
			var looks atomic.Int64
			answers(tab, func() browser.Answer { return saleIs("OPEN", -time.Hour, "") }, func() browser.Answer {
				switch looks.Add(1) {
				case 1:
					return noOrder()
				case 2:
					return failed
				}
				return browser.Answer{Status: 200, Body: `{"claimId":"C","state":"CONFIRMED","orderId":"1"}`}
			}, func() browser.Answer { return browser.Answer{Status: 202, Body: `{"claimId":"C","state":"PENDING"}`} })
			tab.Open(shop.page(newID("sale")))
			waitState(tab, "open")
			tab.Click(button)
			waitState(tab, "accepted")
			for range 100 {
				if strings.Contains(browser.Eval[string](tab, "document.body.innerText"), says) {
					return
				}
				tab.Advance(time.Second)
				time.Sleep(20 * time.Millisecond)
			}
			t.Errorf("after %d looks the page does not say %q", looks.Load(), says)
		})
	}
}
