package handler

import (
	"cmp"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"flashsale/shared/currency"
	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/settings"
)

// Alipay's asynchronous notifications are a form that it posts, whose answer is a word: docs.open.alipay.com/270/105902
// and opendocs.alipay.com/open/203/105286, as quoted from 2017 to 2021, and on refunds alipay.trade.refund, as quoted
// in March 2025. What they leave open is as alipay-sdk 4.14.0 (npm) has it.

// alipaySettings are what Alipay's notifications must be signed with, and whom they must be for.
type alipaySettings struct {
	PublicKeys []string `json:"publicKeys"` // Alipay's, of each app
	AppIDs     []string `json:"appIds"`
	SellerIDs  []string `json:"sellerIds"`
}

func newAlipay(s Settings, _ func() time.Time) (provider, error) {
	own, err := settings.Read[alipaySettings](s.AlipaySecrets)
	if err != nil {
		return provider{}, err
	}
	var keys []*rsa.PublicKey
	err = cmp.Or(
		settings.CheckKeys("publicKeys", own.PublicKeys, func(text string) error {
			key, err := settings.RSAKey(text)
			keys = append(keys, key)
			return err
		}),
		settings.Check("appIds", own.AppIDs, settings.Form(settings.Digits, "of digits")),
		settings.Check("sellerIds", own.SellerIDs, isSeller),
	)
	if err != nil {
		return provider{}, err
	}
	return provider{
		verify: func(_ *httpapi.Request, body []byte) error { return verifyAlipay(body, keys) },
		read:   one(func(body []byte) (report, error) { return readAlipay(body, &own) }),
	}, nil
}

// isSeller checks a seller_id, which documents show as 16 digits that begin with 2088, as every account of Alipay does.
func isSeller(id string) error {
	err := settings.Form(settings.Digits, "of digits")(id)
	if err == nil && (!strings.HasPrefix(id, "2088") || len(id) != 16) {
		err = errors.New("it is not 2088 and 12 more digits, as an account of Alipay")
	}
	return err
}

// maxFields is how many fields a notification may have. Alipay's documents name about 40.
const maxFields = 200

// formOf returns the fields of a form, each decoded once, as the bytes that its sender had: a notification may be in
// GBK although everything was asked for in UTF-8. A field that is there twice has no one value.
func formOf(text string) (map[string]string, error) {
	if strings.Count(text, "&") >= maxFields {
		return nil, fmt.Errorf("there are more than %d fields", maxFields)
	}
	fields := map[string]string{}
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, wrongName := url.QueryUnescape(name)
		value, wrongValue := url.QueryUnescape(value)
		if err := cmp.Or(wrongName, wrongValue); err != nil {
			return nil, err
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		fields[name] = value
	}
	return fields, nil
}

// verifyAlipay checks a notification's RSA2: SHA256withRSA over the fields in the order of their names. Those of
// payments are signed without sign_type, those of some other products with it, and Alipay's own library tries both. Its
// SHA-1 (RSA) is no proof. No time is bounded: notify_time is when this attempt was sent, but no document promises
// that, and a payment has one fate however often it is reported.
func verifyAlipay(body []byte, keys []*rsa.PublicKey) error {
	fields, err := formOf(string(body))
	if err != nil || !isPlain(fields) {
		return errUnsigned
	}
	signature, err := base64.StdEncoding.DecodeString(fields["sign"])
	if err != nil {
		return errUnsigned
	}
	delete(fields, "sign")
	with := alipayDigest(fields)
	delete(fields, "sign_type")
	without := alipayDigest(fields)
	for _, key := range keys {
		for _, digest := range [][]byte{without, with} {
			if rsa.VerifyPKCS1v15(key, crypto.SHA256, digest, signature) == nil {
				return nil
			}
		}
	}
	return errUnsigned
}

// alipayReads are the fields that decide.
var alipayReads = []string{
	"app_id", "notify_type", "seller_id", "trade_status", "refund_fee", "gmt_refund", "trade_no", "total_amount",
	"passback_params", "trans_currency",
}

// isPlain reports whether a signed text has the fields that decide in no other place: nothing is escaped in it, so a
// value with "&refund_fee=1.00" in it may have been two fields, or be made two.
func isPlain(fields map[string]string) bool {
	for name, value := range fields {
		pair := name + "=" + value
		if slices.ContainsFunc(alipayReads, func(read string) bool { return strings.Contains(pair, "&"+read+"=") }) {
			return false
		}
	}
	return true
}

// alipayDigest is the digest of the text that is signed. Fields without a value are part of it.
func alipayDigest(fields map[string]string) []byte {
	digest := sha256.New()
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			digest.Write([]byte("&"))
		}
		digest.Write([]byte(name + "=" + fields[name]))
	}
	return digest.Sum(nil)
}

// readAlipay reads a notification of a trade.
func readAlipay(body []byte, own *alipaySettings) (report, error) {
	r := report{about: foreign}
	fields, err := formOf(string(body))
	r.payment.Reference = fields["trade_no"]
	switch {
	case err != nil:
		return r, unreadable(err)
	case !slices.Contains(own.AppIDs, fields["app_id"]):
		return r, sale.Refuse(sale.InvalidRequest,
			"the notification is for another app: AlipayKeysArn does not have its app_id")
	case fields["notify_type"] != "trade_status_sync":
		r.about = unknown
		return r, nil
	case !slices.Contains(own.SellerIDs, fields["seller_id"]):
		return r, sale.Refuse(sale.InvalidRequest,
			"the notification is for another seller: AlipayKeysArn does not have its seller_id")
	}
	isPaid := false
	switch fields["trade_status"] {
	case "TRADE_SUCCESS", "TRADE_FINISHED": // finished: at once or later it cannot be refunded any more
		isPaid = true
	case "WAIT_BUYER_PAY", "TRADE_CLOSED":
	default:
		r.about = unknown
		return r, nil
	}
	// Of all refunds of the trade so far; a payment may have 0.00.
	back, err := currency.FromAlipay(cmp.Or(fields["refund_fee"], "0"))
	code := cmp.Or(fields["trans_currency"], "CNY")
	saleID, orderID, named := orderOf(fields["passback_params"]) // the shop must escape it, and escaped it is the same
	switch {
	case err != nil:
		return r, unreadable(err)
	case back > 0: // in part the trade is still TRADE_SUCCESS
		r.about = refunded
		r.money = &sale.MoneyReport{Currency: code, Total: &sale.TotalReport{Amount: back, Grows: true}, MayBeOurs: named}
		return r, nil
	case fields["gmt_refund"] != "":
		r.about = refunded
		return r, nil
	case !isPaid:
		r.about = unpaid
		return r, nil
	}
	p := &r.payment
	p.SaleID, p.OrderID, p.Currency = saleID, orderID, "CNY"
	p.Stack = stackOf(fields["passback_params"])
	p.Amount, err = currency.FromAlipay(fields["total_amount"])
	switch {
	case err != nil:
		return r, unreadable(err)
	case !named:
		return r, nil
	case code != p.Currency:
		return r, sale.Refuse(sale.InvalidRequest,
			"the notification is not in CNY: Alipay's overseas trades are not read")
	}
	r.about = ours
	return r, nil
}

// answerAlipay is what Alipay is told: "success", and after anything else it repeats the notification for a day.
func answerAlipay(_ outcome, err error) httpapi.Response {
	if err == nil {
		return httpapi.Text(http.StatusOK, "success")
	}
	status, message := told(err)
	return httpapi.Text(status, "fail: "+message)
}
