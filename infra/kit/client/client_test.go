package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAnAnswersCodeAndClaimAreRead(t *testing.T) {
	held := Claim{ClaimID: "c", SaleID: "s", State: "PENDING"}
	const claim = `{"claimId":"c","saleId":"s","state":"PENDING","acceptedAt":"2026-01-01T00:00:05.000Z"}`
	for _, tt := range []struct {
		name, body, code string
		claim            Claim
	}{
		{"an acceptance", claim, "", held},
		{"a problem with the claim inside", `{"code":"already-ordered","claim":` + claim + `}`, "already-ordered", held},
		{"a problem without one", `{"code":"sold-out"}`, "sold-out", Claim{}},
		{"a function that died", `{"message":"Internal Server Error"}`, "", Claim{}},
		{"a claim of another shape", `{"claimId":1,"code":"x"}`, "", Claim{}},
		{"a list", `[{"claimId":7}]`, "", Claim{}},
		{"cut off", `{"message":`, "", Claim{}},
		{"not JSON", "<html>\n" + strings.Repeat("a long page\n", 99), "", Claim{}},
	} {
		a := Read(200, nil, []byte(tt.body))
		if a.Code != tt.code || a.Claim != tt.claim || a.RetryAfter >= 0 || string(a.Body) != tt.body {
			t.Errorf("%s: got %q, %+v, %v", tt.name, a.Code, a.Claim, a.RetryAfter)
		}
		if line := a.String(); len(line) > 200 || strings.Contains(line, "\n") {
			t.Errorf("%s: %q is not one short line", tt.name, line)
		}
	}
}

func TestRetryAfterIsWholeSecondsOrThereIsNone(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "2": 2 * time.Second, "": -1, "-1": -1, "1.5": -1, "99999": -1, "99999999999999999999": -1, "Wed, 21 Oct 2026 07:28:00 GMT": -1} {
		if got := Read(503, http.Header{"Retry-After": {text}}, nil).RetryAfter; got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// asked is the last request that a server received.
type asked struct {
	mu     sync.Mutex
	method string
	url    string
	header http.Header
	body   string
}

// server answers every request in the same way and keeps the last one.
func server(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) (address string, last *asked) {
	t.Helper()
	last = &asked{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		last.mu.Lock()
		defer last.mu.Unlock()
		last.method, last.url, last.header, last.body = r.Method, r.URL.String(), r.Header, string(body)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, last
}

func TestWhatABuyerSends(t *testing.T) {
	address, last := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/here")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"claimId":"c"}`)
	})
	c := New(address+"/", Options{})
	defer c.Close()
	for _, tt := range []struct {
		name, method, url, authorization string
		key                              []string
		send                             func(context.Context) (Answer, error)
	}{
		{"a purchase", "POST", "/sales/s/orders", "Bearer tok", []string{"k1"}, func(ctx context.Context) (Answer, error) { return c.Buy(ctx, "s", "tok", "k1") }},
		{"a purchase without a key", "POST", "/sales/s/orders", "Bearer tok", nil, func(ctx context.Context) (Answer, error) { return c.Buy(ctx, "s", "tok", "") }},
		{"a purchase without a token", "POST", "/sales/a%2Fb/orders", "", nil, func(ctx context.Context) (Answer, error) { return c.Buy(ctx, "a/b", "", "") }},
		{"their own claim", "GET", "/sales/s/orders/me", "Bearer tok", nil, func(ctx context.Context) (Answer, error) { return c.Mine(ctx, "s", "tok") }},
		{"a cancellation", "DELETE", "/sales/s/orders/me", "Bearer tok", nil, func(ctx context.Context) (Answer, error) { return c.Cancel(ctx, "s", "tok") }},
		{"an order", "GET", "/orders/7", "Bearer tok", nil, func(ctx context.Context) (Answer, error) { return c.Order(ctx, "7", "tok") }},
		{"a sale", "GET", "/sales/s", "", nil, func(ctx context.Context) (Answer, error) { return c.Sale(ctx, "s") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := tt.send(t.Context())
			if err != nil || a.Status != http.StatusAccepted || a.Claim.ClaimID != "c" || a.Header.Get("Location") != "/here" {
				t.Errorf("%v %v, %v", a, a.Header, err)
			}
			if last.method != tt.method || last.url != tt.url || last.header.Get("Authorization") != tt.authorization ||
				!slices.Equal(last.header["Idempotency-Key"], tt.key) || last.body != "" || last.header.Get("Content-Type") != "" {
				t.Errorf("%s %s %v %q", last.method, last.url, last.header, last.body)
			}
		})
	}
}

