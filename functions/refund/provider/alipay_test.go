package provider

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"flashsale/infra/kit/client/webhook"
)

const (
	alipayMade   = `{"code":"10000","msg":"Success","trade_no":"2026010122001400000000000001","fund_change":"Y","refund_fee":"1799.00","buyer_logon_id":"ali***@test.com\/\u4e2d"}`
	alipayLooked = `{"code":"10000","msg":"Success","trade_no":"2026010122001400000000000001","out_request_no":"` + someID + `","total_amount":"1799.00","refund_amount":"1799.00","refund_status":"REFUND_SUCCESS"}`
)

// alipayFields are what each call of a test is answered under.
const refundMember, queryMember, errorMember = "alipay_trade_refund_response", "alipay_trade_fastpay_refund_query_response", "error_response"

// alipaySays is an answer as Alipay signs it.
func alipaySays(member, response string) said {
	return said{200, `{"` + member + `":` + response + `,"sign":"` + webhook.RSASignature(webhook.LocalKey(), response) + `"}`, nil}
}

func TestAlipayIsAskedForTheWholeSumUnderOneNumber(t *testing.T) {
	p, calls := serve(t, Alipay, alipaySays(refundMember, alipayMade), alipaySays(queryMember, alipayLooked))
	p.Send(t.Context(), request(Alipay))
	p.Ask(t.Context(), request(Alipay))
	trade := `"trade_no":"2026010122001400000000000001"}`
	for i, want := range []map[string]string{
		{"method": "alipay.trade.refund", "biz_content": `{"out_request_no":"` + someID + `","refund_amount":"1799.00",` + trade},
		{"method": "alipay.trade.fastpay.refund.query", "biz_content": `{"out_request_no":"` + someID + `",` + trade},
	} {
		call := calls()[i]
		call.is(t, "POST", "/alipay/gateway.do", call.body, "Content-Type: application/x-www-form-urlencoded;charset=utf-8")
		form, err := url.ParseQuery(call.body)
		signature := form.Get("sign")
		form.Del("sign")
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(form)) {
			pairs = append(pairs, name+"="+form.Get(name))
		}
		signed := strings.Join(pairs, "&")
		if err != nil || signature != webhook.RSASignature(p.(*alipay).own, signed) || signed != "app_id=2021000000000001&biz_content="+want["biz_content"]+"&charset=utf-8&format=JSON&method="+want["method"]+"&sign_type=RSA2&timestamp=2026-11-29 12:00:00&version=1.0" {
			t.Errorf("%s is signed, %v", signed, err)
		}
	}
	r := request(Alipay)
	if r.Currency = "USD"; p.Send(t.Context(), r).Code != "currency" || len(calls()) != 2 || p.Account() != "2021000000000001" {
		t.Errorf("USD: %d requests of account %s", len(calls()), p.Account())
	}
}

