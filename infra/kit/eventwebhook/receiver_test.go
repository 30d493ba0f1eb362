package eventwebhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

func TestAReceiverHasAnHTTPSAddressAndOneOrTwoSecretsThatNoErrorQuotes(t *testing.T) {
	for _, tt := range []struct {
		address, secrets, want string
	}{
		{"https://shop.example/orders?hush", secret, ""},
		{"http://127.0.0.1:3003/orders", secret + ", " + "whsec_" + strings.Repeat("hush", 16), ""},
		{"http://localhost", secret, ""}, {"http://[::1]:80/", secret, ""},
		{"http://shop.example", secret, "the address must begin with https://"},
		{"http://127.0.0.1.shop.example", secret, "the address must begin with https://"},
		{"http://169.254.169.254/latest", secret, "the address must begin with https://"},
		{"shop.example", secret, "the address must begin with https://"},
		{"https:///orders", secret, "the address must begin with https://"},
		{"https://me:hush@shop.example", secret, "the address has a user name"},
		{"https://shop.example/%zzhush", secret, "the address is no URL"},
		{"https://shop.example:443443/hush", secret, "the address has the port 443443"},
		{"https://shop.example", "", "a secret must be whsec_"},
		{"https://shop.example", "hushhushhushhushhushhushhushhush", "a secret must be whsec_"},
		{"https://shop.example", "whsec_hushhush", "a secret must be whsec_"},
		{"https://shop.example", "whsec_" + strings.Repeat("hush", 10), "a secret must be whsec_"},
		{"https://shop.example", "whsec_hush!", "a secret must be whsec_"},
		{"https://shop.example", secret + "," + secret + "," + secret, "there are 3 secrets"},
	} {
		_, err := NewReceiver(tt.address, tt.secrets)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "hush")) {
			t.Errorf("%s with %s: got %v, want %q", tt.address, tt.secrets, err, tt.want)
		}
	}
}

func TestWhyAReceiverCannotBeReachedIsSaidWithoutItsAddress(t *testing.T) {
	r, err := NewReceiver("http://127.0.0.1:1/hush", secret)
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Send(t.Context(), Message{ID: "OrderPaid:1", Type: "OrderPaid", Data: []byte("{}")}, time.Now()); a.IsAccepted() ||
		!strings.Contains(a.String(), "connection refused") || strings.Contains(a.String(), "hush") {
		t.Errorf("got %q", a)
	}
}

// Between two events a function is frozen, while the receiver closes the connection that it waits on, as Node does after
// five seconds. An event that meets it has not failed.
func TestAnEventIsSentOverAnotherConnectionIfTheOneThatWaitedIsClosed(t *testing.T) {
	served := map[string]int{} // requests by connection, which come one after the other
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if served[r.RemoteAddr]++; served[r.RemoteAddr] > 1 {
			panic(http.ErrAbortHandler)
		}
		if err != nil || !strings.Contains(string(body), `"OrderPaid"`) || len(r.Header["Idempotency-Key"]) > 0 {
			t.Errorf("got %v %s (%v)", r.Header, body, err)
		}
	}))
	defer server.Close()
	r, err := NewReceiver(server.URL, secret)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if a := r.Send(t.Context(), Message{ID: "OrderPaid:1", Type: "OrderPaid", Data: []byte("{}")}, time.Now()); !a.IsAccepted() {
			t.Errorf("got %q", a)
		}
	}
}

// An id with a full stop, a blank or another letter comes from the reference of a payment.
func TestTheHeaderHasEveryIdWithoutWhatAHeaderOrItsSignatureCannotHave(t *testing.T) {
	for id, want := range map[string]string{
		"OrderPaid:523415647045025793":            "OrderPaid:523415647045025793",
		"RefundDue:my-sale_1:stripe#pi_3Q2x":      "RefundDue:my-sale_1:stripe#pi_3Q2x",
		"RefundDone:adyen#8.5 é%:total-5\r\nX: y": "RefundDone:adyen#8%2E5%20%C3%A9%25:total-5%0D%0AX:%20y",
	} {
		if got := headerID(id); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"120": 2 * time.Minute, "Wed, 11 Nov 2026 13:00:00 GMT": time.Hour, "Wed, 11 Nov 2026 11:00:00 GMT": 0, "-5": 0, "": 0, "soon": 0, "9999999999999": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
