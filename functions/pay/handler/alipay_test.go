package handler

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// alipayKeys are Alipay's old and new key, and a stranger's.
var alipayKeys = sync.OnceValue(func() (keys [3]*rsa.PrivateKey) {
	for i := range keys {
		keys[i], _ = rsa.GenerateKey(rand.Reader, 2048) // whose reader never fails
	}
	return keys
})

const (
	ourApp    = "2021000000000001"
	ourSeller = "2088000000000001"
)

// publicText is a public key as Alipay's console shows it.
func publicText(key *rsa.PrivateKey) string {
	der, _ := x509.MarshalPKIXPublicKey(&key.PublicKey) // RSA keys always marshal
	return base64.StdEncoding.EncodeToString(der)
}

// alipaySecrets are settings with two keys, as during a rotation.
func alipaySecrets() string {
	text, _ := json.Marshal(alipaySettings{
		PublicKeys: []string{publicText(alipayKeys()[0]), publicText(alipayKeys()[1])}, AppIDs: []string{ourApp}, SellerIDs: []string{"2088000000000009", ourSeller},
	})
	return string(text)
}

// trade are the fields of Alipay's notification that alice has paid, with those of changes, which are names and values;
// "-" takes one away.
func trade(changes ...string) map[string]string {
	fields := map[string]string{
		"app_id": ourApp, "auth_app_id": ourApp, "seller_id": ourSeller, "charset": "utf-8", "version": "1.0", "sign_type": "RSA2",
		"notify_type": "trade_status_sync", "notify_id": "2026010100222080106000000000000001", "notify_time": "2026-01-01 08:01:06",
		"trade_no": "2026010122001400000000000001", "out_trade_no": "shop-1", "trade_status": "TRADE_SUCCESS",
		"total_amount": "1499.00", "receipt_amount": "1498.00", "subject": "茅台 53% + 1", "body": "", "gmt_payment": "2026-01-01 08:01:05",
		"fund_bill_list":  `[{"amount":"1499.00","fundChannel":"ALIPAYACCOUNT"}]`,
		"passback_params": "flashsale-moutai-" + orderText,
	}
	for i := 0; i < len(changes); i += 2 {
		if fields[changes[i]] = changes[i+1]; changes[i+1] == "-" {
			delete(fields, changes[i])
		}
	}
	return fields
}

// signedText is what is signed of these fields.
func signedText(fields map[string]string, without ...string) []byte {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(without, name) {
			pairs = append(pairs, name+"="+fields[name])
		}
	}
	return []byte(strings.Join(pairs, "&"))
}

// form is a body with these fields and a signature.
func form(fields map[string]string, signature []byte) string {
	values := url.Values{"sign": {base64.StdEncoding.EncodeToString(signature)}}
	for name, value := range fields {
		values.Set(name, value)
	}
	return values.Encode()
}

// rsa2 is a notification as Alipay signs those of payments.
func rsa2(key *rsa.PrivateKey, fields map[string]string) string {
	digest := sha256.Sum256(signedText(fields, "sign_type"))
	signature, _ := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	return form(fields, signature)
}

// notified sends a notification of Alipay.
func (f *function) notified(body string) httpapi.Response {
	f.T.Helper()
	return f.Ask(f.T, f.T.Context(), post(f.T, Alipay, body, map[string]string{"content-type": "application/x-www-form-urlencoded; charset=utf-8"}))
}

