package handler

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/clock"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// report is a webhook as a provider sends it.
type report struct {
	provider, body string
	headers        map[string]string
}

func TestASignedPaymentIsRecordedAsReported(t *testing.T) {
	now := time.Now()
	async := strings.Replace(session(""), "session.completed", "session.async_payment_succeeded", 1)
	small := strings.Replace(succeeded, "CNY", "cny", 1)
	for name, tt := range map[string]struct {
		report
		want sale.Payment
	}{
		"a Checkout session":                  {report{Stripe, session(""), signature(session(""), now, stripeNew)}, payment(Stripe, "pi_1")},
		"one whose method of payment is slow": {report{Stripe, async, signature(async, now, stripeNew)}, payment(Stripe, "pi_1")},
		"a payment intent":                    {report{Stripe, intent(""), signature(intent(""), now, stripeNew)}, payment(Stripe, "pi_1")},
		"by the secret that ends":             {report{Stripe, session(""), signature(session(""), now, stripeOld)}, payment(Stripe, "pi_1")},
		// Stripe signs with both secrets while one is being replaced; each may be unknown.
		"only the second signature is known": {report{Stripe, session(""), signature(session(""), now, "whsec_unknown_secret", stripeOld)}, payment(Stripe, "pi_1")},
		"Standard Webhooks":                  {report{StandardWebhooks, succeeded, signed(t, succeeded, now, standardNew)}, payment(StandardWebhooks, "pay_1")},
		"a currency in small letters":        {report{StandardWebhooks, small, signed(t, small, now, standardNew)}, payment(StandardWebhooks, "pay_1")},
		"Standard Webhooks, the secret that ends": {report{StandardWebhooks, succeeded, signed(t, succeeded, now, standardOld)},
			payment(StandardWebhooks, "pay_1")},
		"Standard Webhooks, only the second signature is known": {report{StandardWebhooks, succeeded,
			signed(t, succeeded, now, "whsec_dW5rbm93bi11bmtub3duLXVua25vd24=", standardNew)}, payment(StandardWebhooks, "pay_1")},
	} {
		for _, encode := range []bool{false, true} {
			f := newFunction(t)
			request := post(t, tt.provider, tt.body, tt.headers)
			if encode {
				request = encoded(t, request)
			}
			r := f.Ask(t, t.Context(), request)
			if r.StatusCode != 200 || r.Body != `{"outcome":"paid"}` || r.Headers.CacheControl != "no-store" {
				t.Errorf("%s: %d %s", name, r.StatusCode, r.Body)
			}
			if diff := cmp.Diff([]sale.Payment{tt.want}, f.payments); diff != "" {
				t.Errorf("%s: payments (-want +got):\n%s", name, diff)
			}
			if got, order := f.Logged(t, "result"), f.Logged(t, "orderId"); got != "paid" || order != orderText {
				t.Errorf("%s: counted as %v, order %v", name, got, order)
			}
		}
	}
}

