package handler

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/infra/kit/client/webhook"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
	"flashsale/shared/settings"
)

// rsaKeys are an old and a new key of a provider, a stranger's, and one that is too short.
var rsaKeys = sync.OnceValue(func() (keys [4]*rsa.PrivateKey) {
	for i, bits := range []int{2048, 2048, 2048, 1024} {
		keys[i], _ = rsa.GenerateKey(rand.Reader, bits) // whose reader never fails
	}
	return keys
})

// publicText is a public key as the consoles show it.
func publicText(key *rsa.PrivateKey) string {
	der, _ := x509.MarshalPKIXPublicKey(&key.PublicKey) // RSA keys always marshal
	return base64.StdEncoding.EncodeToString(der)
}

// fate is a webhook, and what it comes to.
type fate struct {
	sent
	result   string   // under which it is counted
	says     string   // in the answer to what is refused; of a refund that is due, the reason
	settings []string // names and values in the environment
}

func (w fate) with(headers map[string]string) fate {
	w.headers = headers
	return w
}

// usual is the payment of alice's order as each provider reports it.
func usual() map[string]fate {
	return map[string]fate{
		Stripe:           {sent{Stripe, session(""), nil}, "paid", "", nil},
		StandardWebhooks: {sent{StandardWebhooks, succeeded, nil}, "paid", "", nil},
		WeChatPay:        {sent{WeChatPay, wechatSealed("TRANSACTION.SUCCESS", wechatPaid(""), apiV3New, ""), nil}, "paid", "", nil},
		Alipay:           alipays("paid", ""),
		Adyen:            adyens("paid", "", item(nil)),
	}
}

// references are those payments' ids.
var references = map[string]string{
	Stripe: "pi_1", StandardWebhooks: "pay_1", WeChatPay: "4200000001202601010000000001", Alipay: "2026010122001400000000000001", Adyen: "QFQTPCQ8HXSKGK82",
}

// statuses of what is not taken.
var statuses = map[string]int{
	"unverified": 400, "provider-not-found": 404, "body-too-large": 413, "invalid-request": 400, "busy": 503, "internal": 500,
}

// request is the webhook as API Gateway passes it on. Without headers it is signed at that instant, if its
// provider signs in headers.
func (f *function) request(s sent, at time.Time) []byte {
	f.T.Helper()
	if s.headers == nil {
		switch s.provider {
		case Stripe:
			s.headers = signature(s.body, at, stripeNew)
		case StandardWebhooks:
			s.headers = signed(s.body, at, standardNew)
		case WeChatPay:
			s.headers = webhook.WeChatPayHeaders(rsaKeys()[0], pubKeyID, s.body, at)
		}
	}
	return post(f.T, s.provider, s.body, s.headers)
}

// meets sends a webhook, which is answered in its provider's form and counted; what is refused is not looked up, and neither
// it nor what is ignored changes anything.
func (f *function) meets(name string, w fate) {
	f.T.Helper()
	f.isMet(name, w, f.request(w.sent, time.Now()))
}

