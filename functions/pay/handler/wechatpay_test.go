package handler

import (
	"crypto/rsa"
	"fmt"
	"strconv"
	"strings"

	"flashsale/infra/kit/client/webhook"
)

// The keys of a merchant who goes from a platform certificate to a public key, and from one APIv3 key to another.
const (
	apiV3Old    = "0123456789abcdef0123456789abcdef"
	apiV3New    = "fedcba9876543210fedcba9876543210"
	pubKeyID    = "PUB_KEY_ID_0116500000002024101100397200000006"
	certificate = "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"
)

// wechatSettings are those of a merchant who sells in two apps, with members replaced.
func wechatSettings(more string) string {
	return membersOf(`"mchid":"1900000109","appids":["wxd678efh567hg6787","wxd678efh567hg6999"]`,
		fmt.Sprintf(`"apiV3Keys":[%q,%q],"publicKeys":{%q:%q,%q:%q}`, apiV3Old, apiV3New,
			pubKeyID, publicText(rsaKeys()[0]), strings.ToLower(certificate), publicText(rsaKeys()[1])), more)
}

// wechatPaid is the payment of the order, with members replaced.
func wechatPaid(more string) string {
	return membersOf(`"mchid":"1900000109","appid":"wxd678efh567hg6787","out_trade_no":"`+orderText+`",
		"transaction_id":"4200000001202601010000000001","trade_type":"JSAPI","trade_state":"SUCCESS","trade_state_desc":"支付成功","bank_type":"CMB_DEBIT",
		"attach":"flashsale-moutai-`+orderText+`","success_time":"2026-01-01T08:00:06+08:00","payer":{"openid":"oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"},
		"amount":{"total":149900,"payer_total":149900,"currency":"CNY","payer_currency":"CNY"}`, more)
}

// wechatRefunded is a refund of that payment, with members replaced.
func wechatRefunded(more string) string {
	return membersOf(`"mchid":"1900000109","transaction_id":"4200000001202601010000000001","out_trade_no":"`+orderText+`",
		"refund_id":"50200207182018070300011301001","out_refund_no":"7752501201407033233368018","refund_status":"SUCCESS",
		"success_time":"2026-01-01T08:00:06+08:00","user_received_account":"招商银行信用卡0403",
		"amount":{"total":149900,"refund":149900,"payer_total":149900,"payer_refund":149900}`, more)
}

// wechatSealed is a notification of that event, with a resource that is encrypted by the key and bound to the text.
func wechatSealed(event, resource, key, about string) string {
	body, err := webhook.WeChatPayNotification(event, resource, key, about, reported)
	if err != nil {
		panic(err)
	}
	return string(body)
}

