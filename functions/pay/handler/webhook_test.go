package handler

import (
	"cmp"
	"encoding/base64"
	"maps"
	"strings"
	"testing"
	"time"

	published "github.com/bojanz/currency"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/currency"
	"flashsale/shared/sale"
	"flashsale/shared/settings"
)

// reported is when the order of owing has its id.
var reported = testledger.Began.Add(6 * time.Second)

// sent is a webhook as a provider sends it.
type sent struct {
	provider, body string
	headers        map[string]string
}

// stripeFates are those of the webhooks of Stripe and Standard Webhooks.
func stripeFates() map[string]fate {
	async := strings.Replace(session(""), "session.completed", "session.async_payment_succeeded", 1)
	of := func(kind string) string { return strings.Replace(session(""), "checkout.session.completed", kind, 1) }
	standard := func(old, other string) string { return strings.Replace(succeeded, old, other, 1) }
	thin := func(kind string) string {
		return `{"id":"evt_1","object":"v2.core.event","type":"` + kind + `","created":"2026-01-01T00:00:00.000Z","livemode":true,` +
			`"related_object":{"id":"cs_1","type":"checkout.session","url":"/v1/checkout/sessions/cs_1"}}`
	}
	huge := strings.Replace(session(""), `"id":"evt_1"`, `"id":"`+strings.Repeat("x", 1<<20)+`"`, 1)
	bare := map[string]string{}
	stripes := func(secrets ...string) map[string]string { return signature(session(""), reported, secrets...) }
	standards := func(name, old, other string) map[string]string {
		all := signed(succeeded, reported, standardNew)
		all[name] = strings.Replace(all[name], old, other, 1)
		return all
	}
	// What stripe-go v84.4.1 makes of the session, the secret and the time.
	theirs := map[string]string{"stripe-signature": "t=1767225606,v1=81f273dfd49d80680a59220a2792190d0e183e562dcc207aa1cd62d7ed049c50"}
	v0 := map[string]string{"stripe-signature": strings.Replace(stripes(stripeNew)["stripe-signature"], "v1=", "v0=", 1)}
	timeless := map[string]string{"stripe-signature": strings.SplitN(signature(session(""), time.Unix(0, 0), stripeNew)["stripe-signature"], ",", 2)[1]}
	all := map[string]fate{}
	add := func(result, says string, rows map[string]sent, settings ...string) {
		for name, s := range rows {
			all[name] = fate{s, result, says, settings}
		}
	}
	add("paid", "", map[string]sent{
		"a Checkout session":                  {Stripe, session(""), nil},
		"one whose method of payment is slow": {Stripe, async, nil},
		"a payment intent":                    {Stripe, intent(""), nil},
		"as Stripe's library signs it":        {Stripe, session(""), theirs},
		"by the secret that ends":             {Stripe, session(""), stripes(stripeOld)},
		// Stripe signs with both secrets while one is being replaced; each may be unknown.
		"only the second signature is known":      {Stripe, session(""), stripes("whsec_unknown_secret", stripeOld)},
		"Standard Webhooks":                       {StandardWebhooks, succeeded, nil},
		"a currency in small letters":             {StandardWebhooks, standard("CNY", "cny"), nil},
		"an amount as Python writes a float":      {StandardWebhooks, standard("149900", "149900.0"), nil},
		"an amount with an exponent":              {Stripe, session(`"amount_total":1.499e5`), nil},
		"Standard Webhooks, the secret that ends": {StandardWebhooks, succeeded, signed(succeeded, reported, standardOld)},
		"Standard Webhooks, only the second signature is known": {StandardWebhooks, succeeded,
			signed(succeeded, reported, "whsec_dW5rbm93bi11bmtub3duLXVua25vd24=", standardNew)},
	})
	shortest, longest := settings.Whsec+base64.StdEncoding.EncodeToString(make([]byte, 24)), settings.Whsec+base64.StdEncoding.EncodeToString(make([]byte, 64))
	add("paid", "", map[string]sent{
		"by the shortest secret": {StandardWebhooks, succeeded, signed(succeeded, reported, shortest)},
		"by the longest secret":  {StandardWebhooks, succeeded, signed(succeeded, reported, longest)},
	}, "STANDARD_WEBHOOKS_SECRETS", shortest+","+longest)
	// with is a session of an event with these members, instead of its livemode.
	with := func(members string) sent {
		return sent{Stripe, strings.Replace(session(""), `"livemode":true,`, members, 1), nil}
	}
	intended := sent{Stripe, strings.Replace(intent(""), `"livemode":true,`, `"livemode":true,"account":"acct_3",`, 1), nil}
	test := []string{"STRIPE_SECRETS", "\r\n" + ` {"signingSecrets":["` + stripeOld + `","` + stripeNew + `"],"livemode":false,"accounts":["acct_1","acct_2"]}` + "\n"}
	add("paid", "", map[string]sent{
		"of no connected account":              with(`"livemode":true,"account":null,"context":null,`),
		"whose context is said of the account": with(`"livemode":true,"context":"acct_1",`),
	})
	add("paid", "", map[string]sent{
		"of the test mode, where that counts": with(`"livemode":false,`), "of the first account": with(`"livemode":false,"account":"acct_1",`),
		"of the second account":                with(`"livemode":false,"account":"acct_2","context":"acct_0/acct_2",`),
		"of the organization's second account": with(`"livemode":false,"context":"acct_2",`),
	}, test...)
	// Whoever has connected an account to the shop's can give a payment of theirs our metadata.
	add("invalid-request", "of an account that StripeKeysArn does not have", map[string]sent{
		"of an account": with(`"livemode":true,"account":"acct_3",`), "of an account without an id": with(`"livemode":true,"account":"",`),
		"of an account in the test mode": with(`"livemode":false,"account":"acct_3",`), "of an account, an intent": intended,
	})
	add("invalid-request", "of an account that StripeKeysArn does not have", map[string]sent{"of the other kind": intended}, "STRIPE_EVENTS", "checkout")
	add("invalid-request", "no valid reference", map[string]sent{"of the other kind without a reference": {Stripe, intent(`"id":""`), nil}}, "STRIPE_EVENTS", "checkout")
	add("invalid-request", "of an account that StripeKeysArn does not have", map[string]sent{
		"of a third account": with(`"livemode":false,"account":"acct_3","context":"acct_1",`), "of a third of the organization": with(`"livemode":false,"context":"acct_3",`),
	}, test...)
	add("invalid-request", "its livemode is not that of StripeKeysArn", map[string]sent{
		"of the test mode": with(`"livemode":false,`), "of a mode that is not said": with(""), "of no mode": with(`"livemode":null,`),
	})
	add("invalid-request", "its livemode is not that of StripeKeysArn", map[string]sent{
		"of the live mode, where the test mode counts": with(`"livemode":true,`), "of the live mode of an account": with(`"livemode":true,"account":"acct_2",`),
	}, test...)
	for _, members := range []string{`"livemode":"true",`, `"livemode":1,`, `"livemode":true,"livemode":true,`, `"livemode":true,"account":7,`,
		`"livemode":true,"account":{"id":"acct_1"},`, `"livemode":true,"account":["acct_1"],`, `"livemode":true,"context":{},`} {
		add("invalid-request", "cannot be read", map[string]sent{members: with(members)})
	}
	// Of a connected account nothing counts, and what it does with its own money rings nothing.
	for name, body := range map[string]string{
		"a payment without our metadata": session(`"metadata":{}`), "an unpaid session": session(`"payment_status":"unpaid"`), "a charge": of("charge.succeeded"),
		"a free session": session(`"payment_status":"no_payment_required"`), "a dispute": of("charge.dispute.created"), "a failed refund": of("refund.failed"),
		"a refund as a whole": stripesMoney("charge.refunded", ""), "a refund of a fraction": stripesMoney("refund.created", `"currency":"isk","amount":50`), "another type": of("customer.created"),
	} {
		add("ignored", "", map[string]sent{"of an account, " + name: {Stripe, strings.Replace(body, `"livemode":true,`, `"livemode":true,"account":"acct_3",`, 1), nil}})
	}
	add("unverified", "no valid signature", map[string]sent{
		"unsigned":                       {Stripe, session(""), bare},
		"unsigned, Standard Webhooks":    {StandardWebhooks, succeeded, bare},
		"an empty body":                  {Stripe, "", bare},
		"an unknown secret":              {Stripe, session(""), stripes("whsec_unknown_secret")},
		"no secret":                      {Stripe, session(""), stripes("")},
		"another scheme of Stripe":       {Stripe, session(""), v0},
		"without its time":               {Stripe, session(""), timeless},
		"re-encoded":                     {Stripe, strings.Replace(session(""), `":`, `": `, 1), stripes(stripeNew)},
		"re-encoded, Standard Webhooks":  {StandardWebhooks, strings.ReplaceAll(succeeded, `,`, `, `), signed(succeeded, reported, standardNew)},
		"another amount":                 {Stripe, session(`"amount_total":1`), stripes(stripeNew)},
		"another message's signature":    {StandardWebhooks, succeeded, standards("webhook-id", "msg_1", "msg_2")},
		"a signature of another kind":    {StandardWebhooks, succeeded, standards("webhook-signature", "v1,", "v1a,")},
		"Stripe's to the other provider": {StandardWebhooks, session(""), stripes(stripeNew)},
		"Standard Webhooks' to Stripe":   {Stripe, succeeded, signed(succeeded, reported, standardNew)},
	})
	add("unverified", "within 300 seconds of now", map[string]sent{
		"another time's signature": {StandardWebhooks, succeeded, standards("webhook-timestamp", "1767225606", "1")},
	})
	add("provider-not-found", "", map[string]sent{
		"a provider that nobody knows": {"paypal", session(""), stripes(stripeNew)},
		"a provider with a separator":  {"stripe#", session(""), stripes(stripeNew)},
		"a provider in capitals":       {"Stripe", session(""), stripes(stripeNew)},
	})
	add("provider-not-found", "", map[string]sent{
		"Stripe, without secrets": {Stripe, session(""), stripes("")}, "Standard Webhooks, without secrets": {StandardWebhooks, session(""), map[string]string{"webhook-id": "msg_1"}},
	}, "STRIPE_SECRETS", "", "STANDARD_WEBHOOKS_SECRETS", "")
	add("body-too-large", "", map[string]sent{"a megabyte, unsigned": {Stripe, huge, bare}, "a megabyte, signed": {Stripe, huge, nil}})

	add("ignored", "", map[string]sent{
		"a payment without our metadata":          {Stripe, session(`"metadata":{}`), nil},
		"one with none at all":                    {Stripe, session(`"metadata":null`), nil},
		"one whose members are strange":           {Stripe, session(`"metadata":{"order":"7"},"payment_intent":{"id":"pi_1"},"amount_total":"1"`), nil},
		"a session of a status that nobody knows": {Stripe, session(`"payment_status":"processing"`), nil},
		"a session that is not paid yet":          {Stripe, session(`"payment_status":"unpaid","amount_total":null`), nil},
		"an attempt that failed":                  {StandardWebhooks, standard("payment.succeeded", "payment.failed"), nil},
	})
	add("ignored", "", map[string]sent{"a foreign payment intent beside Checkout": {Stripe, intent(`"metadata":{}`), nil}}, "STRIPE_EVENTS", "checkout")
	add("ignored", "", map[string]sent{
		"a foreign session beside payment intents": {Stripe, session(`"metadata":{}`), nil},
		"an unpaid session beside payment intents": {Stripe, session(`"payment_status":"unpaid"`), nil},
	}, "STRIPE_EVENTS", "payment_intent")
	add("ignored-free", "", map[string]sent{"a session that costs nothing": {Stripe, session(`"payment_status":"no_payment_required","payment_intent":null`), nil}})
	add("ignored-charge", "", map[string]sent{"a charge": {Stripe, of("charge.succeeded"), nil}})
	add("ignored", "", map[string]sent{
		"a refund that is under way": {Stripe, stripesMoney("refund.created", `"status":"pending"`), nil}, "a refund that waits for the buyer": {Stripe, stripesMoney("refund.updated", `"status":"requires_action"`), nil},
		"a capture in part, as a refund": {Stripe, stripesMoney("charge.refunded", `"amount":150000,"amount_refunded":100`), nil},
	})
	for kind, result := range map[string]string{"refund.created": "ignored-refunded", "charge.refunded": "ignored-refunded", "refund.failed": "ignored-not-back", "charge.dispute.closed": "ignored-disputed"} {
		add(result, "", map[string]sent{
			kind + " of no payment": {Stripe, stripesMoney(kind, `"payment_intent":null`), nil}, kind + " of a payment as an object": {Stripe, stripesMoney(kind, `"payment_intent":{"id":"pi_1"}`), nil},
		})
	}
	add("ignored-disputed", "", map[string]sent{"a dispute in a state that nobody knows": {Stripe, stripesMoney("charge.dispute.updated", `"status":"escalated"`), nil}})
	for kind, result := range map[string]string{"refund.created": "ignored-refunded", "refund.failed": "ignored-not-back", "dispute.opened": "ignored-disputed", "refund.pending": "ignored-refunded"} {
		add(result, "", map[string]sent{"another sender's " + kind: {StandardWebhooks, `{"type":"` + kind + `","data":{"refund_id":"r_1","payment_id":"pay_1","paymentId":"pay_1"}}`, nil}})
	}
	add("ignored-unknown", "", map[string]sent{ // in a closed set: nothing that is sent becomes a dimension
		"something from the sender": {Stripe, of("user-4711"), nil},
	})

	// Stripe's documentation gives this event in two forms: of the API's second version, and of its first.
	add("invalid-request", "choose the snapshot payload", map[string]sent{
		"a thin event": {Stripe, thin("v1.checkout.session.completed"), nil}, "a thin ping": {Stripe, thin("v2.core.event_destination.ping"), nil},
		"a thin event of the first version": {Stripe, thin("checkout.session.completed"), nil},
	})
	add("invalid-request", "", map[string]sent{
		"no JSON":                     {Stripe, "paid!", nil},
		"no amount":                   {Stripe, strings.Replace(session(""), `"amount_total":149900,`, "", 1), nil},
		"an intent without an amount": {Stripe, strings.Replace(intent(""), `,"amount_received":149900`, "", 1), nil},
		"an order twice":              {Stripe, strings.Replace(session(""), `"flashsale_order":`, `"flashsale_order":"7","flashsale_order":`, 1), nil},
		"a type twice":                {Stripe, strings.Replace(session(""), `"type":`, `"type":"charge.failed","type":`, 1), nil},
		"an unknown member twice":     {Stripe, strings.Replace(session(""), `"id":"evt_1"`, `"id":"evt_1","x":1,"x":2`, 1), nil},
		"no JSON, Standard":           {StandardWebhooks, "paid!", nil},
		"no payment":                  {StandardWebhooks, `{"type":"payment.succeeded"}`, nil},
		"an amount twice":             {StandardWebhooks, standard(`"amount":`, `"amount":1,"amount":`), nil},
		"no amount, Standard":         {StandardWebhooks, standard(`"amount":149900,`, ""), nil},
		"a reference that is no text": {StandardWebhooks, standard(`"pay_1"`, `7`), nil},
		"no reference":                {Stripe, session(`"payment_intent":null`), nil},
		"a currency of two":           {Stripe, session(`"currency":"cn"`), nil},
		"a long reference":            {StandardWebhooks, standard("pay_1", strings.Repeat("p", 201)), nil},
		"a fraction of a krona":       {Stripe, session(`"currency":"isk","amount_total":149950`), nil},
	})
	// An amount is a whole number of minor units; nothing else is taken for one.
	for _, text := range []string{"null", `"149900"`, `""`, "1.5", "14990e-2", "0.99999999999999999", "-1", "9007199254740993", "99999999999999999999", "true", "{}", "[1]"} {
		add("invalid-request", "", map[string]sent{
			"of Checkout " + text: {Stripe, session(`"amount_total":` + text), nil}, "of an intent " + text: {Stripe, intent(`"amount_received":` + text), nil},
			"Standard " + text: {StandardWebhooks, standard(`"amount":149900`, `"amount":`+text), nil},
		})
	}
	return all
}

