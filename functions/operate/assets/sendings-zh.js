// The words of the refunds that the stack sends, in Chinese.

/** @type {typeof import("./sendings-en.js").w} */
export const w = {
  give: "退还 {0} 笔付款，{1}", some: "{0} 笔付款", yes: "确定退还",
  warns: "系统将请求支付平台退款。平台接受后无法撤回。",
  not: "不发送：{0} 笔，{1}：{2}",
  why: {
    held: "因争议暂缓", provider: "系统无法请求该平台", accepted: "平台已接受，正在退还", amount: "金额未知", stuck: "平台在等待您处理",
    part: "已退还一部分：余款请在平台退还", old: "结果久未确定：请到平台查看", late: "读取列表之后才待退",
  },
  most: "一次最多退还所选的 100 笔。", stale: "继续退还之前，请重新读取列表。", unread: "列表不完整：请选择要退还的付款。",
  going: "正在发送……", unsure: "尚未确定：没有最终答复。正在以同一编号重发，只会生效一次。", ended: "尚未确定：请再按一次，或查看下方。",
  title: "由系统退还", taken: "已发送 {0} / {1} 笔", left: "{0} 笔待再次查看", open: "进行中", stoppedBy: "由 {0} 停止", over: "已结束", by: "由 {0} 发起",
  halt: "下次发起之前不再向 {0} 发送：", stop: "停止", notStopped: "未停止：{0}", unreadable: "有些本版本无法读取。",
  n: { accepted: "{0} 笔已接受", unknown: "{0} 笔未知", refused: "{0} 笔被拒绝" },
  sent: { accepted: "{0} 已接受，退还后会告知。", unknown: "已发送至 {0}，没有确定的答复：可能已退还。", refused: "{0} 已拒绝：" },
};
