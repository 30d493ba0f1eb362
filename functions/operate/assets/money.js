// What the last counts of sales say of money and orders: of one sale, or of a group's together.

import { h } from "./elements.js";
import { fill, language, number, words } from "./words.js";

/** @typedef {import("./elements.js").Child} Child */
/** @typedef {Record<string, any>} Sale */

const moneyWords = words.money;

/** An amount of minor units as people write it. The API counts the digits by ISO 4217, which browsers do not. @param {number | bigint} minor @param {string} currency @param {number} [digits] */
export function amount(minor, currency, digits) {
  if (digits === undefined) return fill(moneyWords.minor, number(minor), currency);
  const form = new Intl.NumberFormat(language, { style: "currency", currency, minimumFractionDigits: digits, maximumFractionDigits: digits });
  return form.format(/** @type {any} */ (minor + "E-" + digits)); // as text it is exact
}

/** The sums of some sales' counts, by currency. @param {Sale[]} sales @returns {Sale[]} */
function sums(sales) {
  /** @type {Map<string, Sale>} */
  const all = new Map();
  for (const one of sales.flatMap((s) => s.books?.money ?? [])) {
    const sum = all.get(one.currency) ?? { ...one, taken: 0, outstanding: 0, due: 0, refunded: 0 };
    for (const name of ["taken", "outstanding", "due", "refunded"]) sum[name] = BigInt(sum[name]) + BigInt(one[name]);
    all.set(one.currency, sum);
  }
  return [...all.values()];
}

/** How many of the accepted orders came how far. @param {Sale[]} sales @returns {[string, number][]} */
function steps(sales) {
  const sum = (/** @type {string} */ name) => sales.reduce((n, s) => n + (s.books?.[name] ?? 0), 0);
  const asks = sales.some((s) => s.payWithin > 0) || sum("paid") + sum("released") > 0;
  // Those whose unit is kept are not released.
  const over = sales.reduce((n, { payWithin, books }) => n + (payWithin > 0 ? books.confirmed - books.paid - books.unpaid : books.released), 0);
  return [[moneyWords.accepted, sum("claims")], [words.confirmed, sum("confirmed")], ...(asks ? /** @type {[string, number][]} */ ([[words.paid, sum("paid")], [words.unpaid, sum("unpaid")], [moneyWords.expired, over]]) : [])];
}

/**
 * The section of money and orders; undefined before the first count.
 * @param {Sale[]} sales @param {{ago: (iso: string) => string}} page @param {string} refunds the address of their refunds
 */
export function moneyOf(sales, { ago }, refunds) {
  const counted = sales.filter((s) => s.books);
  if (!counted.length) return undefined;
  const oldest = counted.map((s) => s.books.asOf).sort()[0];
  const facts = steps(counted);
  const all = sums(counted);
  return h("section", { "data-key": "money", "aria-labelledby": "money" },
    h("h2", { id: "money" }, moneyWords.title),
    h("p", { class: "faint" }, fill(moneyWords.asOf, ago(oldest)), counted.length < sales.length && " " + fill(moneyWords.part, counted.length, sales.length)),
    all.map((m) => h("dl", { "data-key": m.currency, class: "money" }, ["taken", "outstanding", "due", "refunded"].map((name) => h("div", { class: name === "due" && m.due ? "due" : undefined },
      h("dt", {}, /** @type {any} */ (moneyWords)[name]), h("dd", { translate: "no" }, amount(m[name], m.currency, m.digits)))))),
    h("ul", { class: "funnel" }, facts.map(([name, n]) => h("li", { "data-key": name }, h("span", {}, name), h("b", {}, number(n)), h("progress", { max: Math.max(1, facts[0][1]), value: n, "aria-label": name })))),
    h("details", { "data-key": "what" }, h("summary", {}, moneyWords.what), h("p", { class: "faint" }, moneyWords.means)),
    h("p", {}, moneyWords.list, " ", h("code", { translate: "no" }, "flashsale order list --" + refunds.slice(9).replace("/", " ") + " --state " + (sales.some((s) => s.payWithin > 0) ? "paid" : "confirmed") + " -o csv")),
    h("p", {}, h("a", { href: refunds }, words.refunds.link)));
}