func wechatFates() map[string]fate {
	of := func(body, result, says string) fate { return fate{sent{WeChatPay, body, nil}, result, says, nil} }
	event := func(event, resource string) string { return wechatSealed(event, resource, apiV3New, "") }
	paid := func(more string) string { return event("TRANSACTION.SUCCESS", wechatPaid(more)) }
	usual := wechatSealed("TRANSACTION.SUCCESS", wechatPaid(""), apiV3New, "transaction")
	changed := func(old, other string) string { return strings.Replace(usual, old, other, 1) }
	pretty := strings.ReplaceAll(usual, `":`, `": `) + "\n"
	signedBy := func(key int, serial, sent string) fate {
		return of(sent, "unverified", "no valid signature").with(webhook.WeChatPayHeaders(rsaKeys()[key], serial, usual, reported))
	}
	header := func(name, value string) fate {
		all := signedBy(0, pubKeyID, usual)
		all.headers[name] = value
		return all
	}
	certified := of(usual, "paid", "").with(webhook.WeChatPayHeaders(rsaKeys()[1], certificate, usual, reported))
	unknown := header("wechatpay-serial", "PUB_KEY_ID_0")
	unknown.says = "WeChatPayKeysArn has no public key"
	const undecrypted, unread, merchant, refused = "cannot be decrypted", "cannot be read", "not of the mchid", "invalid-request"
	return map[string]fate{
		"a payment":                             of(usual, "paid", ""),
		"encrypted by the key that ends":        of(wechatSealed("TRANSACTION.SUCCESS", wechatPaid(""), apiV3Old, ""), "paid", ""),
		"without associated data":               of(strings.Replace(paid(""), `"associated_data":"",`, "", 1), "paid", ""),
		"signed by the platform certificate":    certified,
		"with blanks, signed as it comes":       of(pretty, "paid", ""),
		"in the merchant's other app":           of(paid(`"appid":"wxd678efh567hg6999"`), "paid", ""),
		"with a coupon":                         of(paid(`"amount":{"total":149900,"payer_total":99900,"currency":"CNY","payer_currency":"CNY"}`), "paid", ""),
		"without a currency":                    of(paid(`"amount":{"total":149900,"payer_total":149900}`), "paid", ""),
		"with members that nobody knows so far": of(paid(`"promotion_detail":[],"x":{"y":1}`), "paid", ""),

		"signed by another key":                  signedBy(2, pubKeyID, usual),
		"a certificate's signature as the key's": signedBy(1, pubKeyID, usual),
		"a serial that is not known":             unknown,
		"no serial":                              header("wechatpay-serial", ""),
		"no timestamp":                           header("wechatpay-timestamp", ""),
		"another timestamp":                      header("wechatpay-timestamp", strconv.FormatInt(reported.Unix()+1, 10)),
		"another nonce":                          header("wechatpay-nonce", "c5ac7061fccab6bf3e254dcf98995b8d"),
		"no signature":                           header("wechatpay-signature", ""),
		"a signature that is no base64":          header("wechatpay-signature", "…"),
		"a probe":                                header("wechatpay-signature", "WECHATPAY/SIGNTEST/"+strings.Repeat("A", 324)+"="),
		"pretty-printed on the way":              signedBy(0, pubKeyID, pretty),
		"another body":                           signedBy(0, pubKeyID, changed("EV-2018", "EV-2019")),

		"an APIv3 key that is not known": of(wechatSealed("TRANSACTION.SUCCESS", wechatPaid(""), strings.Repeat("k", 32), ""), refused, undecrypted),
		"another algorithm":              of(changed("AEAD_AES_256_GCM", "AEAD_SM4_GCM"), refused, undecrypted),
		"a nonce of another length":      of(changed(`"nonce":"`, `"nonce":"x`), refused, undecrypted),
		"a ciphertext that is no base64": of(changed(`"ciphertext":"`, `"ciphertext":"*`), refused, undecrypted),
		"other associated data":          of(changed(`"associated_data":"transaction"`, `"associated_data":"refund"`), refused, undecrypted),
		"no JSON":                        of("paid!", refused, unread),
		"a resource that is no JSON":     of(event("TRANSACTION.SUCCESS", "paid!"), refused, unread),
		"an amount twice":                of(event("TRANSACTION.SUCCESS", strings.Replace(wechatPaid(""), `"total"`, `"total":1,"total"`, 1)), refused, unread),
		"for another merchant":           of(paid(`"mchid":"1900000110"`), refused, merchant),
		"a service provider's":           of(paid(`"mchid":"","sp_mchid":"1900000109","sub_mchid":"1900000110"`), refused, merchant),
		"a combined payment":             of(event("TRANSACTION.SUCCESS", `{"combine_mchid":"1900000109","sub_orders":[]}`), refused, merchant),
		"another merchant's refund":      of(event("REFUND.SUCCESS", wechatRefunded(`"mchid":"1900000110"`)), refused, merchant),
		"another merchant's failure":     of(event("REFUND.CLOSED", wechatRefunded(`"mchid":"1900000110","refund_status":"CLOSED"`)), refused, merchant),
		"for another app":                of(paid(`"appid":"wx0000000000000000"`), refused, "does not have its appid"),
		"without an amount":              of(paid(`"amount":{"currency":"CNY"}`), refused, unread),
		"an amount of yuan":              of(paid(`"amount":{"total":1499.5,"currency":"CNY"}`), refused, unread),
		"a currency of two letters":      of(paid(`"amount":{"total":149900,"currency":"RM"}`), refused, "no valid currency"),
		"without a transaction's id":     of(paid(`"transaction_id":""`), refused, "no valid reference"),
		"a refund without its payment's": of(event("REFUND.SUCCESS", wechatRefunded(`"transaction_id":""`)), refused, "no valid reference"),

		"another sum":       of(paid(`"amount":{"total":100,"payer_total":149900,"currency":"CNY"}`), "refund-due", "amount"),
		"another currency":  of(paid(`"amount":{"total":149900,"currency":"HKD"}`), "refund-due", "amount"),
		"another sale":      of(paid(`"attach":"flashsale-shoe-`+orderText+`"`), "refund-due", "unknown-order"),
		"no order's number": of(paid(`"attach":"flashsale-moutai"`), "refund-due", "unknown-order"),
		"no sale":           of(paid(`"attach":"flashsale-"`), "refund-due", "unknown-order"),

		"a payment with another attach": of(paid(`"attach":"深圳分店"`), "ignored", ""),
		"one without an attach":         of(paid(`"attach":""`), "ignored", ""),
		"one of another app":            of(paid(`"attach":"","appid":"wx0000000000000000"`), "ignored", ""),
		"one that did not succeed":      of(paid(`"trade_state":"NOTPAY"`), "ignored", ""),
		"a refund without its amounts":  of(event("REFUND.SUCCESS", wechatRefunded(`"amount":{}`)), "ignored-refunded", ""),
		"a refund that is under way":    of(event("REFUND.SUCCESS", wechatRefunded(`"refund_status":"PROCESSING"`)), "ignored-refunded", ""),
		"what has no type":              of(event("", ""), "ignored-unknown", ""),
	}
}

