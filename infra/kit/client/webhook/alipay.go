package webhook

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// alipayBody is the notification that the payment succeeded. Without a secret it is not signed.
func (p Payment) alipayBody(secret string, now time.Time) []byte {
	set, at := localSettings(Alipay), now.In(time.FixedZone("Beijing", 8*60*60)).Format(time.DateTime)
	fields := map[string]string{
		"app_id": set.AppIDs[0], "seller_id": set.SellerIDs[0], "charset": "utf-8", "version": "1.0", "sign_type": "RSA2",
		"notify_type": "trade_status_sync", "notify_id": "notify-" + p.PaymentID, "notify_time": at, "gmt_payment": at,
		"trade_no": p.PaymentID, "out_trade_no": p.OrderID, "trade_status": "TRADE_SUCCESS",
		"total_amount":    fmt.Sprintf("%d.%02d", p.Amount/100, p.Amount%100),
		"passback_params": "flashsale-" + p.SaleID + "-" + p.OrderID,
	}
	if currency := strings.ToUpper(p.Currency); currency != "CNY" {
		fields["trans_currency"] = currency
	}
	if secret == "" {
		return []byte(AlipayForm(fields, ""))
	}
	return []byte(AlipayForm(fields, RSASignature(LocalKey(), AlipayText(fields, "sign_type"))))
}

// AlipayText is what is signed of a notification's fields, but for those that are left out.
func AlipayText(fields map[string]string, leftOut ...string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(leftOut, name) {
			pairs = append(pairs, name+"="+fields[name])
		}
	}
	return strings.Join(pairs, "&")
}

// AlipayForm is the body with these fields and their signature.
func AlipayForm(fields map[string]string, signature string) string {
	form := url.Values{"sign": {signature}}
	for name, value := range fields {
		form.Set(name, value)
	}
	return form.Encode()
}
