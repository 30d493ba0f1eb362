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

// What Alipay's own library signs is recorded as a payment, and these notifications are refused where it refuses them.
func TestAlipaysLibrarySignsAndVerifiesThePaymentsThatAreRecorded(t *testing.T) {
	var given struct {
		Keys          []string
		Notifications []struct {
			Body  string
			Valid bool
		}
	}
	readers(t, "alipay", testledger.AlicesNumber, &given)
	secrets, err := json.Marshal(map[string][]string{"publicKeys": given.Keys, "appIds": {"2021000000000001"}, "sellerIds": {"2088000000000001"}})
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
			providers, err := handler.NewProviders(handler.Settings{Alipay: string(secrets)}, clock.Wall)
			if err != nil {
				t.Fatal(err)
			}
			f := &httpapitest.Function{Service: "pay", Counts: "payments"}
			f.Handler = lambda.NewHandler(httpapi.Serve(handler.New(w.Ledger(), providers, telemetry.New(&f.Log, "pay", clock.Wall), clock.Wall).Handle))
			r := f.Ask(t, t.Context(), httpapitest.Event(t, "pay-standard.json", func(r *events.APIGatewayV2HTTPRequest) {
				r.PathParameters["provider"], r.Body, r.Headers = handler.Alipay, one.Body, nil
			}))
			claim := w.Claim(testledger.Alice)
			if isPaid := claim.State() == sale.Paid; isPaid != one.Valid || (r.Body == "success") != one.Valid {
				t.Errorf("%s is valid to Alipay's library: %t, and answered %d %s; paid: %t", one.Body, one.Valid, r.StatusCode, r.Body, isPaid)
			}
		})
		if one.Valid {
			valid++
		}
	}
	if valid != 9 || len(given.Notifications) != 20 {
		t.Errorf("%d of %d notifications are valid, want 9 of 20", valid, len(given.Notifications))
	}
}
