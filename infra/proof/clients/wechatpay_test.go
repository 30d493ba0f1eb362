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

// What a library of WeChat Pay encrypts and signs is recorded as a payment, and these notifications are refused where it
// refuses them.
func TestWeChatPaysLibrarySignsAndVerifiesThePaymentsThatAreRecorded(t *testing.T) {
	var given struct {
		PublicKeys    map[string]string
		APIv3Keys     []string
		Notifications []struct {
			Body    string
			Headers map[string]string
			Valid   bool
		}
	}
	readers(t, "wechatpay", fmt.Sprintf(`{"order":%q,"second":%d}`, testledger.AlicesNumber, testledger.Began.Add(6*time.Second).Unix()), &given)
	settings, err := json.Marshal(map[string]any{
		"mchid": "1900000109", "appids": []string{"wxd678efh567hg6787"}, "apiV3Keys": given.APIv3Keys, "publicKeys": given.PublicKeys,
	})
	if err != nil {
		t.Fatal(err)
	}
	valid := 0
	for _, one := range given.Notifications {
		testledger.Run(t, func(w *testledger.World) {
			t := w.T
			w.Open(func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = time.Hour, 149900, "CNY" })
			time.Sleep(5 * time.Second)
			w.Buy(testledger.Alice, testledger.AlicesClaim, "")
			time.Sleep(time.Second)
			w.Confirm(ledger.ClaimRef{SaleID: testledger.SaleID, User: testledger.Alice, ClaimID: testledger.AlicesClaim})
			providers, err := handler.NewProviders(handler.Settings{WeChatPay: string(settings)}, clock.Wall)
			if err != nil {
				t.Fatal(err)
			}
			f := &httpapitest.Function{Service: "pay", Counts: "payments"}
			f.Handler = lambda.NewHandler(httpapi.Serve(handler.New(w.Ledger(), providers, telemetry.New(&f.Log, "pay", clock.Wall), clock.Wall).Handle))
			r := f.Ask(t, t.Context(), httpapitest.Event(t, "pay-standard.json", func(r *events.APIGatewayV2HTTPRequest) {
				r.PathParameters["provider"], r.Body, r.Headers = handler.WeChatPay, one.Body, one.Headers
			}))
			claim := w.Claim(testledger.Alice)
			if isPaid := claim.State() == sale.Paid; isPaid != one.Valid || (r.StatusCode == 204) != one.Valid {
				t.Errorf("%+v is valid to WeChat Pay's library: %t, and answered %d %s; paid: %t", one, one.Valid, r.StatusCode, r.Body, isPaid)
			}
		})
		if one.Valid {
			valid++
		}
	}
	if valid != 10 || len(given.Notifications) != 26 {
		t.Errorf("%d of %d notifications are valid, want 10 of 26", valid, len(given.Notifications))
	}
}