// stripesMoney is Stripe's event of a refund of 1 yuan, of a whole charge that was refunded, or of a dispute of it, by its kind.
func stripesMoney(kind, more string) string {
	members := `"object":"refund","id":"re_1","amount":100,"status":"succeeded"`
	switch {
	case kind == "charge.refunded":
		members = `"object":"charge","id":"ch_1","amount":149900,"amount_captured":149900,"amount_refunded":149900,"refunded":true,"status":"succeeded"`
	case kind == "refund.failed":
		members = `"object":"refund","id":"re_1","amount":100,"status":"failed"`
	case strings.HasPrefix(kind, "charge.dispute."):
		members = `"object":"dispute","id":"du_1","amount":149900,"charge":"ch_1","status":"needs_response"`
	}
	body := stripeEventOf(kind, members+`,"payment_intent":"pi_1","currency":"cny","metadata":{}`, more)
	return strings.Replace(body, `"livemode":true`, `"livemode":true,"created":1767225606`, 1)
}

func TestASignatureHolds300SecondsEitherWay(t *testing.T) {
	for age, want := range map[time.Duration]int{
		300 * time.Second: 2, 301 * time.Second: 4, -300 * time.Second: 2, -301 * time.Second: 4,
	} {
		for _, provider := range []string{Stripe, StandardWebhooks, WeChatPay} {
			owing(t, func(t *testing.T, f *function) {
				got := f.Ask(t, t.Context(), f.request(usual()[provider].sent, time.Now().Add(-age)))
				if saysWhy := strings.Contains(got.Body, "within 300 seconds of now"); got.StatusCode/100 != want || saysWhy != (want == 4) {
					t.Errorf("%s after %s: %d %s", provider, age, got.StatusCode, got.Body)
				}
			})
		}
	}
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

// A price of ISO 4217's minor units is paid by what Stripe counts otherwise in some currencies.
func TestStripesAmountsAreConverted(t *testing.T) {
	theirs := map[string]string{"ISK": "100", "UGX": "100", "MGA": "1", "BHD": "10", "JOD": "10", "KWD": "10", "OMR": "10", "TND": "10"}
	ours := map[string]int64{"MGA": 100, "BHD": 10, "JOD": 10, "KWD": 10, "OMR": 10, "TND": 10}
	for _, code := range published.GetCurrencyCodes() {
		in(t, func(t *testing.T, f *function) {
			if step, want := currency.StripeStep(code), cmp.Or(ours[code], 1); step != want {
				t.Errorf("%s: Stripe's step is %d, want %d", code, step, want)
			}
			f.Sells(func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = time.Hour, cmp.Or(ours[code], 1), code })
			f.Confirms()
			r := f.reports(Stripe, session(`"amount_total":`+cmp.Or(theirs[code], "1")+`,"currency":"`+strings.ToLower(code)+`"`))
			if r.Body != `{"outcome":"paid"}` {
				t.Errorf("%s: %d %s", code, r.StatusCode, r.Body)
			}
		})
	}
}