func TestWhatAlipaysAnswersMean(t *testing.T) {
	made := func(want string, changes ...string) fate {
		return fate{[]said{alipaySays(refundMember, members(alipayMade, changes...))}, want}
	}
	looked := func(want string, changes ...string) fate {
		return fate{[]said{alipaySays(queryMember, members(alipayLooked, changes...))}, want}
	}
	without := func(a said) said {
		a.body = a.body[:strings.Index(a.body, `,"sign"`)] + "}"
		return a
	}
	body := func(a said, old, other string) said {
		a.body = strings.Replace(a.body, old, other, 1)
		return a
	}
	usual := alipaySays(refundMember, alipayMade)
	n := alipaySays(refundMember, members(alipayMade, "fund_change", `"N"`))
	nothing := alipaySays(queryMember, `{"code":"10000","msg":"Success"}`)
	says := func(code, sub string) string {
		return `{"code":"` + code + `","msg":"Failed","sub_code":"` + sub + `","sub_msg":"说明"}`
	}
	const accepted, other = "accepted | total 179900 CNY", "unknown not-its-answer*"
	const unsigned = "unknown not-its-answer the answer is not the provider's to this request: its signature does not verify"
	meet(t, Alipay, false, map[string]fate{
		"the money moved":                  made(accepted),
		"signed with blanks as it stands":  {[]said{alipaySays(refundMember, strings.ReplaceAll(alipayMade, ",", " , "))}, accepted},
		"another trade's":                  made(other, "trade_no", `"2026010122001400000000000002"`),
		"another sum":                      made(other, "refund_fee", `"1799.01"`),
		"a part":                           made(other, "refund_fee", `"17.99"`),
		"without a signature":              {[]said{without(usual)}, "unknown not-its-answer*"},
		"another response than signed":     {[]said{body(usual, "ali***", "bob***")}, unsigned},
		"a response twice":                 {[]said{body(usual, `{"`, `{"`+refundMember+`":{},"`)}, other},
		"moved before":                     {[]said{n, alipaySays(queryMember, alipayLooked)}, accepted},
		"not moved, and not known yet":     {[]said{n, nothing}, "unknown fund_change no money moved by this call"},
		"not moved, and not told":          {[]said{n, {500, "", nil}}, "unknown fund_change*"},
		"a refusal":                        {[]said{alipaySays(refundMember, says("40004", "ACQ.SELLER_BALANCE_NOT_ENOUGH")), nothing}, "refused ACQ.SELLER_BALANCE_NOT_ENOUGH 说明"},
		"a refusal, but it was made":       {[]said{alipaySays(refundMember, says("40004", "ACQ.TRADE_HAS_CLOSE")), alipaySays(queryMember, alipayLooked)}, accepted},
		"a refusal without a signature":    {[]said{without(alipaySays(refundMember, says("40004", "ACQ.SELLER_BALANCE_NOT_ENOUGH")))}, "unknown ACQ.SELLER_BALANCE_NOT_ENOUGH 说明"},
		"a refusal signed otherwise":       {[]said{body(alipaySays(refundMember, says("40004", "ACQ.X")), "ACQ.X", "ACQ.Y")}, unsigned},
		"the number with another sum":      {[]said{alipaySays(refundMember, says("40004", "ACQ.DISCORDANT_REPEAT_REQUEST"))}, "unknown ACQ.DISCORDANT_REPEAT_REQUEST 说明"},
		"its error":                        {[]said{alipaySays(refundMember, says("40004", "ACQ.SYSTEM_ERROR"))}, "unknown ACQ.SYSTEM_ERROR 说明"},
		"not available":                    {[]said{without(alipaySays(refundMember, says("20000", "isp.unknow-error")))}, "unknown isp.unknow-error 说明"},
		"a limit":                          {[]said{without(alipaySays(errorMember, says("40005", "")))}, "unknown 40005 说明"},
		"a key that is wrong":              {[]said{without(alipaySays(refundMember, says("40002", "isv.invalid-signature")))}, "halted isv.invalid-signature 说明"},
		"an app without the right, signed": {[]said{alipaySays(refundMember, says("40006", "isv.insufficient-isv-permissions"))}, "halted isv.insufficient-isv-permissions 说明"},
		"the answer to another call":       {[]said{alipaySays(queryMember, alipayLooked)}, other},
	})
	meet(t, Alipay, true, map[string]fate{
		"it went":                 looked(accepted),
		"another number's":        looked(other, "out_request_no", `"`+otherID+`"`),
		"another trade's":         looked(other, "trade_no", `"2026010122001400000000000002"`),
		"an amount, no state":     looked("unknown refund_status*", "refund_status", `""`),
		"a state unheard of":      looked("unknown REFUND_PROCESSING*", "refund_status", `"REFUND_PROCESSING"`),
		"there is none":           {[]said{nothing}, "absent"},
		"there is none, unsigned": {[]said{without(nothing)}, other},
		"there is no trade":       {[]said{alipaySays(queryMember, says("40004", "ACQ.TRADE_NOT_EXIST"))}, "absent"},
		"a refusal":               {[]said{alipaySays(queryMember, says("40004", "ACQ.INVALID_PARAMETER"))}, "unknown ACQ.INVALID_PARAMETER 说明"},
		"a key that is wrong":     {[]said{without(alipaySays(queryMember, says("40002", "isv.invalid-signature")))}, "halted isv.invalid-signature 说明"},
	})
}
