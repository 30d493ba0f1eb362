// All words of the page, in English and in Chinese. {0} is replaced by a value.

const languages = ["en", "zh"];

const texts = {
  page: ["Flash sale", "限时抢购"],
  loading: ["Loading the sale …", "正在加载活动……"],
  unknown: ["There is no such sale.", "没有这个活动。"],
  unknownDetail: ["Check the address. A new sale may take a minute to appear: reload the page then.",
    "请检查网址。新活动可能要过一分钟才会出现，届时请刷新页面。"],
  notOpen: ["The sale has not opened yet. It opens in:", "活动尚未开始，距开始还有："],
  moved: ["The opening was moved to {0}. It opens in:", "开始时间已改为 {0}，距开始还有："],
  notOpenDetail: ["This is the shop’s time. You need not reload this page.",
    "以商家的时间为准，无需刷新页面。"],
  open: ["The sale is open.", "抢购已开始。"],
  openDetail: ["Press once. If the shop is busy, this page keeps trying for you. You get at most one unit.",
    "按一次即可。系统繁忙时，本页面会自动为您重试。每人最多购得一件。"],
  sending: ["Sending your order …", "正在提交订单……"],
  sendingDetail: ["Please wait. Pressing again or reloading changes nothing.",
    "请稍候。再次点击或刷新页面都不会影响您的订单。"],
  early: ["Your order was a moment early. It is sent again at the opening …",
    "提交稍早了一点，开始时会自动重新提交……"],
  busy: ["The shop is busy. This page tries again by itself …",
    "系统繁忙，本页面正在自动重试……"],
  busyDetail: ["You need not do anything.", "您无需任何操作。"],
  pausedBusy: ["The sale is paused. This page tries again by itself …",
    "活动已暂停，本页面会自动重试……"],
  offline: ["You are offline.", "网络已断开。"],
  offlineDetail: ["This page continues as soon as you are connected again.",
    "网络恢复后，本页面会自动继续。"],
  stuck: ["The shop is not answering.", "商家没有响应。"],
  stuckOrder: ["The shop did not confirm your order. It may still have arrived.",
    "未收到商家的确认，订单可能已提交成功。"],
  stuckOrderDetail: ["Try again: you get at most one unit, however often you try.",
    "请重试：无论重试多少次，每人最多购得一件。"],
  accepted: ["It’s yours!", "抢到了！"],
  acceptedDetail: ["Your order is placed; its id follows in a moment. You may leave this page: the order stays yours.",
    "下单成功，订单号稍后显示。您可以离开本页面，订单会为您保留。"],
  reserved: ["You got one. It is reserved for you.", "抢到了！已为您保留一件。"],
  reservedDetail: ["Stay on this page: your order id follows in a moment, with the time by which you must pay.",
    "请不要离开本页面：稍后将显示订单号和付款截止时间。"],
  confirmed: ["It’s yours! Your order is confirmed.", "抢到了！订单已确认。"],
  confirmedDetail: ["There is nothing more to do. Keep the order id: the shop finds your order by it.",
    "您无需再做什么。请保存订单号，商家凭它查找您的订单。"],
  unpaid: ["You got one. Pay to keep it.", "抢到了！请付款，过时不留。"],
  payBy: ["Pay by {0}. After that somebody else may buy it.",
    "请在 {0} 之前付款，逾期可能会被他人买走。"],
  payLeft: ["Time left to pay", "付款剩余时间"],
  lastMinute: ["The last minute", "最后一分钟"],
  pay: ["Pay now", "去付款"],
  cancel: ["Cancel the order", "取消订单"],
  cancelSure: ["Cancel the order? The unit goes back on sale, and you cannot order again.",
    "确定取消订单吗？商品将重新出售，您不能再次下单。"],
  keep: ["Keep the order", "保留订单"],
  sure: ["Yes, cancel it", "确定取消"],
  cancelling: ["Cancelling the order …", "正在取消订单……"],
  notCancelled: ["The shop did not confirm the cancellation. Please try again.",
    "未收到商家对取消的确认，请重试。"],
  late: ["The time to pay is over.", "付款时间已过。"],
  lateDetail: ["If you have paid, this page shows it as soon as the shop knows.",
    "如果您已付款，商家收到后本页面会显示。"],
  paid: ["Paid. It’s yours!", "已付款，归您了！"],
  paidDetail: ["Thank you. There is nothing more to do. Keep the order id: the shop finds your order by it.",
    "谢谢！您无需再做什么。请保存订单号，商家凭它查找您的订单。"],
  unsettled: ["Your order is paid.", "您的订单已付款。"],
  expired: ["Not paid in time. It is no longer kept for you.",
    "未按时付款，商品不再为您保留。"],
  cancelled: ["Your order was cancelled.", "订单已取消。"],
  refundDue: ["Your payment of {0} will be paid back.", "您支付的 {0} 将退还给您。"],
  refunded: ["Your payment of {0} was paid back on {1}.",
    "您支付的 {0} 已于 {1} 退还。"],
  partMoney: ["{2} of your payment of {0} was paid back.", "您支付的 {0} 已退还 {2}。"],
  failedMoney: ["Your payment of {0} could not be paid back yet. Ask the shop.", "您支付的 {0} 尚未能退还，请联系商家。"],
  stuckMoney: ["Your payment of {0} could not be paid back yet. Ask the shop.", "您支付的 {0} 尚未能退还，请联系商家。"],
  disputedMoney: ["Your payment of {0} is disputed with your bank.", "您支付的 {0} 正由银行处理争议。"],
  lostMoney: ["Your payment of {0} was paid back by your bank.", "您支付的 {0} 已由银行退还。"],
  endedDetail: ["A payment that arrives now is paid back. You cannot order again in this sale.",
    "此后到账的付款将退还给您。您不能在本活动中再次下单。"],
  orderId: ["Order id {0}", "订单号 {0}"],
  held: ["You have an order in this sale. Its state is {0}.",
    "您在本活动中已有订单，状态为 {0}。"],
  already: ["You have already ordered in this sale.", "您在本活动中已有订单。"],
  soldOut: ["Sold out.", "已售罄。"],
  missed: ["Sorry, it sold out before your order came in.", "很遗憾，您的订单到达前已售罄。"],
  soldOutDetail: ["Every unit has found a buyer. If the shop adds more, this page shows it.",
    "全部商品均已售出。如有补货，本页面会显示。"],
  mayReturn: ["If somebody does not pay in time, their unit comes back on sale here. This page checks again every minute or so.",
    "如有买家逾期未付款，商品会重新放出。本页面大约每分钟查看一次。"],
  paused: ["The sale is paused.", "活动已暂停。"],
  pausedDetail: ["It will continue later. Nobody can order in the meantime.",
    "稍后继续，在此期间任何人都无法下单。"],
  closed: ["The sale is over.", "活动已结束。"],
  closedDetail: ["Nobody can order any more.", "不再接受下单。"],
  recalled: ["The shop has recalled this sale.", "商家已召回本活动。"],
  recalledDetail: ["Nobody can order any more. Whatever was paid is paid back.",
    "不再接受下单，已支付的款项将全部退还。"],
  recalledOrder: ["The shop has recalled this sale. Your order is cancelled.",
    "商家已召回本活动，您的订单已取消。"],
  recalledOrderDetail: ["Whatever you have paid for it is paid back.",
    "您为此支付的款项将全部退还。"],
  otherState: ["The shop says about this sale: {0}", "商家对本活动的说明：{0}"],
  notEligible: ["The shop does not let this account buy in this sale.",
    "此账号不能参加本活动。"],
  unfit: ["This account cannot be used here: its sign-in gives it an id that the shop does not take.",
    "此账号无法在此使用：登录系统给它的编号不被接受。"],
  forbidden: ["The shop does not allow this.", "商家不允许此操作。"],
  other: ["The shop gave an answer that this page does not understand: {0}",
    "商家的答复无法识别：{0}"],
  otherDetail: ["Reload the page. If that does not help, ask the shop.",
    "请刷新页面。如果问题仍然存在，请联系商家。"],
  signInDetail: ["Sign in now, so that you can order without delay.",
    "请先登录，以免耽误下单。"],
  signInToSee: ["If you have ordered, sign in to see it.", "如已下单，请登录查看您的订单。"],
  noSignIn: ["You cannot order on this page: the shop has not set up sign-in for it.",
    "无法在本页面下单：商家没有为它设置登录。"],
  signedOut: ["You have been signed out. Sign in again to continue.",
    "登录已失效，请重新登录后继续。"],
  signingIn: ["Signing you in …", "正在登录……"],
  signInFailed: ["You are not signed in.", "您尚未登录。"],
  signInFailedDetail: ["The sign-in was not completed. Please try again.",
    "登录没有完成，请重试。"],
  signInElsewhere: ["This sign-in was begun in another app or browser. Sign in here, or open the sale in your usual browser.",
    "此次登录是在其他应用或浏览器中开始的。请在此登录，或用常用的浏览器打开活动页面。"],
  noStorage: ["You cannot sign in here: this app or browser stores nothing. Open the sale in your usual browser.",
    "无法在此登录：此应用或浏览器不保存数据。请用常用的浏览器打开活动页面。"],
  order: ["Order one", "立即抢购"],
  orderFor: ["Order for {0}", "{0} 立即抢购"],
  choose: ["Select one", "请选择"],
  chooseSize: ["Select size", "请选择尺码"],
  choice: ["Your choice", "请选择"],
  size: ["Size", "尺码"],
  elsewhere: ["You have already ordered another one of these.", "您已订购其中的另一件。"],
  elsewhereDetail: ["Each person gets one order for all of them.",
    "每人在这些商品中只能下一单。"],
  showOrder: ["Show my order", "查看我的订单"],
  alreadyGroup: ["You have already ordered {0}. Each person gets one order for all of these.",
    "您已订购{0}。每人在这些商品中只能下一单。"],
  otherChoice: ["Another one may still be there: choose it.",
    "其他选项可能还有货，请重新选择。"],
  cancelSureGroup: ["Cancel the order? The unit goes back on sale, and you cannot order again: neither this one nor any other of these.",
    "确定取消订单吗？商品将重新出售，您不能再次下单，也不能改订其他选项。"],
  left: ["{0} of {1} left at {2}", "{2} 时余 {0} 件，共 {1} 件"],
  leftAbout: ["about {0} of {1} left at {2}", "{2} 时约余 {0} 件，共 {1} 件"],
  unitsLeft: ["{0} left", "余 {0} 件"],
  unitsAbout: ["about {0} left", "约余 {0} 件"],
  more: ["More about it", "了解详情"],
  again: ["Try again", "重试"],
  signIn: ["Sign in", "登录"],
  signOut: ["Sign out", "退出登录"],
  back: ["Back to the sale", "返回活动"],
  SOLD_OUT: ["Sold out", "已售罄"],
  PAUSED: ["Paused", "已暂停"],
  CLOSED: ["Over", "已结束"],
  RECALLED: ["Recalled", "已召回"],
  opens: ["Opens {0}", "开始时间：{0}"],
  closes: ["Closes {0}", "结束时间：{0}"],
  units: ["{0} for sale", "共 {0} 件"],
  about: ["about {0} for sale", "共约 {0} 件"],
  days: ["{0} d {1}", "{0} 天 {1}"],
};

/** @param {string} tag */
const base = (tag) => tag.toLowerCase().split("-")[0];
const preferred = navigator.languages.find((tag) => languages.includes(base(tag))) ?? "en";

/** The first of the buyer's languages that the page has. */
export const language = base(preferred);

/** The same with its region, for dates and numbers. */
export const locale = supported(preferred) ? preferred : language;

/** @param {string} tag Some systems have tags that no browser understands. */
function supported(tag) {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    return false;
  }
}

/** @typedef {Record<keyof typeof texts, string>} Words */

export const words = /** @type {Words} */ (
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text[languages.indexOf(language)]])));

/** @param {string} text @param {...(string | number)} values */
export const fill = (text, ...values) => text.replace(/\{(\d)\}/g, (_, i) => String(values[i]));

/** @param {number} ms */
export function countdown(ms) {
  if (!(ms > 0)) return "";
  const seconds = Math.ceil(ms / 1000);
  const parts = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60].map((n) => String(Math.floor(n)).padStart(2, "0"));
  const clock = parts.slice(seconds < 3600 ? 1 : 0).join(":");
  return seconds < 86400 ? clock : fill(words.days, Math.floor(seconds / 86400), clock);
}

export const dates = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short" });
