package handler

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
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

// function is the handler as Lambda calls it, over a ledger.
type function struct {
	*testledger.World
	providers Providers
	wrong     error  // of the settings
	started   string // what is logged about them
	httpapitest.Function
}

// in runs a test of the handler with all providers, over an empty table; settings are
// environment variables.
func in(t *testing.T, test func(t *testing.T, f *function), settings ...string) {
	t.Helper()
	settings = append([]string{
		"STRIPE_SECRETS", stripeOld + " , " + stripeNew + " ", "STRIPE_EVENTS", "any",
		"STANDARD_WEBHOOKS_SECRETS", standardOld + "," + standardNew, "WECHAT_PAY_SECRETS", wechatSettings(""), "ALIPAY_SECRETS", alipayGood(),
		"ADYEN_SECRETS", adyenSecrets("AUTHORISATION"),
	}, settings...)
	for i := 0; i < len(settings); i += 2 {
		t.Setenv(settings[i], settings[i+1])
	}
	testledger.Run(t, func(w *testledger.World) {
		providers, wrong := ProvidersFromEnv(clock.Wall)
		f := &function{World: w, wrong: wrong, providers: providers, Function: httpapitest.Function{Service: "pay", Counts: "payments"}}
		f.over(w.Ledger())
		f.started = f.Log.String()
		f.Log.Reset()
		test(w.T, f)
	})
}

// owing runs a test while alice has a confirmed order of 1499 CNY.
func owing(t *testing.T, test func(t *testing.T, f *function), settings ...string) {
	t.Helper()
	in(t, func(t *testing.T, f *function) {
		f.Sells(func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = time.Hour, 149900, "CNY" })
		f.Confirms()
		test(t, f)
	}, settings...)
}

// over makes the handler use that ledger.
func (f *function) over(l Ledger) {
	h := New(l, f.providers, telemetry.New(&f.Log, "pay", clock.Wall), clock.Wall)
	h.Stack = "51af3dc0"
	f.Handler = lambda.NewHandler(httpapi.Serve(h.Handle))
}

// reports sends a webhook that is signed now.
func (f *function) reports(provider, body string) httpapi.Response {
	f.T.Helper()
	return f.Ask(f.T, f.T.Context(), f.request(sent{provider, body, nil}, time.Now()))
}

const orderText = testledger.AlicesNumber

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
	return `{"id":"evt_1","object":"event","api_version":"2020-08-27","livemode":true,"type":"` + kind + `","data":{"object":` + membersOf(members, more) + `}}`
}

// membersOf is an object of these members, of which later ones replace earlier ones.
func membersOf(members ...string) string {
	object := map[string]json.RawMessage{}
	for _, text := range members {
		if err := json.Unmarshal([]byte("{"+text+"}"), &object); err != nil {
			panic(err)
		}
	}
	text, _ := json.Marshal(object)
	return string(text)
}

const succeeded = `{"type":"payment.succeeded","timestamp":"2026-01-01T00:01:00Z","data":{"saleId":"moutai","orderId":"` + orderText +
	`","paymentId":"pay_1","amount":149900,"currency":"CNY"}}`

// standardMoney is a report of a refund or a dispute of that payment; more replaces members of its data.
func standardMoney(kind, more string) string {
	return `{"type":"` + kind + `","timestamp":"2026-01-01T00:01:00Z","data":` +
		membersOf(`"paymentId":"pay_1","refundId":"r_1","disputeId":"d_1","amount":149900,"currency":"CNY"`, more) + `}`
}

// post returns a request with a webhook.
func post(t *testing.T, provider, body string, headers map[string]string) []byte {
	t.Helper()
	return httpapitest.Event(t, "pay-standard.json", func(r *events.APIGatewayV2HTTPRequest) {
		r.PathParameters["provider"], r.Body = provider, body
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			delete(r.Headers, name)
		}
		maps.Copy(r.Headers, headers)
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
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
		parts = append(parts, fmt.Sprintf("v1=%x", mac.Sum(nil)))
	}
	return map[string]string{"stripe-signature": strings.Join(append(parts, "v0=00"), ",")}
}

// signed are the Standard Webhooks' headers of the body, signed with each secret.
func signed(body string, at time.Time, secrets ...string) map[string]string {
	var all []string
	for _, secret := range secrets {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			panic(err)
		}
		one, _ := key.Sign("msg_1", at, []byte(body)) // whose error is always nil
		all = append(all, one)
	}
	return map[string]string{
		"webhook-id": "msg_1", "webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": strings.Join(all, " "),
	}
}