// Without a valid signature nothing is read or written (P25).
func TestAWebhookWithoutAValidSignatureReachesNoTable(t *testing.T) {
	now := time.Now()
	spaced := strings.Replace(session(""), `":`, `": `, 1)
	bare := map[string]string{}
	huge := strings.Replace(session(""), `"id":"evt_1"`, `"id":"`+strings.Repeat("x", 1<<20)+`"`, 1)
	renamed := signed(t, succeeded, now, standardNew)
	renamed["webhook-id"] = "msg_2"
	retimed := signed(t, succeeded, now, standardNew)
	retimed["webhook-timestamp"] = "1"
	asymmetric := signed(t, succeeded, now, standardNew)
	asymmetric["webhook-signature"] = strings.Replace(asymmetric["webhook-signature"], "v1,", "v1a,", 1)
	v0 := map[string]string{"stripe-signature": strings.Replace(signature(session(""), now, stripeNew)["stripe-signature"], "v1=", "v0=", 1)}
	timeless := map[string]string{"stripe-signature": strings.SplitN(signature(session(""), time.Unix(0, 0), stripeNew)["stripe-signature"], ",", 2)[1]}
	for name, tt := range map[string]struct {
		report
		status int
		code   sale.Code
	}{
		"unsigned":                           {report{Stripe, session(""), bare}, 400, sale.InvalidRequest},
		"unsigned, Standard Webhooks":        {report{StandardWebhooks, succeeded, bare}, 400, sale.InvalidRequest},
		"an empty body":                      {report{Stripe, "", bare}, 400, sale.InvalidRequest},
		"an unknown secret":                  {report{Stripe, session(""), signature(session(""), now, "whsec_unknown_secret")}, 400, sale.InvalidRequest},
		"no secret":                          {report{Stripe, session(""), signature(session(""), now, "")}, 400, sale.InvalidRequest},
		"another scheme of Stripe":           {report{Stripe, session(""), v0}, 400, sale.InvalidRequest},
		"without its time":                   {report{Stripe, session(""), timeless}, 400, sale.InvalidRequest},
		"301 seconds old":                    {report{Stripe, session(""), signature(session(""), now.Add(-301*time.Second), stripeNew)}, 400, sale.InvalidRequest},
		"an hour ahead":                      {report{Stripe, session(""), signature(session(""), now.Add(time.Hour), stripeNew)}, 400, sale.InvalidRequest},
		"301 seconds old, Standard Webhooks": {report{StandardWebhooks, succeeded, signed(t, succeeded, now.Add(-302*time.Second), standardNew)}, 400, sale.InvalidRequest},
		"of the future, Standard Webhooks":   {report{StandardWebhooks, succeeded, signed(t, succeeded, now.Add(time.Hour), standardNew)}, 400, sale.InvalidRequest},
		"re-encoded":                         {report{Stripe, spaced, signature(session(""), now, stripeNew)}, 400, sale.InvalidRequest},
		"re-encoded, Standard Webhooks":      {report{StandardWebhooks, strings.ReplaceAll(succeeded, `,`, `, `), signed(t, succeeded, now, standardNew)}, 400, sale.InvalidRequest},
		"another amount":                     {report{Stripe, session(`"amount_total":1`), signature(session(""), now, stripeNew)}, 400, sale.InvalidRequest},
		"another message's signature":        {report{StandardWebhooks, succeeded, renamed}, 400, sale.InvalidRequest},
		"another time's signature":           {report{StandardWebhooks, succeeded, retimed}, 400, sale.InvalidRequest},
		"a signature of another kind":        {report{StandardWebhooks, succeeded, asymmetric}, 400, sale.InvalidRequest},
		"Stripe's to the other provider":     {report{StandardWebhooks, session(""), signature(session(""), now, stripeNew)}, 400, sale.InvalidRequest},
		"Standard Webhooks' to Stripe":       {report{Stripe, succeeded, signed(t, succeeded, now, standardNew)}, 400, sale.InvalidRequest},
		"a provider that nobody knows":       {report{"paypal", session(""), signature(session(""), now, stripeNew)}, 404, sale.ProviderNotFound},
		"a provider with a separator":        {report{"stripe#", session(""), signature(session(""), now, stripeNew)}, 404, sale.ProviderNotFound},
		"a provider in capitals":             {report{"Stripe", session(""), signature(session(""), now, stripeNew)}, 404, sale.ProviderNotFound},
		"a megabyte, unsigned":               {report{Stripe, huge, bare}, 413, sale.BodyTooLarge},
		"a megabyte, signed":                 {report{Stripe, huge, signature(huge, now, stripeNew)}, 413, sale.BodyTooLarge},
	} {
		for _, encode := range []bool{false, true} {
			f := newFunction(t)
			request := post(t, tt.provider, tt.body, tt.headers)
			if encode {
				request = encoded(t, request)
			}
			body := httpapitest.Refused(t, f.Ask(t, t.Context(), request), tt.status, tt.code)
			if f.calls > 0 {
				t.Errorf("%s: the ledger was asked", name)
			}
			want := string(tt.code)
			if tt.status == 400 {
				want = "unverified"
			}
			if f.Logged(t, "result") != want || f.Logged(t, "payment") != nil || f.Logged(t, "orderId") != nil {
				t.Errorf("%s: the line is %s, the answer %v", name, f.Log.Bytes(), body)
			}
			if strings.Contains(f.Log.String(), "moutai") || strings.Contains(f.Log.String(), "pi_1") {
				t.Errorf("%s: the body is in the log: %s", name, f.Log.Bytes())
			}
		}
	}
}