func (f *function) isMet(name string, w fate, request []byte) {
	f.T.Helper()
	before := f.DB.Dump()
	var r httpapi.Response
	calls := f.Calls(func() { r = f.Ask(f.T, f.T.Context(), request) })
	status := statuses[w.result]
	isAnswered(f.T, name, w, r, status)
	if got := f.Logged(f.T, "result"); got != w.result || status != 404 && f.Logged(f.T, "provider") != w.provider {
		f.T.Errorf("%s: counted as %v, want %s: %s", name, got, w.result, &f.Log)
	}
	mayAsk := status/100 != 4 && !strings.HasPrefix(w.result, "ignored")
	isNew := slices.Contains([]string{"paid", "refund-due", "refunded", "refund-failed", "kept"}, w.result)
	if !mayAsk && calls > 0 || !isNew && f.DB.Dump() != before {
		f.T.Errorf("%s: %d calls, and the table is\n%s", name, calls, f.DB.Dump())
	}
	isRead := w.result == "invalid-request" || status == 0 || status >= 500
	if status/100 == 4 && strings.Contains(f.Log.String(), "moutai") ||
		!isRead && strings.Contains(f.Log.String(), cmp.Or(references[w.provider], references[Stripe])) {
		f.T.Errorf("%s: the body is in the log: %s", name, &f.Log)
	}
	switch w.result {
	case "paid":
		if c := f.Claim("alice"); c.State() != sale.Paid || c.Payment != w.provider+"#"+references[w.provider] {
			f.T.Errorf("%s: the claim is %s by %q", name, c.State(), c.Payment)
		}
		if f.Logged(f.T, "orderId") != orderText || f.Logged(f.T, "saleId") != "moutai" {
			f.T.Errorf("%s: the line is %s", name, &f.Log)
		}
	case "invalid-request":
		if w.provider == Adyen && f.Logged(f.T, "payment") == nil && f.Logged(f.T, "orderId") == nil {
			f.T.Errorf("%s: the line names neither payment nor order: %s", name, &f.Log)
		}
	case "refunded":
		if got := f.Logged(f.T, "saleId"); got != "moutai" {
			f.T.Errorf("%s: the line names sale %v, want moutai", name, got)
		}
	case "refund-due":
		if got := f.Logged(f.T, "reason"); w.says != "" && got != w.says {
			f.T.Errorf("%s: a refund is due because of %v, want %s", name, got, w.says)
		}
	}
}

// isAnswered checks that an answer has its provider's form: to what is durable if the status is 0, else to what must come again.
func isAnswered(t *testing.T, name string, w fate, r httpapi.Response, status int) {
	t.Helper()
	want, media, start, isWhole := status, "application/json", "", status == 0
	outcome, _, _ := strings.Cut(strings.TrimPrefix(w.result, "repeated"), "-")
	switch isTaken := status == 0; {
	case w.provider == WeChatPay && isTaken:
		want, media = 204, ""
	case w.provider == WeChatPay:
		start = `{"code":"FAIL","message":"`
	case w.provider == Alipay && isTaken:
		want, media, start = 200, "text/plain", "success"
	case w.provider == Alipay:
		media, start = "text/plain", "fail: "
	case w.provider == Adyen && isTaken:
		want, media, start = 200, "text/plain", "[accepted]"
	case isTaken:
		want, start, isWhole = 200, `{"outcome":"`+outcome, false
	default:
		media = "application/problem+json"
		httpapitest.Refused(t, r, status, sale.Code(strings.Replace(w.result, "unverified", "invalid-request", 1)))
	}
	if r.StatusCode != want || r.Headers.ContentType != media || r.Headers.CacheControl != "no-store" || !strings.HasPrefix(r.Body, start) ||
		isWhole && r.Body != start || status != 0 && !strings.Contains(r.Body, w.says) || strings.Contains(r.Body, "ledger-") || strings.Contains(r.Body, "fire") {
		t.Errorf("%s: %d %s %s, want %d %s and %q", name, r.StatusCode, r.Headers.ContentType, r.Body, want, start, w.says)
	}
}

// Whatever is right or wrong about a webhook, its answer is in its provider's form, nothing is lost, and what is counted rings.
func TestEachWebhookHasItsFate(t *testing.T) {
	for provider, fates := range map[string]map[string]fate{Stripe: stripeFates(), WeChatPay: wechatFates(), Alipay: alipayFates(), Adyen: adyenFates()} {
		t.Run(provider, func(t *testing.T) {
			for name, w := range fates {
				for _, encode := range []bool{false, true} {
					owing(t, func(t *testing.T, f *function) {
						request := f.request(w.sent, time.Now())
						if encode {
							request = encoded(t, request)
						}
						f.isMet(name, w, request)
					}, w.settings...)
				}
			}
		})
	}
}

