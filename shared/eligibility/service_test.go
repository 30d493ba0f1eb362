package eligibility

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asked asks a service with that handler about alice.
func asked(t *testing.T, answer http.HandlerFunc) (bool, error) {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	s, err := newService(server.URL+"/check?for=sales", nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.client.CloseIdleConnections()
	return s.ask(t.Context(), "moutai", "alice \"#茅台\"")
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func TestTheServiceIsToldTheSaleAndTheUserAndNothingElse(t *testing.T) {
	eligible, err := asked(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		if diff := cmp.Diff(map[string]any{"saleId": "moutai", "user": "alice \"#茅台\""}, got); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
		if r.Method != http.MethodPost || r.URL.String() != "/check?for=sales" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		for _, name := range []string{"Authorization", "Cookie", "Idempotency-Key", "X-Origin-Verify"} {
			if r.Header.Get(name) != "" {
				t.Errorf("%s is sent along", name)
			}
		}
		io.WriteString(w, `{"eligible":true}`)
	})
	if err != nil || !eligible {
		t.Errorf("eligible %t, %v", eligible, err)
	}
}

func TestOnlyTheAgreedAnswersAreAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string // "yes", "no", or "" for a failure
	}{
		{"yes", 200, `{"eligible":true}`, "yes"},
		{"no", 200, `{"eligible":false}`, "no"},
		{"more members", 200, `{"reason":"verified","eligible":true,"score":0.9}`, "yes"},
		{"at the limit", 200, `{"eligible":true,"pad":"` + strings.Repeat("x", maxAnswer-26) + `"}`, "yes"},
		{"over the limit", 200, `{"eligible":true,"pad":"` + strings.Repeat("x", maxAnswer) + `"}`, ""},
		{"yes, and megabytes of nothing", 200, `{"eligible":true}` + strings.Repeat(" ", 4<<20), ""},
		{"nothing", 200, ``, ""},
		{"an empty object", 200, `{}`, ""},
		{"null", 200, `null`, ""},
		{"a text", 200, `{"eligible":"true"}`, ""},
		{"another case", 200, `{"Eligible":true}`, ""},
		{"both answers", 200, `{"eligible":false,"eligible":true}`, ""},
		{"a page", 200, `<html>welcome to the café's wi-fi</html>`, ""},
		{"our credentials are refused", 401, `{"eligible":true}`, ""},
		{"internal", 500, `{"eligible":true}`, ""},
	} {
		eligible, err := asked(t, says(tt.status, tt.body))
		if eligible != (tt.want == "yes") || (err != nil) != (tt.want == "") || strings.Contains(fmt.Sprint(err), "wi-fi") {
			t.Errorf("%s: eligible %t, %v; want %q, and the answer not quoted", tt.name, eligible, err, tt.want)
		}
	}
}

// Between two purchases a function is frozen, while the service closes the connection that waits.
func TestTheServiceIsAskedOverAnotherConnectionIfTheOneThatWaitedIsClosed(t *testing.T) {
	var served sync.Map // the connections that have had an answer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := served.LoadOrStore(r.RemoteAddr, true); again {
			panic(http.ErrAbortHandler)
		}
		says(200, `{"eligible":true}`)(w, r)
	}))
	defer server.Close()
	s, err := newService(server.URL, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.client.CloseIdleConnections()
	for range 2 {
		if is, err := s.ask(t.Context(), "moutai", "alice"); !is || err != nil {
			t.Errorf("eligible: %t, %v", is, err)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Errorf("a redirect with %d was followed", status)
		}))
		_, err := asked(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) })
		if err == nil {
			t.Errorf("%d is an answer", status)
		}
		elsewhere.Close()
	}
}

func TestACertificateThatNobodyVouchesForIsRefused(t *testing.T) {
	called := false
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log the broken handshake
	server.StartTLS()
	defer server.Close()
	s, err := newService(server.URL+"/?key=in-the-url", nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.ask(t.Context(), "moutai", "alice")
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); !unknown || called {
		t.Errorf("err = %v and called %t, want an unknown authority and no request", err, called)
	}
	if strings.Contains(fmt.Sprint(err), "in-the-url") {
		t.Errorf("the error tells the URL: %v", err)
	}
}

func TestAURLThatCannotBeMeantIsRefusedAndNotQuoted(t *testing.T) {
	for _, text := range []string{
		"", "check.example.com", "//check.example.com", "ftp://check.example.com", "file:///etc/passwd", "http:check",
		"http://", "https:///check", "https://:443", "https://sesame:open@check.example.com", "https://check.example.com/#sesame", "https://sesame\x00",
	} {
		_, err := newService(text, nil, 1)
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		if strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q is quoted: %v", text, err)
		}
	}
	for _, text := range []string{
		"http://check.example.com", "http://10.0.0.7/", "http://127.0.0.1.example.com", "http://localhost.example.com",
		"HTTP://check.example.com:443/", "http://0.0.0.0/", "http://[::ffff:10.0.0.7]/",
	} {
		if err := CheckURL(text); err == nil || !strings.Contains(err.Error(), "outside of loopback") {
			t.Errorf("%q in the clear: %v", text, err)
		}
	}
	for _, text := range []string{"http://127.0.0.1:8080", "http://localhost:8080/", "http://[::1]:8080/", "http://127.9.9.9", "https://check.example.com/v1/eligibility?key=k", "HTTPS://check.example.com"} {
		if _, err := newService(text, nil, 1); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
