// All words of the page. {0} is replaced by a value.

const en = {
  page: "Flash sale",
  loading: "Loading the sale …",
  unknown: "There is no such sale.",
  unknownDetail: "Check the address. A new sale may take a minute to appear: reload the page then.",
  notOpen: "The sale has not opened yet. It opens in:",
  moved: "The opening was moved to {0}. It opens in:",
  notOpenDetail: "This is the shop’s time. You need not reload this page.",
  open: "The sale is open.",
  openDetail: "Press once. If the shop is busy, this page keeps trying for you. You get at most one unit.",
  sending: "Sending your order …",
  sendingDetail: "Please wait. Pressing again or reloading changes nothing.",
  early: "Your order was a moment early. It is sent again at the opening …",
  busy: "The shop is busy. This page tries again by itself …",
  busyDetail: "You need not do anything.",
  pausedBusy: "The sale is paused. This page tries again by itself …",
  offline: "You are offline.",
  offlineDetail: "This page continues as soon as you are connected again.",
  stuck: "The shop is not answering.",
  stuckOrder: "The shop did not confirm your order. It may still have arrived.",
  stuckOrderDetail: "Try again: you get at most one unit, however often you try.",
  accepted: "Your order is placed. One unit is yours.",
  acceptedDetail: "Your order id follows in a moment. You may leave this page: the order stays yours.",
  reserved: "Your order is placed. One unit is reserved for you.",
  reservedDetail: "Stay on this page: your order id follows in a moment, with the time by which you must pay.",
  confirmed: "Your order is confirmed.",
  unpaid: "Reserved. Not paid yet.",
  payBy: "Pay by {0}. After that the unit may be sold to somebody else.",
  pay: "Pay now",
  cancel: "Cancel the order",
  cancelSure: "Cancel the order? The unit goes back on sale, and you cannot order again.",
  keep: "Keep the order",
  sure: "Yes, cancel it",
  cancelling: "Cancelling the order …",
  notCancelled: "The shop did not confirm the cancellation. Please try again.",
  late: "The time to pay is over.",
  lateDetail: "If you have paid, this page shows it as soon as the shop knows.",
  paid: "Paid. One unit is yours.",
  expired: "Not paid in time. The unit is no longer kept for you.",
  cancelled: "Your order was cancelled.",
  refundDue: "Your payment of {0} will be paid back.",
  refunded: "Your payment of {0} was paid back on {1}.",
  endedDetail: "A payment that arrives now is paid back. You cannot order again in this sale.",
  orderId: "Order id {0}",
  held: "You have an order in this sale. Its state is {0}.",
  already: "You have already ordered in this sale.",
  soldOut: "Sold out.",
  soldOutDetail: "Every unit has found a buyer.",
  mayReturn: "Units may come back. This page checks again every minute or so.",
  paused: "The sale is paused.",
  pausedDetail: "It will continue later. Nobody can order in the meantime.",
  closed: "The sale is over.",
  recalled: "The shop has recalled this sale.",
  recalledDetail: "Nobody can order any more. Whatever was paid is paid back.",
  recalledOrder: "The shop has recalled this sale. Your order is cancelled.",
  recalledOrderDetail: "Whatever you have paid for it is paid back.",
  otherState: "The shop says about this sale: {0}",
  notEligible: "The shop does not let this account buy in this sale.",
  unfit: "This account cannot be used here: its sign-in gives it an id that the shop does not take.",
  forbidden: "The shop does not allow this.",
  other: "The shop gave an answer that this page does not understand: {0}",
  otherDetail: "Reload the page. If that does not help, ask the shop.",
  signInDetail: "Sign in now, so that you can order without delay.",
  signInToSee: "If you have ordered, sign in to see it.",
  noSignIn: "You cannot order on this page: the shop has not set up sign-in for it.",
  signedOut: "You have been signed out. Sign in again to continue.",
  signingIn: "Signing you in …",
  signInFailed: "You are not signed in.",
  signInFailedDetail: "The sign-in was not completed. Please try again.",
  signInElsewhere: "This sign-in was begun in another app or browser. Sign in here to go on. If you come back to this page, open the sale in your usual browser.",
  order: "Order one",
  orderFor: "Order for {0}",
  choose: "Choose first",
  choice: "Your choice",
  elsewhere: "You have already ordered another one of these.",
  elsewhereDetail: "Each person gets one order for all of them.",
  showOrder: "Show my order",
  alreadyGroup: "You have already ordered {0}. Each person gets one order for all of these.",
  otherChoice: "Another one may still be there: choose it.",
  cancelSureGroup: "Cancel the order? The unit goes back on sale, and you cannot order again: neither this one nor any other of these.",
  left: "{0} of {1} left at {2}",
  leftAbout: "about {0} of {1} left at {2}",
  unitsLeft: "{0} left",
  unitsAbout: "about {0} left",
  more: "More about it",
  again: "Try again",
  signIn: "Sign in",
  signOut: "Sign out",
  back: "Back to the sale",
  opens: "Opens {0}",
  closes: "Closes {0}",
  units: "{0} for sale",
  about: "about {0} for sale",
  days: "{0} d {1}",
};

/** @typedef {typeof en} Words */