// By the providers' own lists of types: what somebody has to look at is not counted as what nobody has to.
func TestEveryTypeOfEventThatIsNoPaymentIsCounted(t *testing.T) {
	a := adyenSettings{PaidBy: adyenCaptured}
	for provider, of := range map[string]struct {
		about func(kind string) subject
		kinds map[subject]string
	}{
		Stripe: {aboutStripe, map[subject]string{
			unpaid: "charge.failed charge.expired payment_intent.created payment_intent.payment_failed payment_intent.canceled payment_intent.processing " +
				"payment_intent.amount_capturable_updated checkout.session.expired checkout.session.async_payment_failed",
			charge: "charge.succeeded charge.captured charge.pending charge.updated", notBack: "refund.failed",
			refunded: "charge.refunded charge.refund.updated refund.created refund.updated",
			disputed: "charge.dispute.created charge.dispute.closed charge.dispute.updated charge.dispute.funds_withdrawn charge.dispute.funds_reinstated radar.early_fraud_warning.created",
			unknown:  "invoice.paid customer.created payout.failed account.updated",
		}},
		StandardWebhooks: {aboutStandard, map[subject]string{
			unpaid: "payment.failed payment.created payment.processing", notBack: "refund.failed", disputed: "dispute.opened dispute.lost payment.disputed",
			refunded: "refund.succeeded refund.created payment.refunded payment.partially_refunded", unknown: "invoice.paid subscription.active",
		}},
		WeChatPay: {aboutWeChatPay, map[subject]string{
			unpaid: "TRANSACTION.FAIL", charge: "PAYSCORE.USER_PAID PAYSCORE.USER_CONFIRM",
			disputed: "COMPLAINT.CREATE COMPLAINT.STATE_CHANGE", unknown: "COUPON.USE MCHTRANSFER.BILL.FINISHED",
		}},
		Adyen: {func(kind string) subject {
			i := adyenItem{EventCode: kind, Success: "true", PSPReference: "p", OriginalReference: "o"}
			about, _ := a.about(&i)
			if isRead := i.money(about) != nil; about == disputed && isRead != (kind != "CHARGEBACK_ESCALATED") {
				t.Errorf("Adyen: %s is read as a dispute: %t", kind, isRead)
			}
			return about
		}, map[subject]string{
			unpaid: "AUTHORISATION AUTHENTICATION AUTHORISATION_ADJUSTMENT AUTORESCUE CANCEL_AUTORESCUE CANCELLATION EXPIRE MANUAL_REVIEW_ACCEPT MANUAL_REVIEW_REJECT " +
				"OFFER_CLOSED ORDER_CLOSED ORDER_OPENED PENDING POSTPONED_REFUND TECHNICAL_CANCEL VOID_PENDING_REFUND",
			notBack: "REFUND_FAILED REFUNDED_REVERSED", refunded: "REFUND_WITH_DATA",
			disputed: "CAPTURE_FAILED CHARGEBACK CHARGEBACK_REVERSED SECOND_CHARGEBACK PREARBITRATION_LOST PREARBITRATION_WON SCHEME_ARBITRATION_LOST SCHEME_ARBITRATION_WON " +
				"NOTIFICATION_OF_CHARGEBACK NOTIFICATION_OF_FRAUD REQUEST_FOR_INFORMATION INFORMATION_SUPPLIED ISSUER_COMMENTS ISSUER_RESPONSE_TIMEFRAME_EXPIRED DISPUTE_DEFENSE_PERIOD_ENDED " +
				"DISPUTE_OPENED_WITH_CHARGEBACK PREARBITRATION_OPEN PREARBITRATION_ACCEPTED PREARBITRATION_DECLINED PREARBITRATION_ISSUER_WITHDRAWN SCHEME_ARBITRATION CHARGEBACK_ESCALATED",
			foreign: "PAIDOUT_REVERSED PAYOUT_DECLINE PAYOUT_EXPIRE PAYOUT_THIRDPARTY RECURRING_CONTRACT REPORT_AVAILABLE", unknown: "ALARM_4711",
		}},
	} {
		for want, kinds := range of.kinds {
			for kind := range strings.FieldsSeq(kinds) {
				if got := of.about(kind); got != want {
					t.Errorf("%s: %s is %s, want %s", provider, kind, got, want)
				}
			}
		}
	}
}

