package handler

import (
	"cmp"
	"maps"
	"strings"
	"testing"
	"time"

	published "github.com/bojanz/currency"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/currency"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
)

// reported is when the order of owing has its id.
var reported = testledger.Began.Add(6 * time.Second)

// sent is a webhook as a provider sends it.
type sent struct {
	provider, body string
	headers        map[string]string
}

// The order costs what is reported, so it is paid only if amount, currency and sale are read
// as they are meant.
func TestASignedPaymentIsRecordedAsReported(t *testing.T) {
	now := reported
	async := strings.Replace(session(""), "session.completed", "session.async_payment_succeeded", 1)
	small := strings.Replace(succeeded, "CNY", "cny", 1)
	float := strings.Replace(succeeded, "149900", "149900.0", 1)
	scaled := session(`"amount_total":1.499e5`)
	// What stripe-go v84.4.1 makes of the session, the secret and the time.
	theirs := map[string]string{"stripe-signature": "t=1767225606,v1=511a0dee9908a1918cac8978cf131f77c275a76c0187cd63454b673731ab2514"}
	for name, tt := range map[string]struct {
		sent
		paidBy string
	}{
		"a Checkout session":                  {sent{Stripe, session(""), signature(session(""), now, stripeNew)}, "stripe#pi_1"},
		"one whose method of payment is slow": {sent{Stripe, async, signature(async, now, stripeNew)}, "stripe#pi_1"},
		"a payment intent":                    {sent{Stripe, intent(""), signature(intent(""), now, stripeNew)}, "stripe#pi_1"},
		"as Stripe's library signs it":        {sent{Stripe, session(""), theirs}, "stripe#pi_1"},
		"by the secret that ends":             {sent{Stripe, session(""), signature(session(""), now, stripeOld)}, "stripe#pi_1"},
		// Stripe signs with both secrets while one is being replaced; each may be unknown.
		"only the second signature is known": {sent{Stripe, session(""), signature(session(""), now, "whsec_unknown_secret", stripeOld)}, "stripe#pi_1"},
		"Standard Webhooks":                  {sent{StandardWebhooks, succeeded, signed(t, succeeded, now, standardNew)}, StandardWebhooks + "#pay_1"},
		"a currency in small letters":        {sent{StandardWebhooks, small, signed(t, small, now, standardNew)}, StandardWebhooks + "#pay_1"},
		"an amount as Python writes a float": {sent{StandardWebhooks, float, signed(t, float, now, standardNew)}, StandardWebhooks + "#pay_1"},
		"an amount with an exponent":         {sent{Stripe, scaled, signature(scaled, now, stripeNew)}, "stripe#pi_1"},
		"Standard Webhooks, the secret that ends": {sent{StandardWebhooks, succeeded, signed(t, succeeded, now, standardOld)},
			StandardWebhooks + "#pay_1"},
		"Standard Webhooks, only the second signature is known": {sent{StandardWebhooks, succeeded,
			signed(t, succeeded, now, "whsec_dW5rbm93bi11bmtub3duLXVua25vd24=", standardNew)}, StandardWebhooks + "#pay_1"},
	} {
		for _, encode := range []bool{false, true} {
			owing(t, func(t *testing.T, f *function) {
				request := post(t, tt.provider, tt.body, tt.headers)
				if encode {
					request = encoded(t, request)
				}
				r := f.Ask(t, t.Context(), request)
				if r.StatusCode != 200 || r.Body != `{"outcome":"paid"}` || r.Headers.CacheControl != "no-store" {
					t.Errorf("%s: %d %s", name, r.StatusCode, r.Body)
				}
				if c := f.Claim("alice"); c.State() != sale.Paid || c.Payment != tt.paidBy {
					t.Errorf("%s: the claim is %s by %q, want paid by %q", name, c.State(), c.Payment, tt.paidBy)
				}
				if got, order := f.Logged(t, "result"), f.Logged(t, "orderId"); got != "paid" || order != orderText {
					t.Errorf("%s: counted as %v, order %v", name, got, order)
				}
			})
		}
	}
}

