// The words of a sale with orders of several units in Dutch.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "Hoeveel?",
  order: "{0} bestellen",
  orderFor: "{0} bestellen voor {1}",
  openDetail: "Eén keer drukken is genoeg. Als het druk is, blijft deze pagina het voor je proberen. Je krijgt één bestelling, van hoogstens {0} stuks.",
  stuckOrderDetail: "Probeer het opnieuw: je krijgt hoogstens één bestelling, hoe vaak je het ook probeert.",
  notEnough: { one: "Er is er nog maar {0}, minder dan je vroeg.", other: "Er zijn er nog maar {0}, minder dan je vroeg." },
  notEnoughDetail: "Er is nog niets besteld. Je kunt bestellen wat er nog is.",
  reserved: "Je hebt er {0}. Ze zijn voor je gereserveerd.",
  unpaid: "Je hebt er {0}. Betaal om ze te houden.",
  cancelSure: "De hele bestelling annuleren? Alle {0} gaan weer in de verkoop en je kunt niet opnieuw bestellen.",
  cancelSureGroup: "De hele bestelling annuleren? Alle {0} gaan weer in de verkoop en je kunt niet opnieuw bestellen: dit artikel niet en ook geen ander uit deze reeks.",
};
