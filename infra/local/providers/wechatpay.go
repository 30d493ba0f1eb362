package providers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/kit/client/webhook"
)

// signWeChatPay answers, signed by the key that the caller's Wechatpay-Serial names. Who names none is answered by a platform
// certificate, which the shop does not have.
func (p *Providers) signWeChatPay(c *call, status int, body object) answer {
	serial := c.Header.Get("Wechatpay-Serial")
	if p.keys.WeChatPay.PublicKeys[serial] == "" {
		serial = strings.Repeat("0", 40)
	}
	text := body.String()
	return answer{status, text, webhook.WeChatPayHeaders(webhook.LocalKey(), serial, text, p.o.Now())}
}

var wechatPayToken = regexp.MustCompile(`^WECHATPAY2-SHA256-RSA2048 ((\w+="[^"]*",){4}\w+="[^"]*")$`)

// forbidWeChatPay refuses a call that is not signed as pay.weixin.qq.com/doc/v3/merchant/4012365342 says; its path is as at the
// real host.
func (p *Providers) forbidWeChatPay(c *call) (refused answer, is bool) {
	fields := map[string]string{}
	if token := wechatPayToken.FindStringSubmatch(c.Header.Get("Authorization")); token != nil {
		for part := range strings.SplitSeq(token[1], ",") {
			name, value, _ := strings.Cut(part, "=")
			fields[name] = strings.Trim(value, `"`)
		}
	}
	own, at := p.keys.WeChatPay, fields["timestamp"]
	seconds, err := strconv.ParseInt(at, 10, 64)
	text := strings.Join([]string{c.Method, strings.TrimPrefix(c.URL.RequestURI(), "/wechat-pay"), at, fields["nonce_str"], c.body, ""}, "\n")
	if old := p.o.Now().Sub(time.Unix(seconds, 0)).Abs(); err != nil || old > 5*time.Minute || fields["mchid"] != own.MchID ||
		fields["serial_no"] != own.Serial || fields["nonce_str"] == "" || !own.PrivateKey.verifies(text, fields["signature"]) {
		return p.refuse(c, http.StatusUnauthorized, "SIGN_ERROR", "签名错误"), true
	}
	if c.Header.Get("Accept") != "application/json" || c.Header.Get("User-Agent") == "" {
		return p.refuse(c, http.StatusBadRequest, "PARAM_ERROR", "Accept or User-Agent is wrong"), true
	}
	return answer{}, false
}

var (
	refundNumber = regexp.MustCompile(`^[0-9A-Za-z_\-|*@]{1,64}$`)
	// notified is an address of https, which the local API has not.
	notified = regexp.MustCompile(`^(https://|http://127\.0\.0\.1:)[^?]{1,200}$`)
)

func (p *Providers) refundWeChatPay(c *call) answer {
	if refused, is := p.forbidWeChatPay(c); is {
		return refused
	}
	var form struct {
		Payment string `json:"transaction_id"`
		Number  string `json:"out_refund_no"`
		Reason  string `json:"reason"`
		Notify  string `json:"notify_url"`
		Amount  struct {
			Refund   int64  `json:"refund"`
			Total    int64  `json:"total"`
			Currency string `json:"currency"`
		} `json:"amount"`
	}
	if !isOf(c, "application/json") || !strictly(c.body, &form) || form.Payment == "" || !refundNumber.MatchString(form.Number) || len(form.Reason) > 80 ||
		form.Notify != "" && !notified.MatchString(form.Notify) || form.Amount.Refund < 1 || form.Amount.Currency != "CNY" {
		return p.refuse(c, http.StatusBadRequest, "PARAM_ERROR", "参数错误")
	}
	of, before, said := p.named(c, form.Payment), p.numbered(form.Number), fmt.Sprint(form)
	switch {
	case of == nil:
		return p.refuse(c, http.StatusNotFound, "RESOURCE_NOT_EXISTS", "订单不存在")
	case before != nil && before.Said != said, form.Amount.Total != of.Paid:
		return p.refuse(c, http.StatusBadRequest, "INVALID_REQUEST", "订单金额或退款金额与之前请求不一致，请核实后再试")
	case before != nil:
		return p.signWeChatPay(c, http.StatusOK, wechatPayRefund(before))
	case slices.Contains([]string{"NOT_ENOUGH", "USER_ACCOUNT_ABNORMAL", "NO_AUTH"}, c.control.Refuse):
		return p.refuse(c, http.StatusForbidden, c.control.Refuse, "拒绝退款")
	case c.control.Refuse != "":
		return p.refuse(c, http.StatusBadRequest, c.control.Refuse, "拒绝退款")
	case form.Amount.Refund > c.control.left(of):
		return p.refuse(c, http.StatusBadRequest, "INVALID_REQUEST", "累计退款金额大于支付金额")
	}
	r := p.add(of, form.Number, form.Amount.Refund, pending)
	r.Said = said
	return p.signWeChatPay(c, http.StatusOK, wechatPayRefund(r))
}

// strictly reads JSON that has no other members, and reports whether it could.
func strictly(text string, into any) bool {
	read := json.NewDecoder(strings.NewReader(text))
	read.DisallowUnknownFields()
	return read.Decode(into) == nil
}

// numbered returns the refund with the shop's number, which is unique at WeChat Pay.
func (p *Providers) numbered(number string) *refund {
	for _, of := range p.kept.Payments {
		if r := of.by(number); r != nil && of.Provider == webhook.WeChatPay {
			return r
		}
	}
	return nil
}

func (p *Providers) queryWeChatPay(c *call) answer {
	if refused, is := p.forbidWeChatPay(c); is {
		return refused
	}
	r := p.numbered(c.PathValue("number"))
	if r == nil {
		return p.refuse(c, http.StatusNotFound, "RESOURCE_NOT_EXISTS", "退款单不存在")
	}
	r.payment.Calls++
	return p.signWeChatPay(c, http.StatusOK, wechatPayRefund(r))
}

var wechatPayStates = map[state]string{pending: "PROCESSING", succeeded: "SUCCESS", failed: "CLOSED"}

func wechatPayRefund(r *refund) object {
	at, of := r.At.UTC().Format(time.RFC3339), r.payment
	o := object{
		"refund_id": r.ID, "out_refund_no": r.Request, "transaction_id": of.Reference, "out_trade_no": of.Order, "channel": "ORIGINAL",
		"user_received_account": "支付用户零钱", "create_time": at, "status": wechatPayStates[r.State], "funds_account": "AVAILABLE",
		"amount": object{"total": of.Paid, "refund": r.Amount, "payer_total": of.Paid, "payer_refund": r.Amount, "discount_refund": 0, "currency": "CNY"},
	}
	if r.State == succeeded {
		o["success_time"] = at
	}
	return o
}

// tellWeChatPay is the notification of a refund that is over.
func (p *Providers) tellWeChatPay(r *refund) []string {
	about := wechatPayRefund(r)
	about["mchid"], about["refund_status"] = p.keys.WeChatPay.MchID, about["status"]
	body, err := webhook.WeChatPayNotification("REFUND."+wechatPayStates[r.State], about.String(), p.keys.apiV3Key, "refund", p.o.Now())
	return p.made(string(body), err)
}

// made returns a notification, unless the secrets are wrong.
func (p *Providers) made(body string, err error) []string {
	if err != nil {
		p.o.Log.Error("a notification of a refund cannot be made", "error", err)
		return nil
	}
	return []string{body}
}
