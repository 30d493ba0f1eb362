package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// adyenBody is the webhook of an authorisation. Adyen signs within the body: by the first key of the secret, or not
// at all if it is empty.
func (p Payment) adyenBody(secret string, now time.Time) ([]byte, error) {
	set := settings{HMACKeys: []string{""}}
	if secret != "" && (json.Unmarshal([]byte(secret), &set) != nil || len(set.HMACKeys) == 0) {
		return nil, errors.New("sign webhook: the secret has no hmacKeys")
	}
	return AdyenWebhook(set.HMACKeys[0], "false", map[string]any{
		"pspReference": p.PaymentID, "merchantAccountCode": "LocalShop", "merchantReference": "flashsale-" + p.SaleID + "-" + p.OrderID,
		"amount": map[string]any{"value": p.counted("CLP ISK", "CVE IDR"), "currency": p.Currency}, "eventCode": "AUTHORISATION", "success": "true",
		"eventDate": now.Format(time.RFC3339), "paymentMethod": "visa",
	})
}

// AdyenWebhook is a webhook of these items, each of which gets its signature by the key, which is in hex; without a key,
// none.
func AdyenWebhook(key, live string, items ...map[string]any) ([]byte, error) {
	secret, err := hex.DecodeString(key)
	if err != nil {
		return nil, fmt.Errorf("sign webhook: %w", err)
	}
	var wrapped []any
	for _, item := range items {
		amount, _ := item["amount"].(map[string]any)
		mac, colon := hmac.New(sha256.New, secret), ""
		for _, value := range []any{
			item["pspReference"], item["originalReference"], item["merchantAccountCode"], item["merchantReference"],
			amount["value"], amount["currency"], item["eventCode"], item["success"],
		} {
			if value == nil {
				value = ""
			}
			fmt.Fprint(mac, colon, value)
			colon = ":"
		}
		if key != "" {
			item["additionalData"] = map[string]any{"hmacSignature": base64.StdEncoding.EncodeToString(mac.Sum(nil))}
		}
		wrapped = append(wrapped, map[string]any{"NotificationRequestItem": item})
	}
	return json.Marshal(map[string]any{"live": live, "notificationItems": wrapped})
}
