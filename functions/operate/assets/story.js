// What happened to a buyer's order, and what support may tell the buyer. The API says both by their kinds
// and fields; the words are here. It is loaded when a sale is looked at.

import { h } from "./elements.js";
import { amount } from "./money.js";
import { language, words } from "./words.js";

/** @typedef {Record<string, any>} Line */

const en = {
  /** @type {Record<string, string>} */
  lines: {
    "no-claim": "{user} has no claim in sale {saleId} (ids are case-sensitive; the id is the token’s sub)",
    window: "{saleId} sells from {opensAt} to {closesAt}: {phase} now{note}",
    archiving: "the sale is being archived: digest {digest}",
    archived: "the sale was archived: digest {digest}",
    "ordered-in-group": "{user} has ordered in sale {saleId} of the group {group}",
    "units-added": "{units} units were added ({changeId}): a “sold out” before that was correct",
    "units-return": "units of orders that are not paid in time, or are cancelled, are sold again: a “sold out” before that was correct",
    accepted: "accepted: claim {claimId}, units: {units}, sold by shard {shard}",
    resent: "its order message was sent again (latest resend)",
    pending: "pending for {seconds} s",
    confirmed: "confirmed: order {orderId}",
    "order-missing": "its order item is missing: ReconcileFunction sends its message again",
    recalled: "the sale was recalled{note}",
    paid: "paid: {payment}",
    "paid-back": "its provider has paid the payment back, and the order stands: cancel it, unless it is to be delivered",
    released: "released by {by}",
    cancelled: "cancelled by {by}{note}; its unit: {unit}",
    "pay-by": "to be paid by then; a payment counts as long as the order is not released",
    "refund-due": "a refund is due: {payment}, {amount}, because: {reason}",
    refunded: "refunded: {payment}, {amount}",
    "refund-part": "{back} of {payment}, {amount}, is back",
    "refund-failed": "a refund of {payment}, {amount}, has failed: the shop has the money, so pay it back in another way, or deliver",
    "refund-stuck": "a refund of {payment}, {amount}, is stuck: the provider waits for you, so see there",
    "sent-unknown": "the provider was asked to give back {payment}, {amount}, and whether it does is unknown: pay nothing back meanwhile",
    "sent-accepted": "the provider was asked to give back {payment}, {amount}, and has accepted that",
    "sent-refused": "the provider has refused to give back {payment}, {amount}{note}",
    disputed: "{payment}, {amount}, is disputed: answer it at the provider, deliver nothing, and pay nothing back meanwhile",
    "dispute-lost": "the dispute of {payment}, {amount}, is lost: the buyer has the money, so pay nothing back",
  },
  /** What may be told to the buyer, put together. @type {Record<string, string>} */
  buyer: {
    "no-order": "no order was accepted under this account",
    "ordered-in-group": "there is one order for each customer in all of these sales, and yours is in {saleId}",
    pending: "your order was accepted; its number will follow, and you need not order again",
    recalled: "the sale was recalled, and the goods will not come; ",
    order: "your order is {orderId}",
    expired: "your order {orderId} is expired, and what you ordered is not yours any more",
    cancelled: "your order {orderId} is cancelled, and what you ordered is not yours any more",
    paid: ", and it is paid",
    unpaid: ", and it is not paid",
    "paid-back": ", and its payment was paid back",
    "refund-due": "; your payment of {amount} ({payment}) will be paid back",
    refunded: "; your payment of {amount} ({payment}) was paid back on {day}",
    "refund-part": "; {back} of your payment of {amount} ({payment}) was paid back",
    "refund-failed": "; paying back your payment of {amount} ({payment}) has not succeeded yet",
    "refund-stuck": "; paying back your payment of {amount} ({payment}) has not succeeded yet",
    disputed: "; your payment of {amount} ({payment}) is disputed with your bank",
    "dispute-lost": "; your payment of {amount} ({payment}) was given back to you by your bank after a dispute",
  },
  /** @type {Record<string, string>} */
  by: { expiry: "expiry", buyer: "the buyer", operator: "the sale’s recall" },
  colon: ": ",
};

