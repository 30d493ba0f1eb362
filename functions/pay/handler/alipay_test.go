package handler

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"

	"flashsale/infra/kit/client/webhook"
)

const (
	ourApp    = "2021000000000001"
	otherApp  = "2021000000000003" // ours, too
	ourSeller = "2088000000000001"
)

// alipaySecrets are settings with these keys and ids, in JSON.
func alipaySecrets(keys, apps, sellers string) string {
	return `{"publicKeys":[` + keys + `],"appIds":[` + apps + `],"sellerIds":[` + sellers + `]}`
}

// alipayGood are settings with two keys, as during a rotation.
func alipayGood() string {
	return alipaySecrets(fmt.Sprintf("%q,%q", publicText(rsaKeys()[0]), publicText(rsaKeys()[1])), `"`+ourApp+`","`+otherApp+`"`, `"2088000000000009","`+ourSeller+`"`)
}

// trade are the fields of Alipay's notification that alice has paid, with those of changes, which are names and values;
// "-" takes one away.
func trade(changes ...string) map[string]string {
	fields := map[string]string{
		"app_id": ourApp, "auth_app_id": ourApp, "seller_id": ourSeller, "charset": "utf-8", "version": "1.0", "sign_type": "RSA2",
		"notify_type": "trade_status_sync", "notify_id": "2026010100222080106000000000000001", "notify_time": "2026-01-01 08:01:06",
		"trade_no": "2026010122001400000000000001", "out_trade_no": "shop-1", "trade_status": "TRADE_SUCCESS",
		"total_amount": "1499.00", "receipt_amount": "1498.00", "subject": "茅台 53% + 1", "body": "", "gmt_payment": "2026-01-01 08:01:05",
		"fund_bill_list":  `[{"amount":"1499.00","fundChannel":"ALIPAYACCOUNT"}]`,
		"passback_params": "flashsale-moutai-" + orderText,
	}
	for i := 0; i < len(changes); i += 2 {
		if fields[changes[i]] = changes[i+1]; changes[i+1] == "-" {
			delete(fields, changes[i])
		}
	}
	return fields
}

// rsa2 is a notification as Alipay signs those of payments.
func rsa2(key *rsa.PrivateKey, changes ...string) string {
	return webhook.AlipayForm(trade(changes...), webhook.RSASignature(key, webhook.AlipayText(trade(changes...), "sign_type")))
}

// alipays is what comes of the notification that alice has paid, with these changes.
func alipays(result, says string, changes ...string) fate {
	return fate{sent{Alipay, rsa2(rsaKeys()[1], changes...), nil}, result, says, nil}
}

