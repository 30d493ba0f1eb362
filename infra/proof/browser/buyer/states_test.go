package buyer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// examine looks at the page in a state: it has a line for the state and no barriers, and fits into
// 320 pixels.
func examine(t testing.TB, tab *browser.Tab, state, says string) {
	t.Helper()
	waitState(tab, state)
	tab.HasText(line, says, "%s: the page says", state)
	title := browser.Eval[string](tab, "document.title")
	browser.Check(t, title != "", "%s: the page has no title", state)
	tab.Axe()
	tab.Size(320, 700)
	wide := browser.Eval[int](tab, "document.documentElement.scrollWidth")
	browser.Check(t, wide <= 320, "%s: the page is %d pixels wide, want at most 320", state, wide)
	tab.Size(800, 900)
}

// states are those that have been examined.
type states map[string]bool

// examine examines a state once, and only reads its line after that.
func (s states) examine(t *testing.T, tab *browser.Tab, state, says string) {
	t.Helper()
	if !s[state] {
		s[state] = true
		examine(t, tab, state, says)
		return
	}
	waitState(tab, state)
	tab.HasText(line, says, "%s: the page says", state)
}

// saleIn is the answer to a read of the sale: in that state, and open for two hours from so long after now.
func saleIn(state string, opens time.Duration, more string) browser.Answer {
	now := time.Now()
	return browser.Answer{Status: 200, Body: fmt.Sprintf(`{"name":"Trail Runner","state":%q,"opensAt":%q,"closesAt":%q,"now":%q,"remaining":120,"seeded":300%s}`,
		state, instant(now.Add(opens)), instant(now.Add(opens+2*time.Hour)), instant(now), more)}
}

