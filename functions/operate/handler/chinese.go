package handler

import (
	"errors"
	"fmt"

	"golang.org/x/text/language"

	"flashsale/shared/sale"
)

// prefersChinese reports whether the first language of an Accept-Language header that is Chinese or
// English is Chinese. The page chooses its own language by the same rule.
func prefersChinese(header string) bool {
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return false
	}
	for _, tag := range tags {
		switch base, _ := tag.Base(); base.String() {
		case "zh":
			return true
		case "en":
			return false
		}
	}
	return false
}

// word returns an English text or format in the caller's language. A text that is not in the list
// stays English.
func (c *call) word(english string) string {
	if other, ok := chinese[english]; ok && c.chinese {
		return other
	}
	return english
}

// says formats a text in the caller's language.
func (c *call) says(format string, values ...any) string {
	return fmt.Sprintf(c.word(format), values...)
}

// refusal is err with its detail in the caller's language.
func (c *call) refusal(err error) error {
	e, ours := errors.AsType[*sale.Error](err)
	if !ours || !c.chinese {
		return err
	}
	said := *e
	said.Detail = e.DetailBy(c.word)
	return &said
}

// chinese has what a story or a refusal on the operators' page says, by the English text or format.
var chinese = map[string]string{
	"%s has no claim in sale %s (ids are case-sensitive; the id is the token's sub)": "%s 在活动 %s 中没有凭证（编号区分大小写，即令牌的 sub）",
	"%s sells from %s to %s and is %s now%s":                                         "%s 的销售时段为 %s 至 %s，现在的状态：%s%s",
	"the sale %s is being archived: digest %s":                                       "活动 %s 正在归档：摘要 %s",
	"the sale %s was archived on %s: digest %s":                                      "活动 %s 已于 %s 归档：摘要 %s",
	"%s has ordered in sale %s of the group %s":                                      "%s 已在活动 %s 中下单，该活动属于组 %s",
	"there is one order for each customer in all of these sales, and yours is in %s": "这些活动中每位顾客限一单，您的订单在 %s 中",
	`%d units were added (%s): a "sold out" before that was correct`:                 "增加了 %d 件（%s）：此前的“已售罄”是正确的",
	"no order was accepted under this account":                                       "此账号下没有被接受的订单",
	"accepted: claim %s, one unit of shard %d":                                       "已接受：凭证 %s，分片 %d 的一件",
	"its order message was sent again (latest resend)":                               "订单消息已重新发送（最近一次）",
	"pending for %v": "已等待 %v",
	"your order was accepted; its number will follow, and you need not order again": "您的订单已被接受，订单号稍后生成，无需再次下单",
	"confirmed: order %s": "已确认：订单 %s",
	"its order item is missing: ReconcileFunction sends its message again": "订单记录缺失：ReconcileFunction 会重新发送其消息",
	"the sale was recalled%s":         "活动已被召回%s",
	"your order is %s":                "您的订单号是 %s",
	"paid: %s":                        "已付款：%s",
	", and it is paid":                "，已付款",
	"released by %s":                  "已释放：%s",
	"cancelled by %s%s; its unit: %s": "已由 %s 取消%s；商品：%s",
	"your order %s is expired, and its unit is not yours any more":              "您的订单 %s 已过期，商品不再为您保留",
	"your order %s is cancelled, and its unit is not yours any more":            "您的订单 %s 已取消，商品不再为您保留",
	"to be paid by then; a payment counts as long as the order is not released": "应在此时之前付款；订单释放前的付款均有效",
	", and it is not paid": "，尚未付款",
	"the sale was recalled, and the goods will not come; %s": "活动已被召回，商品不会发出；%s",
	"your order is %s, and its payment was paid back":        "您的订单号是 %s，其付款已退还",
	"a refund is due: %s, %d %s in minor units, because: %s": "待退款：%s，%d %s（最小货币单位），原因：%s",
	"; your payment of %s (%s) will be paid back":            "；您支付的 %s（%s）将退还给您",
	"refunded: %s, %d %s in minor units":                     "已退款：%s，%d %s（最小货币单位）",
	"; your payment of %s (%s) was paid back on %s":          "；您支付的 %s（%s）已于 %s 退还",
	"%d %s in minor units":                                   "%d %s（最小货币单位）",

	"it is sealed: what was ordered in it is erased or archived, so it never sells again": "已封存：其中的订单已被清除或归档，不会再销售",
	`units of orders that are not paid in time, or are cancelled, are sold again: ` +
		`a "sold out" before that was correct`: "未按时付款或已取消的订单的商品会重新销售：此前的“已售罄”是正确的",
	"its provider has paid the payment back, and the order stands: " +
		"cancel it, unless it is to be delivered": "支付方已退还该付款，而订单仍有效：如不发货请取消订单",

	"NOT_OPEN": "尚未开始", "OPEN": "销售中", "PAUSED": "已暂停", "SOLD_OUT": "已售罄", "CLOSED": "已结束", "RECALLED": "已召回",
	"expiry": "逾期未付款", "buyer": "买家取消", "operator": "活动召回", "back": "已回到库存", "kept": "不再销售",
	"released": "订单已释放", "other-payment": "订单已由另一笔付款支付", "amount": "金额不符", "recalled": "活动已召回", "cancelled": "订单已取消",

	"the change id was used for another change":                          "此编号已用于另一项更改",
	"the seedId was used before with another action or stock":            "此编号已用于另一操作或另一件数",
	"the sale's maxStock leaves room for %d more units":                  "受活动的 maxStock 限制，最多还可增加 %d 件",
	"the sale was recalled":                                              "活动已被召回",
	"the sale was changed meanwhile; look at it again":                   "活动在此期间已被更改；请重新查看",
	"the sale was changed meanwhile: %s by %s on %s%s; look at it again": "活动在此期间已被更改：%s，操作者 %s，时间 %s%s；请重新查看",
	"an edit of %s stands: the sale is not paused":                       "以 %s 的更改为准：活动未暂停",
	"an edit of %s stands: the sale is paused":                           "以 %s 的更改为准：活动已暂停",
	"an edit of %s stands: the sale is open from %s to %s":               "以 %s 的更改为准：活动时段为 %s 至 %s",
	"the sale asks for no payment":                                       "该活动无需付款",
	"until must be later than now":                                       "截止时间须晚于现在",
	"until must be at most %d days ahead":                                "截止时间最多为 %d 天之后",
	"more time was given before, until %s, and none of it is taken back": "此前已延长至 %s，已给的时间不会收回",
	"an edit of %s stands: no more time was given":                       "以 %s 的更改为准：未延长付款时间",
	"the order was cancelled by %s on %s%s":                              "订单已由 %s 于 %s 取消%s",
	"the order is %s now; look at it again":                              "订单现在的状态为 %s；请重新查看",
	"the payment of the order goes back already":                         "订单的付款已在退还中",
	"no such order":                                          "没有这个订单",
	"no such order in this sale":                             "此活动中没有这个订单",
	"no such sale":                                           "没有这个活动",
	"the sale is still being created":                        "活动仍在创建中",
	"stock must be 1 to %d":                                  "件数须为 1 至 %d",
	"note must be at most %d printable characters":           "备注最多 %d 个可打印字符",
	"opensAt and closesAt are needed, between 2000 and 2100": "需要 2000 年至 2100 年之间的开始和结束时间",
	"closesAt must be after opensAt":                         "结束须晚于开始",
	"a user id is 1 to 128 printable characters, or up to 255 of ASCII, " +
		"without a blank at either end": "用户编号为 1 至 128 个可打印字符（仅用 ASCII 时至 255 个），首尾不能有空格",

	"the group has %d sales, and cannot have more":                 "该组已有 %d 个活动，不能再增加",
	"the sale was created before with other contents":              "此编号的活动此前已创建，内容不同",
	"the sale was created before with other contents, by %s on %s": "此编号的活动此前已由 %s 于 %s 创建，内容不同",
	"no such group": "没有这个组",
	"people have been called: the units are kept for them":                       "已有人被叫号：商品为其保留",
	"keepHours must be 1 to %d, and comes with enterFrom and enterUntil":         "保留小时数须为 1 至 %d，并与登记的开始和结束时间一同填写",
	"enterFrom and enterUntil are needed, between 2000 and 2100":                 "需要 2000 年至 2100 年之间的登记开始和结束时间",
	"enterUntil must be after enterFrom":                                         "登记结束须晚于登记开始",
	"until is the end of a call, and the sale has no draw":                       "此截止时间属于一次叫号，而该活动没有抽签",
	"opensAt of a sale with a draw must not become earlier":                      "抽签活动的开始时间不得提前",
	"closesAt of a sale with a draw must not become earlier":                     "抽签活动的结束时间不得提前",
	"until is the end of a call, and nobody has been called yet":                 "此截止时间属于一次叫号，而尚未叫号",
	"opensAt must not change any more: the first call has begun":                 "首次叫号已开始，开始时间不能再更改",
	"until must not be earlier than the end of the call, %s":                     "截止时间不得早于本次叫号的结束时间 %s",
	"until must not be later than closesAt":                                      "截止时间不得晚于活动结束",
	"until must be closesAt: the call is for anybody, until the end of the sale": "截止时间须为活动结束：本次叫号面向所有人，直到活动结束",
	"%s must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -":                    "%s 须为 1 至 64 个字符，仅限 A-Z、a-z、0-9、_ 和 -",
	"name must be at most %d printable characters":                               "名称最多 %d 个可打印字符",
	"about must be at most %d printable characters and line breaks":              "介绍最多 %d 个可打印字符和换行",
	"no image can be shown: the stack's parameter ImageOrigin is empty":          "无法显示图片：系统参数 ImageOrigin 为空",
	"image must be of %s, which is the stack's parameter ImageOrigin":            "图片须来自 %s，即系统参数 ImageOrigin",
	"ordersPerSecond must be 1 to %d":                                            "每秒订单数须为 1 至 %d",
	"payWithin must be 0 or %d to %d seconds":                                    "付款时限须为 0 或 %d 至 %d 秒",
	"give both price and currency, or neither":                                   "价格和货币须同时填写，或都不填",
	"price must be 1 to %d minor units":                                          "价格须为 1 至 %d 个最小货币单位",
	"currency must be three capital letters such as EUR":                         "货币须为三个大写字母，例如 EUR",

	"currency must be one that ISO 4217 lists with a minor unit, by its list of %s":      "货币须为 ISO 4217（%s 版）所列且有最小单位的货币",
	"a sale with a draw has at most %d shards, which are planned for %d ordersPerSecond": "抽签活动最多 %d 个分片，按每秒 %d 个订单规划",
	"opensAt must be at least %d seconds after enterUntil: " +
		"the roll, the dice and the first call need that time": "开始时间须至少晚于登记结束 %d 秒：名单、随机数和首次叫号需要这段时间",
	"%s must be an address of at most %d characters that begins with https://, " +
		"percent-encoded": "%s 须为最多 %d 个字符的网址，以 https:// 开头并经百分号编码",
	"price must be a multiple of %d minor units: " +
		"Stripe charges no smaller part of %s": "价格须为 %d 个最小货币单位的整数倍：Stripe 对 %s 不收取更小的金额",
}
