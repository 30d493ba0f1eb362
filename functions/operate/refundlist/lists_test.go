package refundlist

import (
	"regexp"
	"strings"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// list is a file in which WHOLE was paid back whole. If it says what a row is, it has four more: PAID was only paid, the
// refund of FAILED has failed or is not finished, of PART a part was paid back, and the refund of HALVES was made in two parts.
// Stripe's has the part's row twice, as two reports that overlap do.
type list struct {
	name string
	file []byte
	says bool
}

// lists are a file of each kind, with the amount of 1499.00 CNY.
func lists() []list {
	fill := strings.NewReplacer("SUM", "1499.00", "HALF", "749.50").Replace
	file := func(name, text string, says bool) list { return list{name, []byte(fill(text)), says} }
	gbk, _ := simplifiedchinese.GBK.NewEncoder().Bytes([]byte(fill(alipayBill)))
	utf16, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes([]byte("Payment\tAmount\r\nWHOLE\tSUM\r\n"))
	again := strings.NewReplacer(",", ";", "REFUND FOR CHARGE; XL", `"REFUND FOR CHARGE; XL"`).Replace(stripeReconciliation)
	again = regexp.MustCompile(`(\d)\.(\d\d;)`).ReplaceAllString(again, "$1,$2")
	again = strings.NewReplacer("SUM", "1499,00", "HALF", "749,50").Replace(again)
	converted := strings.Replace(stripeReconciliation, "currency,gross", "currency,gross,customer_facing_currency,customer_facing_amount", 1)
	converted = regexp.MustCompile(`cny,(-?(?:SUM|HALF))`).ReplaceAllString(converted, "eur,-0.01,cny,$1")
	converted = strings.ReplaceAll(converted, "-0.01,cny,-HALF,0.00,-1.00,refund,re_3", "-HALF,,,0.00,-1.00,refund,re_3")
	return []list{
		file("references, one a line", "WHOLE\n", false),
		file("semicolons in a text", "reference,what\nWHOLE,Jacket; blue; XL\n", false),
		file("a column after a text with semicolons and line breaks", "what,\"reference\"\r\nJacket; blue; XL,\r\n\"Jacket, \"\"blue\"\"\r\nXL\",WHOLE\r\n", false),
		file("a separator in a title", "\"Betrag, EUR\";reference\n8,99;WHOLE\n", false),
		file("tabs beside quotes", "what\treference\tamount\n\"a\tb\"\tWHOLE\t8.99\n\"\"\t\t8.99\n", false),
		file("Excel's CSV (Macintosh) after a comment", "# November\rreference;what\rWHOLE;Jacket\r", false),
		file("a title that begins as a packed file", "PKW,reference\nx,WHOLE\n", false),
		file("a quote that is not closed", "what,reference\n15\" screen,\n\"15,WHOLE\n", false),
		file("a spreadsheet where commas are decimal", "\ufeffid;Betrag\nWHOLE;8,99\n", false),
		file("what the page saves", "\ufeffsale,payment,provider,reference,order\r\n\"'moutai\",\"'stripe#WHOLE\",\"'stripe\",\"'WHOLE\",\"'7\"\r\n", false),
		{"text of a spreadsheet in UTF-16", utf16, false},
		file("an empty row of a spreadsheet", ",,,\npayment_intent_id,reporting_category,gross,currency\n,,,\nWHOLE,refund,-SUM,cny\nPAID,charge,SUM,cny\n", false),
		file("a provider's list below a line of text", "PAID,,,\npayment_intent_id,reporting_category,gross,currency\nPAID,charge,SUM,cny\nWHOLE,refund,SUM,cny\n", false),
		file("two reports with other columns in one file", "payment_intent_id,reporting_category,gross,currency\nPAID,charge,SUM,cny\nreporting_category,currency,gross,payment_intent_id\nrefund,cny,-SUM,WHOLE\n", false),
		file("payments of Stripe's Dashboard", "id,Amount,Amount Refunded,Currency,PaymentIntent ID,Status\nch_1,SUM,SUM,cny,WHOLE,Refunded\nch_2,SUM,0.00,cny,PAID,Paid\nch_3,SUM,HALF,cny,PART,Paid\n", false),
		file("Stripe's payout reconciliation", stripeReconciliation, true),
		file("the same, saved by a spreadsheet where commas are decimal", again, true),
		file("the same of an account in euros, which says of all but a part what its buyer got", converted, true),
		file("Adyen's settlement details", adyenSettlement, true),
		file("Adyen's payment accounting", adyenAccounting, true),
		{"Alipay's bill of transactions in GBK", gbk, true},
		file("WeChat Pay's bill of transactions", weChatPayBill, true),
	}
}

// Stripe: payout_reconciliation.itemized, with the columns of docs.stripe.com/reports/report-types/payout-reconciliation.
const stripeReconciliation = `automatic_payout_id,automatic_payout_effective_at_utc,balance_transaction_id,created_utc,currency,gross,fee,net,reporting_category,source_id,description,payment_intent_id,charge_id
po_1,2026-11-13 00:00:00,txn_1,2026-11-11 10:00:00,cny,SUM,1.00,1.00,charge,ch_1,"Jacket, XL",WHOLE,ch_1
po_1,2026-11-13 00:00:00,txn_2,2026-11-11 10:00:00,cny,SUM,1.00,1.00,charge,ch_2,"Jacket
XL",PAID,ch_2
po_1,2026-11-13 00:00:00,txn_3,2026-11-12 10:00:00,cny,-SUM,0.00,-1.00,refund,re_1,REFUND FOR CHARGE; XL,WHOLE,ch_1
po_1,2026-11-13 00:00:00,txn_4,2026-11-12 10:00:00,cny,-SUM,0.00,-1.00,refund,re_2,,FAILED,ch_3
po_1,2026-11-13 00:00:00,txn_5,2026-11-12 11:00:00,cny,SUM,0.00,1.00,refund_failure,re_2,,FAILED,ch_3
po_1,2026-11-13 00:00:00,txn_6,2026-11-12 11:00:00,cny,-HALF,0.00,-1.00,refund,re_3,,PART,ch_4
po_1,2026-11-13 00:00:00,txn_6,2026-11-12 11:00:00,cny,-HALF,0.00,-1.00,refund,re_3,,PART,ch_4
po_1,2026-11-13 00:00:00,txn_7,2026-11-12 11:00:00,cny,-HALF,0.00,-1.00,refund,re_4,,HALVES,ch_5
po_1,2026-11-13 00:00:00,txn_8,2026-11-12 11:00:00,cny,-HALF,0.00,-1.00,refund,re_5,,HALVES,ch_5
`

// Adyen: docs.adyen.com/reporting/settlement-reconciliation/transaction-level/settlement-details-report.
const adyenSettlement = `Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Type,Modification Reference,Gross Currency,Gross Debit (GC),Gross Credit (GC),Exchange Rate,Net Currency
Shop,ShopCN,WHOLE,moutai,visa,2026-11-11 10:00:00,CET,Settled,M1,CNY,,SUM,1,CNY
Shop,ShopCN,PAID,moutai,visa,2026-11-11 10:00:00,CET,Settled,M2,CNY,,SUM,1,CNY
Shop,ShopCN,WHOLE,moutai,visa,2026-11-12 10:00:00,CET,Refunded,M3,CNY,SUM,,1,CNY
Shop,ShopCN,FAILED,moutai,visa,2026-11-12 10:00:00,CET,Refunded,M4,CNY,SUM,,1,CNY
Shop,ShopCN,FAILED,moutai,visa,2026-11-12 11:00:00,CET,RefundedReversed,M4,CNY,,SUM,1,CNY
Shop,ShopCN,PART,moutai,visa,2026-11-12 11:00:00,CET,Refunded,M5,CNY,HALF,,1,CNY
Shop,ShopCN,HALVES,moutai,visa,2026-11-12 11:00:00,CET,Refunded,M6,CNY,HALF,,1,CNY
Shop,ShopCN,HALVES,moutai,visa,2026-11-12 11:00:00,CET,Refunded,M7,CNY,HALF,,1,CNY
Shop,ShopCN,,,,2026-11-13 00:00:00,CET,MerchantPayout,,CNY,,,,CNY
`

// Adyen: docs.adyen.com/reporting/invoice-reconciliation/payment-accounting-report. The main amount is what is booked, the
// captured one of a refund what went back.
const adyenAccounting = `Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Booking Date,TimeZone,Main Currency,Main Amount,Record Type,Payment Currency,Captured (PC),Settlement Currency,Payable (SC),Modification Psp Reference
Shop,ShopCN,WHOLE,moutai,visa,2026-11-11 10:00:00,CET,EUR,1.00,Settled,CNY,SUM,EUR,1.00,M1
Shop,ShopCN,PAID,moutai,visa,2026-11-11 10:00:00,CET,EUR,1.00,Settled,CNY,SUM,EUR,1.00,M2
Shop,ShopCN,PAID,moutai,visa,2026-11-12 10:00:00,CET,EUR,1.00,SentForRefund,CNY,-SUM,EUR,,M8
Shop,ShopCN,WHOLE,moutai,visa,2026-11-12 10:00:00,CET,EUR,1.00,Refunded,CNY,-SUM,EUR,-1.00,M3
Shop,ShopCN,FAILED,moutai,visa,2026-11-12 10:00:00,CET,EUR,1.00,Refunded,CNY,-SUM,EUR,-1.00,M4
Shop,ShopCN,FAILED,moutai,visa,2026-11-12 11:00:00,CET,EUR,1.00,RefundedReversed,CNY,SUM,EUR,1.00,M4
Shop,ShopCN,PART,moutai,visa,2026-11-12 11:00:00,CET,EUR,1.00,Refunded,CNY,-HALF,EUR,-0.50,M5
Shop,ShopCN,HALVES,moutai,visa,2026-11-12 11:00:00,CET,EUR,1.00,Refunded,CNY,-HALF,EUR,-0.50,M6
Shop,ShopCN,HALVES,moutai,visa,2026-11-12 11:00:00,CET,EUR,1.00,Refunded,CNY,-HALF,EUR,-0.50,M7
`

// Alipay: the details of a bill of type trade (alipay.data.dataservice.bill.downloadurl.query), which is in GBK.
const alipayBill = `#支付宝业务明细查询
#账号：[20881234567890120156]
#起始日期：[2026年11月12日 00:00:00]   终止日期：[2026年11月13日 00:00:00]
#-----------------------------------------业务明细列表----------------------------------------
支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,终端号,对方账户,订单金额（元）,商家实收（元）,退款批次号/请求号,服务费（元）,分润（元）,备注
WHOLE	,moutai-1	,交易	,茅台; 500 ml,2026-11-12 10:00:00,2026-11-12 10:00:09,	,	,	,	,张*(130******12)	,SUM,SUM,	,0.00,0.00,
PAID	,moutai-2	,交易	,茅台,2026-11-12 10:00:00,2026-11-12 10:00:09,	,	,	,	,张*(130******12)	,SUM,SUM,	,0.00,0.00,
WHOLE	,moutai-1	,退款	,茅台,2026-11-12 11:00:00,2026-11-12 11:00:09,	,	,	,	,张*(130******12)	,-SUM,-SUM,r1	,0.00,0.00,
PART	,moutai-4	,退款	,茅台,2026-11-12 11:00:00,2026-11-12 11:00:09,	,	,	,	,张*(130******12)	,-HALF,-HALF,r2	,0.00,0.00,
HALVES	,moutai-5	,退款	,茅台,2026-11-12 11:00:00,2026-11-12 11:00:09,	,	,	,	,张*(130******12)	,-HALF,-HALF,r3	,0.00,0.00,
HALVES	,moutai-5	,退款	,茅台,2026-11-12 11:00:00,2026-11-12 11:00:09,	,	,	,	,张*(130******12)	,-HALF,-HALF,r4	,0.00,0.00,
#-----------------------------------------业务明细列表结束------------------------------------
#交易合计：2笔，商家实收共1.00元，商家优惠共0.00元
#退款合计：4笔，商家实收退款共-1.00元，商家优惠退款共0.00元
#导出时间：[2026年11月13日 10:00:00]
`

// WeChat Pay: /v3/bill/tradebill with bill_type ALL. A backtick before each value, no quotes, and totals at the end.
const weChatPayBill = "\ufeff交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号," +
	"退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注\r\n" +
	"`2026-11-12 10:00:00,`wx1,`1900000001,`0,`,`WHOLE,`1,`o1,`JSAPI,`SUCCESS,`CFT,`CNY,`SUM,`0.00,`0,`0,`0.00,`0.00,`,`,`茅台; 500 ml,`,`0.00,`0.60%,`SUM,`0.00,`\r\n" +
	"`2026-11-12 10:00:00,`wx1,`1900000001,`0,`,`PAID,`2,`o1,`JSAPI,`SUCCESS,`CFT,`CNY,`SUM,`0.00,`0,`0,`0.00,`0.00,`,`,`15\" 屏幕,`,`0.00,`0.60%,`SUM,`0.00,`\r\n" +
	"`2026-11-12 11:00:00,`wx1,`1900000001,`0,`,`WHOLE,`1,`o1,`JSAPI,`REFUND,`CFT,`CNY,`0.00,`0.00,`5030001,`r1,`SUM,`0.00,`ORIGINAL,`SUCCESS,`茅台, 500 ml, \"礼盒,`,`0.00,`0.60%,`0.00,`SUM,`\r\n" +
	"`2026-11-12 11:00:00,`wx1,`1900000001,`0,`,`FAILED,`3,`o1,`JSAPI,`REFUND,`CFT,`CNY,`0.00,`0.00,`5030002,`r2,`SUM,`0.00,`ORIGINAL,`PROCESSING,`茅台,`,`0.00,`0.60%,`0.00,`SUM,`\r\n" +
	"`2026-11-12 11:00:00,`wx1,`1900000001,`0,`,`PART,`4,`o1,`JSAPI,`REFUND,`CFT,`CNY,`0.00,`0.00,`5030003,`r3,`HALF,`0.00,`ORIGINAL,`SUCCESS,`茅台,`,`0.00,`0.60%,`0.00,`HALF,`\r\n" +
	"`2026-11-12 11:00:00,`wx1,`1900000001,`0,`,`HALVES,`5,`o1,`JSAPI,`REFUND,`CFT,`CNY,`0.00,`0.00,`5030004,`r4,`HALF,`0.00,`ORIGINAL,`SUCCESS,`茅台,`,`0.00,`0.60%,`0.00,`HALF,`\r\n" +
	"`2026-11-12 11:00:00,`wx1,`1900000001,`0,`,`HALVES,`5,`o1,`JSAPI,`REFUND,`CFT,`CNY,`0.00,`0.00,`5030005,`r5,`HALF,`0.00,`ORIGINAL,`SUCCESS,`茅台,`,`0.00,`0.60%,`0.00,`HALF,`\r\n" +
	"总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\r\n" +
	"`7,`1.00,`1.00,`0.00,`0.00,`1.00,`1.00\r\n"