func TestTheLongestWebhookIsTakenAndNoLongerOne(t *testing.T) {
	padded := func(n int) sent {
		body := session("")
		return sent{Stripe, body + strings.Repeat(" ", n-len(body)), nil}
	}
	items := func(n int) sent {
		return sent{Adyen, adyensBody(adyenNew, "false", slices.Repeat([]members{item(members{"merchantReference": "invoice-7"})}, n)...), nil}
	}
	fields := func(n int) sent {
		var more []string
		for i := range n - len(trade("sign", "")) {
			more = append(more, "x"+strconv.Itoa(i), "")
		}
		return sent{Alipay, rsa2(rsaKeys()[1], more...), nil}
	}
	for name, tt := range map[string]struct{ longest, longer int }{
		"bytes": {taken(t, padded(256<<10)), taken(t, padded(256<<10+1))}, "items": {taken(t, items(100)), taken(t, items(101))}, "fields": {taken(t, fields(200)), taken(t, fields(201))},
	} {
		if tt.longest != 200 || tt.longer/100 != 4 {
			t.Errorf("%s: the longest is answered %d and a longer one %d, want 200 and 4xx", name, tt.longest, tt.longer)
		}
	}
}

// taken is the status of a webhook's answer.
func taken(t *testing.T, s sent) (status int) {
	owing(t, func(t *testing.T, f *function) {
		raw, err := f.Handler.Invoke(t.Context(), f.request(s, time.Now()))
		var r httpapi.Response
		if err = cmp.Or(err, json.Unmarshal(raw, &r)); err != nil {
			t.Error(err)
		}
		status = r.StatusCode
	})
	return status
}

func TestWhatIsNotRecordedIsToBeRepeated(t *testing.T) {
	for provider, w := range usual() {
		for name, tt := range map[string]struct {
			before       func(*function)
			result, says string
		}{
			"the table is busy": {func(f *function) { f.Throttles() }, "busy", "busy"},
			"a foreign error":   {func(f *function) { f.over(f.Nowhere()) }, "internal", "internal"},
		} {
			owing(t, func(t *testing.T, f *function) {
				tt.before(f)
				w.result, w.says = tt.result, tt.says
				f.meets(provider+", "+name, w)
			})
		}
	}
}

func TestAnOrderWhosePaymentIsBackRingsOnceWhateverWasReportedFirst(t *testing.T) {
	back := func(result string) fate {
		return fate{sent{Stripe, stripesMoney("refund.created", `"amount":149900`), nil}, result, "", nil}
	}
	for name, all := range map[string][]fate{
		"the payment": {usual()[Stripe], back("refunded"), back("repeated")}, "the refund": {back("kept"), usual()[Stripe]},
	} {
		owing(t, func(t *testing.T, f *function) {
			var rings []any
			for _, w := range all {
				f.meets(name, w)
				rings = append(rings, f.Logged(t, "paidBack"))
			}
			if want := []any{nil, 1.0, nil}[:len(all)]; !slices.Equal(rings, want) {
				t.Errorf("first %s: it rings %v, want %v", name, rings, want)
			}
		})
	}
}