/** @type {typeof en} */
const zh = {
  lines: {
    "no-claim": "{user} 在活动 {saleId} 中没有凭证（编号区分大小写，即令牌的 sub）",
    window: "{saleId} 的销售时段为 {opensAt} 至 {closesAt}，现在的状态：{phase}{note}",
    archiving: "活动正在归档：摘要 {digest}",
    archived: "活动已归档：摘要 {digest}",
    "ordered-in-group": "{user} 已在活动 {saleId} 中下单，该活动属于组 {group}",
    "units-added": "增加了 {units} 件（{changeId}）：此前的“已售罄”是正确的",
    "units-return": "未按时付款或已取消的订单的商品会重新销售：此前的“已售罄”是正确的",
    accepted: "已接受：凭证 {claimId}，{units} 件，由分片 {shard} 售出",
    resent: "订单消息已重新发送（最近一次）",
    pending: "已等待 {seconds} 秒",
    confirmed: "已确认：订单 {orderId}",
    "order-missing": "订单记录缺失：ReconcileFunction 会重新发送其消息",
    recalled: "活动已被召回{note}",
    paid: "已付款：{payment}",
    "paid-back": "支付方已退还该付款，而订单仍有效：如不发货请取消订单",
    released: "已释放：{by}",
    cancelled: "已由 {by} 取消{note}；商品：{unit}",
    "pay-by": "应在此时之前付款；订单释放前的付款均有效",
    "refund-due": "待退款：{payment}，{amount}，原因：{reason}",
    refunded: "已退款：{payment}，{amount}",
    "refund-part": "{payment}（{amount}）已退还 {back}",
    "refund-failed": "{payment}（{amount}）的退款失败：款项仍在商家，请以其他方式退还，或发货",
    "refund-stuck": "{payment}（{amount}）的退款受阻：支付方在等待处理，请到支付方查看",
    "sent-unknown": "已请求支付方退还 {payment}（{amount}），结果未知：期间不要另行退款",
    "sent-accepted": "已请求支付方退还 {payment}（{amount}），支付方已受理",
    "sent-refused": "支付方拒绝退还 {payment}（{amount}）{note}",
    disputed: "{payment}（{amount}）有争议：请在支付方答复，期间不要发货，也不要退款",
    "dispute-lost": "{payment}（{amount}）的争议已败诉：买家已得到款项，不要再退款",
  },
  buyer: {
    "no-order": "此账号下没有被接受的订单",
    "ordered-in-group": "这些活动中每位顾客限一单，您的订单在 {saleId} 中",
    pending: "您的订单已被接受，订单号稍后生成，无需再次下单",
    recalled: "活动已被召回，商品不会发出；",
    order: "您的订单号是 {orderId}",
    expired: "您的订单 {orderId} 已过期，商品不再为您保留",
    cancelled: "您的订单 {orderId} 已取消，商品不再为您保留",
    paid: "，已付款",
    unpaid: "，尚未付款",
    "paid-back": "，其付款已退还",
    "refund-due": "；您支付的 {amount}（{payment}）将退还给您",
    refunded: "；您支付的 {amount}（{payment}）已于 {day} 退还",
    "refund-part": "；您支付的 {amount}（{payment}）中已退还 {back}",
    "refund-failed": "；您支付的 {amount}（{payment}）的退款尚未成功",
    "refund-stuck": "；您支付的 {amount}（{payment}）的退款尚未成功",
    disputed: "；您支付的 {amount}（{payment}）正由银行处理争议",
    "dispute-lost": "；您支付的 {amount}（{payment}）经争议处理，已由银行退还给您",
  },
  by: { expiry: "逾期未付款", buyer: "买家取消", operator: "活动召回" },
  colon: "：",
};

const w = language === "zh" ? zh : en;

/** @param {{time: (iso: string) => Node, local: (iso: string) => string, word: (of: object, name: unknown) => string}} page */
export function stories({ time, local, word }) {
  /** One line in words; one of a later version says its kind. @param {Record<string, string>} of @param {Line} story @param {Line} line */
  function said(of, story, line) {
    const { opensAt, closesAt, phase, note, reason, by, unit, at } = line;
    const values = {
      ...story, ...line, // of two, the line's
      amount: line.currency && amount(line.amount, line.currency, line.digits), back: line.back && amount(line.back, line.currency, line.digits),
      opensAt: opensAt && local(opensAt), closesAt: closesAt && local(closesAt), day: at?.slice(0, 10),
      phase: word(words.state, phase), reason: word(words.refunds.reason, reason), by: line.kind === "released" ? word(w.by, by) : by || words.nobody, unit: word(words.order, unit),
      note: note ? w.colon + note : "",
    };
    const kind = line.kind === "archived" && !at ? "archiving" : line.kind;
    return word(of, kind).replace(/\{(\w+)\}/g, (_, name) => String(/** @type {Line} */ (values)[name] ?? ""));
  }
  return {
    /** @param {Line} story */
    view: (story) => !Array.isArray(story.forBuyer) ? [h("p", {}, words.missing)] : [ // it is of a function before this page
      h("ol", { class: "trail" }, story.lines.map((/** @type {Line} */ l) => h("li", {}, l.at && time(l.at), l.at && " ", h("span", {}, said(w.lines, story, l))))),
      h("p", { class: "say" }, h("b", {}, words.say, " "), h("span", {}, story.forBuyer.map((/** @type {Line} */ l) => said(w.buyer, story, l)).join(""))),
    ],
  };
}