func alipayFates() map[string]fate {
	of := func(body, result string) fate {
		return fate{sent{Alipay, body, nil}, result, map[string]string{"unverified": "no valid signature"}[result], nil}
	}
	usual, typed := rsa2(rsaKeys()[1]), webhook.RSASignature(rsaKeys()[1], webhook.AlipayText(trade()))
	parts := strings.Split(usual, "&")
	slices.Reverse(parts)
	digest := sha1.Sum([]byte(webhook.AlipayText(trade("sign_type", "RSA"), "sign_type")))
	weak, _ := rsa.SignPKCS1v15(nil, rsaKeys()[1], crypto.SHA1, digest[:])
	const refused, unread, app = "invalid-request", "the webhook's body cannot be read", "the notification is for another app: AlipayKeysArn does not have its app_id"
	const seller = "the notification is for another seller: AlipayKeysArn does not have its seller_id"
	all := map[string]fate{
		"as Alipay sends it":                        of(usual, "paid"),
		"signed by the key that ends":               of(rsa2(rsaKeys()[0]), "paid"),
		"through the shop's other app":              alipays("paid", "", "app_id", otherApp),
		"to the shop's other account":               alipays("paid", "", "seller_id", "2088000000000009"),
		"signed with its sign_type":                 of(webhook.AlipayForm(trade(), typed), "paid"),
		"that cannot be refunded any more":          alipays("paid", "", "trade_status", "TRADE_FINISHED"),
		"of the documents' form, with nothing back": alipays("paid", "", "refund_fee", "0.00", "gmt_close", "2026-01-01 08:01:05"),
		"in GBK":                                   alipays("paid", "", "charset", "GBK", "subject", "\xca\xd6\xbb\xfa"),
		"of an amount without decimals":            alipays("paid", "", "total_amount", "1499"),
		"of an amount with one decimal":            alipays("paid", "", "total_amount", "1499.0"),
		"in another order of its fields":           of(strings.Join(parts, "&"), "paid"),
		"escaped in another way":                   of(strings.NewReplacer("+", "%20", "a", "%61").Replace(usual), "paid"),
		"in its currency":                          alipays("paid", "", "trans_currency", "CNY", "settle_currency", "HKD"),
		"with a time of tomorrow":                  alipays("paid", "", "notify_time", "2026-01-02 23:00:00"),
		"of the same seller through another's app": alipays("paid", "", "auth_app_id", "2021000000000777"),
		"with fields that nobody knows":            alipays("paid", "", "a", "", "zz", "1&2=3"),

		"nothing":                           of("", "unverified"),
		"unsigned":                          of(webhook.AlipayForm(trade(), ""), "unverified"),
		"of a key that nobody knows":        of(rsa2(rsaKeys()[2]), "unverified"),
		"signed with SHA-1":                 of(webhook.AlipayForm(trade("sign_type", "RSA"), base64.StdEncoding.EncodeToString(weak)), "unverified"),
		"of another sum than was signed":    of(strings.Replace(usual, "1499.00", "1.00", 1), "unverified"),
		"with a field more than was signed": of(usual+"&x=", "unverified"),
		"with a field twice":                of(usual+"&total_amount=1499.00", "unverified"),
		"with a signature twice":            of(usual+"&sign=", "unverified"),
		"pretty-printed on the way":         of(strings.Replace(usual, url.QueryEscape(`,"fund`), url.QueryEscape(",\n \"fund"), 1), "unverified"),
		"with a line break at its end":      of(usual+"\n", "unverified"),
		"that is no form":                   of(usual+"&%zz=1", "unverified"),
		"whose signature lost its plus":     of(strings.ReplaceAll(usual, "%2B", "+"), "unverified"),
		"as JSON":                           of(`{"trade_status":"TRADE_SUCCESS"}`, "unverified"),

		"for another app":     alipays(refused, app, "app_id", "2021000000000002"),
		"for another seller":  alipays(refused, seller, "seller_id", "2088000000000002"),
		"for no seller":       alipays(refused, seller, "seller_id", "-"),
		"in another currency": alipays(refused, "the notification is not in CNY: Alipay's overseas trades are not read", "trans_currency", "HKD"),

		"without its trade_no":          alipays(refused, "the payment has no valid reference", "trade_no", "-"),
		"of an amount above all prices": alipays(refused, "the payment has no valid amount", "total_amount", "10000000000.01"),
		"of a refund that is no amount": alipays(refused, unread, "refund_fee", "all"),

		"of another sum":  alipays("refund-due", "amount", "total_amount", "1498.99"),
		"of nothing":      alipays("refund-due", "amount", "total_amount", "0.00"),
		"of no order":     alipays("refund-due", "unknown-order", "passback_params", "flashsale-moutai-"),
		"of another sale": alipays("refund-due", "unknown-order", "passback_params", "flashsale-other-"+orderText),

		"nobody has paid yet":                 alipays("ignored", "", "trade_status", "WAIT_BUYER_PAY"),
		"nobody has paid in time":             alipays("ignored", "", "trade_status", "TRADE_CLOSED", "total_amount", "-"),
		"it was closed, with nothing back":    alipays("ignored", "", "trade_status", "TRADE_CLOSED", "refund_fee", "0.00", "gmt_close", "2026-01-16 08:04:29"),
		"something else was paid":             alipays("ignored", "", "passback_params", "-"),
		"something else was paid, 100% of it": alipays("ignored", "", "passback_params", "100%"),
		"something else was paid abroad":      alipays("ignored", "", "passback_params", "-", "trans_currency", "HKD"),
		"a part went back, unsaid how much":   alipays("ignored-refunded", "", "gmt_refund", "2026-01-01 09:00:00.000"),
		"it went back before it was reported": alipays("kept", "", "trade_status", "TRADE_CLOSED", "refund_fee", "1499.00"),
		"a status that nobody knows":          alipays("ignored-unknown", "", "trade_status", "TRADE_PENDING"),
		"no status":                           alipays("ignored-unknown", "", "trade_status", "-"),
		"another kind":                        alipays("ignored-unknown", "", "notify_type", "servicemarket_order_notify", "seller_id", "-"),
	}
	for amount := range strings.FieldsSeq("- 1499.000 1499. .99 -1499.00 +1499.00 1,499.00 1.499e3 99999999999999999999.00") {
		all["of the amount "+amount] = alipays(refused, unread, "total_amount", amount)
	}
	for field := range strings.FieldsSeq("app_id notify_type seller_id trade_status refund_fee gmt_refund trade_no total_amount passback_params trans_currency") {
		all["with a value that could be two, "+field] = alipays("unverified", "no valid signature", "subject", "1&"+field+"=2")
		all["with a name that could be two, "+field] = alipays("unverified", "no valid signature", "a&"+field, "1")
	}
	return all
}