func TestWhatWasKeptIsCountedOnceItsPaymentIsReported(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		stripes := func(body, result string) fate { return fate{sent{Stripe, body, nil}, result, "", nil} }
		f.meets("a failure", stripes(stripesMoney("refund.failed", ""), "kept"))
		f.meets("a dispute", stripes(stripesMoney("charge.dispute.updated", `"status":"needs_response"`), "kept"))
		for _, want := range [][]string{{"refund-failed", "dispute-open", "paid"}, {"repeated"}} {
			f.Log.Reset()
			if _, err := f.Handler.Invoke(t.Context(), f.request(usual()[Stripe].sent, time.Now())); err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(f.Log.String()) {
				if _, result, counted := strings.Cut(line, `"result":"`); counted && strings.Contains(line, `"saleId":"moutai"`) {
					got = append(got, result[:strings.IndexByte(result, '"')])
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("counted as %q, want %q: %s", got, want, &f.Log)
			}
		}
	})
}

// What an operator has to look at, because money moved or a signed payment was refused, is one payment at the provider.
func TestTheLogNamesThePaymentOfWhatSomebodyMustLookAt(t *testing.T) {
	wechats := func(event, resource, result string) fate {
		return fate{sent{WeChatPay, wechatSealed(event, resource, apiV3New, ""), nil}, result, "", nil}
	}
	stripes := func(kind, result string) fate {
		return fate{sent{Stripe, strings.Replace(session(""), "checkout.session.completed", kind, 1), nil}, result, "", nil}
	}
	for _, w := range []fate{
		wechats("TRANSACTION.SUCCESS", wechatPaid(`"appid":"wx0000000000000000"`), "invalid-request"),
		wechats("TRANSACTION.SUCCESS", wechatPaid(`"mchid":"1"`), "invalid-request"), wechats("REFUND.SUCCESS", wechatRefunded(`"refund_status":"PROCESSING"`), "ignored-refunded"),
		alipays("ignored-refunded", "", "gmt_refund", "2026-01-02 10:00:00"), alipays("invalid-request", "", "app_id", "1"),
		alipays("invalid-request", "", "seller_id", "1"), alipays("invalid-request", "", "trans_currency", "USD"),
		{sent{Stripe, strings.Replace(session(""), `"livemode":true`, `"livemode":false`, 1), nil}, "invalid-request", "", nil},
		stripes("charge.dispute.created", "ignored-disputed"), stripes("refund.created", "ignored"),
		adyens("ignored-refunded", "", change("REFUND", members{"merchantReference": "a:b"})), adyens("ignored-not-back", "", change("REFUND_FAILED", members{"amount": nil})),
		adyens("ignored-disputed", "", item(members{"eventCode": "SECOND_CHARGEBACK"})),
	} {
		owing(t, func(t *testing.T, f *function) {
			f.meets(w.provider, w)
			if got := f.Logged(t, "payment"); got != references[w.provider] {
				t.Errorf("%s, %s: the line names payment %v, want %s", w.provider, w.result, got, references[w.provider])
			}
		})
	}
}

// Why settings are refused.
const (
	notStripes = `it is not JSON of the form {"signingSecrets":[],"livemode":null,"accounts":[]}, which HTTP.md describes`
	notWeChats = `it is not JSON of the form {"mchid":"","appids":[],"apiV3Keys":[],"publicKeys":{}}, which HTTP.md describes`
	notAlipays = `it is not JSON of the form {"publicKeys":[],"appIds":[],"sellerIds":[]}, which HTTP.md describes`
	notAdyens  = `it is not JSON of the form {"hmacKeys":[],"merchantAccounts":[],"live":null,"paidBy":""}, which HTTP.md describes`
	notBase64  = "it is not valid base64: of a PEM file it is what stands between the first and the last line"
	notAKey    = ", not one of a PEM file's PUBLIC KEY"
	shortKey   = "it is not a public key of RSA with 2048 bits or more"
)

