package provider

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"flashsale/shared/jsonread"
	"flashsale/shared/sale"
	"flashsale/shared/settings"
)

// WeChat Pay's refunds, API v3, of a merchant's own payments: pay.weixin.qq.com/doc/v3/merchant/4012791862 (request),
// 4012791863 (query), 4012365342 (signature of requests) and 4012365345 (of answers).

const wechatPayRefunds = "/v3/refund/domestic/refunds"

// wechatPayTolerance is how old the signature of an answer may be, as in WeChat Pay's own libraries.
const wechatPayTolerance = 5 * time.Minute

// wechatPay is a merchant.
type wechatPay struct {
	*Options
	host   string
	mchID  string
	serial string // of the merchant's certificate
	own    *rsa.PrivateKey
	keys   map[string]*rsa.PublicKey
	// signedBy is the public key that answers shall be signed with: while a merchant goes from platform certificates to
	// a public key, it is a certificate unless the request says so.
	signedBy string
}

func newWeChatPay(text string, o *Options) (Provider, error) {
	set, err := settings.Read[struct {
		MchID      string            `json:"mchid"`
		Serial     string            `json:"serial"`
		PrivateKey string            `json:"privateKey"`
		PublicKeys map[string]string `json:"publicKeys"` // as PayFunction has them
	}](text)
	if err != nil {
		return nil, err
	}
	w := &wechatPay{Options: o, host: o.host(WeChatPay, "api.mch.weixin.qq.com"), mchID: set.MchID, serial: set.Serial}
	w.keys, err = settings.WeChatPayKeys("publicKeys", set.PublicKeys)
	for serial := range set.PublicKeys {
		if strings.HasPrefix(serial, "PUB_KEY_ID_") {
			w.signedBy = max(w.signedBy, serial)
		}
	}
	if err = cmp.Or(
		settings.Check("mchid", []string{set.MchID}, settings.Form(settings.Digits, "of digits")),
		settings.Check("serial", []string{set.Serial},
			settings.Form(settings.Digits+"ABCDEFabcdef", "the serial number of a certificate in hexadecimal")),
		err,
	); err == nil {
		w.own, err = privateKey(set.PrivateKey, slices.Collect(maps.Values(w.keys)))
	}
	return w, err
}

func (w *wechatPay) Account() string { return w.mchID }

// wechatPayRefund is an answer's refund.
type wechatPayRefund struct {
	RefundID      string `json:"refund_id"`
	OutRefundNo   string `json:"out_refund_no"`
	TransactionID string `json:"transaction_id"`
	Status        string `json:"status"`
	Amount        struct {
		Refund   *jsonread.Whole `json:"refund"`
		Currency string          `json:"currency"`
	} `json:"amount"`
}

// wechatPayStates are the states, with those that webhooks tell of.
var wechatPayStates = map[string]sale.RefundState{
	"PROCESSING": "", "SUCCESS": sale.RefundDone, "ABNORMAL": sale.RefundStuck, "CLOSED": sale.RefundFailed,
}

// Send asks after a refusal, too: a number that is sent again in other words may be refused although its refund was
// made. Another address for notifications should not matter (developers.weixin.qq.com/community/pay/doc/
// 000c8e8eb30640c5604a7e9635d800).
func (w *wechatPay) Send(ctx context.Context, r Request) Answer {
	if r.Currency != "CNY" {
		return r.otherCurrency()
	}
	type amount struct {
		Refund   int64  `json:"refund"`
		Total    int64  `json:"total"`
		Currency string `json:"currency"`
	}
	body, _ := jsonv2.Marshal(struct {
		TransactionID string `json:"transaction_id"`
		OutRefundNo   string `json:"out_refund_no"`
		NotifyURL     string `json:"notify_url,omitzero"`
		Amount        amount `json:"amount"`
	}{r.Reference, r.ID, w.NotifyURL, amount{r.Amount, r.Amount, "CNY"}})
	return unlessMade(ctx, w, r, w.request(ctx, &r, http.MethodPost, wechatPayRefunds, string(body)))
}