func TestASignatureHolds300SecondsEitherWay(t *testing.T) {
	for age, want := range map[time.Duration]int{
		300 * time.Second: 200, 301 * time.Second: 400, -300 * time.Second: 200, -301 * time.Second: 400,
	} {
		for _, provider := range []string{Stripe, StandardWebhooks} {
			f := newFunction(t)
			synctest.Test(t, func(t *testing.T) {
				at := time.Now().Add(-age)
				r := report{Stripe, session(""), signature(session(""), at, stripeNew)}
				if provider == StandardWebhooks {
					r = report{StandardWebhooks, succeeded, signed(t, succeeded, at, standardNew)}
				}
				got := f.Ask(t, t.Context(), post(t, r.provider, r.body, r.headers))
				if saysWhy := strings.Contains(got.Body, "within 300 seconds of now"); got.StatusCode != want || saysWhy != (want == 400) {
					t.Errorf("%s after %s: %d %s", provider, age, got.StatusCode, got.Body)
				}
			})
		}
	}
}

// What is signed and reports no payment of ours is taken, so that it does not come again. What
// it is about is counted, in a closed set: nothing that is sent becomes a dimension.
func TestWhatIsNotOursIsIgnoredAndCounted(t *testing.T) {
	of := func(kind string) string { return strings.Replace(session(""), "checkout.session.completed", kind, 1) }
	standard := func(kind string) string { return strings.Replace(succeeded, "payment.succeeded", kind, 1) }
	for name, tt := range map[string]struct {
		provider, body, events, result string
	}{
		"a payment without our metadata":           {Stripe, session(`"metadata":{}`), "any", "ignored"},
		"one with none at all":                     {Stripe, session(`"metadata":null`), "any", "ignored"},
		"one whose members are strange":            {Stripe, session(`"metadata":{"order":"7"},"payment_intent":{"id":"pi_1"},"amount_total":"1"`), "any", "ignored"},
		"a session that is not paid yet":           {Stripe, session(`"payment_status":"unpaid","amount_total":null`), "any", "ignored"},
		"a session that costs nothing":             {Stripe, session(`"payment_status":"no_payment_required","payment_intent":null`), "any", "ignored-free"},
		"a foreign payment intent beside Checkout": {Stripe, intent(`"metadata":{}`), "checkout", "ignored"},
		"a foreign session beside payment intents": {Stripe, session(`"metadata":{}`), "payment_intent", "ignored"},
		"an unpaid session beside payment intents": {Stripe, session(`"payment_status":"unpaid"`), "payment_intent", "ignored"},
		"a charge":                      {Stripe, of("charge.succeeded"), "any", "ignored-charge"},
		"a refund":                      {Stripe, of("charge.refunded"), "any", "ignored-refunded"},
		"a refund's change":             {Stripe, of("charge.refund.updated"), "any", "ignored-refunded"},
		"a refund of its own":           {Stripe, of("refund.created"), "any", "ignored-refunded"},
		"a dispute":                     {Stripe, of("charge.dispute.created"), "any", "ignored-disputed"},
		"a charge that failed":          {Stripe, of("charge.failed"), "any", "ignored"},
		"an intent that failed":         {Stripe, of("payment_intent.payment_failed"), "any", "ignored"},
		"a session that ended":          {Stripe, of("checkout.session.expired"), "any", "ignored"},
		"something else":                {Stripe, of("customer.created"), "any", "ignored-unknown"},
		"something from the sender":     {Stripe, of("user-4711"), "any", "ignored-unknown"},
		"an attempt that failed":        {StandardWebhooks, standard("payment.failed"), "any", "ignored"},
		"a refund, Standard Webhooks":   {StandardWebhooks, standard("payment.refunded"), "any", "ignored-refunded"},
		"a part of it":                  {StandardWebhooks, standard("payment.partially_refunded"), "any", "ignored-refunded"},
		"the refund itself":             {StandardWebhooks, standard("refund.succeeded"), "any", "ignored-refunded"},
		"a dispute, Standard Webhooks":  {StandardWebhooks, standard("dispute.opened"), "any", "ignored-disputed"},
		"something else, of a standard": {StandardWebhooks, standard("invoice.paid"), "any", "ignored-unknown"},
	} {
		f := newFunction(t, "STRIPE_EVENTS", tt.events)
		headers := signature(tt.body, time.Now(), stripeNew)
		if tt.provider == StandardWebhooks {
			headers = signed(t, tt.body, time.Now(), standardNew)
		}
		r := f.Ask(t, t.Context(), post(t, tt.provider, tt.body, headers))
		if r.StatusCode != 200 || r.Body != `{"outcome":"ignored"}` || f.calls > 0 || f.Logged(t, "result") != tt.result {
			t.Errorf("%s: %d %s, %d calls, %v", name, r.StatusCode, r.Body, f.calls, f.Logged(t, "result"))
		}
	}
}

