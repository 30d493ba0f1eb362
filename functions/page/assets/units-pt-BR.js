// The words of a sale with orders of several units in Brazilian Portuguese.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "Quantas unidades?",
  order: "Pedir {0}",
  orderFor: "Pedir {0} por {1}",
  openDetail: "Toque uma vez só. Se a loja estiver sobrecarregada, esta página continua tentando por você. Você pode fazer um único pedido, de no máximo {0} unidades.",
  stuckOrderDetail: "Tente de novo: você fica com no máximo um pedido, não importa quantas vezes tente.",
  notEnough: { one: "Só resta {0}, menos do que você pediu.", many: "Só restam {0}, menos do que você pediu.", other: "Só restam {0}, menos do que você pediu." },
  notEnoughDetail: "Nada foi pedido ainda. Você pode pedir o que resta.",
  reserved: "Você conseguiu {0}. Elas estão reservadas para você.",
  unpaid: "Você conseguiu {0}. Pague para ficar com elas.",
  cancelSure: "Cancelar o pedido inteiro? Todas as {0} unidades voltam à venda e você não poderá pedir de novo.",
  cancelSureGroup: "Cancelar o pedido inteiro? Todas as {0} unidades voltam à venda e você não poderá pedir de novo, nem este produto nem outro destes.",
};
