package providers

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/kit/client/webhook"
)

// beijing is what Alipay's times are in.
var beijing = time.FixedZone("Beijing", 8*60*60)

var yuan = regexp.MustCompile(`^(\d{1,9})\.(\d\d)$`)

func fen(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	return n, err == nil && yuan.MatchString(text)
}

func inYuan(fen int64) string { return fmt.Sprintf("%d.%02d", fen/100, fen%100) }

// misplaced is the refusal of a request that Alipay could not place, which it does not sign.
func misplaced(method, sub string) answer {
	code := "40002"
	switch {
	case strings.HasPrefix(sub, "isp."):
		code = "20000"
	case strings.HasPrefix(sub, "isv.missing-"):
		code = "40001"
	case strings.HasPrefix(sub, "isv.insufficient-"):
		code = "40006"
	case strings.HasSuffix(sub, "-limited"):
		code = "40005"
	}
	return answer{status: http.StatusOK, body: `{"` + alipayName(method) + `":` + object{"code": code, "msg": sub, "sub_code": sub, "sub_msg": sub}.String() + `}`}
}

func alipayName(method string) string {
	if method == "" {
		return "error_response"
	}
	return strings.ReplaceAll(method, ".", "_") + "_response"
}

// alipayForm is what a method is asked.
type alipayForm struct {
	Trade  string `json:"trade_no"`
	Number string `json:"out_request_no"`
	Amount string `json:"refund_amount"`
	Reason string `json:"refund_reason"`
}

// callAlipay takes the parameters in the address and the body, each once; those without a value are not signed.
func (p *Providers) callAlipay(c *call) answer {
	form, err := url.ParseQuery(c.body)
	f, isOnce := map[string]string{}, err == nil && isOf(c, "application/x-www-form-urlencoded")
	for _, values := range []url.Values{c.URL.Query(), form} {
		for name, all := range values {
			isOnce = isOnce && len(all) == 1 && f[name] == ""
			f[name] = all[0]
		}
	}
	maps.DeleteFunc(f, func(_, value string) bool { return value == "" })
	judged := map[string]func(*call, *alipayForm) object{"alipay.trade.refund": p.refundAlipay, "alipay.trade.fastpay.refund.query": p.queryAlipay}[f["method"]]
	at, noTime := time.ParseInLocation(time.DateTime, f["timestamp"], beijing)
	for _, name := range []string{"app_id", "method", "charset", "sign_type", "sign", "timestamp", "version", "biz_content"} {
		if f[name] == "" {
			return misplaced("", "isv.missing-"+strings.ReplaceAll(name, "_", "-"))
		}
	}
	if judged == nil {
		return misplaced("", "isv.invalid-method")
	}
	c.method = f["method"]
	switch {
	case !isOnce || f["format"] != "" && f["format"] != "JSON" || f["version"] != "1.0" || strings.ToLower(f["charset"]) != "utf-8":
		return misplaced(c.method, "isv.invalid-parameter")
	case f["app_id"] != p.keys.Alipay.AppID:
		return misplaced(c.method, "isv.invalid-app-id")
	case noTime != nil || p.o.Now().Sub(at).Abs() > time.Hour:
		return misplaced(c.method, "isv.invalid-timestamp")
	case f["sign_type"] != "RSA2" || !p.keys.Alipay.PrivateKey.verifies(webhook.AlipayText(f, "sign"), f["sign"]):
		return misplaced(c.method, "isv.invalid-signature")
	}
	of := alipayRefusal("ACQ.INVALID_PARAMETER")
	var asked alipayForm
	if strictly(f["biz_content"], &asked) {
		of = judged(c, &asked)
	}
	text := of.String()
	return answer{status: http.StatusOK, body: `{"` + alipayName(c.method) + `":` + text + `,"sign":"` + webhook.RSASignature(webhook.LocalKey(), text) + `"}`}
}

func alipayRefusal(sub string) object {
	return object{"code": "40004", "msg": "Business Failed", "sub_code": sub, "sub_msg": sub}
}

// refundAlipay gives back at once, or refuses. Of one trade it takes another refund after three seconds.
func (p *Providers) refundAlipay(c *call, form *alipayForm) object {
	of, change := p.named(c, form.Trade), "N"
	amount, isAmount := fen(form.Amount)
	switch {
	case !isAmount || amount == 0 || form.Number == "" || len(form.Number) > 64 || len(form.Reason) > 256:
		return alipayRefusal("ACQ.INVALID_PARAMETER")
	case of == nil:
		return alipayRefusal("ACQ.TRADE_NOT_EXIST")
	}
	if before := of.by(form.Number); before == nil {
		switch n := len(of.Refunds); {
		case c.control.Refuse != "":
			return alipayRefusal(c.control.Refuse)
		case c.control.left(of) == 0:
			return alipayRefusal("ACQ.TRADE_HAS_CLOSE")
		case amount > c.control.left(of):
			return alipayRefusal("ACQ.REASON_TRADE_REFUND_FEE_ERR")
		case n > 0 && p.o.Now().Sub(of.Refunds[n-1].At) < 3*time.Second:
			return alipayRefusal("ACQ.SYSTEM_ERROR")
		case !c.control.spend(amount):
			return alipayRefusal("ACQ.SELLER_BALANCE_NOT_ENOUGH")
		}
		p.add(of, form.Number, amount, succeeded)
		change = "Y"
	} else if before.Amount != amount {
		return alipayRefusal("ACQ.DISCORDANT_REPEAT_REQUEST")
	}
	return object{
		"code": "10000", "msg": "Success", "trade_no": of.Reference, "out_trade_no": of.Order, "buyer_logon_id": "159****5620",
		"fund_change": change, "refund_fee": inYuan(of.Paid - of.rest()),
	}
}

// queryAlipay says what became of a refund; of one that is not there it says nothing.
func (p *Providers) queryAlipay(c *call, form *alipayForm) object {
	of := p.named(c, form.Trade)
	if of == nil {
		return alipayRefusal("ACQ.TRADE_NOT_EXIST")
	}
	o := object{"code": "10000", "msg": "Success"}
	if r := of.by(form.Number); r != nil {
		o["trade_no"], o["out_trade_no"], o["out_request_no"] = of.Reference, of.Order, r.Request
		o["total_amount"], o["refund_amount"], o["refund_status"] = inYuan(of.Paid), inYuan(r.Amount), "REFUND_SUCCESS"
	}
	return o
}

// tellAlipay is the notification of a part; of a whole payment that goes back, 电脑网站支付 sends none.
func (p *Providers) tellAlipay(r *refund) []string {
	of, at := r.payment, r.At.In(beijing).Format(time.DateTime)
	if of.rest() == 0 {
		return nil
	}
	fields := map[string]string{
		"app_id": p.keys.Alipay.AppID, "seller_id": p.keys.seller, "charset": "utf-8", "version": "1.0", "sign_type": "RSA2",
		"notify_type": "trade_status_sync", "notify_id": "notify-" + rand.Text(), "notify_time": at, "gmt_refund": at, "trade_no": of.Reference,
		"out_trade_no": of.Order, "trade_status": "TRADE_SUCCESS", "total_amount": inYuan(of.Paid), "refund_fee": inYuan(of.Paid - of.rest()),
		"passback_params": of.Passback,
	}
	return []string{webhook.AlipayForm(fields, webhook.RSASignature(webhook.LocalKey(), webhook.AlipayText(fields, "sign_type")))}
}