// The shop's integration uses the other kind of Stripe's events than StripeEvents says. If that
// were answered 200, the money would be taken, and every order released.
func TestAPaymentReportedByTheOtherKindOfEventIsRefusedUntilItIsRecorded(t *testing.T) {
	for events, body := range map[string]string{"checkout": intent(""), "payment_intent": session("")} {
		for name, tt := range map[string]struct {
			body, paid string // paid is the payment that the claim has
			fault      error
			status     int
			result     string
		}{
			"not recorded":            {body: body, status: 400, result: "wrong-kind"},
			"recorded":                {body: body, paid: "stripe#pi_1", status: 200, result: "ignored"},
			"paid by another payment": {body: body, paid: "stripe#pi_2", status: 400, result: "wrong-kind"},
			"the table is busy":       {body: body, fault: sale.Fail(sale.Busy, errors.New("ThrottlingException")), status: 503, result: "busy"},
		} {
			f := newFunction(t, "STRIPE_EVENTS", events)
			f.claim.Payment, f.fault = tt.paid, tt.fault
			r := f.Ask(t, t.Context(), post(t, Stripe, tt.body, signature(tt.body, time.Now(), stripeNew)))
			if r.StatusCode != tt.status || f.Logged(t, "result") != tt.result || len(f.payments) > 0 {
				t.Errorf("%s, %s: %d %s, %d payments, %s", events, name, r.StatusCode, r.Body, len(f.payments), f.Log.Bytes())
			}
			if says := strings.Contains(r.Body, "StripeEvents"); says != (tt.status == 400) {
				t.Errorf("%s, %s: the answer says %s", events, name, r.Body)
			}
		}
	}
}

