// The words of a sale with orders of several units in German.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "Wie viele?",
  order: "{0} bestellen",
  orderFor: "{0} für {1} bestellen",
  openDetail: "Einmal drücken genügt. Ist der Shop ausgelastet, versucht es diese Seite für Sie weiter. Sie erhalten eine Bestellung mit höchstens {0} Stück.",
  stuckOrderDetail: "Versuchen Sie es erneut: Sie erhalten höchstens eine Bestellung, egal wie oft Sie es versuchen.",
  notEnough: { one: "Nur noch {0} Stück ist da, weniger als gewünscht.", other: "Nur noch {0} Stück sind da, weniger als gewünscht." },
  notEnoughDetail: "Noch ist nichts bestellt. Sie können bestellen, was noch da ist.",
  reserved: "Sie haben {0} Stück. Sie sind für Sie reserviert.",
  unpaid: "Sie haben {0} Stück. Jetzt bezahlen, um sie zu behalten.",
  cancelSure: "Die ganze Bestellung stornieren? Alle {0} Stück werden wieder verkauft, und Sie können nicht noch einmal bestellen.",
  cancelSureGroup: "Die ganze Bestellung stornieren? Alle {0} Stück werden wieder verkauft, und Sie können nicht noch einmal bestellen: weder diese noch eine andere Variante.",
};