// Without a valid signature nothing is read or written (P25).
func TestAWebhookWithoutAValidSignatureReachesNoTable(t *testing.T) {
	now := reported
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
		sent
		status int
		code   sale.Code
	}{
		"unsigned":                       {sent{Stripe, session(""), bare}, 400, sale.InvalidRequest},
		"unsigned, Standard Webhooks":    {sent{StandardWebhooks, succeeded, bare}, 400, sale.InvalidRequest},
		"an empty body":                  {sent{Stripe, "", bare}, 400, sale.InvalidRequest},
		"an unknown secret":              {sent{Stripe, session(""), signature(session(""), now, "whsec_unknown_secret")}, 400, sale.InvalidRequest},
		"no secret":                      {sent{Stripe, session(""), signature(session(""), now, "")}, 400, sale.InvalidRequest},
		"another scheme of Stripe":       {sent{Stripe, session(""), v0}, 400, sale.InvalidRequest},
		"without its time":               {sent{Stripe, session(""), timeless}, 400, sale.InvalidRequest},
		"re-encoded":                     {sent{Stripe, spaced, signature(session(""), now, stripeNew)}, 400, sale.InvalidRequest},
		"re-encoded, Standard Webhooks":  {sent{StandardWebhooks, strings.ReplaceAll(succeeded, `,`, `, `), signed(t, succeeded, now, standardNew)}, 400, sale.InvalidRequest},
		"another amount":                 {sent{Stripe, session(`"amount_total":1`), signature(session(""), now, stripeNew)}, 400, sale.InvalidRequest},
		"another message's signature":    {sent{StandardWebhooks, succeeded, renamed}, 400, sale.InvalidRequest},
		"another time's signature":       {sent{StandardWebhooks, succeeded, retimed}, 400, sale.InvalidRequest},
		"a signature of another kind":    {sent{StandardWebhooks, succeeded, asymmetric}, 400, sale.InvalidRequest},
		"Stripe's to the other provider": {sent{StandardWebhooks, session(""), signature(session(""), now, stripeNew)}, 400, sale.InvalidRequest},
		"Standard Webhooks' to Stripe":   {sent{Stripe, succeeded, signed(t, succeeded, now, standardNew)}, 400, sale.InvalidRequest},
		"a provider that nobody knows":   {sent{"paypal", session(""), signature(session(""), now, stripeNew)}, 404, sale.ProviderNotFound},
		"a provider with a separator":    {sent{"stripe#", session(""), signature(session(""), now, stripeNew)}, 404, sale.ProviderNotFound},
		"a provider in capitals":         {sent{"Stripe", session(""), signature(session(""), now, stripeNew)}, 404, sale.ProviderNotFound},
		"a megabyte, unsigned":           {sent{Stripe, huge, bare}, 413, sale.BodyTooLarge},
		"a megabyte, signed":             {sent{Stripe, huge, signature(huge, now, stripeNew)}, 413, sale.BodyTooLarge},
	} {
		for _, encode := range []bool{false, true} {
			owing(t, func(t *testing.T, f *function) {
				request := post(t, tt.provider, tt.body, tt.headers)
				if encode {
					request = encoded(t, request)
				}
				calls := f.Calls(func() { httpapitest.Refused(t, f.Ask(t, t.Context(), request), tt.status, tt.code) })
				if calls > 0 {
					t.Errorf("%s: the ledger was asked", name)
				}
				want := string(tt.code)
				if tt.status == 400 {
					want = "unverified"
				}
				if f.Logged(t, "result") != want || f.Logged(t, "payment") != nil || f.Logged(t, "orderId") != nil {
					t.Errorf("%s: the line is %s", name, f.Log.Bytes())
				}
				if strings.Contains(f.Log.String(), "moutai") || strings.Contains(f.Log.String(), "pi_1") {
					t.Errorf("%s: the body is in the log: %s", name, f.Log.Bytes())
				}
			})
		}
	}
}

