package webhook

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	stripe "github.com/stripe/stripe-go/v84/webhook"
)

var payment = Payment{SaleID: "wine", OrderID: "17", PaymentID: "pi_1", Amount: 149900, Currency: "CNY"}

// verified reports whether the provider's own library takes the request for the secret's.
func verified(t *testing.T, r *http.Request, provider, secret string) bool {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if provider == Stripe {
		return stripe.ValidatePayload(body, r.Header.Get("Stripe-Signature"), secret) == nil
	}
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return key.Verify(body, r.Header) == nil
}

func TestAWebhookIsSignedWithItsSecret(t *testing.T) {
	for _, provider := range Providers {
		secret := LocalSecrets[provider]
		for _, tt := range []struct {
			name, secret string
			at           time.Time
			want         bool
		}{
			{"its secret", secret, time.Now(), true}, {"an old signature", secret, time.Now().Add(-time.Hour), false},
			{"another secret", "whsec_YW5vdGhlci1zZWNyZXQtYW5vdGhlcg==", time.Now(), false}, {"no secret", "", time.Now(), false},
		} {
			r, err := payment.Request(t.Context(), "http://127.0.0.1:1", provider, tt.secret, tt.at)
			if err != nil || r.URL.Path != "/payments/"+provider || r.Method != http.MethodPost {
				t.Fatalf("%s: %v, %v", provider, r, err)
			}
			if got := verified(t, r, provider, secret); got != tt.want {
				t.Errorf("%s, signed with %s: verified %t", provider, tt.name, got)
			}
		}
	}
	if _, err := payment.Request(t.Context(), "http://127.0.0.1:1", "paypal", "", time.Now()); err == nil || !strings.Contains(err.Error(), "stripe or standard-webhooks") {
		t.Errorf("an unknown provider: %v", err)
	}
}

func TestOnlyADurableAnswerIsAnOutcome(t *testing.T) {
	for body, want := range map[string]string{
		`{"outcome":"paid"}`: "paid", `{"outcome":"refund-due","reason":"released"}`: "refund-due: released",
		`{"outcome":"ignored"}`: "", `{"outcome":"refund-due"}`: "", `{`: "",
	} {
		if got, ok := Outcome(200, []byte(body)); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t", body, got, ok)
		}
		if got, ok := Outcome(503, []byte(body)); ok {
			t.Errorf("503 with %s: %q", body, got)
		}
	}
}