// alipayRefusals are settings of Alipay that cannot be right, and why.
func alipayRefusals() map[string][2]string {
	first := rsaKeys()[0]
	good := func(der []byte) string {
		return alipaySecrets(`"`+publicText(rsaKeys()[1])+`","`+base64.StdEncoding.EncodeToString(der)+`"`, `"1"`, `"`+ourSeller+`"`)
	}
	key, seller := `"`+publicText(first)+`"`, `"`+ourSeller+`"`
	pkcs8, _ := x509.MarshalPKCS8PrivateKey(first)
	signed, _ := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{}, &first.PublicKey, first)
	other, _, _ := ed25519.GenerateKey(nil)
	curve, _ := x509.MarshalPKIXPublicKey(other)
	const second, digits, account = "publicKeys, number 2 of 2: ", "it is not of digits", "it is not 2088 and 12 more digits, as an account of Alipay"
	return map[string][2]string{
		"no JSON":               {"whsec_0123456789", notAlipays},
		"no keys":               {alipaySecrets("", `"1"`, seller), "publicKeys has none"},
		"a member fewer":        {`{"publicKeys":[` + key + `],"sellerIds":[` + seller + `]}`, "appIds has none"},
		"a key with quotes":     {alipaySecrets(`"'`+publicText(first)+`'"`, `"1"`, seller), "publicKeys: " + notBase64},
		"a private key":         {good(x509.MarshalPKCS1PrivateKey(first)), second + "it is a private key" + notAKey},
		"a private key, PKCS 8": {good(pkcs8), second + "it is a private key" + notAKey},
		"a certificate":         {good(signed), second + "it is a certificate" + notAKey},
		"a key of PKCS 1":       {good(x509.MarshalPKCS1PublicKey(&first.PublicKey)), second + "it is one of a PEM file's RSA PUBLIC KEY" + notAKey},
		"a part of a key":       {good([]byte("x")), second + "it is no key, or a part of one" + notAKey},
		"a key of a curve":      {good(curve), second + shortKey},
		"a short key":           {alipaySecrets(`"`+publicText(rsaKeys()[3])+`"`, `"1"`, seller), "publicKeys: " + shortKey},
		"no app":                {alipaySecrets(key, "", seller), "appIds has none"},
		"no seller":             {alipaySecrets(key, `"1"`, ""), "sellerIds has none"},
		"a seller's name":       {alipaySecrets(key, `"1"`, `"shop@example.com"`), "sellerIds: " + digits},
		"an app for a seller":   {alipaySecrets(key, `"1"`, `"`+ourApp+`"`), "sellerIds: " + account},
		"a seller of 15 digits": {alipaySecrets(key, `"1"`, `"208800000000000"`), "sellerIds: " + account},
		"a second app's name":   {alipaySecrets(key, `"1","shop"`, seller), "appIds, number 2 of 2: " + digits},
	}
}