func TestASignatureHolds300SecondsEitherWay(t *testing.T) {
	for age, want := range map[time.Duration]int{
		300 * time.Second: 200, 301 * time.Second: 400, -300 * time.Second: 200, -301 * time.Second: 400,
	} {
		for _, provider := range []string{Stripe, StandardWebhooks} {
			owing(t, func(t *testing.T, f *function) {
				at := time.Now().Add(-age)
				r := sent{Stripe, session(""), signature(session(""), at, stripeNew)}
				if provider == StandardWebhooks {
					r = sent{StandardWebhooks, succeeded, signed(t, succeeded, at, standardNew)}
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
		"something else":                {Stripe, of("customer.created"), "any", "ignored-unknown"},
		"something from the sender":     {Stripe, of("user-4711"), "any", "ignored-unknown"},
		"an attempt that failed":        {StandardWebhooks, standard("payment.failed"), "any", "ignored"},
		"a refund, Standard Webhooks":   {StandardWebhooks, standard("payment.refunded"), "any", "ignored-refunded"},
		"the refund itself":             {StandardWebhooks, standard("refund.succeeded"), "any", "ignored-refunded"},
		"a dispute, Standard Webhooks":  {StandardWebhooks, standard("dispute.opened"), "any", "ignored-disputed"},
		"something else, of a standard": {StandardWebhooks, standard("invoice.paid"), "any", "ignored-unknown"},
	} {
		owing(t, func(t *testing.T, f *function) {
			var r httpapi.Response
			calls := f.Calls(func() { r = f.reports(tt.provider, tt.body) })
			if r.StatusCode != 200 || r.Body != `{"outcome":"ignored"}` || calls > 0 || f.Logged(t, "result") != tt.result {
				t.Errorf("%s: %d %s, %d calls, %v", name, r.StatusCode, r.Body, calls, f.Logged(t, "result"))
			}
		}, "STRIPE_EVENTS", tt.events)
	}
}

func TestARefundOfAWholePaymentIsSeen(t *testing.T) {
	back := func(more string) string {
		return stripeEventOf("charge.refunded", `"object":"charge","id":"ch_1","payment_intent":"pi_1","amount":149900,"amount_refunded":149900,"refunded":true,"metadata":{}`, more)
	}
	owing(t, func(t *testing.T, f *function) {
		told := func(body, outcome, result string) {
			t.Helper()
			if r := f.reports(Stripe, body); r.StatusCode != 200 || r.Body != `{"outcome":"`+outcome+`"}` || f.Logged(t, "result") != result {
				t.Errorf("%s: %d %s, %v", body, r.StatusCode, r.Body, f.Logged(t, "result"))
			}
		}
		told(back(""), "ignored", "ignored-refunded") // of nothing that was recorded
		f.Pay("alice", "pi_1", 149900)
		told(back(`"refunded":false,"amount_refunded":100`), "ignored", "ignored-refunded")
		told(back(`"payment_intent":null`), "ignored", "ignored-refunded")
		told(back(`"payment_intent":{"id":"pi_1"}`), "ignored", "ignored-refunded")
		told(back(""), "refunded", "refunded")
		told(back(""), "refunded", "repeated")
		if c, err := f.Ledger().Claim(t.Context(), testledger.SaleID, testledger.Alice); err != nil || c.State() != sale.Paid || c.RefundedAt.IsZero() {
			t.Errorf("got %+v (%v), want it paid and marked", c, err)
		}
		if r := f.reports(Stripe, back(`"payment_intent":" pi_1"`)); r.StatusCode != 400 {
			t.Errorf("a reference that is none: %d %s", r.StatusCode, r.Body)
		}
	})
}

// The shop's integration uses the other kind of Stripe's events than StripeEvents says. If that
// were answered 200, the money would be taken, and every order released.
func TestAPaymentReportedByTheOtherKindOfEventIsRefusedUntilItIsRecorded(t *testing.T) {
	for events, body := range map[string]string{"checkout": intent(""), "payment_intent": session("")} {
		for name, tt := range map[string]struct {
			before func(*function)
			status int
			result string
		}{
			"not recorded":            {func(*function) {}, 400, "wrong-kind"},
			"recorded":                {func(f *function) { f.Pay("alice", "pi_1", 149900) }, 200, "ignored"},
			"paid by another payment": {func(f *function) { f.Pay("alice", "pi_2", 149900) }, 400, "wrong-kind"},
			"recorded as a refund":    {func(f *function) { f.Cancel("alice"); f.Pay("alice", "pi_1", 149900) }, 200, "ignored"},
			"the table is busy":       {func(f *function) { f.Throttles() }, 503, "busy"},
		} {
			owing(t, func(t *testing.T, f *function) {
				tt.before(f)
				before := f.DB.Dump()
				r := f.reports(Stripe, body)
				if r.StatusCode != tt.status || f.Logged(t, "result") != tt.result || f.DB.Dump() != before {
					t.Errorf("%s, %s: %d %s, %s; the table is\n%s", events, name, r.StatusCode, r.Body, f.Log.Bytes(), f.DB.Dump())
				}
				if says := strings.Contains(r.Body, "StripeEvents"); says != (tt.status == 400) {
					t.Errorf("%s, %s: the answer says %s", events, name, r.Body)
				}
			}, "STRIPE_EVENTS", events)
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
		"a fraction of a krona":       {Stripe, session(`"currency":"isk","amount_total":149950`)},
		"a reference that is no text": {StandardWebhooks, strings.Replace(succeeded, `"pay_1"`, `7`, 1)},
	}
	// An amount is a whole number of minor units; nothing else is taken for one.
	for _, text := range []string{"null", `"149900"`, `""`, "1.5", "14990e-2", "0.99999999999999999", "-1", "9007199254740993", "99999999999999999999", "true", "{}", "[1]"} {
		bodies["of Checkout "+text] = struct{ provider, body string }{Stripe, session(`"amount_total":` + text)}
		bodies["of an intent "+text] = struct{ provider, body string }{Stripe, intent(`"amount_received":` + text)}
		bodies["Standard "+text] = struct{ provider, body string }{StandardWebhooks, amount(text)}
	}
	for name, tt := range bodies {
		owing(t, func(t *testing.T, f *function) {
			calls := f.Calls(func() { httpapitest.Refused(t, f.reports(tt.provider, tt.body), 400, sale.InvalidRequest) })
			if calls > 0 || f.Logged(t, "result") != "invalid-request" {
				t.Errorf("%s: %d calls, counted as %v", name, calls, f.Logged(t, "result"))
			}
		})
	}
}

// A price of ISO 4217's minor units is paid by what Stripe counts otherwise in some currencies.
func TestStripesAmountsAreConverted(t *testing.T) {
	theirs := map[string]string{"ISK": "100", "UGX": "100", "MGA": "1", "BHD": "10", "JOD": "10", "KWD": "10", "OMR": "10", "TND": "10"}
	ours := map[string]int64{"MGA": 100, "BHD": 10, "JOD": 10, "KWD": 10, "OMR": 10, "TND": 10}
	for _, code := range published.GetCurrencyCodes() {
		in(t, func(t *testing.T, f *function) {
			if step, want := currency.StripeStep(code), cmp.Or(ours[code], 1); step != want {
				t.Errorf("%s: Stripe's step is %d, want %d", code, step, want)
			}
			f.sells(time.Hour, func(c *sale.Creation) { c.Price, c.Currency = cmp.Or(ours[code], 1), code })
			f.confirms()
			r := f.reports(Stripe, session(`"amount_total":`+cmp.Or(theirs[code], "1")+`,"currency":"`+strings.ToLower(code)+`"`))
			if r.Body != `{"outcome":"paid"}` {
				t.Errorf("%s: %d %s", code, r.StatusCode, r.Body)
			}
		})
	}
}

// Stripe's documentation gives this event in two forms: of the API's second version, and of its first.
func TestAThinEventOfStripeIsRefusedWithWhatToChoose(t *testing.T) {
	for _, kind := range []string{"v1.checkout.session.completed", "v2.core.event_destination.ping", "checkout.session.completed"} {
		thin := `{"id":"evt_1","object":"v2.core.event","type":"` + kind + `","created":"2026-01-01T00:00:00.000Z","livemode":true,` +
			`"related_object":{"id":"cs_1","type":"checkout.session","url":"/v1/checkout/sessions/cs_1"}}`
		owing(t, func(t *testing.T, f *function) {
			r := f.reports(Stripe, thin)
			if r.StatusCode != 400 || !strings.Contains(r.Body, "choose the snapshot payload") || f.Logged(t, "result") != "invalid-request" {
				t.Errorf("%s: %d %s", kind, r.StatusCode, r.Body)
			}
		})
	}
}

func TestTheAnswerIsWhatTheLedgerSaysAndLeavesItsLine(t *testing.T) {
	const paid, late = `{"outcome":"paid"}`, `{"outcome":"refund-due","reason":"released"}`
	of := func(metadata string) string { return session(`"metadata":{` + metadata + `}`) }
	pays := func(f *function) { f.Pay("alice", "pi_1", 149900) }
	type fields map[string]any // in the line, in addition to what every line has; nil takes one away, of an error it is the start
	for name, tt := range map[string]struct {
		before  func(*function)
		body    string
		status  int
		told    string // in the answer
		result  string
		outcome sale.Code
		line    fields
	}{
		"paid":        {nil, session(""), 200, paid, "paid", "", nil},
		"paid before": {pays, session(""), 200, paid, "repeated", "", nil},
		"late": {func(f *function) { f.Cancel("alice") }, session(""), 200, late, "refund-due", "",
			fields{"reason": "released"}},
		"late before": {func(f *function) { f.Cancel("alice"); pays(f) }, session(""), 200, late, "repeated", "",
			fields{"reason": "released"}},
		"of another amount": {nil, session(`"amount_total":1`), 200, `{"outcome":"refund-due","reason":"amount"}`, "refund-due", "",
			fields{"reason": "amount"}},
		"the payment of another amount": {pays, session(`"amount_total":1`), 200, paid, "repeated", "", fields{"contradicting": 1.0}},
		// An error would be seen by nobody.
		"of no order": {nil, of(`"flashsale_sale":"moutai"`), 200, `{"outcome":"refund-due","reason":"unknown-order"}`, "refund-due", "",
			fields{"orderId": nil, "saleId": "", "reason": "unknown-order"}},
		"of an order that cannot be": {nil, of(`"flashsale_sale":"moutai","flashsale_order":"x"`), 200,
			`{"outcome":"refund-due","reason":"unknown-order"}`, "refund-due", "", fields{"orderId": nil, "saleId": "", "reason": "unknown-order"}},
		"the table is busy": {func(f *function) { f.Throttles() }, session(""), 503, `"code":"busy"`, "busy", sale.Busy,
			fields{"saleId": nil, "level": "WARN", "error": "busy: "}},
		"a newer release": {func(f *function) { f.Newer("SALE#moutai", "SALE") }, session(""), 503, `"code":"busy"`, "internal", sale.NewerVersion,
			fields{"saleId": nil, "level": "ERROR", "error": "newer-version: "}},
		"a foreign error": {func(f *function) { f.over(f.Nowhere()) }, session(""), 500, `"code":"internal"`, "internal", sale.Internal,
			fields{"saleId": nil, "level": "ERROR", "error": "internal: "}},
		"a panic": {func(f *function) { f.Burns() }, session(""), 500, `"code":"internal"`, "internal", sale.Internal,
			fields{"saleId": nil, "level": "ERROR", "error": "panic: " + testledger.ErrFire}},
	} {
		t.Run(name, func(t *testing.T) {
			owing(t, func(t *testing.T, f *function) {
				if tt.before != nil {
					tt.before(f)
				}
				r := f.reports(Stripe, tt.body)
				if r.StatusCode != tt.status || !strings.Contains(r.Body, tt.told) || strings.Contains(r.Body, "ledger-") || strings.Contains(r.Body, "fire") {
					t.Errorf("%d %s, want %d %s", r.StatusCode, r.Body, tt.status, tt.told)
				}
				if told := r.Headers.RetryAfter != ""; told != (tt.status == 503) {
					t.Errorf("Retry-After %q", r.Headers.RetryAfter)
				}
				want := map[string]any{
					"result": tt.result, "route": payRoute, "provider": Stripe, "payment": "pi_1", "orderId": orderText, "saleId": "moutai",
				}
				maps.Copy(want, tt.line)
				metrics := map[string]string{}
				if want["contradicting"] != nil {
					metrics["contradicting"] = "Count by service"
				}
				f.IsLine(t, tt.outcome, want, metrics)
			})
		})
	}
}

func TestAProviderWithoutSecretsDoesNotExist(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		calls := f.Calls(func() {
			for provider, headers := range map[string]map[string]string{
				Stripe: signature(session(""), time.Now(), ""), StandardWebhooks: {"webhook-id": "msg_1"},
			} {
				httpapitest.Refused(t, f.Ask(t, t.Context(), post(t, provider, session(""), headers)), 404, sale.ProviderNotFound)
			}
		})
		if calls > 0 {
			t.Error("the ledger was asked")
		}
	}, "STRIPE_SECRETS", "", "STANDARD_WEBHOOKS_SECRETS", "")
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
