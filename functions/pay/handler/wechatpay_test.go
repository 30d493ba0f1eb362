package handler

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// The keys of a merchant who goes from a platform certificate to a public key, and from one APIv3 key to another.
const (
	apiV3Old    = "0123456789abcdef0123456789abcdef"
	apiV3New    = "fedcba9876543210fedcba9876543210"
	pubKeyID    = "PUB_KEY_ID_0116500000002024101100397200000006"
	certificate = "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"
)

// wechatSettings are those of the merchant, with members replaced.
func wechatSettings(more string) string {
	keys := alipayKeys()
	return membersOf(`"mchid":"1900000109","appids":["wxd678efh567hg6787","wxd678efh567hg6999"]`, fmt.Sprintf(`"apiV3Keys":[%q,%q],"publicKeys":{%q:%q,%q:%q}`,
		apiV3Old, apiV3New, pubKeyID, publicText(keys[0]), strings.ToLower(certificate), publicText(keys[1])), more)
}

// wechatNotice is a notification before it is sent: what is encrypted, and what may be changed about the rest.
type wechatNotice struct {
	event, resource  string
	apiV3            string // apiV3New if it is empty
	associated       string
	nonce, algorithm string
	body             func(string) string // of what is signed
	sent             func(string) string // of what comes
	key              *rsa.PrivateKey
	headers          map[string]string // in place of the signed ones
	age              time.Duration
}

// wechatPaid is the payment of the order, with members replaced.
func wechatPaid(more string) wechatNotice {
	return wechatNotice{event: "TRANSACTION.SUCCESS", resource: membersOf(`"mchid":"1900000109","appid":"wxd678efh567hg6787","out_trade_no":"`+orderText+`",
		"transaction_id":"4200000001202601010000000001","trade_type":"JSAPI","trade_state":"SUCCESS","trade_state_desc":"支付成功","bank_type":"CMB_DEBIT",
		"attach":"flashsale-moutai-`+orderText+`","success_time":"2026-01-01T08:00:06+08:00","payer":{"openid":"oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"},
		"amount":{"total":149900,"payer_total":149900,"currency":"CNY","payer_currency":"CNY"}`, more)}
}

// wechatRefunded is a refund of that payment, with members replaced.
func wechatRefunded(event, more string) wechatNotice {
	return wechatNotice{event: event, resource: membersOf(`"mchid":"1900000109","transaction_id":"4200000001202601010000000001","out_trade_no":"`+orderText+`",
		"refund_id":"50200207182018070300011301001","out_refund_no":"7752501201407033233368018","refund_status":"SUCCESS",
		"success_time":"2026-01-01T08:00:06+08:00","user_received_account":"招商银行信用卡0403",
		"amount":{"total":149900,"refund":149900,"payer_total":149900,"payer_refund":149900}`, more)}
}

// request is the notification as API Gateway passes it on, signed now.
func (n wechatNotice) request(t *testing.T) []byte {
	t.Helper()
	orElse := func(text, other string) string {
		if text == "" {
			return other
		}
		return text
	}
	block, err := aes.NewCipher([]byte(orElse(n.apiV3, apiV3New)))
	if err != nil {
		t.Fatal(err)
	}
	nonce := "fdasfsadsadt"
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	resource := map[string]string{
		"original_type": "transaction", "algorithm": orElse(n.algorithm, "AEAD_AES_256_GCM"), "nonce": orElse(n.nonce, nonce),
		"ciphertext": base64.StdEncoding.EncodeToString(gcm.Seal(nil, []byte(nonce), []byte(n.resource), []byte(n.associated))),
	}
	if n.associated != "" {
		resource["associated_data"] = n.associated
	}
	text, err := json.Marshal(map[string]any{
		"id": "EV-2018022511223320873", "create_time": "2026-01-01T08:00:06+08:00", "resource_type": "encrypt-resource",
		"event_type": n.event, "summary": "支付成功", "resource": resource,
	})
	if err != nil {
		t.Fatal(err)
	}
	body := string(text)
	if n.body != nil {
		body = n.body(body)
	}
	key := n.key
	if key == nil {
		key = alipayKeys()[0]
	}
	at := strconv.FormatInt(time.Now().Add(-n.age).Unix(), 10)
	digest := sha256.Sum256([]byte(at + "\nc5ac7061fccab6bf3e254dcf98995b8c\n" + body + "\n"))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]string{
		"wechatpay-serial": pubKeyID, "wechatpay-timestamp": at, "wechatpay-nonce": "c5ac7061fccab6bf3e254dcf98995b8c",
		"wechatpay-signature": base64.StdEncoding.EncodeToString(signature), "wechatpay-signature-type": "WECHATPAY2-SHA256-RSA2048",
	}
	maps.Copy(headers, n.headers)
	if n.sent != nil {
		body = n.sent(body)
	}
	return post(t, WeChatPay, body, headers)
}

