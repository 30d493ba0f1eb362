package operator

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/infra/kit/eventwebhook"
	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

// The receiver verifies by the local secret, takes payments, and answers the rest with a page of two lines.
func TestEventsAreSentToAReceiverWhoseAnswersAreSaid(t *testing.T) {
	t.Setenv("EVENTS_SECRET", "")
	key, err := standardwebhooks.NewWebhook(eventwebhook.LocalSecret)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var e struct {
			Type string
			Data struct{ SaleID, User, Payment string }
		}
		if err == nil {
			err = key.VerifyIgnoringTimestamp(body, r.Header) // a test's clock may be another
		}
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		if err != nil {
			t.Errorf("%v: got %v %s", err, r.Header, body)
		}
		got = append(got, strings.Join([]string{r.Header.Get("Webhook-Id"), e.Type, e.Data.SaleID, e.Data.User, e.Data.Payment}, " "))
		w.Header().Set("Connection", "close") // a connection that waits for more would outlive the test's time
		if e.Type != "OrderPaid" {
			w.WriteHeader(http.StatusTeapot)
		}
		io.WriteString(w, "thank\nyou\x1b[2J")
	}))
	defer server.Close()
	selling(t, sale.Creation{}, func(t *testing.T, w *world) {
		order := w.ordered("alice")
		w.pay("pi_1", order, 89900)
		w.says("event send --to "+server.URL+" --order "+order, cli.ExitBad, "OrderConfirmed:"+order+": 418 I'm a teapot thank you [2J\n",
			"OrderPaid:"+order+": 200 OK thank you [2J\n1 of 2 events were taken by 127.0.0.1:", "NOT TAKEN: 1 events")
		w.says("event send --to "+server.URL+" --order "+order+" --type OrderPaid", cli.ExitFine, "1 of 1 events were taken")
		w.says("event send --to "+server.URL+" --order "+order+" --type OrderReleased", cli.ExitBad, "no OrderReleased of the order "+order+", only OrderConfirmed, OrderPaid")
		w.says("event send --to "+server.URL+" --order 1234567890123", cli.ExitBad, "there is no order 1234567890123")
		paid := "OrderPaid:" + order + " OrderPaid moutai alice stripe#pi_1"
		if want := []string{"OrderConfirmed:" + order + " OrderConfirmed moutai alice ", paid, paid}; strings.Join(want, "\n") != strings.Join(got, "\n") {
			t.Errorf("got %q, want %q", got, want)
		}
		got = nil
		w.says("event send --to "+server.URL+" --type OrderPaid", cli.ExitFine, "1 of 1 events were taken")
		w.says("event send --to "+server.URL, cli.ExitBad, "1 of 12 events were taken")
		if len(got) != 13 || !strings.Contains(got[0], " OrderPaid test test test#") {
			t.Errorf("got %q, want a test event, and one of each type", got)
		}
	})
}
