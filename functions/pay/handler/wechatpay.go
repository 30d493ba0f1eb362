package handler

import (
	"cmp"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
	"flashsale/shared/settings"
)

// WeChat Pay's notifications, API v3, of a merchant's own payments. The rules are those of pay.weixin.qq.com:
//
//   - signature: docs/merchant/development/interface-rules/signature-verification.html, 2024-11-20; that it lasts five
//     minutes is what WeChat Pay's own libraries hold to (wechatpay-go, core/auth/validators, 2025-07-07);
//   - probes of the signature, and the time to answer:
//     docs/partner/development/practices/notification-considerations.html, 2024-07-25;
//   - a payment's notification: docs/merchant/apis/h5-payment/payment-notice.html, 2024-12-27, and its repeats:
//     docs/partner/apis/partner-scannedpos-payment/payment-notice.html, 2025-02-19;
//   - attach, out_trade_no: docs/merchant/products/jsapi-payment/apilist.html, 2025-03-31;
//   - a refund's notification: doc/v3/merchant/4012791865, and the resource of a combined payment, both as of
//     github.com/wechatpay-apiv3/wechatpay-skills, 2026-04-28.

// wechatPaySettings are WECHAT_PAY_SECRETS.
type wechatPaySettings struct {
	MchID  string   `json:"mchid"`
	AppIDs []string `json:"appids"` // of the merchant's, in which the shop sells
	// APIv3Keys decrypt notifications. Two while one is being replaced.
	APIv3Keys []string `json:"apiV3Keys"`
	// PublicKeys are WeChat Pay's, by the Wechatpay-Serial that names them: the id of a public key, PUB_KEY_ID_…, or a
	// platform certificate's serial number in hexadecimal. While a merchant goes from one to the other, WeChat Pay signs
	// some notifications with each, for a week.
	PublicKeys map[string]string `json:"publicKeys"`
}

// wechatPay is a merchant of WeChat Pay.
type wechatPay struct {
	wechatPaySettings
	keys    map[string]*rsa.PublicKey // by serial, in capitals
	ciphers []cipher.AEAD
	now     func() time.Time
}

func newWeChatPay(s Settings, now func() time.Time) (provider, error) {
	set, err := settings.Read[wechatPaySettings](s.WeChatPaySecrets)
	if err != nil {
		return provider{}, err
	}
	keys, wrongKeys := settings.WeChatPayKeys("publicKeys", set.PublicKeys)
	w := wechatPay{wechatPaySettings: set, keys: keys, now: now}
	err = cmp.Or(
		settings.Check("mchid", []string{set.MchID}, settings.Form(settings.Digits, "of digits")),
		settings.Check("appids", set.AppIDs, settings.Form(settings.Letters+settings.Digits+"_-", "the id of an app, wx…")),
		settings.CheckKeys("apiV3Keys", set.APIv3Keys, w.addCipher),
		wrongKeys,
	)
	if err != nil {
		return provider{}, err
	}
	return provider{verify: w.verify, read: one(w.read)}, nil
}

func (w *wechatPay) addCipher(key string) error {
	if err := settings.IsText(key); err != nil {
		return err
	}
	block, err := aes.NewCipher([]byte(key))
	if err != nil || len(key) != 32 {
		return errors.New("an APIv3 key has 32 characters")
	}
	gcm, err := cipher.NewGCM(block)
	w.ciphers = append(w.ciphers, gcm)
	return err
}

// verify checks Wechatpay-Signature, of the timestamp, the nonce and the body as it was sent, each with a
// line feed after it. WeChat Pay also sends wrong signatures now and then, to see them refused; theirs begin with
// WECHATPAY/SIGNTEST/, may name a serial that was never issued, and the notification comes again, well signed.
func (w *wechatPay) verify(r *httpapi.Request, body []byte) error {
	at, serial := r.Headers["wechatpay-timestamp"], r.Headers["wechatpay-serial"]
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || serial == "" {
		return errUnsigned
	}
	if w.now().Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return errOld
	}
	key, known := w.keys[serial]
	if !known {
		return errNoSuchKey
	}
	// What is no base64 is no signature either.
	signature, _ := base64.StdEncoding.DecodeString(r.Headers["wechatpay-signature"])
	signed := sha256.New()
	signed.Write([]byte(at + "\n" + r.Headers["wechatpay-nonce"] + "\n"))
	signed.Write(body)
	signed.Write([]byte("\n"))
	if rsa.VerifyPKCS1v15(key, crypto.SHA256, signed.Sum(nil), signature) != nil {
		return errUnsigned
	}
	return nil
}

// wechatPayNotification is the body. What it is about is in the resource, encrypted.
type wechatPayNotification struct {
	EventType string `json:"event_type"`
	Resource  struct {
		Algorithm      string `json:"algorithm"`
		Ciphertext     string `json:"ciphertext"`
		AssociatedData string `json:"associated_data"` // may be missing
		Nonce          string `json:"nonce"`
	} `json:"resource"`
}

