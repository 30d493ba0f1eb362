package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func FuzzAnswersOfAnyShapeAreRead(f *testing.F) {
	f.Add(202, "1", `{"claimId":"c","saleId":"s","state":"PENDING"}`)
	f.Add(409, "", `{"code":"already-ordered","claim":{"claimId":"c"}}`)
	f.Add(503, "99999999999999999999", `{"code":"busy"}`)
	f.Add(500, "-1", `{"message":`)
	f.Add(202, "Wed, 21 Oct 2026 07:28:00 GMT", `[{"claimId":7}]`)
	f.Fuzz(func(t *testing.T, status int, retryAfter, body string) {
		r := decode(status, http.Header{"Retry-After": {retryAfter}}, []byte(body))
		if r.body != body || r.status != status {
			t.Errorf("the answer itself was changed: %+v", r)
		}
		if r.retryAfter < 0 || r.retryAfter > 24*time.Hour {
			t.Errorf("Retry-After %q became %s", retryAfter, r.retryAfter)
		}
		if judge("s", r) == accepted && r.claim.ClaimID == "" {
			t.Error("accepted without a claim")
		}
		if len(r.short()) > 1000 {
			t.Errorf("the short form has %d bytes", len(r.short()))
		}
	})
}

func TestWhatTheClientSends(t *testing.T) {
	var got http.Request
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got, body = *r, string(text)
		if strings.HasPrefix(r.URL.Path, "/2015-03-31") {
			_, _ = io.WriteString(w, `{"saleId":"s","seeded":3,"shards":2,"applied":true}`)
			return
		}
		_, _ = io.WriteString(w, "a.b.c\n")
	}))
	defer server.Close()
	c := newClient(endpoints{api: server.URL, lambda: server.URL}, 1)
	defer c.close()

	t.Run("a click carries its token and key and no body", func(t *testing.T) {
		if _, err := c.order(t.Context(), "s", "tok", "k1"); err != nil {
			t.Fatal(err)
		}
		if got.Method != "POST" || got.URL.Path != "/sales/s/orders" || got.Header.Get("Authorization") != "Bearer tok" ||
			got.Header.Get("Idempotency-Key") != "k1" || body != "" || got.Header.Get("Content-Type") != "" {
			t.Errorf("%s %s %v %q", got.Method, got.URL, got.Header, body)
		}
	})
	t.Run("a click without a key sends no such header", func(t *testing.T) {
		if _, err := c.order(t.Context(), "s", "tok", ""); err != nil {
			t.Fatal(err)
		}
		if _, ok := got.Header["Idempotency-Key"]; ok {
			t.Error("an empty Idempotency-Key was sent")
		}
	})
	t.Run("a token is asked for by user and taken bare", func(t *testing.T) {
		token, err := c.token(t.Context(), "a b&c")
		if err != nil || token != "a.b.c" || got.URL.Query().Get("sub") != "a b&c" {
			t.Errorf("token %q, %v, for %q", token, err, got.URL)
		}
	})
	t.Run("a sale is made through the Invoke API", func(t *testing.T) {
		err := c.create(t.Context(), creation{Action: "create", SaleID: "s", Name: "n", OpensAt: "o", ClosesAt: "c", Stock: 3, Shards: 2})
		want := `{"action":"create","saleId":"s","name":"n","opensAt":"o","closesAt":"c","stock":3,"shards":2}`
		if err != nil || body != want {
			t.Errorf("sent %s, %v", body, err)
		}
		if err := c.create(t.Context(), creation{SaleID: "s", Stock: 4, Shards: 2}); err == nil {
			t.Error("another stock than asked for is taken for good")
		}
	})
}

func TestAStackKnowsBetterThanFlagsWhereItsPartsAre(t *testing.T) {
	flags := localEndpoints(1, 2, 3)
	if got, want := flags.corrected(health{}), (endpoints{
		api: "http://127.0.0.1:1", lambda: "http://127.0.0.1:2", dynamodb: "http://127.0.0.1:3", table: defaultTable,
	}); got != want {
		t.Errorf("a stack that says nothing: %+v, want %+v", got, want)
	}
	said := health{Table: "Other", Lambda: "http://127.0.0.1:4", DynamoDB: "http://127.0.0.1:5"}
	if got, want := flags.corrected(said), (endpoints{
		api: "http://127.0.0.1:1", lambda: said.Lambda, dynamodb: said.DynamoDB, table: "Other",
	}); got != want {
		t.Errorf("a stack that says all: %+v, want %+v", got, want)
	}
	flags.table = "Named"
	if got := flags.corrected(said).table; got != "Named" {
		t.Errorf("the table is %s, want the one that a flag names", got)
	}
}
