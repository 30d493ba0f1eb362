package clients

import (
	"encoding/json"
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

// What Adyen's own library signs is accepted and recorded, and these webhooks are refused where it refuses an item of
// theirs. It takes three more: a success that is no text, a value that is one, and a signature without its end.
func TestAdyensLibrarySignsAndVerifiesThePaymentsThatAreRecorded(t *testing.T) {
	var given struct {
		Keys     []string
		Webhooks []struct {
			Body, Live, Reference, Currency string
			Valid                           bool
			Value                           any
		}
	}
	readers(t, "adyen", testledger.AlicesNumber, &given)
	settings, err := json.Marshal(map[string]any{"hmacKeys": given.Keys, "merchantAccounts": []string{"ShopECOM"}, "live": false, "paidBy": "AUTHORISATION"})
	if err != nil {
		t.Fatal(err)
	}
	const stricter = 3 // the last ones
	valid := 0
	for i, one := range given.Webhooks {
		want := one.Valid && i < len(given.Webhooks)-stricter
		testledger.Run(t, func(w *testledger.World) {
			t := w.T
			w.Open(func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = time.Hour, 149900, "CNY" })
			time.Sleep(5 * time.Second)
			w.Buy(testledger.Alice, testledger.AlicesClaim, "")
			time.Sleep(time.Second)
			w.Confirm(ledger.ClaimRef{SaleID: testledger.SaleID, User: testledger.Alice, ClaimID: testledger.AlicesClaim})
			providers, err := handler.NewProviders(handler.Settings{Adyen: string(settings)}, clock.Wall)
			if err != nil {
				t.Fatal(err)
			}
			f := &httpapitest.Function{Service: "pay", Counts: "payments"}
			f.Handler = lambda.NewHandler(httpapi.Serve(handler.New(w.Ledger(), providers, telemetry.New(&f.Log, "pay", clock.Wall), clock.Wall).Handle))
			raw, err := f.Handler.Invoke(t.Context(), httpapitest.Event(t, "pay-standard.json", func(r *events.APIGatewayV2HTTPRequest) {
				r.PathParameters["provider"], r.Body, r.Headers = handler.Adyen, one.Body, nil
			}))
			var r httpapi.Response
			if err == nil {
				err = json.Unmarshal(raw, &r)
			}
			claim := w.Claim(testledger.Alice)
			if isPaid := claim.State() == sale.Paid; err != nil || isPaid != want || (r.Body == "[accepted]") != want {
				t.Errorf("%s is valid to Adyen's library: %t, and answered %d %s (%v); paid: %t", one.Body, one.Valid, r.StatusCode, r.Body, err, isPaid)
			}
			if read := one.Value == 149900.0 && one.Currency == "CNY" && one.Reference == "flashsale-moutai-"+testledger.AlicesNumber; want && (!read || one.Live != "false") {
				t.Errorf("Adyen's library reads %+v", one)
			}
		})
		if one.Valid {
			valid++
		}
	}
	if valid != 14+stricter || len(given.Webhooks) != 30 {
		t.Errorf("%d of %d webhooks are valid, want %d of 30", valid, len(given.Webhooks), 14+stricter)
	}
}