// wechat runs a test while alice has a confirmed order of 1499 CNY, and the merchant sells in two apps.
func wechat(t *testing.T, test func(t *testing.T, f *function)) {
	t.Helper()
	owing(t, test, "WECHAT_PAY_SECRETS", wechatSettings(""))
}

// isWeChats checks an answer in WeChat Pay's form; a refusal has that text.
func isWeChats(t *testing.T, name string, r httpapi.Response, status int, text string) {
	t.Helper()
	var refusal struct{ Code, Message string }
	switch {
	case status == 204:
		if r.StatusCode != 204 || r.Body != "" || r.Headers.ContentType != "" {
			t.Errorf("%s: %d %s, want 204 without a body", name, r.StatusCode, r.Body)
		}
	case json.Unmarshal([]byte(r.Body), &refusal) != nil, r.StatusCode != status, refusal.Code != "FAIL", !strings.Contains(refusal.Message, text):
		t.Errorf("%s: %d %s, want %d FAIL and %q", name, r.StatusCode, r.Body, status, text)
	}
}

func TestWeChatPaysPaymentsAreRecorded(t *testing.T) {
	byCertificate := map[string]string{"wechatpay-serial": certificate}
	old := wechatPaid("")
	old.apiV3 = apiV3Old
	bound := wechatPaid("")
	bound.associated = "transaction"
	certified := wechatPaid("")
	certified.key, certified.headers = alipayKeys()[1], byCertificate
	pretty := wechatPaid("")
	pretty.body = func(text string) string { return strings.ReplaceAll(text, `":`, `": `) + "\n" }
	for name, n := range map[string]wechatNotice{
		"a payment":                             wechatPaid(""),
		"encrypted by the key that ends":        old,
		"with associated data":                  bound,
		"signed by the platform certificate":    certified,
		"with blanks, signed as it comes":       pretty,
		"in the merchant's other app":           wechatPaid(`"appid":"wxd678efh567hg6999"`),
		"with a coupon":                         wechatPaid(`"amount":{"total":149900,"payer_total":99900,"currency":"CNY","payer_currency":"CNY"}`),
		"without a currency":                    wechatPaid(`"amount":{"total":149900,"payer_total":149900}`),
		"with members that nobody knows so far": wechatPaid(`"promotion_detail":[],"x":{"y":1}`),
	} {
		for _, encode := range []bool{false, true} {
			wechat(t, func(t *testing.T, f *function) {
				request := n.request(t)
				if encode {
					request = encoded(t, request)
				}
				for _, result := range []string{"paid", "repeated"} {
					isWeChats(t, name, f.Ask(t, t.Context(), request), 204, "")
					if got := f.Logged(t, "result"); got != result || f.Logged(t, "provider") != WeChatPay || f.Logged(t, "orderId") != orderText {
						t.Errorf("%s: counted as %v, want %s: %s", name, got, result, &f.Log)
					}
				}
				if c := f.Claim("alice"); c.State() != sale.Paid || c.Payment != "wechat-pay#4200000001202601010000000001" {
					t.Errorf("%s: the claim is %s by %q", name, c.State(), c.Payment)
				}
			})
		}
	}
}

