// The words of a sale with orders of several units in Turkish.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "Kaç adet?",
  order: "{0} adet sipariş ver",
  orderFor: "{1} karşılığında {0} adet sipariş ver",
  openDetail: "Bir kez basmanız yeterli. Mağaza yoğunsa bu sayfa sizin için denemeyi sürdürür. En fazla {0} adetlik tek bir sipariş verebilirsiniz.",
  stuckOrderDetail: "Yeniden deneyin: Kaç kez denerseniz deneyin, en fazla bir siparişiniz olur.",
  notEnough: "Yalnızca {0} adet kaldı; istediğinizden az.",
  notEnoughDetail: "Henüz sipariş verilmedi. Kalanı sipariş edebilirsiniz.",
  reserved: "{0} adet aldınız. Sizin için ayrıldı.",
  unpaid: "{0} adet aldınız. Sizde kalması için ödeyin.",
  cancelSure: "Siparişin tamamı iptal edilsin mi? {0} adedin hepsi yeniden satışa çıkar ve bir daha sipariş veremezsiniz.",
  cancelSureGroup: "Siparişin tamamı iptal edilsin mi? {0} adedin hepsi yeniden satışa çıkar; ne bunu ne de bunlardan bir başkasını bir daha sipariş edebilirsiniz.",
};
