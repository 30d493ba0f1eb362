package handler

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stripe/stripe-go/v84/webhook"

	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// The secrets in use; of each provider there are two, as during a rotation.
const (
	stripeOld   = "whsec_stripe_before"
	stripeNew   = "whsec_stripe_after"
	standardOld = "whsec_YmVmb3JlLWJlZm9yZS1iZWZvcmUtYmVmb3Jl"
	standardNew = "whsec_YWZ0ZXItYWZ0ZXItYWZ0ZXItYWZ0ZXItYWZ0ZXI="
)

// books records what it is asked to settle.
type books struct {
	payments []sale.Payment
	settled  ledger.Settlement
	claim    sale.Claim
	fault    error
	panics   bool
	calls    int
}

func (b *books) call() error {
	b.calls++
	if b.panics {
		panic("table ledger-7 is on fire")
	}
	return b.fault
}

func (b *books) Pay(_ context.Context, p sale.Payment) (ledger.Settlement, error) {
	b.payments = append(b.payments, p)
	return b.settled, b.call()
}

func (b *books) Recorded(_ context.Context, p sale.Payment) (bool, error) {
	return b.claim.Payment == p.ID(), b.call()
}

func (b *books) Cancel(_ context.Context, saleID, user string) (sale.Claim, error) {
	if saleID != b.claim.SaleID || user != b.claim.User {
		b.fault = sale.Refuse(sale.OrderNotFound, "the user has no order in this sale")
	}
	return b.claim, b.call()
}

// function is the handler as Lambda calls it, with its dependencies.
type function struct {
	*books
	httpapitest.Function
}

// newFunction returns the handler with both providers; settings are environment variables.
func newFunction(t *testing.T, settings ...string) *function {
	t.Helper()
	settings = append([]string{
		"AWS_LAMBDA_LOG_LEVEL", "", "STRIPE_SECRETS", stripeOld + " , " + stripeNew + " ", "STRIPE_EVENTS", "any",
		"STANDARD_WEBHOOKS_SECRETS", standardOld + "," + standardNew,
	}, settings...)
	for i := 0; i < len(settings); i += 2 {
		t.Setenv(settings[i], settings[i+1])
	}
	providers, err := ProvidersFromEnv(clock.Wall)
	if err != nil {
		t.Fatal(err)
	}
	f := &function{books: &books{
		settled: ledger.Settlement{SaleID: "moutai", New: true},
		claim: sale.Claim{
			SaleID: "moutai", User: "alice", ID: "5LJQBKBVNQ2XRCM7KD3V4HTYWA", AcceptedAt: time.Date(2026, 1, 1, 0, 0, 5, 0, time.UTC),
			OrderID: orderID, ReleasedAt: time.Date(2026, 1, 1, 0, 5, 0, 0, time.UTC), ReleasedBy: sale.ByBuyer,
		},
	}}
	f.Handler = lambda.NewHandler(httpapi.Serve(New(f.books, providers, telemetry.New(&f.Log, "pay", clock.Wall), clock.Wall).Handle))
	return f
}

const (
	orderID   = 406709376884146177
	orderText = "406709376884146177"
)

// session is Stripe's report of a Checkout session; more replaces members of the object.
func session(more string) string {
	return stripeEventOf("checkout.session.completed", `"object":"checkout.session","id":"cs_1","payment_intent":"pi_1",`+
		`"payment_status":"paid","amount_total":149900,"currency":"cny","metadata":{"flashsale_sale":"moutai","flashsale_order":"`+orderText+`"}`, more)
}

// intent is Stripe's report of a payment intent.
func intent(more string) string {
	return stripeEventOf("payment_intent.succeeded", `"object":"payment_intent","id":"pi_1",`+
		`"amount":150000,"amount_received":149900,"currency":"cny","metadata":{"flashsale_sale":"moutai","flashsale_order":"`+orderText+`"}`, more)
}

// stripeEventOf joins the members of an object, of which later ones replace earlier ones.
func stripeEventOf(kind, members, more string) string {
	object := map[string]json.RawMessage{}
	for _, text := range []string{members, more} {
		if err := json.Unmarshal([]byte("{"+text+"}"), &object); err != nil {
			panic(err)
		}
	}
	text, _ := json.Marshal(object)
	return `{"id":"evt_1","object":"event","api_version":"2020-08-27","type":"` + kind + `","data":{"object":` + string(text) + `}}`
}

const succeeded = `{"type":"payment.succeeded","timestamp":"2026-01-01T00:01:00Z","data":{"saleId":"moutai","orderId":"` + orderText +
	`","paymentId":"pay_1","amount":149900,"currency":"CNY"}}`

// payment is the payment that those report.
func payment(provider, reference string) sale.Payment {
	return sale.Payment{Provider: provider, Reference: reference, SaleID: "moutai", OrderID: orderID, Amount: 149900, Currency: "CNY"}
}

// post returns a request with a webhook.
func post(t *testing.T, provider, body string, headers map[string]string) []byte {
	t.Helper()
	return httpapitest.Event(t, "pay-standard.json", func(r *events.APIGatewayV2HTTPRequest) {
		r.PathParameters["provider"], r.Body = provider, body
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			delete(r.Headers, name)
		}
		for name, value := range headers {
			r.Headers[name] = value
		}
	})
}

// encoded makes a request carry its body in base64.
func encoded(t *testing.T, request []byte) []byte {
	t.Helper()
	var r events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(request, &r); err != nil {
		t.Fatal(err)
	}
	r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(r.Body)), true
	request, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// signature is a Stripe-Signature of the body, made with each secret at that instant.
func signature(body string, at time.Time, secrets ...string) map[string]string {
	parts := []string{"t=" + strconv.FormatInt(at.Unix(), 10)}
	for _, secret := range secrets {
		parts = append(parts, fmt.Sprintf("v1=%x", webhook.ComputeSignature(at, []byte(body), secret)))
	}
	return map[string]string{"stripe-signature": strings.Join(append(parts, "v0=00"), ",")}
}

// signed are the Standard Webhooks' headers of the body, signed with each secret.
func signed(t *testing.T, body string, at time.Time, secrets ...string) map[string]string {
	t.Helper()
	var all []string
	for _, secret := range secrets {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		one, err := key.Sign("msg_1", at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return map[string]string{
		"webhook-id": "msg_1", "webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": strings.Join(all, " "),
	}
}