// Whatever is not right about a notification, its answer is in WeChat Pay's form, nothing is lost, and what is counted rings.
func TestANotificationOfWeChatPayThatIsNotRight(t *testing.T) {
	other := alipayKeys()[2]
	with := func(change func(*wechatNotice)) wechatNotice {
		n := wechatPaid("")
		change(&n)
		return n
	}
	header := func(name, value string) wechatNotice {
		return with(func(n *wechatNotice) { n.headers = map[string]string{name: value} })
	}
	const unsigned, undecrypted, merchant = "no valid signature", "cannot be decrypted", "not of the mchid"
	for name, tt := range map[string]struct {
		wechatNotice
		text, result string
	}{
		"signed by another key":                  {with(func(n *wechatNotice) { n.key = other }), unsigned, "unverified"},
		"a certificate's signature as the key's": {with(func(n *wechatNotice) { n.key = alipayKeys()[1] }), unsigned, "unverified"},
		"a serial that is not known":             {header("wechatpay-serial", "PUB_KEY_ID_0"), "WeChatPayKeysArn has no public key", "unverified"},
		"no serial":                              {header("wechatpay-serial", ""), unsigned, "unverified"},
		"no timestamp":                           {header("wechatpay-timestamp", ""), unsigned, "unverified"},
		"another timestamp":                      {header("wechatpay-timestamp", strconv.FormatInt(reported.Unix()+1, 10)), unsigned, "unverified"},
		"another nonce":                          {header("wechatpay-nonce", "c5ac7061fccab6bf3e254dcf98995b8d"), unsigned, "unverified"},
		"no signature":                           {header("wechatpay-signature", ""), unsigned, "unverified"},
		"a signature that is no base64":          {header("wechatpay-signature", "…"), unsigned, "unverified"},
		"a probe":                                {header("wechatpay-signature", "WECHATPAY/SIGNTEST/"+strings.Repeat("A", 324)+"="), unsigned, "unverified"},
		"pretty-printed on the way": {with(func(n *wechatNotice) {
			n.sent = func(text string) string { return strings.ReplaceAll(text, `":`, `": `) }
		}), unsigned, "unverified"},
		"another body": {with(func(n *wechatNotice) {
			n.sent = func(text string) string { return strings.Replace(text, "EV-2018", "EV-2019", 1) }
		}), unsigned, "unverified"},
		"a clock 301 s behind":           {with(func(n *wechatNotice) { n.age = 301 * time.Second }), "within 300 seconds", "unverified"},
		"a clock 301 s ahead":            {with(func(n *wechatNotice) { n.age = -301 * time.Second }), "within 300 seconds", "unverified"},
		"an APIv3 key that is not known": {with(func(n *wechatNotice) { n.apiV3 = strings.Repeat("k", 32) }), undecrypted, "invalid-request"},
		"another algorithm":              {with(func(n *wechatNotice) { n.algorithm = "AEAD_SM4_GCM" }), undecrypted, "invalid-request"},
		"a nonce of another length":      {with(func(n *wechatNotice) { n.nonce = "fdasfsadsadtx" }), undecrypted, "invalid-request"},
		"a ciphertext that is no base64": {with(func(n *wechatNotice) {
			n.body = func(text string) string { return strings.Replace(text, `"ciphertext":"`, `"ciphertext":"*`, 1) }
		}), undecrypted, "invalid-request"},
		"other associated data": {with(func(n *wechatNotice) {
			n.associated = "transaction"
			n.body = func(text string) string {
				return strings.Replace(text, `"associated_data":"transaction"`, `"associated_data":"refund"`, 1)
			}
		}), undecrypted, "invalid-request"},
		"no JSON":                    {with(func(n *wechatNotice) { n.body = func(string) string { return "paid!" } }), "cannot be read", "invalid-request"},
		"a resource that is no JSON": {with(func(n *wechatNotice) { n.resource = "paid!" }), "cannot be read", "invalid-request"},
		"an amount twice":            {with(func(n *wechatNotice) { n.resource = strings.Replace(n.resource, `"total"`, `"total":1,"total"`, 1) }), "cannot be read", "invalid-request"},
		"for another merchant":       {wechatPaid(`"mchid":"1900000110"`), merchant, "invalid-request"},
		"a service provider's":       {wechatPaid(`"mchid":"","sp_mchid":"1900000109","sub_mchid":"1900000110"`), merchant, "invalid-request"},
		"a combined payment": {with(func(n *wechatNotice) {
			n.resource = `{"combine_mchid":"1900000109","combine_appid":"wxd678efh567hg6787","sub_orders":[]}`
		}), merchant, "invalid-request"},
		"another merchant's refund":      {wechatRefunded("REFUND.SUCCESS", `"mchid":"1900000110"`), merchant, "invalid-request"},
		"for another app":                {wechatPaid(`"appid":"wx0000000000000000"`), "does not have its appid", "invalid-request"},
		"without an amount":              {wechatPaid(`"amount":{"currency":"CNY"}`), "cannot be read", "invalid-request"},
		"an amount of yuan":              {wechatPaid(`"amount":{"total":1499.5,"currency":"CNY"}`), "cannot be read", "invalid-request"},
		"a currency of two letters":      {wechatPaid(`"amount":{"total":149900,"currency":"RM"}`), "no valid currency", "invalid-request"},
		"without a transaction's id":     {wechatPaid(`"transaction_id":""`), "no valid reference", "invalid-request"},
		"a refund without its payment's": {wechatRefunded("REFUND.SUCCESS", `"transaction_id":""`), "no valid reference", "invalid-request"},
	} {
		wechat(t, func(t *testing.T, f *function) {
			var r httpapi.Response
			if calls := f.Calls(func() { r = f.Ask(t, t.Context(), tt.request(t)) }); calls > 0 {
				t.Errorf("%s: the ledger was asked", name)
			}
			isWeChats(t, name, r, 400, tt.text)
			if got := f.Logged(t, "result"); got != tt.result || strings.Contains(f.Log.String(), "moutai") {
				t.Errorf("%s: counted as %v, want %s: %s", name, got, tt.result, &f.Log)
			}
		})
	}
}