// wechatPayResource is a decrypted payment or refund. Those of a service provider and combined ones have no mchid.
type wechatPayResource struct {
	MchID         string `json:"mchid"`
	AppID         string `json:"appid"` // not of a refund
	TransactionID string `json:"transaction_id"`
	OutTradeNo    string `json:"out_trade_no"`
	TradeState    string `json:"trade_state"`   // of a payment
	RefundID      string `json:"refund_id"`     // of a refund
	RefundStatus  string `json:"refund_status"` // of a refund
	Attach        string `json:"attach"`        // see orderOf; missing if the order was made without
	Amount        struct {
		// Total is the order's amount, in minor units; payer_total is less if WeChat Pay or the shop gave a coupon.
		Total    *jsonread.Whole `json:"total"`
		Refund   *jsonread.Whole `json:"refund"`
		Currency string          `json:"currency"` // CNY if it is missing
	} `json:"amount"`
}

// aboutWeChatPay is what an event that is neither a payment nor a refund is about.
func aboutWeChatPay(kind string) subject {
	switch {
	case strings.HasPrefix(kind, "COMPLAINT."):
		return disputed
	case strings.HasPrefix(kind, "PAYSCORE."):
		return charge
	case kind == "TRANSACTION.FAIL":
		return unpaid
	}
	return unknown
}

// wechatPayRefunds are the states of a refund. An ABNORMAL one waits for the merchant, who has it paid out to another
// account under the same refund_id; one that is CLOSED is over (doc/v3/merchant/4012791865).
var wechatPayRefunds = map[string]sale.RefundState{
	"SUCCESS": sale.RefundDone, "ABNORMAL": sale.RefundStuck, "CLOSED": sale.RefundFailed,
}

func (w *wechatPay) read(body []byte) (report, error) {
	r := report{about: foreign}
	var n wechatPayNotification
	if err := jsonv2.Unmarshal(body, &n); err != nil {
		return r, unreadable(err)
	}
	isRefund := strings.HasPrefix(n.EventType, "REFUND.")
	if n.EventType != "TRANSACTION.SUCCESS" && !isRefund {
		return report{about: aboutWeChatPay(n.EventType)}, nil
	}
	plain, err := w.decrypt(&n)
	if err != nil {
		return r, err
	}
	var about wechatPayResource
	if err := jsonv2.Unmarshal(plain, &about); err != nil {
		return r, unreadable(err)
	}
	p := &r.payment
	p.Reference = about.TransactionID
	code := cmp.Or(about.Amount.Currency, "CNY")
	if about.MchID != w.MchID {
		return r, errOtherMerchant
	}
	if isRefund {
		r.about, r.money = refunded, about.refund(code)
		return r, nil
	}
	saleID, orderID, named := orderOf(about.Attach)
	switch {
	case !named:
		return r, nil
	case about.TradeState != "SUCCESS":
		r.about = unpaid
		return r, nil
	case !slices.Contains(w.AppIDs, about.AppID):
		return r, errOtherApp
	case about.Amount.Total == nil:
		return r, unreadable(errNoAmount)
	}
	r.about, p.SaleID, p.OrderID, p.Amount, p.Currency = ours, saleID, orderID, int64(*about.Amount.Total), code
	p.Stack = stackOf(about.Attach)
	return r, nil
}

// refund returns nil if it does not say in which state it is or how much.
func (a *wechatPayResource) refund(code string) *sale.MoneyReport {
	state, known := wechatPayRefunds[a.RefundStatus]
	if !known || a.Amount.Refund == nil || *a.Amount.Refund == 0 {
		return nil
	}
	_, notAnOrders := orderid.Parse(a.OutTradeNo)
	return &sale.MoneyReport{
		Currency: code, MayBeOurs: notAnOrders == nil,
		Refund: &sale.RefundReport{ID: a.RefundID, State: state, Amount: int64(*a.Amount.Refund)},
	}
}

// decrypt returns the resource's text.
func (w *wechatPay) decrypt(n *wechatPayNotification) ([]byte, error) {
	if n.Resource.Algorithm != "AEAD_AES_256_GCM" {
		return nil, errNotDecrypted
	}
	text, _ := base64.StdEncoding.DecodeString(n.Resource.Ciphertext) // what is no base64 cannot be opened either
	for _, c := range w.ciphers {
		if len(n.Resource.Nonce) != c.NonceSize() { // Open would panic
			break
		}
		if plain, err := c.Open(nil, []byte(n.Resource.Nonce), text, []byte(n.Resource.AssociatedData)); err == nil {
			return plain, nil
		}
	}
	return nil, errNotDecrypted
}

var (
	errNoSuchKey = sale.Refuse(sale.InvalidRequest,
		"WeChatPayKeysArn has no public key for the webhook's Wechatpay-Serial")
	errNotDecrypted = sale.Refuse(sale.InvalidRequest,
		"the webhook's resource cannot be decrypted by an APIv3 key of WeChatPayKeysArn")
	errOtherMerchant = sale.Refuse(sale.InvalidRequest, "the webhook is not of the mchid that WeChatPayKeysArn has; "+
		"those of service providers and of combined payments are not read")
	errOtherApp = sale.Refuse(sale.InvalidRequest,
		"the webhook is for another app: WeChatPayKeysArn does not have its appid")
)

// answerWeChatPay is what WeChat Pay expects within 5 seconds: 204, or a status of 4xx or 5xx, after which it repeats
// the notification 15 times within 24 hours.
func answerWeChatPay(_ outcome, err error) httpapi.Response {
	if err == nil {
		return httpapi.NoContent()
	}
	status, message := told(err)
	return httpapi.JSON(status, struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}{"FAIL", message})
}
