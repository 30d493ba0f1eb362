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
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// localWeChatPay is what the local stack holds of its merchant, see the function's settings.
var localWeChatPay = sync.OnceValue(func() (set struct {
	MchID      string
	AppIDs     []string
	APIv3Keys  []string
	PublicKeys map[string]string
}) {
	if err := json.Unmarshal([]byte(LocalSecrets[WeChatPay]), &set); err != nil {
		panic(err) // it is a file of this package
	}
	return set
})

// localKey signs as WeChat Pay does on the local stack. It is no secret: nothing else trusts it.
var localKey = sync.OnceValue(func() *rsa.PrivateKey {
	der, err := base64.StdEncoding.DecodeString(localKeyText)
	if err != nil {
		panic(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		panic(err)
	}
	return key.(*rsa.PrivateKey)
})

// wechatPayBody is the notification that the payment succeeded.
func (p Payment) wechatPayBody(now time.Time) ([]byte, error) {
	set := localWeChatPay()
	at := now.UTC().Format(time.RFC3339)
	resource, err := json.Marshal(map[string]any{
		"mchid": set.MchID, "appid": set.AppIDs[0], "out_trade_no": p.OrderID, "transaction_id": p.PaymentID,
		"trade_type": "JSAPI", "trade_state": "SUCCESS", "success_time": at, "attach": "flashsale-" + p.SaleID + "-" + p.OrderID,
		"amount": map[string]any{"total": p.Amount, "payer_total": p.Amount, "currency": p.Currency, "payer_currency": p.Currency},
	})
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher([]byte(set.APIv3Keys[0]))
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	nonce := rand.Text()[:gcm.NonceSize()]
	const about = "transaction"
	return json.Marshal(map[string]any{
		"id": "EV-" + p.PaymentID, "create_time": at, "event_type": "TRANSACTION.SUCCESS", "resource_type": "encrypt-resource", "summary": "支付成功",
		"resource": map[string]string{
			"original_type": about, "algorithm": "AEAD_AES_256_GCM", "associated_data": about, "nonce": nonce,
			"ciphertext": base64.StdEncoding.EncodeToString(gcm.Seal(nil, []byte(nonce), resource, []byte(about))),
		},
	})
}

// signWeChatPay sets the headers of a notification.
func signWeChatPay(header http.Header, body []byte, now time.Time) error {
	at, nonce := strconv.FormatInt(now.Unix(), 10), rand.Text()
	digest := sha256.Sum256([]byte(at + "\n" + nonce + "\n" + string(body) + "\n"))
	signature, err := rsa.SignPKCS1v15(nil, localKey(), crypto.SHA256, digest[:])
	if err != nil {
		return fmt.Errorf("sign notification: %w", err)
	}
	for serial := range localWeChatPay().PublicKeys {
		header.Set("Wechatpay-Serial", serial)
	}
	header.Set("Wechatpay-Timestamp", at)
	header.Set("Wechatpay-Nonce", nonce)
	header.Set("Wechatpay-Signature", base64.StdEncoding.EncodeToString(signature))
	return nil
}