func TestAWeChatPaySignatureHolds300SecondsEitherWay(t *testing.T) {
	for _, age := range []time.Duration{300 * time.Second, -300 * time.Second} {
		wechat(t, func(t *testing.T, f *function) {
			n := wechatPaid("")
			n.age = age
			isWeChats(t, age.String(), f.Ask(t, t.Context(), n.request(t)), 204, "")
		})
	}
}

// Another sum or currency, an order that is not there: the money goes back, and WeChat Pay need not repeat that.
func TestWhatDoesNotPayItsOrderIsARefundDueToWeChatPay(t *testing.T) {
	for name, tt := range map[string]struct{ more, reason string }{
		"another sum":       {`"amount":{"total":100,"payer_total":149900,"currency":"CNY"}`, "amount"},
		"another currency":  {`"amount":{"total":149900,"currency":"HKD"}`, "amount"},
		"another sale":      {`"attach":"flashsale-shoe-` + orderText + `"`, "unknown-order"},
		"no order's number": {`"attach":"flashsale-moutai"`, "unknown-order"},
		"no sale":           {`"attach":"flashsale-"`, "unknown-order"},
	} {
		wechat(t, func(t *testing.T, f *function) {
			isWeChats(t, name, f.Ask(t, t.Context(), wechatPaid(tt.more).request(t)), 204, "")
			if f.Logged(t, "result") != "refund-due" || f.Logged(t, "reason") != tt.reason {
				t.Errorf("%s: want a refund due because of %s: %s", name, tt.reason, &f.Log)
			}
		})
	}
}

func TestWhatOfWeChatPayIsNotOursIsIgnoredAndCounted(t *testing.T) {
	of := func(event string) wechatNotice { n := wechatPaid(""); n.event = event; return n }
	for name, tt := range map[string]struct {
		wechatNotice
		result string
	}{
		"a payment with another attach": {wechatPaid(`"attach":"深圳分店"`), "ignored"},
		"one without an attach":         {wechatPaid(`"attach":""`), "ignored"},
		"one of another app":            {wechatPaid(`"attach":"","appid":"wx0000000000000000"`), "ignored"},
		"one that did not succeed":      {wechatPaid(`"trade_state":"NOTPAY"`), "ignored"},
		"a deduction that failed":       {of("TRANSACTION.FAIL"), "ignored"},
		"a payment of another kind":     {of("PAYSCORE.USER_PAID"), "ignored-charge"},
		"a refund without its amounts":  {wechatRefunded("REFUND.SUCCESS", `"amount":{}`), "ignored-refunded"},
		"a refund that is under way":    {wechatRefunded("REFUND.SUCCESS", `"refund_status":"PROCESSING"`), "ignored-refunded"},
		"a refund that failed":          {wechatRefunded("REFUND.ABNORMAL", ""), "ignored-not-back"},
		"a refund that was given up":    {wechatRefunded("REFUND.CLOSED", ""), "ignored-not-back"},
		"a complaint":                   {of("COMPLAINT.CREATE"), "ignored-disputed"},
		"something that nobody knows":   {of("user-4711"), "ignored-unknown"},
		"what has no type":              {of(""), "ignored-unknown"},
	} {
		wechat(t, func(t *testing.T, f *function) {
			var r httpapi.Response
			calls := f.Calls(func() { r = f.Ask(t, t.Context(), tt.request(t)) })
			isWeChats(t, name, r, 204, "")
			if got := f.Logged(t, "result"); got != tt.result || calls > 0 {
				t.Errorf("%s: counted as %v after %d calls, want %s", name, got, calls, tt.result)
			}
		})
	}
}