/** @type {Words} */
const zh = {
  page: "限时抢购",
  loading: "正在加载活动……",
  unknown: "没有这个活动。",
  unknownDetail: "请检查网址。新活动可能要过一分钟才会出现，届时请刷新页面。",
  notOpen: "活动尚未开始，距开始还有：",
  moved: "开始时间已改为 {0}，距开始还有：",
  notOpenDetail: "以商家的时间为准，无需刷新页面。",
  open: "抢购已开始。",
  openDetail: "按一次即可。系统繁忙时，本页面会自动为您重试。每人最多购得一件。",
  sending: "正在提交订单……",
  sendingDetail: "请稍候。再次点击或刷新页面都不会影响您的订单。",
  early: "提交稍早了一点，开始时会自动重新提交……",
  busy: "系统繁忙，本页面正在自动重试……",
  busyDetail: "您无需任何操作。",
  pausedBusy: "活动已暂停，本页面会自动重试……",
  offline: "网络已断开。",
  offlineDetail: "网络恢复后，本页面会自动继续。",
  stuck: "商家没有响应。",
  stuckOrder: "未收到商家的确认，订单可能已提交成功。",
  stuckOrderDetail: "请重试：无论重试多少次，每人最多购得一件。",
  accepted: "下单成功，您已抢到一件。",
  acceptedDetail: "订单号稍后显示。您可以离开本页面，订单会为您保留。",
  reserved: "下单成功，已为您保留一件。",
  reservedDetail: "请不要离开本页面：稍后将显示订单号和付款截止时间。",
  confirmed: "订单已确认。",
  unpaid: "已为您保留，尚未付款。",
  payBy: "请在 {0} 之前付款，逾期未付款，商品可能会重新出售。",
  pay: "去付款",
  cancel: "取消订单",
  cancelSure: "确定取消订单吗？商品将重新出售，您不能再次下单。",
  keep: "保留订单",
  sure: "确定取消",
  cancelling: "正在取消订单……",
  notCancelled: "未收到商家对取消的确认，请重试。",
  late: "付款时间已过。",
  lateDetail: "如果您已付款，商家收到后本页面会显示。",
  paid: "已付款，您已购得一件。",
  expired: "未按时付款，商品不再为您保留。",
  cancelled: "订单已取消。",
  refundDue: "您支付的 {0} 将退还给您。",
  refunded: "您支付的 {0} 已于 {1} 退还。",
  endedDetail: "此后到账的付款将退还给您。您不能在本活动中再次下单。",
  orderId: "订单号 {0}",
  held: "您在本活动中已有订单，状态为 {0}。",
  already: "您在本活动中已有订单。",
  soldOut: "已售罄。",
  soldOutDetail: "全部商品均已售出。",
  mayReturn: "可能会有商品重新放出，本页面大约每分钟查看一次。",
  paused: "活动已暂停。",
  pausedDetail: "稍后继续，在此期间任何人都无法下单。",
  closed: "活动已结束。",
  recalled: "商家已召回本活动。",
  recalledDetail: "不再接受下单，已支付的款项将全部退还。",
  recalledOrder: "商家已召回本活动，您的订单已取消。",
  recalledOrderDetail: "您为此支付的款项将全部退还。",
  otherState: "商家对本活动的说明：{0}",
  notEligible: "此账号不能参加本活动。",
  unfit: "此账号无法在此使用：登录系统给它的编号不被接受。",
  forbidden: "商家不允许此操作。",
  other: "商家的答复无法识别：{0}",
  otherDetail: "请刷新页面。如果问题仍然存在，请联系商家。",
  signInDetail: "请提前登录，以免耽误下单。",
  signInToSee: "如已下单，请登录查看您的订单。",
  noSignIn: "无法在本页面下单：商家没有为它设置登录。",
  signedOut: "登录已失效，请重新登录后继续。",
  signingIn: "正在登录……",
  signInFailed: "您尚未登录。",
  signInFailedDetail: "登录没有完成，请重试。",
  signInElsewhere: "此次登录是在其他应用或浏览器中开始的。请在此登录后继续。如果再次回到本页面，请用常用的浏览器打开活动页面。",
  order: "立即抢购",
  orderFor: "{0} 立即抢购",
  choose: "请先选择",
  choice: "请选择",
  elsewhere: "您已订购其中的另一件。",
  elsewhereDetail: "每人在这些商品中只能下一单。",
  showOrder: "查看我的订单",
  alreadyGroup: "您已订购{0}。每人在这些商品中只能下一单。",
  otherChoice: "其他选项可能还有货，请重新选择。",
  cancelSureGroup: "确定取消订单吗？商品将重新出售，您不能再次下单，也不能改订其他选项。",
  left: "{2} 时余 {0} 件，共 {1} 件",
  leftAbout: "{2} 时约余 {0} 件，共 {1} 件",
  unitsLeft: "余 {0} 件",
  unitsAbout: "约余 {0} 件",
  more: "了解详情",
  again: "重试",
  signIn: "登录",
  signOut: "退出登录",
  back: "返回活动",
  opens: "开始时间：{0}",
  closes: "结束时间：{0}",
  units: "共 {0} 件",
  about: "共约 {0} 件",
  days: "{0} 天 {1}",
};

const known = { en, zh };

/** @param {string} tag */
const base = (tag) => tag.toLowerCase().split("-")[0];
const preferred = navigator.languages.find((tag) => base(tag) in known) ?? "en";

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

/** @type {Words} */
export const words = known[/** @type {keyof typeof known} */ (language)];

/** @param {string} text @param {...(string | number)} values */
export const fill = (text, ...values) => text.replace(/\{(\d)\}/g, (_, i) => String(values[i]));

/** @param {number} ms */
export function countdown(ms) {
  if (!(ms > 0)) return "";
  const seconds = Math.ceil(ms / 1000);
  const clock = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60].map((n) => String(Math.floor(n)).padStart(2, "0")).join(":");
  return seconds < 86400 ? clock : fill(words.days, Math.floor(seconds / 86400), clock);
}

export const dates = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "long" });
