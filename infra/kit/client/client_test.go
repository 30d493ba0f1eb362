package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

func TestARedirectIsNotFollowed(t *testing.T) {
	address, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/", http.StatusTemporaryRedirect)
	})
	a, err := New(address, Options{}).Buy(t.Context(), "s", "t", "")
	if err != nil || a.Status != http.StatusTemporaryRedirect {
		t.Errorf("%v, %v; want the redirect itself", a, err)
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