func TestASignedReportThatNamesNoPaymentIsRefused(t *testing.T) {
	amount := func(text string) string { return strings.Replace(succeeded, `"amount":149900`, `"amount":`+text, 1) }
	bodies := map[string]struct{ provider, body string }{
		"no JSON":                     {Stripe, "paid!"},
		"no reference":                {Stripe, session(`"payment_intent":null`)},
		"a currency of two":           {Stripe, session(`"currency":"cn"`)},
		"no amount":                   {Stripe, strings.Replace(session(""), `"amount_total":149900,`, "", 1)},
		"an intent without an amount": {Stripe, strings.Replace(intent(""), `,"amount_received":149900`, "", 1)},
		"a member twice":              {Stripe, strings.Replace(session(""), `"currency":`, `"currency":"usd","currency":`, 1)},
		"an order twice":              {Stripe, strings.Replace(session(""), `"flashsale_order":`, `"flashsale_order":"7","flashsale_order":`, 1)},
		"a type twice":                {Stripe, strings.Replace(session(""), `"type":`, `"type":"charge.failed","type":`, 1)},
		"an unknown member twice":     {Stripe, strings.Replace(session(""), `"id":"evt_1"`, `"id":"evt_1","x":1,"x":2`, 1)},
		"an object twice":             {Stripe, strings.Replace(session(""), `"data":{`, `"data":{"object":{},`, 1)},
		"no JSON, Standard":           {StandardWebhooks, "paid!"},
		"no payment":                  {StandardWebhooks, `{"type":"payment.succeeded"}`},
		"an amount twice":             {StandardWebhooks, amount(`1,"amount":149900`)},
		"no amount, Standard":         {StandardWebhooks, strings.Replace(succeeded, `"amount":149900,`, "", 1)},
		"data twice":                  {StandardWebhooks, strings.Replace(succeeded, `"data":`, `"data":{},"data":`, 1)},
		"a long reference":            {StandardWebhooks, strings.Replace(succeeded, "pay_1", strings.Repeat("p", 201), 1)},
		"a reference that is no text": {StandardWebhooks, strings.Replace(succeeded, `"pay_1"`, `7`, 1)},
	}
	// An amount is a whole number of minor units; nothing else is taken for one.
	for _, text := range []string{"null", `"149900"`, `""`, "1.5", "149900.0", "1e3", "-1", "9007199254740993", "99999999999999999999", "true", "{}", "[1]"} {
		bodies["of Checkout "+text] = struct{ provider, body string }{Stripe, session(`"amount_total":` + text)}
		bodies["of an intent "+text] = struct{ provider, body string }{Stripe, intent(`"amount_received":` + text)}
		bodies["Standard "+text] = struct{ provider, body string }{StandardWebhooks, amount(text)}
	}
	for name, tt := range bodies {
		f := newFunction(t)
		headers := signature(tt.body, time.Now(), stripeNew)
		if tt.provider == StandardWebhooks {
			headers = signed(t, tt.body, time.Now(), standardNew)
		}
		httpapitest.Refused(t, f.Ask(t, t.Context(), post(t, tt.provider, tt.body, headers)), 400, sale.InvalidRequest)
		if f.calls > 0 || f.Logged(t, "result") != "invalid-request" {
			t.Errorf("%s: %d calls, counted as %v", name, f.calls, f.Logged(t, "result"))
		}
	}
}

// A payment of an order that cannot exist is a refund due, not an error: nobody would see it.
func TestAPaymentOfNoOrderIsSettled(t *testing.T) {
	for _, body := range []string{
		session(`"metadata":{"flashsale_sale":"moutai"}`), session(`"metadata":{"flashsale_sale":"moutai","flashsale_order":"x"}`),
	} {
		f := newFunction(t)
		f.settled = ledger.Settlement{Refund: &sale.Refund{Reason: sale.RefundUnknownOrder}, New: true}
		r := f.Ask(t, t.Context(), post(t, Stripe, body, signature(body, time.Now(), stripeNew)))
		if f.Logged(t, "orderId") != nil {
			t.Errorf("logged order %v", f.Logged(t, "orderId"))
		}
		if r.Body != `{"outcome":"refund-due","reason":"unknown-order"}` || len(f.payments) != 1 || f.payments[0].OrderID != 0 {
			t.Errorf("%d %s, %+v", r.StatusCode, r.Body, f.payments)
		}
	}
}

