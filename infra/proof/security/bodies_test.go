package security

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
)

// bomb is a gzip of zeros, a thousandth of their size.
func bomb(t *testing.T, zeros int64) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.CopyN(w, zeroes{}, zeros); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestABodyThatIsNoneBuysNothing(t *testing.T) {
	s := shared(t)
	s.openSale(t, "bodies", 50)
	before := s.books(t)
	const json = "application/json"
	squeezed := bomb(t, 10)
	for _, c := range []struct {
		name, contentType, encoding, body string
		status                            int
	}{
		{"of 1,025 bytes", json, "", strings.Repeat(" ", 1025), 413},
		{"of 1,025 bytes in JSON", json, "", "{" + strings.Repeat(" ", 1023) + "}", 413},
		{"of a megabyte", json, "", strings.Repeat("{", 1<<20), 413},
		{"of a megabyte of binary", "application/octet-stream", "", strings.Repeat("\xff", 1<<20), 413},
		{"of more than API Gateway takes", json, "", strings.Repeat(" ", 10<<20+1), 413},
		{"that is a gzip bomb of 20 MB", json, "gzip", bomb(t, 20<<20), 413},
		{"that is a gzip bomb of 20 MB by its type", "application/gzip", "", bomb(t, 20<<20), 413},
		{"that is a small gzip", json, "gzip", squeezed, 400},
		{"that is a small gzip by its type", "application/gzip", "", squeezed, 415},
		{"in an unknown encoding", json, "br", "\x8b\x00\x80{}\x03", 400},
		{"in base64", json, "", base64.StdEncoding.EncodeToString([]byte("{}")), 400},
		{"in base64 by its encoding", json, "base64", base64.StdEncoding.EncodeToString([]byte("{}")), 400},
		{"nested 500 times", json, "", strings.Repeat("[", 500) + strings.Repeat("]", 500), 400},
		{"that names another user", json, "", `{"sub":"victim","user":"victim"}`, 400},
		{"that asks for more units", json, "", `{"quantity":1000}`, 400},
		{"that pollutes a prototype", json, "", `{"__proto__":{"admin":true}}`, 400},
		{"that is a list of orders", json, "", `[{},{}]`, 400},
		{"of several parts", "multipart/form-data; boundary=x", "", "--x\r\n\r\n{}\r\n--x--", 415},
		{"that is a form", "application/x-www-form-urlencoded", "", "a=b", 415},
		{"that is XML with an entity", "application/xml", "", `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>`, 415},
		{"of a type that is none", "json;;;", "", "{}", 415},
	} {
		t.Run("a body "+c.name+" is refused", func(t *testing.T) {
			header := []pair{bearer(s.token("alice")), {"Content-Type", c.contentType}}
			if c.encoding != "" {
				header = append(header, pair{"Content-Encoding", c.encoding})
			}
			if a := s.must(t, http.MethodPost, "/sales/bodies/orders", c.body, header...); a.status != c.status {
				t.Errorf("it is answered with %v, want %d", a, c.status)
			}
		})
	}
	s.unchanged(t, before)
}

func TestABase64BodyIsMeasuredBeforeItIsDecoded(t *testing.T) {
	s := shared(t)
	s.openSale(t, "base64", 5)
	before := s.books(t)
	const event = `{"routeKey":"POST /sales/{saleId}/orders","pathParameters":{"saleId":"base64"},"isBase64Encoded":true,` +
		`"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"alice"}}}},"body":`
	for name, c := range map[string]struct{ body, status string }{
		"two megabytes":         {strings.Repeat("A", 2<<20), `"statusCode":413`},
		"no base64":             {"{}", `"statusCode":400`},
		"base64 of a field":     {base64.StdEncoding.EncodeToString([]byte(`{"a":1}`)), `"statusCode":400`},
		"base64 of base64":      {base64.StdEncoding.EncodeToString([]byte("e30=")), `"statusCode":400`},
		"base64 with line ends": {strings.Repeat("\n", 4000), `"statusCode":413`},
	} {
		if o := s.invoke(t, "PurchaseFunction", event+quoted(c.body)+"}"); !strings.Contains(o.raw, c.status) {
			t.Errorf("%s: %.300s, want %s", name, o, c.status)
		}
	}
	s.unchanged(t, before)
}

func TestStalledRequestsHinderNobody(t *testing.T) {
	t.Parallel()
	s := shared(t)
	s.openSale(t, "stalled", 5)
	token := s.token("alice")
	stalled := []string{
		"POST /sales/stalled/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
		"POST /sales/stalled/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token +
			"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
	}
	for range 50 {
		for _, begun := range stalled {
			c := s.dial(t)
			defer c.Close()
			if _, err := io.WriteString(c, begun); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.buy(t, "stalled", "bob")
	// The server cuts off an endless head, long before the test times out.
	c := s.dial(t)
	defer c.Close()
	if _, err := io.WriteString(c, stalled[0]); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); err != nil {
		t.Errorf("the connection is still open: %v, %q", err, rest)
	}
	if held := buyers(s.books(t).claims(t, "stalled")); len(held) != 1 {
		t.Errorf("the claims are those of %q, want bob only", held)
	}
}
