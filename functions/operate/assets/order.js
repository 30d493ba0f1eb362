// Cancelling one order, from its buyer's story: what becomes of the money and the unit is said and
// asked first. The change says in which state the order is expected, and is refused in any other.

import { h } from "./elements.js";
import { amount } from "./money.js";
import { fill, words } from "./words.js";

/** @typedef {Record<string, any>} Sale */
/** @typedef {"back" | "kept"} Unit */
/** @typedef {any} Page what views.js gives the other views */

const orderWords = words.order;

/** @param {Page} page */
export function orders(page) {
  const { busy, field, mayChange, render, send, typed, word } = page;
  /** The order that is asked about, as it was read. @type {{of: string, expected: string, unit: Unit} | undefined} */
  let ask;

  /** @param {Sale} s @param {Sale} story of a buyer */
  function cancel(s, { user, state, orderId, currency, ...story }) {
    if (!mayChange() || s.recalledAt || !orderId || !["CONFIRMED", "PAID"].includes(state)) return false;
    const asked = ask?.of === orderId && ask?.expected === state ? ask : undefined;
    const paid = story.lines.find((/** @type {Sale} */ l) => l.kind === "paid")?.payment;
    const disputed = state === "PAID" && !story.lines.some((/** @type {Sale} */ l) => l.kind === "paid-back") &&
      story.lines.some((/** @type {Sale} */ l) => ["disputed", "dispute-lost"].includes(l.kind) && l.payment === paid);
    const set = (/** @type {typeof ask} */ to) => ((ask = to), render());
    const begin = () => busy(s) || set({ of: orderId, expected: state, unit: "back" });
    const confirm = (/** @type {Event} */ event) => {
      event.preventDefault();
      if (!asked || busy(s)) return;
      const note = typed("moved");
      set(undefined);
      send(s, { id: crypto.randomUUID(), action: "cancel", orderId, expected: state, unit: asked.unit, ...(note && { note }) });
    };
    const choice = (/** @type {Unit} */ unit) => h("label", { class: "check" },
      h("input", { type: "radio", name: "unit", value: unit, checked: asked?.unit === unit, onchange: () => asked && set({ ...asked, unit }) }), orderWords[unit]);
    return h("div", { "data-key": "cancel " + orderId, tabindex: -1 }, !asked ?
      h("button", { "data-key": "cancel", class: "cancel", "aria-disabled": busy(s), onclick: begin }, orderWords.cancel) :
      h("form", { "data-key": "asking", class: "cancelling", onsubmit: confirm, novalidate: true, "aria-labelledby": "cancelling" },
        h("h3", { id: "cancelling" }, fill(orderWords.title, orderId, word(words.buyerState, state))),
        h("p", { class: "warns" }, fill(disputed ? orderWords.disputed : state === "PAID" ? orderWords.paid : currency ? orderWords.unpaid : orderWords.free, currency ? amount(story.amount, currency, story.digits) : ""), " ", fill(orderWords.final, user)),
        h("fieldset", {}, h("legend", {}, orderWords.unit), choice("back"), choice("kept")),
        field("moved", words.note, { maxlength: 500 }),
        h("p", { class: "answers" },
          h("button", { class: "main recall", "aria-disabled": busy(s) }, orderWords.yes),
          h("button", { type: "button", onclick: () => set(undefined) }, words.no))));
  }

  return { cancel };
}

/** What a certain cancellation did. @param {Sale} answer */
export const cancelled = ({ orderId, payment, unit }) => fill(payment ? orderWords.didPaid : orderWords.didUnpaid, orderId, payment, orderWords[/** @type {Unit} */ (unit)] ?? unit);
