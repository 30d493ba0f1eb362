// The words of a sale with orders of several units in English.

export const words = {
  howMany: "How many?",
  order: "Order {0}",
  orderFor: "Order {0} for {1}",
  openDetail: "Press once. If the shop is busy, this page keeps trying for you. You get one order, of at most {0} units.",
  stuckOrderDetail: "Try again: you get at most one order, however often you try.",
  notEnough: { one: "Only {0} is left, fewer than you asked for.", other: "Only {0} are left, fewer than you asked for." },
  notEnoughDetail: "Nothing is ordered yet. You can order what is left.",
  reserved: "You got {0}. They are reserved for you.",
  unpaid: "You got {0}. Pay to keep them.",
  cancelSure: "Cancel the whole order? All {0} go back on sale, and you cannot order again.",
  cancelSureGroup: "Cancel the whole order? All {0} go back on sale, and you cannot order again: neither this one nor any other of these.",
};

/** @typedef {Record<Exclude<keyof typeof words, "notEnough">, string> & { notEnough: string | import("./words-en.js").Forms }} Words notEnough counts, as in words-en.js */