func TestAPaymentOfAlipayIsRecordedAsReported(t *testing.T) {
	before, now := alipayKeys()[0], alipayKeys()[1]
	withType := sha256.Sum256(signedText(trade()))
	theirs, _ := rsa.SignPKCS1v15(nil, now, crypto.SHA256, withType[:])
	usual := rsa2(now, trade())
	parts := strings.Split(usual, "&")
	slices.Reverse(parts)
	for name, body := range map[string]string{
		"as Alipay sends it":                        usual,
		"signed by the key that ends":               rsa2(before, trade()),
		"signed with its sign_type":                 form(trade(), theirs),
		"that cannot be refunded any more":          rsa2(now, trade("trade_status", "TRADE_FINISHED")),
		"of the documents' form, with nothing back": rsa2(now, trade("refund_fee", "0.00", "gmt_close", "2026-01-01 08:01:05")),
		"in GBK":                                   rsa2(now, trade("charset", "GBK", "subject", "\xca\xd6\xbb\xfa")),
		"of an amount without decimals":            rsa2(now, trade("total_amount", "1499")),
		"of an amount with one decimal":            rsa2(now, trade("total_amount", "1499.0")),
		"in another order of its fields":           strings.Join(parts, "&"),
		"escaped in another way":                   strings.NewReplacer("+", "%20", "a", "%61").Replace(usual),
		"in its currency":                          rsa2(now, trade("trans_currency", "CNY", "settle_currency", "HKD")),
		"with a time of tomorrow":                  rsa2(now, trade("notify_time", "2026-01-02 23:00:00")),
		"of the same seller through another's app": rsa2(now, trade("auth_app_id", "2021000000000777")),
		"with fields that nobody knows":            rsa2(now, trade("a", "", "zz", "1&2=3")),
	} {
		for _, encode := range []bool{false, true} {
			owing(t, func(t *testing.T, f *function) {
				request := post(t, Alipay, body, nil)
				if encode {
					request = encoded(t, request)
				}
				r := f.Ask(t, t.Context(), request)
				if r.StatusCode != 200 || r.Body != "success" || r.Headers.ContentType != "text/plain" || r.Headers.CacheControl != "no-store" {
					t.Errorf("%s: %d %s %+v", name, r.StatusCode, r.Body, r.Headers)
				}
				if c := f.Claim("alice"); c.State() != sale.Paid || c.Payment != "alipay#2026010122001400000000000001" || f.Logged(t, "result") != "paid" {
					t.Errorf("%s: the claim is %s by %q, counted as %v", name, c.State(), c.Payment, f.Logged(t, "result"))
				}
			})
		}
	}
}

func TestANotificationOfAlipayThatCannotBeTakenIsToldWhyAndReachesNoTable(t *testing.T) {
	now := alipayKeys()[1]
	usual := rsa2(now, trade())
	weak := sha1.Sum(signedText(trade("sign_type", "RSA"), "sign_type"))
	sha1s, _ := rsa.SignPKCS1v15(nil, now, crypto.SHA1, weak[:])
	const unsigned, unread = "fail: invalid-request: the webhook has no valid signature", "fail: invalid-request: the webhook's body cannot be read"
	pretty := strings.Replace(usual, url.QueryEscape(`,"fund`), url.QueryEscape(",\n \"fund"), 1)
	for name, tt := range map[string]struct{ body, told, result string }{
		"nothing":                           {"", unsigned, "unverified"},
		"unsigned":                          {form(trade(), nil), unsigned, "unverified"},
		"of a key that nobody knows":        {rsa2(alipayKeys()[2], trade()), unsigned, "unverified"},
		"signed with SHA-1":                 {form(trade("sign_type", "RSA"), sha1s), unsigned, "unverified"},
		"of another sum than was signed":    {strings.Replace(usual, "1499.00", "1.00", 1), unsigned, "unverified"},
		"with a field more than was signed": {usual + "&x=", unsigned, "unverified"},
		"with a field twice":                {usual + "&total_amount=1499.00", unsigned, "unverified"},
		"with a signature twice":            {usual + "&sign=", unsigned, "unverified"},
		"pretty-printed on the way":         {pretty, unsigned, "unverified"},
		"with a line break at its end":      {usual + "\n", unsigned, "unverified"},
		"that is no form":                   {usual + "&%zz=1", unsigned, "unverified"},
		"whose signature lost its plus":     {strings.ReplaceAll(usual, "%2B", "+"), unsigned, "unverified"},
		"as JSON":                           {`{"trade_status":"TRADE_SUCCESS"}`, unsigned, "unverified"},
		"with a value that could be two":    {rsa2(now, trade("subject", "1&total_amount=2")), unsigned, "unverified"},
		"with a name that could be two":     {rsa2(now, trade("a&refund_fee", "1")), unsigned, "unverified"},
		"for another app": {rsa2(now, trade("app_id", "2021000000000002")),
			"fail: invalid-request: the notification is for another app: AlipayKeysArn does not have its app_id", "invalid-request"},
		"for another seller": {rsa2(now, trade("seller_id", "2088000000000002")),
			"fail: invalid-request: the notification is for another seller: AlipayKeysArn does not have its seller_id", "invalid-request"},
		"for no seller": {rsa2(now, trade("seller_id", "-")),
			"fail: invalid-request: the notification is for another seller: AlipayKeysArn does not have its seller_id", "invalid-request"},
		"in another currency": {rsa2(now, trade("trans_currency", "HKD")),
			"fail: invalid-request: the notification is not in CNY: Alipay's overseas trades are not read", "invalid-request"},
		"without its trade_no":          {rsa2(now, trade("trade_no", "-")), "fail: invalid-request: the payment has no valid reference", "invalid-request"},
		"without an amount":             {rsa2(now, trade("total_amount", "-")), unread, "invalid-request"},
		"of three decimals":             {rsa2(now, trade("total_amount", "1499.000")), unread, "invalid-request"},
		"of a dot and no decimal":       {rsa2(now, trade("total_amount", "1499.")), unread, "invalid-request"},
		"of a dot and no yuan":          {rsa2(now, trade("total_amount", ".99")), unread, "invalid-request"},
		"of a negative amount":          {rsa2(now, trade("total_amount", "-1499.00")), unread, "invalid-request"},
		"of an amount with its sign":    {rsa2(now, trade("total_amount", "+1499.00")), unread, "invalid-request"},
		"of an amount in thousands":     {rsa2(now, trade("total_amount", "1,499.00")), unread, "invalid-request"},
		"of an amount with an exponent": {rsa2(now, trade("total_amount", "1.499e3")), unread, "invalid-request"},
		"of an impossible amount":       {rsa2(now, trade("total_amount", "99999999999999999999.00")), unread, "invalid-request"},
		"of an amount above all prices": {rsa2(now, trade("total_amount", "10000000000.01")), "fail: invalid-request: the payment has no valid amount", "invalid-request"},
		"of a refund that is no amount": {rsa2(now, trade("refund_fee", "all")), unread, "invalid-request"},
	} {
		owing(t, func(t *testing.T, f *function) {
			var r httpapi.Response
			calls := f.Calls(func() { r = f.notified(tt.body) })
			if r.StatusCode != 400 || r.Body != tt.told || calls > 0 || f.Logged(t, "result") != tt.result {
				t.Errorf("%s: %d %s, %d calls, counted as %v, want %s", name, r.StatusCode, r.Body, calls, f.Logged(t, "result"), tt.told)
			}
		})
	}
}

