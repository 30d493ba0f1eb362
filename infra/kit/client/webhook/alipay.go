package webhook

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// localAlipay is what the local stack holds of its app, see the function's settings.
var localAlipay = sync.OnceValue(func() (set struct{ AppIDs, SellerIDs []string }) {
	if err := json.Unmarshal([]byte(LocalSecrets[Alipay]), &set); err != nil {
		panic(err) // it is a file of this package
	}
	return set
})

const signOfAlipay = "&sign="

// alipayBody is the notification that the payment succeeded. Its signature is its last field.
func (p Payment) alipayBody(now time.Time) ([]byte, error) {
	at := now.In(time.FixedZone("Beijing", 8*60*60)).Format(time.DateTime)
	fields := map[string]string{
		"app_id": localAlipay().AppIDs[0], "seller_id": localAlipay().SellerIDs[0], "charset": "utf-8", "version": "1.0",
		"notify_type": "trade_status_sync", "notify_id": "notify-" + p.PaymentID, "notify_time": at, "gmt_payment": at,
		"trade_no": p.PaymentID, "out_trade_no": p.OrderID, "trade_status": "TRADE_SUCCESS",
		"total_amount":    fmt.Sprintf("%d.%02d", p.Amount/100, p.Amount%100),
		"passback_params": "flashsale-" + p.SaleID + "-" + p.OrderID,
	}
	if currency := strings.ToUpper(p.Currency); currency != "CNY" {
		fields["trans_currency"] = currency
	}
	text, form := "", url.Values{"sign_type": {"RSA2"}}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text += "&" + name + "=" + fields[name]
		form.Set(name, fields[name])
	}
	digest := sha256.Sum256([]byte(text[1:]))
	signature, err := rsa.SignPKCS1v15(nil, localKey(), crypto.SHA256, digest[:])
	if err != nil {
		return nil, fmt.Errorf("sign notification: %w", err)
	}
	return []byte(form.Encode() + signOfAlipay + url.QueryEscape(base64.StdEncoding.EncodeToString(signature))), nil
}

// unsigned is the notification without its signature.
func unsigned(body []byte) []byte {
	body, _, _ = bytes.Cut(body, []byte(signOfAlipay))
	return body
}
