// The words of a sale with orders of several units in traditional Chinese.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "數量",
  order: "搶購 {0} 件",
  orderFor: "{1} 搶購 {0} 件",
  openDetail: "按一次就可以了。系統忙碌時，本頁面會自動為您重試。每人限下一筆訂單，每筆最多 {0} 件。",
  stuckOrderDetail: "請重試：不論嘗試幾次，每人最多一筆訂單。",
  notEnough: "只剩 {0} 件，少於您要的數量。",
  notEnoughDetail: "尚未下單。您可以買下剩餘的。",
  reserved: "搶到了！已為您保留 {0} 件。",
  unpaid: "搶到 {0} 件！請付款，逾時不保留。",
  cancelSure: "確定要取消整筆訂單嗎？{0} 件商品會全部重新開賣，而且您不能再次下單。",
  cancelSureGroup: "確定要取消整筆訂單嗎？{0} 件商品會全部重新開賣，而且您不能再次下單，也不能改買其他選項。",
};