func TestANotificationOfAlipayThatReportsNoPaymentHereIsTakenAndCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		fields map[string]string
		result string
	}{
		"nobody has paid yet":                 {trade("trade_status", "WAIT_BUYER_PAY"), "ignored"},
		"nobody has paid in time":             {trade("trade_status", "TRADE_CLOSED", "total_amount", "-"), "ignored"},
		"it was closed, with nothing back":    {trade("trade_status", "TRADE_CLOSED", "refund_fee", "0.00", "gmt_close", "2026-01-16 08:04:29"), "ignored"},
		"something else was paid":             {trade("passback_params", "-"), "ignored"},
		"something else was paid, 100% of it": {trade("passback_params", "100%"), "ignored"},
		"something else was paid abroad":      {trade("passback_params", "-", "trans_currency", "HKD"), "ignored"},
		"a part went back":                    {trade("refund_fee", "0.01", "gmt_refund", "2026-01-01 09:00:00.000"), "ignored-refunded"},
		"a part went back, unsaid how much":   {trade("gmt_refund", "2026-01-01 09:00:00.000"), "ignored-refunded"},
		"a part went back of what is final":   {trade("trade_status", "TRADE_FINISHED", "refund_fee", "1498.99"), "ignored-refunded"},
		"a closed trade went back, in part":   {trade("trade_status", "TRADE_CLOSED", "refund_fee", "1498.99"), "ignored-refunded"},
		"it went back, and was none of ours":  {trade("trade_status", "TRADE_CLOSED", "refund_fee", "1499.00"), "ignored-refunded"},
		"a status that nobody knows":          {trade("trade_status", "TRADE_PENDING"), "ignored-unknown"},
		"no status":                           {trade("trade_status", "-"), "ignored-unknown"},
		"another kind":                        {trade("notify_type", "servicemarket_order_notify", "seller_id", "-"), "ignored-unknown"},
	} {
		owing(t, func(t *testing.T, f *function) {
			before := f.DB.Dump()
			r := f.notified(rsa2(alipayKeys()[1], tt.fields))
			if r.StatusCode != 200 || r.Body != "success" || f.Logged(t, "result") != tt.result || f.DB.Dump() != before {
				t.Errorf("%s: %d %s, counted as %v, want %s; the table is\n%s", name, r.StatusCode, r.Body, f.Logged(t, "result"), tt.result, f.DB.Dump())
			}
		})
	}
}

