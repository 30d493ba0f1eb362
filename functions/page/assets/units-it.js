// The words of a sale with orders of several units in Italian.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "Quanti?",
  order: "Ordina {0} pezzi",
  orderFor: "Ordina {0} pezzi per {1}",
  openDetail: "Premi una volta sola. Se il negozio è molto richiesto, questa pagina continua a provare per te. Ricevi un solo ordine, al massimo di {0} pezzi.",
  stuckOrderDetail: "Riprova: ricevi un solo ordine, per quante volte tu provi.",
  notEnough: { one: "Ne è rimasto solo {0}, meno di quanti ne hai chiesti.", many: "Ne sono rimasti solo {0}, meno di quanti ne hai chiesti.", other: "Ne sono rimasti solo {0}, meno di quanti ne hai chiesti." },
  notEnoughDetail: "Non è stato ancora ordinato nulla. Puoi ordinare quelli rimasti.",
  reserved: "Ne hai presi {0}. Sono riservati a te.",
  unpaid: "Ne hai presi {0}. Paga per tenerli.",
  cancelSure: "Annullare l’intero ordine? Tutti i {0} pezzi tornano in vendita e non potrai ordinare di nuovo.",
  cancelSureGroup: "Annullare l’intero ordine? Tutti i {0} pezzi tornano in vendita e non potrai ordinare di nuovo, né questo articolo né un altro di questi.",
};
