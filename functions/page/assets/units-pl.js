// The words of a sale with orders of several units in Polish.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "Ile sztuk?",
  order: "Zamów: {0}",
  orderFor: "Zamów: {0} za {1}",
  openDetail: "Naciśnij raz. Gdy sklep jest przeciążony, ta strona próbuje dalej za Ciebie. Możesz złożyć jedno zamówienie. Najwyższa liczba sztuk: {0}.",
  stuckOrderDetail: "Spróbuj ponownie: złożysz najwyżej jedno zamówienie, bez względu na liczbę prób.",
  notEnough: "Zostało tylko: {0}. To mniej, niż chcesz zamówić.",
  notEnoughDetail: "Nic jeszcze nie zamówiono. Możesz zamówić to, co zostało.",
  reserved: "Liczba sztuk zarezerwowanych dla Ciebie: {0}.",
  unpaid: "Liczba Twoich sztuk: {0}. Zapłać, aby je zatrzymać.",
  cancelSure: "Anulować całe zamówienie? Wszystkie sztuki ({0}) wrócą do sprzedaży i nie zamówisz ponownie.",
  cancelSureGroup: "Anulować całe zamówienie? Wszystkie sztuki ({0}) wrócą do sprzedaży i nie zamówisz ponownie: ani tego, ani innego z tych produktów.",
};
