package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/infra/kit/client"
)

// eventSecrets sign the events of the stack: the new one and the old one. strangers does not.
const (
	eventSecrets = "whsec_bmV3LW9yZGVyLWV2ZW50LXNlY3JldC0x,whsec_b2xkLW9yZGVyLWV2ZW50LXNlY3JldC1vZi1mb3J0eS1laWdodC1ieXRlcy14eHh4"
	strangers    = "whsec_YW5vdGhlci1ldmVudC1zZWNyZXQtMjRi"
)

// received are the requests that shop has got.
var received = make(chan request, 1000)

type request struct {
	header http.Header
	body   []byte
}

// shop is the back end of a shop, which fails at the first try of each event.
var shop = sync.OnceValue(func() *httptest.Server {
	var known sync.Map
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if _, again := known.LoadOrStore(r.Header.Get("Webhook-Id"), true); err != nil || !again {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		received <- request{r.Header, body}
	}))
})

// Header lines are given to the libraries as Node gives them: joined, if there are several.
func TestStandardWebhooksLibrariesVerifyTheEventsOfTheLocalStackByEachOfItsSecrets(t *testing.T) {
	s, c := started(t)
	sale := client.Sale{ID: "sent", Name: "sent", Stock: 1, Shards: 1, OpensAt: time.Now().Add(-time.Minute), ClosesAt: time.Now().Add(time.Hour)}
	if err := c.Seed(t.Context(), sale); err != nil {
		t.Fatal(err)
	}
	token, err := c.Token(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := c.Buy(t.Context(), sale.ID, token, ""); err != nil || a.Status != 202 {
		t.Fatal(a, err)
	}
	deadline := time.After(time.Minute)
	for {
		var got request
		select {
		case got = <-received:
		case <-deadline:
			t.Fatalf("no OrderConfirmed was sent\n%s", s.Output)
		}
		var e struct {
			Type string
			Data struct {
				ID, SaleID, User string
				AsksForPayment   *bool
			}
		}
		if err := json.Unmarshal(got.body, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != "OrderConfirmed" || e.Data.SaleID != sale.ID {
			continue
		}
		if e.Data.User != "alice" || e.Data.AsksForPayment == nil || *e.Data.AsksForPayment || got.header.Get("Webhook-Id") != e.Data.ID {
			t.Errorf("got %v %s", got.header, got.body)
		}
		secrets := append(strings.Split(eventSecrets, ","), strangers)
		headers := map[string]string{}
		for name, lines := range got.header {
			headers[strings.ToLower(name)] = strings.Join(lines, ", ")
		}
		argument, err := json.Marshal(map[string]any{"body": string(got.body), "headers": headers, "secrets": secrets})
		if err != nil {
			t.Fatal(err)
		}
		verified := map[string][]bool{}
		readers(t, "webhook", string(argument), &verified)
		for _, secret := range secrets {
			key, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			verified["go"] = append(verified["go"], key.Verify(got.body, got.header) == nil)
		}
		want := map[string][]bool{"standardwebhooks": {true, true, false}, "svix": {true, true, false}, "go": {true, true, false}}
		if diff := cmp.Diff(want, verified); diff != "" {
			t.Errorf("verified by the new, the old and another secret (-want +got):\n%s\n%v %s", diff, got.header, got.body)
		}
		return
	}
}