func TestARequestIsMadeOnce(t *testing.T) {
	requests := 0
	address, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"code":"busy"}`)
	})
	c := New(address, Options{Lambda: address})
	if a, err := c.Buy(t.Context(), "s", "t", "k"); err != nil || a.Code != "busy" || a.RetryAfter != time.Second || requests != 1 {
		t.Errorf("%v, %v after %d requests", a, err, requests)
	}
	if err := c.Ask(t.Context(), SeedFunction, 1, nil); err == nil || !strings.Contains(err.Error(), "503") || requests != 2 {
		t.Errorf("%v after %d requests", err, requests)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	address, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/", http.StatusTemporaryRedirect)
	})
	a, err := New(address, Options{}).Buy(t.Context(), "s", "t", "")
	if err != nil || a.Status != http.StatusTemporaryRedirect {
		t.Errorf("%v, %v; want the redirect itself", a, err)
	}
}

// refusing is a transport that fails every request.
type refusing struct{ err error }

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

func TestEveryRequestGoesThroughTheTransport(t *testing.T) {
	guard := errors.New("not there")
	c := New("http://192.0.2.1", Options{Lambda: "http://192.0.2.2", Transport: refusing{guard}})
	_, bought := c.Buy(t.Context(), "s", "t", "")
	_, token := c.Token(t.Context(), "u")
	_, found := Find(t.Context(), "http://192.0.2.1", Options{Transport: refusing{guard}})
	for _, err := range []error{bought, token, found, c.Ask(t.Context(), SeedFunction, 1, nil)} {
		if !errors.Is(err, guard) {
			t.Errorf("%v, want %v", err, guard)
		}
	}
}

func TestARequestThatTakesTooLongEnds(t *testing.T) {
	over := make(chan struct{})
	address, _ := server(t, func(http.ResponseWriter, *http.Request) { <-over })
	defer close(over)
	if _, err := New(address, Options{Timeout: time.Millisecond}).Sale(t.Context(), "s"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want %v", err, context.DeadlineExceeded)
	}
}

func TestTokensAreAskedForByUser(t *testing.T) {
	address, last := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch user := r.FormValue("sub"); user {
		case "none":
		case "refused":
			http.Error(w, "no", http.StatusBadRequest)
		case "page":
			fmt.Fprint(w, "hello, world")
		default:
			fmt.Fprintf(w, "t.%d.%s\n", len(user), r.FormValue("ttl"))
		}
	})
	c := New(address, Options{})
	if token, err := c.Token(t.Context(), "a b&c"); err != nil || token != "t.5.86400" || last.url != "/_local/token?sub=a+b%26c&ttl=86400" {
		t.Errorf("token %q, %v, for %q", token, err, last.url)
	}
	if token, err := c.Token(t.Context(), "a", "ttl", "-60", "scope", "x"); err != nil || token != "t.1.-60" || !strings.Contains(last.url, "scope=x") {
		t.Errorf("token %q, %v, for %q", token, err, last.url)
	}
	for _, user := range []string{"none", "refused", "page"} {
		if token, err := c.Token(t.Context(), user); err == nil {
			t.Errorf("%s: token %q", user, token)
		}
	}
	var mu sync.Mutex
	n := 0
	one := func() { mu.Lock(); n++; mu.Unlock() }
	users := make([]string, 100)
	want := make([]string, len(users))
	for i := range users {
		users[i] = strings.Repeat("u", i+1)
		want[i] = fmt.Sprintf("t.%d.86400", i+1)
	}
	if got, err := c.Tokens(t.Context(), users, one); err != nil || !slices.Equal(got, want) || n != len(users) {
		t.Errorf("%d tokens %q, %v", n, got, err)
	}
	if got, err := c.Tokens(t.Context(), append(users, "refused"), one); err == nil {
		t.Errorf("a token is missing, but there was no error: %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Tokens(ctx, users, one); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

func TestASaleIsMadeThroughTheInvokeAPI(t *testing.T) {
	answer := `{"saleId":"s","seeded":3,"shards":2,"applied":true}`
	address, last := server(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
	c := New("http://127.0.0.1:1", Options{Lambda: address})
	opens := time.Date(2026, 11, 11, 12, 0, 0, 500_000_000, time.UTC)
	s := Sale{ID: "s", Name: "S", OpensAt: opens, ClosesAt: opens.Add(time.Hour), Stock: 3, Shards: 2}
	if err := c.Seed(t.Context(), s); err != nil || last.url != "/2015-03-31/functions/SeedFunction/invocations" || last.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v, requested at %s", err, last.url)
	}
	var got map[string]any
	want := map[string]any{
		"action": "create", "saleId": "s", "name": "S", "stock": 3.0, "shards": 2.0,
		"opensAt": "2026-11-11T12:00:00.5Z", "closesAt": "2026-11-11T13:00:00.5Z",
	}
	if err := json.Unmarshal([]byte(last.body), &got); err != nil || !cmp.Equal(want, got) {
		t.Errorf("SeedFunction got (-want +got):\n%s%v", cmp.Diff(want, got), err)
	}
	for _, other := range []Sale{{ID: "x", Stock: 3, Shards: 2}, {ID: "s", Stock: 4, Shards: 2}, {ID: "s", Stock: 3, Shards: 1}} {
		if err := c.Seed(t.Context(), other); err == nil {
			t.Errorf("%s was accepted for %+v", answer, other)
		}
	}
	answer = "not JSON"
	if err := c.Seed(t.Context(), s); err == nil {
		t.Error("no error")
	}
}

func TestAFunctionsOwnErrorIsARefusal(t *testing.T) {
	body := `{"errorType":"invalid-request","errorMessage":"invalid-request: stock"}`
	address, last := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(FunctionError, "Unhandled")
		fmt.Fprint(w, body)
	})
	c := New(address, Options{Lambda: address})
	var refusal *Refusal
	if err := c.Seed(t.Context(), Sale{ID: "s"}); !errors.As(err, &refusal) || refusal.Code != "invalid-request" || !strings.Contains(err.Error(), "stock") {
		t.Errorf("%v, want the function's message", err)
	}
	body = "killed"
	if err := c.Ask(t.Context(), ReconcileFunction, 1, nil); !errors.As(err, &refusal) || refusal.Detail != "killed" || refusal.Function != ReconcileFunction {
		t.Errorf("%v, want the function's message", err)
	}
	if a, err := c.Invoke(t.Context(), "Other", []byte("{}"), "X-Amz-Log-Type", "Tail"); err != nil || a.Header.Get(FunctionError) == "" || last.header.Get("X-Amz-Log-Type") != "Tail" {
		t.Errorf("%v %v, %v", a, a.Header, err)
	}
	if err := New(address, Options{}).Ask(t.Context(), SeedFunction, 1, nil); !errors.Is(err, ErrNoFunctions) {
		t.Errorf("%v, want %v", err, ErrNoFunctions)
	}
}

func TestAReceiptIsRequestedBySaleAndChecked(t *testing.T) {
	const balanced = `{"receipts":[{"saleId":"s","seeded":1,"stock":0,"claims":1,"pending":0,"balanced":true,"findings":[]}]}`
	for _, tt := range []struct{ name, answer, want string }{
		{"a balanced one", balanced, ""},
		{"an unbalanced one", strings.Replace(balanced, "true", "false", 1), "do not balance"},
		{"with a pending order", strings.Replace(balanced, `"pending":0`, `"pending":1`, 1), "1 pending"},
		{"of another sale", strings.Replace(balanced, `"s"`, `"other"`, 1), "answered with"},
		{"none", `{"receipts":[]}`, "answered with 0"},
		{"not JSON", `no`, "answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			address, last := server(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tt.answer) })
			words, err := New("", Options{Lambda: address}).Receipt(t.Context(), "s")
			if last.url != "/2015-03-31/functions/ReconcileFunction/invocations" || last.body != `{"saleId":"s"}` {
				t.Errorf("%s got %s", last.url, last.body)
			}
			if tt.want == "" && (err != nil || words != "1 seeded = 0 left + 1 claims") {
				t.Errorf("%q, %v", words, err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%q, %v, want an error with %q", words, err, tt.want)
			}
		})
	}
}

func TestALocalStackReturnsTheAddressesOfItsParts(t *testing.T) {
	health, status := "", http.StatusOK
	address, last := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, health)
	})
	health = fmt.Sprintf(`{"lambda":%q,"dynamodb":"http://127.0.0.1:5","sqs":"http://127.0.0.1:6","table":"T","eventbridge":"http://127.0.0.1:7","eventBus":"orders","operate":"http://127.0.0.1:8"}`, address)
	s, err := Find(t.Context(), address+"/", Options{})
	if err != nil || last.url != "/_local/health" || !s.Local || s.API != address || s.Table != "T" || s.DynamoDB != "http://127.0.0.1:5" ||
		s.EventBridge != "http://127.0.0.1:7" || s.EventBus != "orders" || s.Operate != "http://127.0.0.1:8" ||
		s.SQS != "http://127.0.0.1:6" || s.OrderQueue != s.SQS+"/000000000000/OrderQueue" || s.OrderDeadLetterQueue != s.SQS+"/000000000000/OrderDeadLetterQueue" {
		t.Errorf("%+v, %v", s, err)
	}
	if a, err := s.Invoke(t.Context(), "F", nil); err != nil || last.url != "/2015-03-31/functions/F/invocations" {
		t.Errorf("%v, %v at %s", a, err, last.url)
	}
	health = `{"lambda":"http://127.0.0.1:4"}`
	if _, err := Find(t.Context(), address, Options{}); !errors.Is(err, ErrNoSystem) {
		t.Errorf("something else answers: %v", err)
	}
	health, status = `{"table":"T"}`, http.StatusServiceUnavailable
	if _, err := Find(t.Context(), address, Options{}); !errors.Is(err, ErrNoSystem) {
		t.Errorf("it is not healthy: %v", err)
	}
	if _, err := Find(t.Context(), "http://127.0.0.1:1", Options{}); !errors.Is(err, ErrNoSystem) || !strings.Contains(err.Error(), "make run starts one") {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestThePortIsTakenFromTheAddress(t *testing.T) {
	for address, want := range map[string]string{"http://127.0.0.1:3000": "3000", "http://localhost/": "80", "http://%zz": "80"} {
		if got := New(address, Options{}).Port(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
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