func TestTheAnswerIsWhatTheLedgerSays(t *testing.T) {
	late := &sale.Refund{SaleID: "moutai", Reason: sale.RefundReleased}
	for name, tt := range map[string]struct {
		settled ledger.Settlement
		fault   error
		panics  bool
		status  int
		want    string // in the body
		result  string
	}{
		"paid":              {settled: ledger.Settlement{New: true}, status: 200, want: `{"outcome":"paid"}`, result: "paid"},
		"paid before":       {settled: ledger.Settlement{}, status: 200, want: `{"outcome":"paid"}`, result: "repeated"},
		"late":              {settled: ledger.Settlement{Refund: late, New: true}, status: 200, want: `{"outcome":"refund-due","reason":"released"}`, result: "refund-due"},
		"late before":       {settled: ledger.Settlement{Refund: late}, status: 200, want: `{"outcome":"refund-due","reason":"released"}`, result: "repeated"},
		"another order's":   {settled: ledger.Settlement{Contradicts: true}, status: 200, want: `{"outcome":"paid"}`, result: "repeated"},
		"the table is busy": {fault: sale.Fail(sale.Busy, errors.New("ThrottlingException")), status: 503, want: `"code":"busy"`, result: "busy"},
		"a newer release":   {fault: sale.Refuse(sale.NewerVersion, "ledger-7"), status: 503, want: `"code":"busy"`, result: "internal"},
		"a foreign error":   {fault: errors.New("ledger-7"), status: 500, want: `"code":"internal"`, result: "internal"},
		"a panic":           {panics: true, status: 500, want: `"code":"internal"`, result: "internal"},
	} {
		f := newFunction(t)
		f.settled, f.fault, f.panics = tt.settled, tt.fault, tt.panics
		r := f.Ask(t, t.Context(), post(t, Stripe, session(""), signature(session(""), time.Now(), stripeNew)))
		if r.StatusCode != tt.status || !strings.Contains(r.Body, tt.want) || strings.Contains(r.Body, "ledger-7") || f.Logged(t, "result") != tt.result {
			t.Errorf("%s: %d %s, %s", name, r.StatusCode, r.Body, f.Log.Bytes())
		}
		if told := r.Headers.RetryAfter != ""; told != (tt.status == 503) {
			t.Errorf("%s: Retry-After %q", name, r.Headers.RetryAfter)
		}
		if rings := f.Logged(t, "contradicting") != nil; rings != tt.settled.Contradicts {
			t.Errorf("%s: %s", name, f.Log.Bytes())
		}
	}
}

func TestAProviderWithoutSecretsDoesNotExist(t *testing.T) {
	f := newFunction(t, "STRIPE_SECRETS", "", "STANDARD_WEBHOOKS_SECRETS", "")
	for provider, headers := range map[string]map[string]string{
		Stripe: signature(session(""), time.Now(), ""), StandardWebhooks: {"webhook-id": "msg_1"},
	} {
		httpapitest.Refused(t, f.Ask(t, t.Context(), post(t, provider, session(""), headers)), 404, sale.ProviderNotFound)
	}
	if f.calls > 0 {
		t.Error("the ledger was asked")
	}
}

func TestASecretThatCannotBeOneStopsTheFunctionAndIsNotQuoted(t *testing.T) {
	for name, value := range map[string]string{
		"STRIPE_SECRETS": "sk_live_0123456789abcdef", "STANDARD_WEBHOOKS_SECRETS": "whsec_0123456789abcd*f", "STRIPE_EVENTS": "all",
	} {
		for _, value := range []string{value, "whsec_short", stripeOld + ",", "," + stripeOld} {
			t.Setenv("STRIPE_SECRETS", stripeOld)
			t.Setenv("STANDARD_WEBHOOKS_SECRETS", standardOld)
			t.Setenv("STRIPE_EVENTS", "checkout")
			t.Setenv(name, value)
			if p, err := ProvidersFromEnv(clock.Wall); p != nil || err == nil || strings.Contains(err.Error(), value) {
				t.Errorf("%s=%s: %v, %v", name, value, p, err)
			}
		}
	}
}

func TestTheFunctionKnowsItsRoutesOnly(t *testing.T) {
	f := newFunction(t)
	request := httpapitest.Event(t, "pay-standard.json", func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = "GET /payments" })
	httpapitest.Refused(t, f.Ask(t, t.Context(), request), 500, sale.Internal)
}