// Ask asks for the refund of the number.
func (w *wechatPay) Ask(ctx context.Context, r Request) Answer {
	return w.request(ctx, &r, http.MethodGet, wechatPayRefunds+"/"+r.ID, "").ofQuestion("RESOURCE_NOT_EXISTS")
}

// request makes one request. What is signed is the path at WeChat Pay, also where local providers have another one.
func (w *wechatPay) request(ctx context.Context, r *Request, method, path, body string) Answer {
	at, nonce := strconv.FormatInt(w.Now().Unix(), 10), strings.ToUpper(rand.Text())
	signature := sign(w.own, method+"\n"+path+"\n"+at+"\n"+nonce+"\n"+body+"\n")
	header := map[string]string{
		"Accept": "application/json", "Content-Type": "application/json",
		"Authorization": fmt.Sprintf(
			`WECHATPAY2-SHA256-RSA2048 mchid="%s",nonce_str="%s",signature="%s",timestamp="%s",serial_no="%s"`,
			w.mchID, nonce, signature, at, w.serial),
	}
	if w.signedBy != "" {
		header["Wechatpay-Serial"] = w.signedBy
	}
	got, a := w.call(ctx, method, w.host+path, body, header)
	switch {
	case got == nil:
		return a
	case got.status != http.StatusOK:
		return w.refusal(got)
	case !w.isSigned(got):
		return unlike("its signature does not verify")
	}
	var f wechatPayRefund
	isJSON := got.reads(&f)
	state, isKnown := wechatPayStates[f.Status]
	if !isJSON || !isText(f.RefundID) || f.OutRefundNo != r.ID || f.TransactionID != r.Reference ||
		f.Amount.Refund == nil || int64(*f.Amount.Refund) != r.Amount || cmp.Or(f.Amount.Currency, "CNY") != r.Currency ||
		!isKnown {
		return unlike("no refund of the payment, the number and the sum, in a state that is known")
	}
	a = Answer{Outcome: Accepted, Refund: f.RefundID}
	if state != "" {
		a.Money = r.reported(WeChatPay, sale.MoneyReport{
			Currency: r.Currency, Refund: &sale.RefundReport{ID: f.RefundID, State: state, Amount: r.Amount},
		}, got.now)
	}
	if state == sale.RefundFailed {
		a.Outcome, a.Code = Refused, f.Status
	}
	return a
}

// isSigned checks Wechatpay-Signature as PayFunction does.
func (w *wechatPay) isSigned(got *reply) bool {
	at := got.header.Get("Wechatpay-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	key := w.keys[strings.ToUpper(got.header.Get("Wechatpay-Serial"))]
	if err != nil || key == nil || got.now.Sub(time.Unix(seconds, 0)).Abs() > wechatPayTolerance {
		return false
	}
	text := at + "\n" + got.header.Get("Wechatpay-Nonce") + "\n" + string(got.body) + "\n"
	return verifies(key, text, got.header.Get("Wechatpay-Signature"))
}

// refusal is the answer of a status that is no success. WeChat Pay does not sign what it cannot place.
func (w *wechatPay) refusal(got *reply) Answer {
	var e struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	outcome := wechatPayStatuses[got.status]
	switch isPlaced := outcome == Refused; {
	case !got.reads(&e), e.Code == "":
		outcome = Unknown
	case isPlaced && slices.Contains(wechatPayHalts, e.Code):
		outcome = Halted
	case isPlaced && (e.Code == "SYSTEM_ERROR" || !w.isSigned(got)):
		outcome = Unknown
	}
	return got.answer(outcome, e.Code, e.Message)
}

// wechatPayStatuses are what WeChat Pay's own errors mean; others are unknown.
var wechatPayStatuses = map[int]Outcome{400: Refused, 403: Refused, 404: Refused, 401: Halted}

// wechatPayHalts are of the merchant and its key, not of a payment.
var wechatPayHalts = []string{"SIGN_ERROR", "NO_AUTH", "MCH_NOT_EXISTS"}
