// The words of a sale with orders of several units in Spanish.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "¿Cuántas unidades?",
  order: "Pedir {0}",
  orderFor: "Pedir {0} por {1}",
  openDetail: "Pulsa una sola vez. Si la tienda está saturada, esta página lo sigue intentando por ti. Puedes hacer un solo pedido, de {0} unidades como máximo.",
  stuckOrderDetail: "Inténtalo de nuevo: tendrás un solo pedido, por más veces que lo intentes.",
  notEnough: { one: "Solo queda {0}, menos de lo que pedías.", many: "Solo quedan {0}, menos de lo que pedías.", other: "Solo quedan {0}, menos de lo que pedías." },
  notEnoughDetail: "Aún no se ha pedido nada. Puedes pedir lo que queda.",
  reserved: "Has conseguido {0}. Están reservadas para ti.",
  unpaid: "Has conseguido {0}. Paga para quedártelas.",
  cancelSure: "¿Cancelar todo el pedido? Las {0} unidades vuelven a la venta y no podrás pedir otra vez.",
  cancelSureGroup: "¿Cancelar todo el pedido? Las {0} unidades vuelven a la venta y no podrás pedir otra vez, ni este artículo ni ningún otro de estos.",
};
