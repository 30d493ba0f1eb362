// The words of a sale with orders of several units in simplified Chinese.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "数量",
  order: "抢购 {0} 件",
  orderFor: "{1} 抢购 {0} 件",
  openDetail: "按一次即可。系统繁忙时，本页面会自动为您重试。每人限一单，每单最多 {0} 件。",
  stuckOrderDetail: "请重试：无论重试多少次，每人最多一单。",
  notEnough: "只剩 {0} 件，不足您要的数量。",
  notEnoughDetail: "尚未下单。您可以买下剩余的。",
  reserved: "抢到了！已为您保留 {0} 件。",
  unpaid: "抢到 {0} 件！请付款，过时不留。",
  cancelSure: "确定取消整个订单吗？{0} 件商品将全部重新出售，您不能再次下单。",
  cancelSureGroup: "确定取消整个订单吗？{0} 件商品将全部重新出售，您不能再次下单，也不能改订其他选项。",
};