// stripeRefusals are settings of Stripe that cannot be right, and why.
func stripeRefusals() map[string][2]string {
	const form, blank = "it is not whsec_ and at least 12 letters and digits", "it has a blank or a line break"
	const first, second, account = "signingSecrets, number 1 of 2: ", "signingSecrets, number 2 of 2: ", "it is not the id of an account, acct_…"
	settings := func(more string) string { return membersOf(`"signingSecrets":["`+stripeNew+`"],"livemode":true`, more) }
	return map[string][2]string{
		"an API key":               {"sk_live_0123456789abcdef", "signingSecrets: it is an API key, not an endpoint's signing secret, which begins with whsec_"},
		"a second that is one":     {stripeNew + ",rk_test_0123456789abcdef", second + "it is an API key, not an endpoint's signing secret, which begins with whsec_"},
		"an endpoint's id":         {"we_0123456789abcdef", "signingSecrets: " + form},
		"a short one":              {"whsec_short", "signingSecrets: " + form},
		"one of another provider":  {"whsec_+0123456789abcdef==", "signingSecrets: " + form},
		"an unknown member":        {settings(`"secrets":[]`), notStripes},
		"no mode":                  {settings(`"livemode":null`), "livemode must be true or false"},
		"no secret":                {settings(`"signingSecrets":[]`), "signingSecrets has none"},
		"no account":               {settings(`"accounts":[]`), "accounts has none"},
		"an account without an id": {settings(`"accounts":["acct_1","acct_"]`), "accounts, number 2 of 2: " + account},
		"an account's name":        {settings(`"accounts":["acct_1","Shop"]`), "accounts, number 2 of 2: " + account},
		"a path to an account":     {settings(`"accounts":["acct_1/acct_2"]`), "accounts: " + account},
	}
}

