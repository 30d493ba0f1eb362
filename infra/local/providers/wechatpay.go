package providers

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/kit/client/webhook"
)

var (
	wechatPayToken  = regexp.MustCompile(`^WECHATPAY2-SHA256-RSA2048 (\w+="[^"]*",){4}\w+="[^"]*"$`)
	wechatPayNumber = regexp.MustCompile(`^[0-9A-Za-z_\-|*@]{1,64}$`)
	// wechatPayNotified is an address of https, which the local API has not.
	wechatPayNotified = regexp.MustCompile(`^((https://|http://127\.0\.0\.1:)[^?]{1,200})?$`)
	wechatPayStates   = map[state]string{pending: "PROCESSING", succeeded: "SUCCESS", failed: "CLOSED"}
)

// signWeChatPay answers, signed by the key that the caller's Wechatpay-Serial names, unless it is not known who calls. Who names
// no key is answered by a platform certificate, which the shop does not have.
func (p *Providers) signWeChatPay(c *call, status int, body object) answer {
	serial, a := c.Header.Get("Wechatpay-Serial"), answer{Status: status, Body: body.String()}
	if p.keys.WeChatPay.PublicKeys[serial] == "" {
		serial = strings.Repeat("0", 40)
	}
	if status != http.StatusUnauthorized {
		a.Header = webhook.WeChatPayHeaders(webhook.LocalKey(), serial, a.Body, p.o.Now())
	}
	return a
}

// isWeChatPaySigned judges a signature by pay.weixin.qq.com/doc/v3/merchant/4012365342; its path is as at the real host.
func (p *Providers) isWeChatPaySigned(c *call) bool {
	_, token, _ := strings.Cut(wechatPayToken.FindString(c.Header.Get("Authorization")), " ")
	fields := map[string]string{}
	for part := range strings.SplitSeq(token, ",") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = strings.Trim(value, `"`)
	}
	own, at := p.keys.WeChatPay, fields["timestamp"]
	seconds, err := strconv.ParseInt(at, 10, 64)
	text := strings.Join([]string{c.Method, strings.TrimPrefix(c.URL.RequestURI(), "/wechat-pay"), at, fields["nonce_str"], c.body, ""}, "\n")
	return err == nil && p.o.Now().Sub(time.Unix(seconds, 0)).Abs() <= 5*time.Minute && fields["mchid"] == own.MchID &&
		fields["serial_no"] == own.Serial && fields["nonce_str"] != "" && own.PrivateKey.verifies(text, fields["signature"])
}

// callWeChatPay makes a refund or, with its number, shows it. A number is unique at WeChat Pay.
func (p *Providers) callWeChatPay(c *call) answer {
	var form struct {
		Payment string `json:"transaction_id"`
		Number  string `json:"out_refund_no"`
		Notify  string `json:"notify_url"`
		Amount  struct {
			Refund, Total int64
			Currency      string
		}
	}
	number := c.PathValue("number")
	isForm := number != "" || c.isJSON() && strictly(c.body, &form) && wechatPayNumber.MatchString(form.Number) &&
		wechatPayNotified.MatchString(form.Notify) && form.Payment != "" && form.Amount.Refund > 0 && form.Amount.Currency == "CNY"
	switch {
	case !p.isWeChatPaySigned(c):
		return p.refuse(c, http.StatusUnauthorized, "SIGN_ERROR", "签名错误")
	case !isForm || c.Header.Get("Accept") != "application/json" || c.Header.Get("User-Agent") == "":
		return p.refuse(c, http.StatusBadRequest, "PARAM_ERROR", "参数错误")
	}
	of, r := p.named(c, form.Payment), p.requested(c.provider, number+form.Number, nil)
	switch {
	case number != "" && r != nil:
		r.payment.Calls++
	case of == nil: // or there is no such refund
		return p.refuse(c, http.StatusNotFound, "RESOURCE_NOT_EXISTS", "订单不存在")
	case form.Amount.Total != of.Paid, r != nil && (r.payment != of || r.Amount != form.Amount.Refund):
		return p.refuse(c, http.StatusBadRequest, "INVALID_REQUEST", "订单金额或退款金额与之前请求不一致，请核实后再试")
	case r != nil:
	case c.control.Refuse != "":
		return p.refuse(c, http.StatusForbidden, c.control.Refuse, "拒绝退款")
	case form.Amount.Refund > c.rest(of):
		return p.refuse(c, http.StatusBadRequest, "INVALID_REQUEST", "累计退款金额大于支付金额")
	default:
		r = p.add(of, form.Number, form.Amount.Refund, pending)
	}
	return p.signWeChatPay(c, http.StatusOK, wechatPayRefund(r))
}

func wechatPayRefund(r *refund) object {
	of := r.payment
	return object{
		"refund_id": r.ID, "out_refund_no": r.Request, "transaction_id": of.Reference, "out_trade_no": of.Order, "status": wechatPayStates[r.State],
		"amount": object{"total": of.Paid, "refund": r.Amount, "currency": "CNY"},
	}
}

// tellWeChatPay is the notification of a refund that is over.
func (p *Providers) tellWeChatPay(r *refund) string {
	about := wechatPayRefund(r)
	about["mchid"], about["refund_status"] = p.keys.WeChatPay.MchID, about["status"]
	body, _ := webhook.WeChatPayNotification("REFUND."+wechatPayStates[r.State], about.String(), p.signing(webhook.WeChatPay), "refund", p.o.Now())
	return string(body)
}
