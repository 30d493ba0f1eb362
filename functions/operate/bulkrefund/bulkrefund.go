// Package bulkrefund writes the lines of the files that a payment provider's own bulk refund takes. A person uploads
// them in the provider's portal: nothing here moves money, or has a key.
package bulkrefund

import (
	"regexp"
	"strconv"
	"strings"

	"flashsale/shared/currency"
	"flashsale/shared/sale"
)

// LinesPerFile is how many lines one file may have, by the provider. A provider that is missing takes no file.
var LinesPerFile = map[string]int{"wechat-pay": 10_000, "adyen": 6_000}

// Portals say where the refunds of a provider that takes no file are made. Stripe's Dashboard refunds whole payments
// that are checked in its list (docs.stripe.com/refunds). Of Alipay only an interface of its old gateway took a
// thousand at a time (refund_fastpay_by_platform_pwd), and no file is documented. Both were looked for on 2026-11-29.
var Portals = map[string]string{
	"stripe": "Stripe takes no file of refunds: check the payments in the Dashboard's list, and refund them together, " +
		"or let the stack do it",
	"alipay": "Alipay documents no file of refunds: refund each payment in its merchant portal, or let the stack do it",
	"standard-webhooks": "payments by Standard Webhooks have no portal that takes a file of refunds: " +
		"the shop itself gives them back",
}

// plain is what a reference must be like, so that no line has another cell, a formula or a quote: a transaction_id of
// WeChat Pay has 32 digits at most, a pspReference of Adyen 16 letters and digits.
var plain = regexp.MustCompile(`^[0-9A-Za-z]{1,32}$`)

// Line is a refund's line, without a line's end, in ASCII, if it is due and its provider takes files. byHand: it is
// due, and has to be given back without a file, because a part of it is back, WeChat Pay waits for the merchant, or the
// line could be of another payment. A line is of a whole payment, so the same file uploaded twice gives nothing back
// twice. What RefundFunction has sent, and may be back, has none.
func Line(r sale.Refund) (line string, byHand bool) {
	provider, reference, _ := strings.Cut(r.Payment, "#")
	if LinesPerFile[provider] == 0 || !r.IsDue() || r.Amount == 0 ||
		r.Sent.State == sale.SentUnknown || r.Sent.State == sale.SentAccepted {
		return "", false
	}
	if r.Back == 0 && !r.Stuck && plain.MatchString(reference) {
		switch provider {
		case "wechat-pay":
			line = weChatPay(r, reference)
		case "adyen":
			line = adyen(reference)
		}
	}
	return line, line == ""
}

// weChatPay is a line of 批量退款: the merchant's number of the order, yuan, the reason that the buyer reads, and the
// merchant's number of the refund, a new one after a refund that failed.
//
// Tencent's help page 批量退款功能介绍 of 2016 says that a file is txt or CSV with commas, has no titles (of txt), knows
// a payment by its order's number alone, and may have a number of the refund against a second upload. It shows the
// order of the cells in files that only merchants can load. Of a public program that uploads such CSV files without
// titles (kq5034, by the author of the Python package pyxllib, read on 2026-11-29), the code shows the order's number
// first and the reason third; it also has a number of the refund. That the yuan are second and that number fourth is
// inferred. Whatever the cells are taken for, a line is of a whole payment, of which WeChat Pay gives no more back.
//
// The line knows a payment by its order's number alone, and could be of another one of that order. So only a refund of
// an order all of whose payments go back has one.
func weChatPay(r sale.Refund, reference string) string {
	switch r.Reason {
	case sale.RefundReleased, sale.RefundRecalled, sale.RefundCancelled:
	default:
		return ""
	}
	if r.Currency != "CNY" {
		return ""
	}
	yuan, _ := currency.Decimal(r.Amount, r.Currency)
	order, number := strconv.FormatUint(r.OrderID, 10), "flashsale-"+reference
	if r.Failures > 0 {
		number += "-" + strconv.FormatInt(r.Failures, 10)
	}
	return strings.Join([]string{order, yuan, "order " + order, number}, ",")
}

// adyen is a line of a file of modifications: the PSP reference, and what is asked for. cancelOrRefund is of the whole
// payment, and also of one that is not captured yet. The file has no titles and no empty cells
// (docs.adyen.com/development-resources/batch-processing/submit-modifications, 2023-03-13).
func adyen(reference string) string { return reference + ",cancelOrRefund" }
