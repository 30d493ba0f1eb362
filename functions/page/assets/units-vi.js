// The words of a sale with orders of several units in Vietnamese.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "Số lượng",
  order: "Đặt {0} sản phẩm",
  orderFor: "Đặt {0} sản phẩm với giá {1}",
  openDetail: "Chỉ cần nhấn một lần. Nếu cửa hàng đang bận, trang này sẽ tiếp tục thử giúp bạn. Mỗi người được một đơn hàng, tối đa {0} sản phẩm.",
  stuckOrderDetail: "Hãy thử lại: dù thử bao nhiêu lần, bạn chỉ có tối đa một đơn hàng.",
  notEnough: "Chỉ còn {0} sản phẩm, ít hơn số bạn muốn.",
  notEnoughDetail: "Chưa có gì được đặt. Bạn có thể đặt số còn lại.",
  reserved: "Bạn đã có {0} sản phẩm. Chúng được giữ cho bạn.",
  unpaid: "Bạn đã có {0} sản phẩm. Hãy thanh toán để giữ.",
  cancelSure: "Hủy toàn bộ đơn hàng? Cả {0} sản phẩm sẽ được bán lại và bạn không thể đặt lại.",
  cancelSureGroup: "Hủy toàn bộ đơn hàng? Cả {0} sản phẩm sẽ được bán lại và bạn không thể đặt lại sản phẩm này hay sản phẩm khác trong nhóm.",
};
