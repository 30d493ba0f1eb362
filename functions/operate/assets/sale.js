// What is said of one sale wherever it is shown: its state, its window, its counts, and what may be wrong.

import { fact, h } from "./elements.js";
import { now } from "./reading.js";
import { ago } from "./times.js";
import { duration, fill, number, word, words } from "./words.js";

/** @typedef {import("./reading.js").Sale} Sale */

/** Units left; undefined if nobody has counted them. @param {Sale} s */
export const unitsOf = (s) => s.remaining?.units ?? s.books?.stock;

/** What a window means now. @param {string} opensAt @param {string} closesAt */
export function phase(opensAt, closesAt) {
  const [opens, closes] = [Date.parse(opensAt), Date.parse(closesAt)];
  if (now() < opens) return fill(words.opensIn, duration(opens - now()));
  return now() < closes ? words.sells + words.comma + fill(words.closesIn, duration(closes - now())) : fill(words.closedSince, duration(now() - closes));
}

/** How long the oldest order waits for its id, if it still does: as counted, and since. @param {Sale} s */
const waits = (s) => (s.books?.pending > 0 ? 1000 * s.books.oldestPendingSeconds + now() - Date.parse(s.books.asOf) : 0);

/** An order has its id within seconds, and is counted every minute. @param {Sale} s */
const hangs = (s) => waits(s) >= 90000 || (waits(s) > 0 && s.books?.oldestPendingSeconds >= 30);

/** What may be wrong with a sale, the alarm whose entry in the runbook helps, and its heading there. @type {[string, (s: Sale) => unknown, string, string][]} */
export const wrongs = [
  [words.unbalanced, (s) => s.books?.balanced === false, "BooksWrongAlarm", "bookswrongalarm"],
  [words.hang, hangs, "OldestPendingAlarm", "oldestpendingalarm"],
  [words.uncounted, (s) => s.books && !s.drained && now() - Date.parse(s.books.asOf) >= 600000, "ReconcileSilentAlarm", "tickets-the-functions"],
];

/** @param {Sale} s */
export const troubles = (s) => wrongs.filter(([, is]) => is(s));

/** @param {Sale} s */
export const unwell = (s) => {
  const { runbook } = document.documentElement.dataset;
  return troubles(s).length > 0 && h("ul", { class: "troubles" }, troubles(s).map(([what, , alarm, heading]) => h("li", { "data-key": alarm }, what + " · ", h("a", { href: runbook ? runbook + "#" + heading : undefined }, fill(words.runbook, alarm)))));
};

/** The state of a sale, and what else is true of it. @param {Sale} s */
export const badge = (s) => h("span", { class: "badge", "data-state": s.state, "data-unwell": troubles(s).length > 0 }, word(words.state, s.state), s.drained && words.comma + words.isDrained, hangs(s) && words.comma + words.hang);

/** What a sale's window means in its state. @param {Sale} s */
export const phaseOf = (s) => (s.state === "RECALLED" || s.state === "DRAFT" ? "" : phase(s.opensAt, s.closesAt).replace(words.sells + words.comma, ""));

/** The bar of the units that are left. @param {Sale} s @param {string} id */
export function bar(s, id) {
  const left = unitsOf(s);
  if (left === undefined || !s.seeded) return h("p", { class: "left" }, words.unitsLeft + words.colon + words.notCounted);
  return h("div", { class: "left" }, h("progress", { max: s.seeded, value: left, "aria-labelledby": id }), h("p", { id }, fill(s.recalledAt ? words.unsold : words.left, number(left), number(s.seeded))));
}

/** What the last count of a sale says. @param {Sale} s */
export function counts(s) {
  const b = s.books;
  if (!b) return h("dl", {}, fact(words.books, words.notCounted));
  const late = hangs(s);
  return h("dl", {},
    fact(words.pending, number(b.pending), late ? "bad" : undefined),
    b.pending > 0 && fact(words.waits, [duration(waits(s)), " ", h("small", {}, words.ifStill)], late ? "bad" : undefined),
    fact(words.confirmed, number(b.confirmed)),
    s.payWithin > 0 && [fact(words.paid, number(b.paid)), fact(words.unpaid, number(b.unpaid)), fact(words.released, number(b.released))],
    fact(words.refundsDue, b.refundsDue ? h("a", { href: "#refunds/sale/" + s.saleId }, number(b.refundsDue)) : number(0), b.refundsDue ? "due" : undefined),
    fact(words.books, [h("b", {}, b.balanced ? "✓ " + words.balanced : "✕ " + words.notBalanced), " ", h("small", {}, fill(words.counted, ago(b.asOf)))], b.balanced ? undefined : "bad"));
}

/** What does not balance. @param {Sale} s */
export const findings = (s) => s.books?.balanced === false && h("ul", { class: "findings", lang: "en" }, (s.books.findings ?? []).map((/** @type {unknown} */ f) => h("li", {}, typeof f === "string" ? f : JSON.stringify(f))));
