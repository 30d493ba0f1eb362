// The words of a sale with orders of several units in Korean.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "수량",
  order: "{0}개 주문하기",
  orderFor: "{1} {0}개 주문하기",
  openDetail: "한 번만 눌러 주세요. 접속이 몰리면 자동으로 다시 시도합니다. 1인당 한 번, 최대 {0}개까지 주문할 수 있습니다.",
  stuckOrderDetail: "다시 시도해 주세요. 여러 번 시도해도 1인당 한 건만 주문됩니다.",
  notEnough: "{0}개만 남아 원하신 수량보다 적습니다.",
  notEnoughDetail: "아직 주문되지 않았습니다. 남은 수량을 주문할 수 있습니다.",
  reserved: "{0}개를 확보했습니다. 고객님을 위해 보관 중입니다.",
  unpaid: "{0}개를 확보했습니다. 결제하면 확정됩니다.",
  cancelSure: "주문 전체를 취소할까요? {0}개 모두 다시 판매되며, 다시 주문할 수 없습니다.",
  cancelSureGroup: "주문 전체를 취소할까요? {0}개 모두 다시 판매되며, 이 상품도 다른 옵션도 다시 주문할 수 없습니다.",
};