// wechatRefusals are settings of WeChat Pay that cannot be right, and why.
func wechatRefusals() map[string][2]string {
	keyed := func(name string, key *rsa.PrivateKey) string {
		return wechatSettings(fmt.Sprintf(`"publicKeys":{%q:%q}`, name, publicText(key)))
	}
	named := func(name string) string { return keyed(name, rsaKeys()[0]) }
	pub := func(key string) string {
		return wechatSettings(fmt.Sprintf(`"publicKeys":{"AB":%q,%q:%q}`, publicText(rsaKeys()[1]), pubKeyID, key))
	}
	const blank, name = "it has a blank or a line break", "publicKeys: its name is neither PUB_KEY_ID_… nor a serial number in hexadecimal, alone"
	return map[string][2]string{
		"no JSON":                    {"whsec_0123456789abcdef", notWeChats},
		"a member that nobody knows": {wechatSettings(`"privateKey":"x"`), notWeChats},
		"no merchant":                {wechatSettings(`"mchid":""`), "mchid: it is empty"},
		"a merchant's name":          {wechatSettings(`"mchid":"wxd678efh567hg6787"`), "mchid: it is not of digits"},
		"no app":                     {wechatSettings(`"appids":[]`), "appids has none"},
		"no APIv3 key":               {wechatSettings(`"apiV3Keys":[]`), "apiV3Keys has none"},
		"an APIv3 key of 31":         {wechatSettings(`"apiV3Keys":["0123456789abcdef0123456789abcde"]`), "apiV3Keys: an APIv3 key has 32 characters"},
		"an APIv3 key of 16":         {wechatSettings(`"apiV3Keys":["` + apiV3New + `","0123456789abcdef"]`), "apiV3Keys, number 2 of 2: an APIv3 key has 32 characters"},
		"no public key":              {wechatSettings(`"publicKeys":{}`), "publicKeys has none"},
		"a serial as OpenSSL says":   {named("serial=" + certificate), name},
		"a key's id as one says":     {named("serial=" + pubKeyID), name},
		"a key's id without _ID":     {named("PUB_KEY_0116500000002024101100397200000006"), name},
		"a serial with colons":       {named("51:57:F0"), name},
		"a key's id with nothing":    {named("PUB_KEY_ID_"), name},
		"a serial with a blank":      {named(certificate + " "), "publicKeys: of its name: " + blank},
		"a serial twice":             {wechatSettings(fmt.Sprintf(`"publicKeys":{"AB":%q,"ab":%[1]q}`, publicText(rsaKeys()[0]))), "publicKeys, number 2 of 2: its serial number is there twice"},
		"a public key that is a PEM": {pub("-----BEGIN PUBLIC KEY-----"), "publicKeys, number 2 of 2: " + notBase64},
		"a public key that is none":  {pub("AAAA"), "publicKeys, number 2 of 2: it is no key, or a part of one" + notAKey},
		"a public key of 1024 bits":  {keyed(pubKeyID, rsaKeys()[3]), "publicKeys: " + shortKey},
	}
}
