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
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"flashsale/functions/pay/settings"
	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/sale"
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
	w := wechatPay{wechatPaySettings: set, keys: map[string]*rsa.PublicKey{}, now: now}
	err = cmp.Or(
		settings.Check("mchid", []string{set.MchID}, settings.Form(settings.Digits, "of digits")),
		settings.Check("appids", set.AppIDs, settings.Form(settings.Letters+settings.Digits+"_-", "the id of an app, wx…")),
		settings.CheckKeys("apiV3Keys", set.APIv3Keys, w.addCipher),
		settings.CheckKeys("publicKeys", slices.Sorted(maps.Keys(set.PublicKeys)), w.addKey),
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

func (w *wechatPay) addKey(serial string) error {
	err := settings.IsText(serial)
	name, isKeyID := strings.CutPrefix(serial, "PUB_KEY_ID_")
	upper := strings.ToUpper(serial)
	switch {
	case err != nil:
		return fmt.Errorf("of its name: %w", err)
	case name == "" || isKeyID && strings.Trim(name, settings.Digits+settings.Letters) != "",
		!isKeyID && strings.Trim(upper, settings.Digits+"ABCDEF") != "":
		return errors.New("its name is neither PUB_KEY_ID_… nor a serial number in hexadecimal, alone")
	case w.keys[upper] != nil:
		return errors.New("its serial number is there twice")
	}
	w.keys[upper], err = settings.RSAKey(w.PublicKeys[serial])
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
	TradeState    string `json:"trade_state"`   // of a payment
	RefundStatus  string `json:"refund_status"` // of a refund
	Attach        string `json:"attach"`        // see orderOf; missing if the order was made without
	Amount        struct {
		// Total is the order's amount, in minor units; payer_total is less if WeChat Pay or the shop gave a coupon.
		Total    *jsonread.Whole `json:"total"`
		Refund   *jsonread.Whole `json:"refund"`
		Currency string          `json:"currency"` // CNY if it is missing
	} `json:"amount"`
}

// aboutWeChatPay is what an event that reports no payment is about.
func aboutWeChatPay(kind string) subject {
	switch {
	case strings.HasPrefix(kind, "REFUND."): // ABNORMAL, CLOSED
		return notBack
	case strings.HasPrefix(kind, "COMPLAINT."):
		return disputed
	case strings.HasPrefix(kind, "PAYSCORE."):
		return charge
	case kind == "TRANSACTION.FAIL":
		return unpaid
	}
	return unknown
}

func (w *wechatPay) read(body []byte) (p sale.Payment, _ subject, err error) {
	var n wechatPayNotification
	if err := jsonv2.Unmarshal(body, &n); err != nil {
		return p, foreign, unreadable(err)
	}
	if n.EventType != "TRANSACTION.SUCCESS" && n.EventType != "REFUND.SUCCESS" {
		about := aboutWeChatPay(n.EventType)
		if about == notBack { // whose payment is for the log only
			var refund wechatPayResource
			plain, _ := w.decrypt(&n)
			_ = jsonv2.Unmarshal(plain, &refund)
			p.Reference = refund.TransactionID
		}
		return p, about, nil
	}
	plain, err := w.decrypt(&n)
	if err != nil {
		return p, foreign, err
	}
	var about wechatPayResource
	if err := jsonv2.Unmarshal(plain, &about); err != nil {
		return p, foreign, unreadable(err)
	}
	p.Reference = about.TransactionID
	if about.MchID != w.MchID {
		return p, foreign, errOtherMerchant
	}
	if n.EventType == "REFUND.SUCCESS" {
		if about.RefundStatus != "SUCCESS" || about.Amount.Refund == nil || *about.Amount.Refund == 0 {
			return p, refunded, nil
		}
		p.Amount, p.Currency = int64(*about.Amount.Refund), cmp.Or(about.Amount.Currency, "CNY")
		return p, paidBack, nil
	}
	saleID, orderID, named := orderOf(about.Attach)
	switch {
	case !named:
		return p, foreign, nil
	case about.TradeState != "SUCCESS":
		return p, unpaid, nil
	case !slices.Contains(w.AppIDs, about.AppID):
		return p, foreign, errOtherApp
	case about.Amount.Total == nil:
		return p, foreign, unreadable(errNoAmount)
	}
	p.SaleID, p.OrderID = saleID, orderID
	p.Amount, p.Currency = int64(*about.Amount.Total), cmp.Or(about.Amount.Currency, "CNY")
	return p, ours, nil
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
