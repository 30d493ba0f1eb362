package webhook

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"sync"
	"time"
)

// LocalKey signs as WeChat Pay and Alipay do on the local stack. It is no secret: nothing else trusts it.
var LocalKey = sync.OnceValue(func() *rsa.PrivateKey {
	der, _ := base64.StdEncoding.DecodeString(localKeyText)
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		panic(err) // it is a file of this package
	}
	return key.(*rsa.PrivateKey)
})

// RSASignature is the signature of a text in base64, as WeChat Pay and Alipay sign.
func RSASignature(key *rsa.PrivateKey, text string) string {
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		panic(err) // no signature fits into such a key
	}
	return base64.StdEncoding.EncodeToString(signature)
}

// wechatPayBody is the notification that the payment succeeded.
func (p Payment) wechatPayBody(now time.Time) ([]byte, error) {
	set := localSettings(WeChatPay)
	resource, err := json.Marshal(map[string]any{
		"mchid": set.MchID, "appid": set.AppIDs[0], "out_trade_no": p.OrderID, "transaction_id": p.PaymentID, "trade_type": "JSAPI",
		"trade_state": "SUCCESS", "success_time": now.UTC().Format(time.RFC3339), "attach": "flashsale-" + p.SaleID + "-" + p.OrderID,
		"amount": map[string]any{"total": p.Amount, "payer_total": p.Amount, "currency": p.Currency, "payer_currency": p.Currency},
	})
	if err != nil {
		return nil, err
	}
	return WeChatPayNotification("TRANSACTION.SUCCESS", string(resource), set.APIv3Keys[0], "transaction", now)
}

// WeChatPayNotification is the body of a notification of that event. Its resource is encrypted by an APIv3 key and bound to
// what it is about.
func WeChatPayNotification(event, resource, key, about string, now time.Time) ([]byte, error) {
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		return nil, err
	}
	gcm, _ := cipher.NewGCM(block) // which takes any block of AES
	nonce := rand.Text()[:gcm.NonceSize()]
	return json.Marshal(map[string]any{
		"id": "EV-2018022511223320873", "create_time": now.UTC().Format(time.RFC3339), "event_type": event,
		"resource_type": "encrypt-resource", "summary": "支付成功",
		"resource": map[string]string{
			"original_type": about, "algorithm": "AEAD_AES_256_GCM", "associated_data": about, "nonce": nonce,
			"ciphertext": base64.StdEncoding.EncodeToString(gcm.Seal(nil, []byte(nonce), []byte(resource), []byte(about))),
		},
	})
}

// WeChatPayHeaders are those of a notification that is signed by the key with that serial.
func WeChatPayHeaders(key *rsa.PrivateKey, serial, body string, now time.Time) map[string]string {
	at, nonce := strconv.FormatInt(now.Unix(), 10), rand.Text()
	return map[string]string{
		"wechatpay-serial": serial, "wechatpay-timestamp": at, "wechatpay-nonce": nonce,
		"wechatpay-signature": RSASignature(key, at+"\n"+nonce+"\n"+body+"\n"),
	}
}