// WeChat Pay signs each repeat anew, so the last one, a day later, is no older than the first.
func TestANotificationOfWeChatPayThatComesAgainForADayChangesNothing(t *testing.T) {
	wechat(t, func(t *testing.T, f *function) {
		isWeChats(t, "the first", f.Ask(t, t.Context(), wechatPaid("").request(t)), 204, "")
		before := f.DB.Dump()
		for _, later := range []time.Duration{15 * time.Second, 10 * time.Minute, 24*time.Hour + 4*time.Minute} {
			time.Sleep(later)
			isWeChats(t, later.String(), f.Ask(t, t.Context(), wechatPaid("").request(t)), 204, "")
			if got := f.Logged(t, "result"); got != "repeated" || f.DB.Dump() != before {
				t.Errorf("after %s more: counted as %v; the table is\n%s", later, got, f.DB.Dump())
			}
		}
	})
}

func TestAWholeRefundOfWeChatPayIsSeen(t *testing.T) {
	wechat(t, func(t *testing.T, f *function) {
		back := func(result, more string) {
			t.Helper()
			isWeChats(t, result, f.Ask(t, t.Context(), wechatRefunded("REFUND.SUCCESS", more).request(t)), 204, "")
			if got := f.Logged(t, "result"); got != result {
				t.Errorf("counted as %v, want %s", got, result)
			}
		}
		back("ignored-refunded", "") // of nothing that was recorded
		f.Ask(t, t.Context(), wechatPaid("").request(t))
		back("ignored-refunded", `"amount":{"total":149900,"refund":100}`)
		back("ignored-refunded", `"amount":{"total":149900,"refund":0}`)
		back("ignored-refunded", `"amount":{"total":149900,"refund":149900,"currency":"HKD"}`)
		back("refunded", "")
		back("repeated", "")
		if c, err := f.Ledger().Claim(t.Context(), testledger.SaleID, testledger.Alice); err != nil || c.State() != sale.Paid || c.RefundedAt.IsZero() {
			t.Errorf("got %+v (%v), want it paid and marked", c, err)
		}
	})
}

func TestWeChatPayIsToldToRepeatWhatFailed(t *testing.T) {
	for name, tt := range map[string]struct {
		before  func(*function)
		status  int
		message string
	}{
		"the table is busy": {func(f *function) { f.Throttles() }, 503, "busy"},
		"a foreign error":   {func(f *function) { f.over(f.Nowhere()) }, 500, "internal"},
	} {
		wechat(t, func(t *testing.T, f *function) {
			tt.before(f)
			isWeChats(t, name, f.Ask(t, t.Context(), wechatPaid("").request(t)), tt.status, tt.message)
		})
	}
}

func TestWeChatPaysSettingsThatCannotBeRightStopTheFunction(t *testing.T) {
	short, _ := rsa.GenerateKey(rand.Reader, 1024)
	keyed := func(key string) string { return fmt.Sprintf(`"publicKeys":{%q:%q}`, pubKeyID, key) }
	for name, tt := range map[string]struct{ settings, says string }{
		"no JSON":                    {"whsec_0123456789abcdef", "not JSON"},
		"a member that nobody knows": {wechatSettings(`"privateKey":"x"`), "not JSON"},
		"no merchant":                {wechatSettings(`"mchid":""`), "no mchid"},
		"no app":                     {wechatSettings(`"appids":[]`), "appids"},
		"an app without a name":      {wechatSettings(`"appids":["wxd678efh567hg6787",""]`), "appids"},
		"no APIv3 key":               {wechatSettings(`"apiV3Keys":[]`), "a key each"},
		"an APIv3 key of 31":         {wechatSettings(`"apiV3Keys":["0123456789abcdef0123456789abcde"]`), "32 characters"},
		"an APIv3 key of 16":         {wechatSettings(`"apiV3Keys":["0123456789abcdef"]`), "32 characters"},
		"no public key":              {wechatSettings(`"publicKeys":{}`), "a key each"},
		"a public key that is a PEM": {wechatSettings(keyed("-----BEGIN PUBLIC KEY-----")), "base64"},
		"a public key that is none":  {wechatSettings(keyed("AAAA")), "PUBLIC KEY"},
		"a public key of 1024 bits":  {wechatSettings(keyed(publicText(short))), "2048"},
	} {
		p, err := NewProviders(Settings{WeChatPay: tt.settings}, clock.Wall)
		if p != nil || err == nil || !strings.HasPrefix(err.Error(), "WECHAT_PAY_SECRETS: ") || !strings.Contains(err.Error(), tt.says) ||
			strings.Contains(err.Error(), "0123456789abcde") {
			t.Errorf("%s: %v, %v, want an error that says %q and quotes nothing", name, p, err, tt.says)
		}
	}
}
