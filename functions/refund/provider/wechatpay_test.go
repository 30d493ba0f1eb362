package provider

import (
	"crypto/rand"
	"crypto/rsa"
	"regexp"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/client/webhook"
)

// wechatMade is the refund of the request.
const wechatMade = `{"refund_id":"50000000382019052709732678859","out_refund_no":"` + someID + `","transaction_id":"4200000001202601010000000001","out_trade_no":"1217752501201407033233368018","channel":"ORIGINAL","status":"SUCCESS",` +
	`"amount":{"total":179900,"refund":179900,"payer_total":179900,"currency":"CNY"}}`

// wechat is an answer as WeChat Pay signs it.
func wechat(status int, body string) said {
	return said{status, body, webhook.WeChatPayHeaders(webhook.LocalKey(), keyID, body, now)}
}

func TestWeChatPayIsAskedForTheWholeSumUnderOneNumber(t *testing.T) {
	p, calls := serve(t, WeChatPay, wechat(200, wechatMade))
	p.Send(t.Context(), request(WeChatPay))
	p.Ask(t.Context(), request(WeChatPay))
	headers := []string{"Accept: application/json", "Wechatpay-Serial: " + keyID, "User-Agent: flashsale"}
	calls()[0].is(t, "POST", "/wechat-pay/v3/refund/domestic/refunds", `{"transaction_id":"4200000001202601010000000001","out_refund_no":"`+someID+
		`","notify_url":"https://shop.example/payments/wechat-pay","amount":{"refund":179900,"total":179900,"currency":"CNY"}}`, append(headers, "Content-Type: application/json")...)
	calls()[1].is(t, "GET", "/wechat-pay/v3/refund/domestic/refunds/"+someID, "", headers...)
	form := regexp.MustCompile(`^WECHATPAY2-SHA256-RSA2048 mchid="1900000109",nonce_str="([0-9A-Z]{16,32})",signature="(.*)",timestamp="1795924800",serial_no="` + ourSerial + `"$`)
	for _, call := range calls() {
		found := form.FindStringSubmatch(call.header.Get("Authorization"))
		if found == nil {
			t.Fatalf("%s does not authorize", call.header.Get("Authorization"))
		}
		text := call.method + "\n" + strings.TrimPrefix(call.uri, "/wechat-pay") + "\n1795924800\n" + found[1] + "\n" + call.body + "\n"
		if found[2] != webhook.RSASignature(p.(*wechatPay).own, text) {
			t.Errorf("%s is no signature of\n%s", found[2], text)
		}
	}
	r := request(WeChatPay)
	if r.Currency = "HKD"; p.Send(t.Context(), r).Code != "currency" || len(calls()) != 2 || p.Account() != "1900000109" {
		t.Errorf("HKD: %d requests of account %s", len(calls()), p.Account())
	}
}

func TestWhatWeChatPaysAnswersMean(t *testing.T) {
	const id = "50000000382019052709732678859"
	made := func(want string, changes ...string) fate {
		return fate{[]said{wechat(200, members(wechatMade, changes...))}, want}
	}
	says := func(code string) string { return `{"code":"` + code + `","message":"说明"}` }
	old := said{200, wechatMade, webhook.WeChatPayHeaders(webhook.LocalKey(), keyID, wechatMade, now.Add(-301*time.Second))}
	stranger, _ := rsa.GenerateKey(rand.Reader, 2048) // whose reader never fails
	strangers := said{200, wechatMade, webhook.WeChatPayHeaders(stranger, keyID, wechatMade, now)}
	absent := wechat(404, says("RESOURCE_NOT_EXISTS"))
	const other, unsigned = "unknown not-its-answer*", "unknown not-its-answer the answer is not the provider's to this request: its signature does not verify"
	both := map[string]fate{
		"it succeeded":              made("accepted " + id + " | done " + id + " 179900 CNY"),
		"without a currency":        {[]said{wechat(200, strings.Replace(wechatMade, `,"currency":"CNY"`, "", 1))}, "accepted " + id + " | done " + id + " 179900 CNY"},
		"it is under way":           made("accepted "+id, "status", `"PROCESSING"`),
		"the card is gone":          made("accepted "+id+" | stuck "+id+" 179900 CNY", "status", `"ABNORMAL"`),
		"it is closed":              made("refused "+id+" CLOSED | failed "+id+" 179900 CNY", "status", `"CLOSED"`),
		"a state unheard of":        made(other, "status", `"DONE"`),
		"another number's":          made(other, "out_refund_no", `"`+otherID+`"`),
		"another payment's":         made(other, "transaction_id", `"4200000001202601010000000002"`),
		"another sum":               made(other, "refund", "179901"),
		"another currency":          made(other, "currency", `"HKD"`),
		"without an id":             made(other, "refund_id", `""`),
		"another key's name":        {[]said{{200, wechatMade, webhook.WeChatPayHeaders(webhook.LocalKey(), ourSerial, wechatMade, now)}}, unsigned},
		"unsigned":                  {[]said{{200, wechatMade, nil}}, unsigned},
		"signed by a stranger":      {[]said{strangers}, unsigned},
		"signed long ago":           {[]said{old}, unsigned},
		"a wrong signature of ours": {[]said{{401, says("SIGN_ERROR"), nil}}, "halted SIGN_ERROR 说明"},
		"no right to refund":        {[]said{{403, says("NO_AUTH"), nil}}, "halted NO_AUTH 说明"},
		"a refusal, unsigned":       {[]said{{403, says("NOT_ENOUGH"), nil}}, "unknown NOT_ENOUGH 说明"},
		"its error as a refusal":    {[]said{wechat(400, says("SYSTEM_ERROR"))}, "unknown SYSTEM_ERROR 说明"},
		"a limit":                   {[]said{wechat(429, says("FREQUENCY_LIMITED"))}, "busy FREQUENCY_LIMITED 说明"},
	}
	meet(t, WeChatPay, false, both)
	meet(t, WeChatPay, true, both)
	meet(t, WeChatPay, true, map[string]fate{
		"there is none":           {[]said{absent}, "absent"},
		"there is none, unsigned": {[]said{{404, absent.body, nil}}, "unknown RESOURCE_NOT_EXISTS 说明"},
		"a refusal":               {[]said{wechat(400, says("PARAM_ERROR"))}, "unknown PARAM_ERROR 说明"},
	})
	meet(t, WeChatPay, false, map[string]fate{
		"a refusal":                     {[]said{wechat(403, says("NOT_ENOUGH")), absent}, "refused NOT_ENOUGH 说明"},
		"a refusal, but it was made":    {[]said{wechat(400, says("INVALID_REQUEST")), wechat(200, wechatMade)}, "accepted " + id + " | done " + id + " 179900 CNY"},
		"no such payment, and not told": {[]said{absent, {500, "", nil}}, "unknown HTTP 500"},
	})
}