// standardRefusals are secrets of Standard Webhooks that cannot be right, and why.
func standardRefusals() map[string][2]string {
	const length, second = "it is not of 24 to 64 bytes, in base64 after whsec_", "the signing secrets, number 2 of 2: "
	return map[string][2]string{
		"no base64":          {"whsec_0123456789abcd*f", "the signing secrets: what follows whsec_ is not valid base64"},
		"base64 for URLs":    {"whsec_YWZ0ZXItYWZ0ZXItYWZ0ZXItYWZ0ZXIt_-_-", "the signing secrets: what follows whsec_ is not valid base64"},
		"23 bytes":           {standardOld + ",whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23)), second + length},
		"65 bytes":           {standardOld + ",whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)), second + length},
		"one of Stripe":      {"whsec_0123456789abcdef", "the signing secrets: " + length},
		"without its prefix": {strings.TrimPrefix(standardOld, settings.Whsec), "the signing secrets: it does not begin with whsec_"},
		"a public key":       {"whpk_" + strings.TrimPrefix(standardOld, settings.Whsec), "the signing secrets: it is a key of an asymmetric signature, which is not taken: a signing secret begins with whsec_"},
	}
}

// The provider repeats what it is told has failed; the others, and buyers who cancel, are served as ever. The sentence quotes nothing.
func TestSettingsThatCannotBeRightStopTheirProviderAlone(t *testing.T) {
	variables := map[string]string{
		Stripe: "STRIPE_SECRETS", StandardWebhooks: "STANDARD_WEBHOOKS_SECRETS", WeChatPay: "WECHAT_PAY_SECRETS", Alipay: "ALIPAY_SECRETS", Adyen: "ADYEN_SECRETS",
	}
	for provider, all := range map[string]map[string][2]string{
		Stripe: stripeRefusals(), StandardWebhooks: standardRefusals(), WeChatPay: wechatRefusals(), Alipay: alipayRefusals(), Adyen: adyenRefusals(),
	} {
		for name, one := range all {
			want := variables[provider] + ": " + one[1]
			owing(t, func(t *testing.T, f *function) {
				if f.wrong == nil || f.wrong.Error() != want {
					t.Errorf("%s, %s: got %v, want %s", provider, name, f.wrong, want)
				}
				line, _ := json.Marshal(want)
				if !strings.Contains(f.started, `"level":"ERROR"`) || !strings.Contains(f.started, string(line[1:])) ||
					!strings.Contains(f.started, `"provider":"`+provider+`"`) || !strings.Contains(f.started, `"result":"internal"`) {
					t.Errorf("%s, %s: logged at the start is %s", provider, name, f.started)
				}
				for other, w := range usual() {
					if other == provider {
						w.result, w.says = "internal", "internal"
					} else if len(f.Claim("alice").Payment) > 0 {
						w.result = "refund-due"
					}
					f.meets(other, w)
				}
			}, variables[provider], one[0])
		}
	}
}

// What anybody may send costs little before it is refused; of the keys there are as many as there may be.
func TestAWebhookThatIsNotSignedIsRefusedForLittleMemory(t *testing.T) {
	const most = 40 * maxWebhook // in all, of which little is in use at once
	all, err := NewProviders(Settings{
		StripeSecrets: strings.Repeat(stripeOld+",", settings.MaxKeys-1) + stripeNew, StripeEvents: anyEvents, WeChatPaySecrets: wechatSettings(""), AlipaySecrets: alipayGood(),
		StandardWebhooksSecrets: strings.Repeat(standardOld+",", settings.MaxKeys-1) + standardNew, AdyenSecrets: adyenSecrets("CAPTURE"),
	}, clock.Wall)
	if err != nil {
		t.Fatal(err)
	}
	filled := func(start, again, end string) string {
		return start + strings.Repeat(again, (maxWebhook-len(start)-len(end))/len(again)) + end
	}
	numbered := func(start, again, end string) string {
		text := []byte(start)
		for i := 0; len(text) < maxWebhook-len(end)-20; i++ {
			text = fmt.Appendf(text, again, i)
		}
		return string(text) + end
	}
	const item = `{"notificationItems":[{"NotificationRequestItem":{`
	for name, body := range map[string]string{
		"nothing": "", "letters": filled("", "x", ""), "arrays in arrays": filled("", "[", ""), "objects in objects": filled("", `{"a":`, ""),
		"items of nothing": filled(`{"notificationItems":[{}`, ",{}", "]}"), "items of null": filled(`{"notificationItems":[null`, ",null", "]}"),
		"empty items": filled(item+`}}`, `,{"NotificationRequestItem":{}}`, "]}"), "members": numbered(`{"x":0`, `,"%x":0`, "}"),
		"members of an item": numbered(item+`"x":0`, `,"%x":0`, "}}]}"), "additional data": numbered(item+`"additionalData":{"x":0`, `,"%x":0`, "}}}]}"),
		"a long value": filled(item+`"pspReference":"`, `\u0041`, `"}}]}`), "a long signature": filled(item+`"additionalData":{"hmacSignature":"`, "AAAA", `"}}}]}`),
		"fields of nothing": filled("", "&", ""), "fields": numbered("sign=AAAA", "&%x=", ""), "a long field": filled("sign=AAAA&a=", "%41", ""),
		"a form's long signature": filled("a=b&sign=", "AAAA", ""), "fields that decide": numbered("sign=AAAA", "&x%x=%%26app_id%%3D", ""),
	} {
		now := strconv.FormatInt(time.Now().Unix(), 10)
		r := httpapi.Request{Headers: map[string]string{
			"stripe-signature": signature(body, time.Now(), strings.Split(strings.Repeat("x,", 99), ",")...)["stripe-signature"],
			"webhook-id":       "msg_1", "webhook-timestamp": now, "webhook-signature": strings.Repeat("v1,AAAA ", 999),
			"wechatpay-timestamp": now, "wechatpay-serial": pubKeyID,
		}}
		for provider, p := range all {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := p.verify(&r, []byte(body))
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; err == nil || used > most {
				t.Errorf("%s, %s: got %v for %d bytes, want it refused for %d", provider, name, err, used, most)
			}
		}
	}
}
