package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// adyenBody is the webhook of an authorisation. Adyen signs within the body: by the first key of the secret, or not
// at all if it is empty.
func (p Payment) adyenBody(secret string, now time.Time) ([]byte, error) {
	item := map[string]any{
		"pspReference": p.PaymentID, "merchantAccountCode": "LocalShop", "merchantReference": "flashsale-" + p.SaleID + "-" + p.OrderID,
		"amount": map[string]any{"value": p.adyens(), "currency": p.Currency}, "eventCode": "AUTHORISATION", "success": "true",
		"eventDate": now.Format(time.RFC3339), "paymentMethod": "visa",
	}
	if secret != "" {
		var set struct{ HMACKeys []string }
		err := json.Unmarshal([]byte(secret), &set)
		if err != nil || len(set.HMACKeys) == 0 {
			return nil, fmt.Errorf("sign webhook: the secret has no hmacKeys: %w", err)
		}
		key, err := hex.DecodeString(set.HMACKeys[0])
		if err != nil {
			return nil, fmt.Errorf("sign webhook: %w", err)
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s::LocalShop:%s:%d:%s:AUTHORISATION:true", p.PaymentID, item["merchantReference"], p.adyens(), p.Currency)
		item["additionalData"] = map[string]string{"hmacSignature": base64.StdEncoding.EncodeToString(mac.Sum(nil))}
	}
	return json.Marshal(map[string]any{"live": "false", "notificationItems": []any{map[string]any{"NotificationRequestItem": item}}})
}

// adyens is the amount as Adyen counts it: CLP and ISK in hundredths, CVE and IDR in whole units.
func (p Payment) adyens() int64 {
	switch strings.ToUpper(p.Currency) {
	case "CLP", "ISK":
		return p.Amount * 100
	case "CVE", "IDR":
		return p.Amount / 100
	}
	return p.Amount
}
