package clients

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/pay/handler"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// owed runs a test while alice has a confirmed order of 1499 CNY. ask sends the function with these settings a webhook.
func owed(t *testing.T, s handler.Settings, test func(w *testledger.World, ask func(provider, body string, headers map[string]string) httpapi.Response)) {
	t.Helper()
	testledger.Run(t, func(w *testledger.World) {
		w.Open(func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = time.Hour, 149900, "CNY" })
		time.Sleep(5 * time.Second)
		w.Buy(testledger.Alice, testledger.AlicesClaim, "")
		time.Sleep(time.Second)
		w.Confirm(ledger.ClaimRef{SaleID: testledger.SaleID, User: testledger.Alice, ClaimID: testledger.AlicesClaim})
		providers, err := handler.NewProviders(s, clock.Wall)
		if err != nil {
			w.T.Fatal(err)
		}
		f := &httpapitest.Function{Service: "pay", Counts: "payments"}
		f.Handler = lambda.NewHandler(httpapi.Serve(handler.New(w.Ledger(), providers, telemetry.New(&f.Log, "pay", clock.Wall), clock.Wall).Handle))
		test(w, func(provider, body string, headers map[string]string) (r httpapi.Response) {
			raw, err := f.Handler.Invoke(w.T.Context(), httpapitest.Event(w.T, "pay-standard.json", func(e *events.APIGatewayV2HTTPRequest) {
				e.PathParameters["provider"], e.Body, e.Headers = provider, body, headers
			}))
			if err == nil {
				err = json.Unmarshal(raw, &r)
			}
			if err != nil {
				w.T.Fatal(err)
			}
			return r
		})
	})
}

// What the libraries sign and encrypt is recorded as a payment, and then as its refund, and webhooks are refused where they refuse them. Adyen's takes three
// more, the last ones: a success that is no text, a value that is one, and a signature without its end.
func TestProvidersLibrariesSignAndVerifyThePaymentsThatAreRecorded(t *testing.T) {
	argument := fmt.Sprintf(`{"order":%q,"second":%d}`, testledger.AlicesNumber, testledger.Began.Add(6*time.Second).Unix())
	for provider, tt := range map[string]struct {
		accepted             string
		valid, all, stricter int
	}{
		handler.WeChatPay: {"", 10, 26, 0}, handler.Alipay: {"success", 9, 20, 0}, handler.Adyen: {"[accepted]", 17, 30, 3},
	} {
		var given struct {
			Settings json.RawMessage
			Back     struct { // a refund of the whole
				Body    string
				Headers map[string]string
			}
			Webhooks []struct {
				Body    string
				Headers map[string]string
				Valid   bool
				Misread any // what the library reads of a payment, if it is not alice's
			}
		}
		readers(t, provider, argument, &given)
		var settings handler.Settings
		*map[string]*string{handler.WeChatPay: &settings.WeChatPaySecrets, handler.Alipay: &settings.AlipaySecrets, handler.Adyen: &settings.AdyenSecrets}[provider] = string(given.Settings)
		valid := 0
		for i, one := range given.Webhooks {
			want := one.Valid && i < len(given.Webhooks)-tt.stricter
			owed(t, settings, func(w *testledger.World, ask func(string, string, map[string]string) httpapi.Response) {
				r := ask(provider, one.Body, one.Headers)
				claim := w.Claim(testledger.Alice)
				isPaid, isAccepted := claim.State() == sale.Paid, r.StatusCode/100 == 2 && r.Body == tt.accepted
				if isPaid != want || isAccepted != want || want && one.Misread != nil {
					w.T.Errorf("%s: %+v is answered %d %s; paid: %t", provider, one, r.StatusCode, r.Body, isPaid)
				}
				if i > 0 {
					return
				}
				r = ask(provider, given.Back.Body, given.Back.Headers)
				if claim := w.Claim(testledger.Alice); r.StatusCode/100 != 2 || claim.Back != 149900 || claim.RefundedAt.IsZero() {
					w.T.Errorf("%s: the refund %+v is answered %d %s, and the claim is %+v, want its payment back", provider, given.Back, r.StatusCode, r.Body, claim)
				}
			})
			if one.Valid {
				valid++
			}
		}
		if valid != tt.valid || len(given.Webhooks) != tt.all {
			t.Errorf("%s: %d of %d webhooks are valid to the library, want %d of %d", provider, valid, len(given.Webhooks), tt.valid, tt.all)
		}
	}
}
