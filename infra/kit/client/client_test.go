package client

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRetryAfterIsWholeSecondsOrThereIsNone(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "2": 2 * time.Second, "": -1, "-1": -1, "1.5": -1, "99999": -1, "99999999999999999999": -1, "Wed, 21 Oct 2026 07:28:00 GMT": -1} {
		if got := Read(503, http.Header{"Retry-After": {text}}, nil).RetryAfter; got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	s := httptest.NewServer(http.RedirectHandler("http://192.0.2.1/", http.StatusTemporaryRedirect))
	defer s.Close()
	a, err := New(s.URL, Options{}).Buy(t.Context(), "s", "t", "")
	if err != nil || a.Status != http.StatusTemporaryRedirect {
		t.Errorf("%v, %v; want the redirect itself", a, err)
	}
}

func TestAReceiptIsRequestedBySaleAndChecked(t *testing.T) {
	const balanced = `{"receipts":[{"saleId":"s","seeded":1,"stock":0,"claims":1,"pending":0,"balanced":true,"findings":[]}]}`
	answer := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/2015-03-31/functions/ReconcileFunction/invocations" || string(body) != `{"saleId":"s"}` {
			t.Errorf("%s got %s, %v", r.URL, body, err)
		}
		fmt.Fprint(w, answer)
	}))
	defer s.Close()
	for _, tt := range []struct{ name, answer, want string }{
		{"a balanced one", balanced, ""},
		{"an unbalanced one", strings.Replace(balanced, "true", "false", 1), "do not balance"},
		{"with a pending order", strings.Replace(balanced, `"pending":0`, `"pending":1`, 1), "1 pending"},
		{"of another sale", strings.Replace(balanced, `"s"`, `"other"`, 1), "answered with"},
		{"none", `{"receipts":[]}`, "answered with 0"},
		{"not JSON", `no`, "answer"},
	} {
		answer = tt.answer
		words, err := New("", Options{Lambda: s.URL}).Receipt(t.Context(), "s")
		if tt.want == "" && (err != nil || words != "1 seeded = 0 left + 1 claims") {
			t.Errorf("%s: %q, %v", tt.name, words, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %q, %v, want an error with %q", tt.name, words, err, tt.want)
		}
	}
}

func TestAnAddressIsCheckedWithoutAskingDNS(t *testing.T) {
	for address, here := range map[string]bool{
		"http://127.0.0.1:3000": true, "http://127.7.7.7": true, "http://localhost:3000": true, "http://[::1]:80": true,
		"http://192.0.2.1": false, "https://abc.execute-api.eu-west-1.amazonaws.com": false,
		"http://localhost.example.com": false, "http://0.0.0.0:3000": false, "http://127.0.0.1.example.com": false,
	} {
		if u, err := CheckAddress(address); err != nil || Loopback(u.Hostname()) != here {
			t.Errorf("%s: %v, %v; on this machine: %v", address, u, err, here)
		}
	}
	for _, address := range []string{"", "127.0.0.1:3000", "ftp://127.0.0.1", "http://", "http://u:p@127.0.0.1", "http://127.0.0.1?x=1", "http://127.0.0.1/#x", "http://%zz"} {
		if _, err := CheckAddress(address); err == nil {
			t.Errorf("%q: no error", address)
		}
	}
}

func TestAnswersAreJudged(t *testing.T) {
	pending, unnumbered := Claim{ClaimID: "c", SaleID: "s", State: "PENDING"}, Claim{ClaimID: "c", SaleID: "s", State: "CONFIRMED"}
	elsewhere := Claim{ClaimID: "c", SaleID: "other", State: "PENDING"}
	numbered := func(state string) Claim { return Claim{ClaimID: "c", SaleID: "s", State: state, OrderID: "1"} }
	for _, tt := range []struct {
		name         string
		a            Answer
		bought, read Outcome // as the answer to a purchase and to a poll
	}{
		{"an acceptance", Answer{Status: 202, Claim: pending}, Accepted, Wrong},
		{"an acceptance of another sale", Answer{Status: 202, Claim: elsewhere}, Wrong, Wrong},
		{"an acceptance without a claim", Answer{Status: 202}, Wrong, Wrong},
		{"sold out", Answer{Status: 409, Code: "sold-out"}, SoldOut, Wrong},
		{"already ordered", Answer{Status: 409, Code: "already-ordered", Claim: pending}, AlreadyOrdered, Wrong},
		{"already ordered in another sale of the group", Answer{Status: 409, Code: "already-ordered", Claim: Claim{SaleID: "other"}}, AlreadyOrdered, Wrong},
		{"already ordered, with this sale instead of the claim", Answer{Status: 409, Code: "already-ordered", Claim: Claim{SaleID: "s"}}, Wrong, Wrong},
		{"already ordered without the claim", Answer{Status: 409, Code: "already-ordered"}, Wrong, Wrong},
		{"already ordered in another sale", Answer{Status: 409, Code: "already-ordered", Claim: elsewhere}, Wrong, Wrong},
		{"already ordered and confirmed without an order id", Answer{Status: 409, Code: "already-ordered", Claim: unnumbered}, Wrong, Wrong},
		{"confirmed", Answer{Status: 200, Claim: numbered("CONFIRMED")}, Wrong, Confirmed},
		{"a later version's state", Answer{Status: 200, Claim: numbered("SHIPPED")}, Wrong, Confirmed},
		{"confirmed without an order id", Answer{Status: 200, Claim: unnumbered}, Wrong, Wrong},
		{"pending", Answer{Status: 200, Claim: pending}, Wrong, Pending},
		{"no order", Answer{Status: 404, Code: "order-not-found"}, Wrong, NoOrder},
		{"no such route", Answer{Status: 404}, Wrong, Wrong},
		{"busy", Answer{Status: 503, Code: "busy"}, Busy, Busy},
		{"a later version's code", Answer{Status: 503, Code: "resting"}, "later:resting", Wrong},
		{"paused", Answer{Status: 503, Code: "sale-paused"}, "sale-paused", "sale-paused"},
		{"throttled by API Gateway", Answer{Status: 429}, Throttled, Throttled},
		{"too many requests of one user", Answer{Status: 429, Code: "too-many-requests"}, "too-many-requests", "too-many-requests"},
		{"an expired token", Answer{Status: 401}, Unauthorized, Unauthorized},
		{"API Gateway's 500", Answer{Status: 500}, Failed, Failed},
		{"internal", Answer{Status: 500, Code: "internal"}, Wrong, Wrong},
		{"an unknown code", Answer{Status: 409, Code: "phantom"}, Wrong, Wrong},
		{"a status that the contract does not have", Answer{Status: 200}, Wrong, Wrong},
	} {
		passes := func(o Outcome) bool {
			return o == Busy || o == Throttled || o == Failed || o == Pending || o == "sale-paused" || o == "too-many-requests" || o == "later:resting"
		}
		if got, final := JudgePurchase("s", tt.a); got != tt.bought || final == passes(got) {
			t.Errorf("%s, of a purchase: %s, final %v; want %s", tt.name, got, final, tt.bought)
		}
		if got, final := JudgePoll("s", tt.a); got != tt.read || final == passes(got) {
			t.Errorf("%s, of a poll: %s, final %v; want %s", tt.name, got, final, tt.read)
		}
	}
}
