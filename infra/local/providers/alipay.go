package providers

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/kit/client/webhook"
)

// beijing is what Alipay's times are in.
var beijing = time.FixedZone("Beijing", 8*60*60)

var yuan = regexp.MustCompile(`^\d{1,9}\.\d\d$`)

// fen reads an amount, which is 0 if it is none.
func fen(text string) (n int64) {
	if yuan.MatchString(text) {
		n, _ = strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	}
	return n
}

func inYuan(fen int64) string { return fmt.Sprintf("%d.%02d", fen/100, fen%100) }

// alipayRefusal is one of a code and a sub_code.
func alipayRefusal(text string) object {
	code, sub, _ := strings.Cut(text, " ")
	return object{"code": code, "msg": sub, "sub_code": sub, "sub_msg": sub}
}

// sayAlipay answers a method, if it is one. A request that Alipay could not place has an answer that is not signed.
func sayAlipay(method string, said object) answer {
	all := object{strings.ReplaceAll(cmp.Or(method, "error"), ".", "_") + "_response": said}
	if said["code"] == "10000" || said["code"] == "40004" {
		all["sign"] = webhook.RSASignature(webhook.LocalKey(), said.String())
	}
	return answer{Status: http.StatusOK, Body: all.String()}
}

// alipayForm is what a method is asked.
type alipayForm struct {
	Trade  string `json:"trade_no"`
	Number string `json:"out_request_no"`
	Amount string `json:"refund_amount"`
}

// callAlipay takes the parameters in the address and the body, each once; those without a value are not signed.
func (p *Providers) callAlipay(c *call) answer {
	f, isOnce := map[string]string{}, true
	for name, all := range c.Form {
		if isOnce = isOnce && len(all) == 1; all[0] != "" {
			f[name] = all[0]
		}
	}
	method, own := f["method"], p.keys.Alipay
	judged := map[string]func(*call, *alipayForm) object{"alipay.trade.refund": p.refundAlipay, "alipay.trade.fastpay.refund.query": p.queryAlipay}[method]
	at, noTime := time.ParseInLocation(time.DateTime, f["timestamp"], beijing)
	var asked alipayForm
	switch {
	case judged == nil:
		return sayAlipay("", alipayRefusal("40002 isv.invalid-method"))
	case !isOnce || f["format"] != "" && f["format"] != "JSON" || f["version"] != "1.0" || strings.ToLower(f["charset"]) != "utf-8":
		return sayAlipay(method, alipayRefusal("40002 isv.invalid-parameter"))
	case f["app_id"] != own.AppID:
		return sayAlipay(method, alipayRefusal("40002 isv.invalid-app-id"))
	case noTime != nil || p.o.Now().Sub(at).Abs() > time.Hour:
		return sayAlipay(method, alipayRefusal("40002 isv.invalid-timestamp"))
	case f["sign_type"] != "RSA2" || !own.PrivateKey.verifies(webhook.AlipayText(f, "sign"), f["sign"]):
		return sayAlipay(method, alipayRefusal("40002 isv.invalid-signature"))
	case !strictly(f["biz_content"], &asked):
		return sayAlipay(method, alipayRefusal("40004 ACQ.INVALID_PARAMETER"))
	}
	return sayAlipay(method, judged(c, &asked))
}

// refundAlipay gives back at once, or refuses. Of one trade it takes another refund after three seconds.
func (p *Providers) refundAlipay(c *call, form *alipayForm) object {
	of, amount, change := p.named(c, form.Trade), fen(form.Amount), "Y"
	before := p.requested(c.provider, form.Number, of)
	switch {
	case amount == 0 || form.Number == "" || len(form.Number) > 64:
		return alipayRefusal("40004 ACQ.INVALID_PARAMETER")
	case of == nil:
		return alipayRefusal("40004 ACQ.TRADE_NOT_EXIST")
	case before != nil && before.Amount != amount:
		return alipayRefusal("40004 ACQ.DISCORDANT_REPEAT_REQUEST")
	case before != nil:
		change = "N"
	case c.control.Refuse != "":
		return alipayRefusal("40004 " + c.control.Refuse)
	case c.rest(of) == 0:
		return alipayRefusal("40004 ACQ.TRADE_HAS_CLOSE")
	case amount > c.rest(of):
		return alipayRefusal("40004 ACQ.REASON_TRADE_REFUND_FEE_ERR")
	case slices.ContainsFunc(of.Refunds, func(r *refund) bool { return p.o.Now().Sub(r.At) < 3*time.Second }):
		return alipayRefusal("40004 ACQ.SYSTEM_ERROR")
	case !c.control.spend(amount):
		return alipayRefusal("40004 ACQ.SELLER_BALANCE_NOT_ENOUGH")
	default:
		p.add(of, form.Number, amount, succeeded)
	}
	return object{
		"code": "10000", "msg": "Success", "trade_no": of.Reference, "fund_change": change, "refund_fee": inYuan(of.Paid - of.rest(false)),
	}
}

// queryAlipay says what became of a refund; of one that is not there it says nothing.
func (p *Providers) queryAlipay(c *call, form *alipayForm) object {
	of, o := p.named(c, form.Trade), object{"code": "10000", "msg": "Success"}
	if of == nil {
		return alipayRefusal("40004 ACQ.TRADE_NOT_EXIST")
	}
	if r := p.requested(c.provider, form.Number, of); r != nil {
		o["trade_no"], o["out_request_no"], o["refund_status"] = of.Reference, r.Request, "REFUND_SUCCESS"
		o["total_amount"], o["refund_amount"] = inYuan(of.Paid), inYuan(r.Amount)
	}
	return o
}
