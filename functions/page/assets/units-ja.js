// The words of a sale with orders of several units in Japanese.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "数量",
  order: "{0} 点を注文する",
  orderFor: "{0} 点を {1} で注文する",
  openDetail: "ボタンを1回押してください。混み合っている場合は自動で再試行します。ご注文はお一人様1回、{0} 点までです。",
  stuckOrderDetail: "もう一度お試しください。何度試しても、ご注文はお一人様1回限りです。",
  notEnough: "残り {0} 点のみで、ご希望の数に足りません。",
  notEnoughDetail: "まだ何も注文されていません。残りの分を注文できます。",
  reserved: "{0} 点確保しました。お取り置きしています。",
  unpaid: "{0} 点確保しました。お支払いで確定します。",
  cancelSure: "注文全体をキャンセルしますか？{0} 点すべてが再び販売され、このセールでは再注文できません。",
  cancelSureGroup: "注文全体をキャンセルしますか？{0} 点すべてが再び販売され、この商品もほかの対象商品も再注文できません。",
};