func TestAPaymentOfAlipayHasOneFateHoweverItIsReported(t *testing.T) {
	now := alipayKeys()[1]
	owing(t, func(t *testing.T, f *function) {
		told := func(body, result string) {
			t.Helper()
			if r := f.notified(body); r.StatusCode != 200 || r.Body != "success" || f.Logged(t, "result") != result {
				t.Errorf("%d %s, counted as %v, want %s", r.StatusCode, r.Body, f.Logged(t, "result"), result)
			}
		}
		told(rsa2(now, trade()), "paid")
		time.Sleep(25 * time.Hour) // for which Alipay repeats
		told(rsa2(now, trade()), "repeated")
		told(rsa2(now, trade("notify_time", "2026-01-02 09:01:06")), "repeated")
		told(rsa2(now, trade("trade_status", "TRADE_FINISHED")), "repeated")
		told(rsa2(now, trade("total_amount", "1.00")), "repeated")
		told(rsa2(now, trade("trade_no", "2026010122001400000000000002")), "refund-due")
		told(rsa2(now, trade("refund_fee", "500.00", "gmt_refund", "2026-01-02 10:00:00")), "ignored-refunded")
		told(rsa2(now, trade("trade_status", "TRADE_CLOSED", "refund_fee", "1499.00", "gmt_refund", "2026-01-02 10:00:00")), "refunded")
		told(rsa2(now, trade("trade_status", "TRADE_CLOSED", "refund_fee", "1499", "gmt_refund", "2026-01-02 10:00:00")), "repeated")
		if c, err := f.Ledger().Claim(t.Context(), testledger.SaleID, testledger.Alice); err != nil || c.State() != sale.Paid || c.RefundedAt.IsZero() {
			t.Errorf("got %+v (%v), want it paid and marked", c, err)
		}
	})
	owing(t, func(t *testing.T, f *function) {
		for name, tt := range map[string]struct{ changes []string }{
			"of another sum":  {[]string{"total_amount", "1498.99"}},
			"of nothing":      {[]string{"total_amount", "0.00"}},
			"of no order":     {[]string{"passback_params", "flashsale-moutai-"}},
			"of another sale": {[]string{"passback_params", "flashsale-other-" + orderText}},
		} {
			r := f.notified(rsa2(now, trade(append(tt.changes, "trade_no", strings.ReplaceAll(name, " ", "-"))...)))
			if r.Body != "success" || f.Logged(t, "result") != "refund-due" {
				t.Errorf("%s: %d %s, counted as %v", name, r.StatusCode, r.Body, f.Logged(t, "result"))
			}
		}
	})
}

func TestAlipayRepeatsWhatIsNotRecorded(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*function)
		status int
		told   string
	}{
		"the table is busy": {func(f *function) { f.Throttles() }, 503, "fail: busy"},
		"a foreign error":   {func(f *function) { f.over(f.Nowhere()) }, 500, "fail: internal"},
		"a panic":           {func(f *function) { f.Burns() }, 500, "fail: internal"},
	} {
		owing(t, func(t *testing.T, f *function) {
			tt.before(f)
			if r := f.notified(rsa2(alipayKeys()[1], trade())); r.StatusCode != tt.status || !strings.HasPrefix(r.Body, tt.told) {
				t.Errorf("%s: %d %s, want %d %s", name, r.StatusCode, r.Body, tt.status, tt.told)
			}
		})
	}
}

func TestSettingsOfAlipayThatCannotBeRightStopTheFunctionAndAreNotQuoted(t *testing.T) {
	short, _ := rsa.GenerateKey(rand.Reader, 1024)
	good := alipaySecrets()
	key := publicText(alipayKeys()[0])
	for name, text := range map[string]string{
		"no JSON":          "whsec_0123456789",
		"no keys":          strings.Replace(good, `"publicKeys":[`, `"publicKeys":[],"x":[`, 1),
		"a member more":    strings.Replace(good, `{`, `{"privateKey":"secret",`, 1),
		"a private key":    strings.Replace(good, key, base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(alipayKeys()[0])), 1),
		"an app's own key": strings.Replace(good, key, base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PublicKey(&alipayKeys()[0].PublicKey)), 1),
		"a short key":      strings.Replace(good, key, publicText(short), 1),
		"no app":           strings.Replace(good, `"`+ourApp+`"`, "", 1),
		"no seller":        `{"publicKeys":["` + key + `"],"appIds":["1"],"sellerIds":[]}`,
		"a seller's name":  strings.Replace(good, ourSeller, "shop@example.com", 1),
		"an empty app":     strings.Replace(good, ourApp, "", 1),
	} {
		if p, err := NewProviders(Settings{Alipay: text}, clock.Wall); p != nil || err == nil || !strings.HasPrefix(err.Error(), "ALIPAY_SECRETS: ") ||
			strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "MII") || strings.Contains(err.Error(), ourSeller) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if p, err := NewProviders(Settings{Alipay: good}, clock.Wall); len(p) != 1 || err != nil {
		t.Errorf("good settings: %v, %v", p, err)
	}
}
