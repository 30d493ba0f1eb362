package security

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// wire is the raw answer on a connection.
type wire struct {
	head   string // the status line and the headers
	status int    // 0 if it is not HTTP
	body   string
}

// raw writes bytes that no HTTP client would send, and reads until the server closes or
// the first answer is complete.
func (s *system) raw(t *testing.T, request string) wire {
	t.Helper()
	c := s.dial(t)
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return readWire(t, c)
}

func (s *system) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.API, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

func readWire(t *testing.T, c net.Conn) wire {
	t.Helper()
	var seen bytes.Buffer
	response, err := http.ReadResponse(bufio.NewReader(io.TeeReader(c, &seen)), nil)
	if err != nil {
		return wire{head: seen.String()}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(seen.String(), "\r\n\r\n")
	return wire{head, response.StatusCode, string(body)}
}

// answerHeaders are all header names that an answer may have.
var answerHeaders = map[string]bool{
	"Apigw-Requestid": true, "Cache-Control": true, "Connection": true, "Content-Length": true, "Content-Type": true,
	"Date": true, "Flashsale-Version": true, "Location": true, "Retry-After": true, "Www-Authenticate": true,
	// Set in the server's own answers to invalid HTTP.
	"X-Content-Type-Options": true,
}

func TestNothingThatACallerSaysBecomesAHeader(t *testing.T) {
	s := shared(t)
	s.openSale(t, "split", 50)
	token := "Authorization: Bearer " + s.token("alice") + "\r\n"
	const host = "Host: 127.0.0.1\r\nConnection: close\r\n"
	const evil = "Set-Cookie: session=evil"
	order := func(path, header string) string {
		return "POST " + path + " HTTP/1.1\r\n" + host + token + header + "Content-Length: 0\r\n\r\n"
	}
	before := s.books(t)
	for _, c := range []struct {
		name, request string
		most          int // the lowest acceptable status
	}{
		{"encoded line ends in the sale id", order("/sales/x%0d%0aSet-Cookie:%20session=evil/orders", ""), 400},
		{"line ends that are encoded twice", order("/sales/x%250d%250aSet-Cookie:%20session=evil/orders", ""), 400},
		{"line ends of another alphabet", order("/sales/x%E5%98%8D%E5%98%8ASet-Cookie:%20session=evil/orders", ""), 400},
		{"a bare line feed in the path", order("/sales/x\nSet-Cookie: session=evil/orders", ""), 400},
		{"a bare carriage return in a header", order("/sales/split/orders", "Idempotency-Key: a\rSet-Cookie: session=evil\r\n"), 400},
		{"a NUL in a header", order("/sales/split/orders", "Idempotency-Key: a\x00\r\n"), 400},
		{"an escape in a header", order("/sales/split/orders", "Idempotency-Key: \x1b[2J\r\n"), 400},
		{"a folded header", order("/sales/split/orders", "Idempotency-Key: a\r\n Set-Cookie: session=evil\r\n"), 400},
		{"a header name with a space", order("/sales/split/orders", "Idempotency-Key : a\r\n"), 400},
		{"a JSON end in the Idempotency-Key", order("/sales/split/orders", `Idempotency-Key: a"},"Set-Cookie":"session=evil`+"\r\n"), 400},
		{"two Idempotency-Keys", order("/sales/split/orders", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n"), 400},
		{"line ends in the query", "GET /sales/split?x=%0d%0aSet-Cookie:%20session=evil HTTP/1.1\r\n" + host + "\r\n", 200},
		{"another origin", "GET /sales/split HTTP/1.1\r\n" + host + "Origin: https://evil.example\r\n\r\n", 403},
		{"another host", "GET /sales/split HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403},
		{"two content lengths", order("/sales/split/orders", "Content-Length: 30\r\n"), 400},
		{"a negative content length", "POST /sales/split/orders HTTP/1.1\r\n" + host + token + "Content-Length: -1\r\n\r\n", 400},
		{"an unknown transfer encoding", order("/sales/split/orders", "Transfer-Encoding: chunked, identity\r\n"), 400},
		{"no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		{"a head of 20 KB", order("/sales/split/orders", "X-Long: "+strings.Repeat("x", 20_000)+"\r\n"), 400},
		{"a thousand headers", order("/sales/split/orders", strings.Repeat("X-Many: x\r\n", 1000)), 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := s.raw(t, c.request)
			if w.status < c.most || w.status >= 500 && w.status != http.StatusNotImplemented {
				t.Fatalf("the answer is %d, want at least %d:\n%s", w.status, c.most, w.head)
			}
			for i, text := range strings.Split(w.head, "\r\n") {
				name, _, ok := strings.Cut(text, ":")
				if i > 0 && (!ok || !answerHeaders[http.CanonicalHeaderKey(name)]) {
					t.Errorf("the answer has the header line %q", text)
				}
			}
			if strings.Contains(w.head, evil) || strings.Contains(w.head, "evil.example") {
				t.Errorf("the head repeats what the caller said:\n%s", w.head)
			}
		})
	}
	s.unchanged(t, before)
}

func TestTheLocationIsMadeOfNothingButTheSale(t *testing.T) {
	s := shared(t)
	s.openSale(t, "place", 5)
	a := s.must(t, http.MethodPost, "/sales/place/orders?next=https://evil.example", "", bearer(s.token("alice")),
		pair{"X-Forwarded-Host", "evil.example"}, pair{"X-Forwarded-Prefix", "//evil.example"}, pair{"Forwarded", "host=evil.example"},
		pair{"X-Original-Url", "/evil"}, pair{"Referer", "https://evil.example"})
	if got := a.header.Get("Location"); a.status != http.StatusAccepted || got != "/sales/place/orders/me" {
		t.Errorf("%v, Location %q", a, got)
	}
	for _, value := range []string{"https://evil.example", "null", "http://127.0.0.1:3000.evil.example"} {
		a := s.must(t, http.MethodGet, "/sales/place/orders/me", "", bearer(s.token("alice")), pair{"Origin", value})
		if a.header.Get("Access-Control-Allow-Credentials") != "" || a.header.Get("Access-Control-Allow-Origin") == value {
			t.Errorf("the origin %s may read answers: %v", value, a.header)
		}
	}
}