func TestTheAnswerIsWhatTheLedgerSaysAndLeavesItsLine(t *testing.T) {
	const paid, late = `{"outcome":"paid"}`, `{"outcome":"refund-due","reason":"released"}`
	of := func(metadata string) string { return session(`"metadata":{` + metadata + `}`) }
	const named, elsewhere = `"flashsale_sale":"moutai","flashsale_stack":"0badcafe",`, "406709376884146999"
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
		"of another amount": {nil, session(`"amount_total":1`), 200, `{"outcome":"refund-due","reason":"amount","detail":"` + notThePrice + `"}`, "refund-due", "",
			fields{"reason": "amount"}},
		"the payment of another amount": {pays, session(`"amount_total":1`), 200, paid, "repeated", "", fields{"contradicting": 1.0}},
		// An error would be seen by nobody.
		"of no order": {nil, of(`"flashsale_sale":"moutai"`), 200, `{"outcome":"refund-due","reason":"unknown-order"}`, "refund-due", "",
			fields{"orderId": nil, "saleId": "", "reason": "unknown-order"}},
		"of an order that cannot be": {nil, of(`"flashsale_sale":"moutai","flashsale_order":"x"`), 200,
			`{"outcome":"refund-due","reason":"unknown-order"}`, "refund-due", "", fields{"orderId": nil, "saleId": "", "reason": "unknown-order"}},
		"of another stack": {nil, of(named + `"flashsale_order":"` + elsewhere + `"`), 200, `{"outcome":"ignored"}`, "ignored", "",
			fields{"orderId": elsewhere, "saleId": nil, "otherStack": "0badcafe"}},
		"of another stack's sale, whose order has an id of one here": {nil, of(strings.Replace(named, "moutai", "wine", 1) + `"flashsale_order":"` + orderText + `"`), 200, `{"outcome":"ignored"}`, "ignored", "",
			fields{"saleId": nil, "otherStack": "0badcafe"}},
		"of a deleted stack, whose table is kept": {nil, of(named + `"flashsale_order":"` + orderText + `"`), 200, paid, "paid", "", nil},
		"of this stack, before its order": {nil, of(strings.Replace(named, "0badcafe", "51af3dc0", 1) + `"flashsale_order":"` + elsewhere + `"`), 503, `"code":"busy"`, "busy", sale.Busy,
			fields{"orderId": elsewhere, "saleId": nil, "level": "WARN", "error": "busy: "}},
		"a newer version": {func(f *function) { f.Newer("SALE#moutai", "SALE") }, session(""), 503, `"code":"busy"`, "internal", sale.NewerVersion,
			fields{"saleId": nil, "level": "ERROR", "error": "newer-version: "}},
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

func TestAReferenceNamesASaleAnOrderAndPerhapsAStack(t *testing.T) {
	const order = 406709376884146177
	type named struct {
		sale  string
		order uint64
		stack string
	}
	for text, want := range map[string]named{
		"flashsale-moutai-406709376884146177":            {"moutai", order, ""},
		"flashsale-moutai-406709376884146177-51af3dc0":   {"moutai", order, "51af3dc0"},
		"flashsale-51af3dc0-406709376884146177":          {"51af3dc0", order, ""},
		"flashsale-a-51af3dc0-406709376884146177":        {"a-51af3dc0", order, ""},
		"flashsale-406709376884146177-51af3dc0":          {"", order, "51af3dc0"},
		"flashsale-moutai-406709376884146177-51AF3DC0":   {"moutai-406709376884146177", 0, ""},
		"flashsale-moutai-406709376884146177-51af3dc0-1": {"moutai-406709376884146177-51af3dc0", 1, ""},
	} {
		saleID, orderID, isNamed := orderOf(text)
		if got := (named{saleID, orderID, stackOf(text)}); got != want || !isNamed {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}