func TestEveryAnswerHasItsLine(t *testing.T) {
	t.Parallel()
	saleID, seen := shop.create(t, sale{}), states{}
	in, out := shop.tab(t, newID("user")), shop.tab(t, "")
	claim := func(state string) browser.Answer {
		return browser.Answer{Status: 202, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"claimId":"C","saleId":"s","state":"` + state + `"}`}
	}
	refund := func(state, more string) browser.Answer { // of an order that is paid
		return claim(`PAID","refund":{"payment":"stripe#pi_1","state":"` + state + `","amount":89900,"currency":"CNY"` + more + `},"orderId":"1`)
	}
	for name, tt := range map[string]struct {
		answer      browser.Answer // to the order, or to a read of the sale
		state, says string
		shows       string
	}{
		"busy":                   {browser.Problem(503, "busy", "2"), "busy", "The shop is busy. This page tries again by itself …", "You need not do anything."},
		"too many requests":      {browser.Problem(429, "too-many-requests", "2"), "busy", "The shop is busy. This page tries again by itself …", ""},
		"throttled":              {browser.Answer{Status: 429, Body: `{"message":"Too Many Requests"}`}, "busy", "The shop is busy. This page tries again by itself …", ""},
		"a bad gateway":          {browser.Answer{Status: 502, Body: "<html>"}, "busy", "The shop is busy. This page tries again by itself …", ""},
		"not eligible":           {browser.Problem(403, "not-eligible", ""), "notEligible", "The shop does not let this account buy in this sale.", ""},
		"a sub that is no user":  {browser.Problem(400, "invalid-request", ""), "unfit", "This account cannot be used here: its sign-in gives it an id that the shop does not take.", ""},
		"forbidden":              {browser.Answer{Status: 403, Body: `{"message":"Forbidden"}`}, "forbidden", "The shop does not allow this.", ""},
		"sold out":               {browser.Problem(409, "sold-out", ""), "soldOut", "Sorry, it sold out before your order came in.", "Every unit has found a buyer."},
		"sold out for now":       {browser.Answer{Status: 409, Body: `{"code":"sold-out","mayReturn":true}`}, "soldOut", "Sorry, it sold out before your order came in.", "If somebody does not pay in time, their unit comes back on sale here."},
		"ordered and expired":    {browser.Answer{Status: 409, Body: `{"code":"already-ordered","claim":{"claimId":"C","state":"EXPIRED","orderId":"1"}}`}, "expired", "Not paid in time. It is no longer kept for you.", ""},
		"put off":                {browser.Problem(409, "sale-not-open", "3600"), "notOpen", "The sale has not opened yet. It opens in:", ""},
		"recalled":               {browser.Problem(410, "recalled", ""), "recalled", "The shop has recalled this sale.", ""},
		"sale closed":            {browser.Problem(410, "sale-closed", ""), "closed", "The sale is over.", ""},
		"a failure to come":      {browser.Problem(503, "on-fire", "2"), "busy", "The shop is busy. This page tries again by itself …", ""},
		"a limit to come":        {browser.Problem(429, "slow-down", "2"), "busy", "The shop is busy. This page tries again by itself …", ""},
		"a code to come":         {browser.Problem(402, "payment-required", ""), "other", "The shop gave an answer that this page does not understand: payment-required", "Try again"},
		"a status to come":       {browser.Answer{Status: 418, Body: "I'm a teapot"}, "other", "The shop gave an answer that this page does not understand: HTTP 418", ""},
		"paid":                   {claim("PAID"), "paid", "Paid. It’s yours!", ""},
		"paid, a part is back":   {refund("part", `,"back":39900`), "paid", "Paid. It’s yours!", "399.00 of your payment of "},
		"paid and paid back":     {refund("whole", `,"back":89900,"refundedAt":"2026-11-11T12:00:00Z"`), "unsettled", "Your order is paid.", "899.00 was paid back on November 11, 2026."},
		"paid, a refund failed":  {refund("failed", ""), "unsettled", "Your order is paid.", "could not be paid back yet."},
		"paid, a refund stuck":   {refund("stuck", ""), "unsettled", "Your order is paid.", "could not be paid back yet."},
		"paid and disputed":      {refund("disputed", ""), "unsettled", "Your order is paid.", "is disputed with your bank."},
		"paid, a dispute lost":   {refund("lost", ""), "unsettled", "Your order is paid.", "was paid back by your bank."},
		"expired":                {claim("EXPIRED"), "expired", "Not paid in time. It is no longer kept for you.", "A payment that arrives now is paid back."},
		"cancelled":              {claim("CANCELLED"), "cancelled", "Your order was cancelled.", "You cannot order again in this sale."},
		"a state to come":        {claim("AWAITING_PAYMENT"), "held", "You have an order in this sale. Its state is AWAITING_PAYMENT.", ""},
		"already without claim":  {browser.Problem(409, "already-ordered", ""), "accepted", "It’s yours!", "You have already ordered in this sale."},
		"a code with markup":     {browser.Problem(400, "<img src=x onerror=alert(1)>", ""), "other", "The shop gave an answer that this page does not understand: <img src=x onerror=alert(1)>", ""},
		"success without a body": {browser.Answer{Status: 202, Body: "null"}, "other", "The shop gave an answer that this page does not understand: HTTP 202", "Try again"},
		"success with a number":  {browser.Answer{Status: 202, Body: "7"}, "other", "The shop gave an answer that this page does not understand: HTTP 202", "Try again"},
		"paused":                 {browser.Problem(409, "sale-paused", "60"), "pausedBusy", "The sale is paused. This page tries again by itself …", "You need not do anything."},
		"a sale, unknown":        {browser.Problem(404, "sale-not-found", ""), "unknown", "There is no such sale.", ""},
		"a sale, not open":       {saleIn("NOT_OPEN", 49*time.Hour, ""), "notOpen", "The sale has not opened yet. It opens in:", "120 units for sale"},
		"a sale, not open, out":  {saleIn("NOT_OPEN", 49*time.Hour, ""), "notOpen", "The sale has not opened yet. It opens in:", "Sign in now"},
		"a sale, open":           {saleIn("OPEN", -time.Hour, ""), "open", "The sale is open.", "Order one"},
		"a sale, open, out":      {saleIn("OPEN", -time.Hour, ""), "open", "The sale is open.", "Sign in now"},
		"a sale, paused":         {saleIn("PAUSED", -time.Hour, ""), "paused", "The sale is paused.", "Order one"},
		"a sale, sold out":       {saleIn("SOLD_OUT", -time.Hour, ""), "soldOut", "Sold out.", "Every unit has found a buyer."},
		"a sale, sold out, out":  {saleIn("SOLD_OUT", -time.Hour, ""), "soldOut", "If you have ordered, sign in to see it.\nSold out.", "Every unit has found a buyer."},
		"a sale, closed":         {saleIn("CLOSED", -3*time.Hour, ""), "closed", "The sale is over.", ""},
		"a sale, recalled, out":  {saleIn("RECALLED", -time.Hour, ""), "recalled", "If you have ordered, sign in to see it.\nThe shop has recalled this sale.", ""},
		"a sale, busy":           {browser.Problem(503, "busy", "5"), "busy", "The shop is busy. This page tries again by itself …", ""},
		"a sale, no answer":      {browser.Answer{Refused: true}, "busy", "The shop is busy. This page tries again by itself …", ""},
		"a sale, refused":        {browser.Problem(451, "not-in-this-country", ""), "other", "The shop gave an answer that this page does not understand: not-in-this-country", "Try again"},
		"a sale, not JSON":       {browser.Answer{Status: 200, Body: "<html>"}, "other", "The shop gave an answer that this page does not understand: HTTP 200", "Try again"},
		"a sale in a new state":  {browser.Answer{Status: 200, Body: `{"name":"S","state":"DRAWING_LOTS","opensAt":"x","closesAt":7,"now":null}`}, "otherState", "The shop says about this sale: DRAWING_LOTS", "Order one"},
		"success without state":  {browser.Answer{Status: 202, Body: "{}"}, "accepted", "It’s yours!", "You may leave this page"},
	} {
		t.Run(name, func(t *testing.T) {
			ofSale, tab := strings.HasPrefix(name, "a sale"), in
			if strings.HasSuffix(name, ", out") {
				tab = out
			}
			tab.Intercept(func(r browser.Request) browser.Answer {
				if r.Method == http.MethodPost || ofSale && r.Path == "/sales/"+saleID {
					return tt.answer
				}
				return browser.Answer{}
			})
			if ofSale {
				tab.Open(shop.page(saleID))
			} else {
				order(tab, saleID)
			}
			seen.examine(t, tab, tt.state, tt.says)
			tab.WaitText(tt.shows)
		})
	}
	in.Open(shop.page("de%23mo")) // no id
	waitState(in, "unknown")
}

func TestASalesNameIsTextOfAnyScriptAndLength(t *testing.T) {
	t.Parallel()
	tab, saleID := shop.tab(t, newID("user")), shop.create(t, sale{})
	for _, text := range []string{
		strings.Repeat("W", 200), strings.Repeat("限时抢购", 50), strings.Repeat("تخفيضات ", 24) + "!", strings.Repeat("ẍ̶̧", 20) + "👩🏽 ﷽",
		`<img src="/x" onerror="alert(1)"></h1><script>alert(2)</script>&amp;{{.SaleID}}`,
	} {
		shows(tab, saleID, "OPEN", fmt.Sprintf(`,"name":%q`, text))
		tab.Size(800, 1400) // on a lower screen the button covers what is below it
		tab.Open(shop.page(saleID))
		examine(t, tab, "open", "The sale is open.")
		shown := browser.Eval[[]string](tab, "[document.querySelector('h1').textContent, document.title, String(document.querySelectorAll('img, main script').length)]")
		browser.Check(t, shown[0] == text && strings.TrimSpace(shown[1]) == strings.TrimSpace(text) && shown[2] == "0", "shown as %q, want %q", shown, text)
	}
}
