// The dialog that asks before a change: its effect in numbers, what it needs, and both answers.

import { overtaken, busy, forget, send, toldOf } from "./acting.js";
import { call } from "./api.js";
import { element, fact, field, h, render, show, typed } from "./elements.js";
import { mayChange, now, nudge, path, place, replaceSale, sale, stampOf, token, trail } from "./reading.js";
import { phase, unitsOf } from "./sale.js";
import { expire } from "./signin.js";
import { ago, fieldTime, fromField, time } from "./times.js";
import { duration, fill, number, word, words } from "./words.js";

/** @typedef {import("./elements.js").Child} Child */
/** @typedef {import("./reading.js").Sale} Sale */
/** @typedef {import("./acting.js").Asked} Asked */
/** @typedef {import("./acting.js").Change} Change */

/** What the answer is to: version is of the sale as the dialog shows it. @type {{action: Asked, stamp: string, version: string, seen: boolean, trouble: string, checking: boolean} | undefined} */
export let question;
export const dialog = () => /** @type {HTMLDialogElement} */ (element("ask"));

/** @param {Asked} action @param {Partial<Change>} [was] what was asked before and is asked again */
export function open(action, was) {
  question = { action, stamp: stampOf(sale), version: sale?.version, seen: !!was, trouble: "", checking: false };
  show(dialog(), []);
  render();
  dialog().showModal();
  for (const [id, value] of Object.entries({ why: was?.note, units: was?.stock, opens: was?.opensAt && fieldTime(was.opensAt), closes: was?.closesAt && fieldTime(was.closesAt), until: was?.until && fieldTime(was.until) })) {
    if (value && element(id)) /** @type {HTMLInputElement} */ (element(id)).value = String(value);
  }
  render(); // with what is in its fields
}

/** Asks again what others have overtaken. */
export function askAgain() {
  if (overtaken && overtaken.saleId === sale?.saleId && overtaken.saleId === place() && !busy(sale) && !question) {
    const { action, ...fields } = overtaken.body;
    forget();
    if (action !== "pause" && action !== "cancel" && mayChange() && !sale.recalledAt) open(action, fields);
  }
}

/** Closes the dialog, which tells it only later. */
export function close() {
  question = undefined;
  dialog().close();
  render();
}

/** The instant in a field, which leaves out seconds of 0, in the zone in which times are shown, or as it was. @param {string} name @param {string} was */
function instant(name, was) {
  const text = typed(name);
  return !element(name) || text.padEnd(19, ":00") === fieldTime(was) ? new Date(was) : fromField(text);
}

/** The instant until which the dialog gives time; no instant if it is none that the API takes. @param {Sale} s */
function until(s) {
  const at = fromField(typed("until"));
  return +at > Math.max(now(), (Date.parse(s.payUntil) || 0) - 1) && +at <= now() + 7 * 86400000 ? at : new Date(NaN);
}

/** What the dialog asks for, or the name of the word that says what is missing. @param {Sale} s @returns {Change | string} */
function wanted(s) {
  const note = typed("why");
  const body = { id: crypto.randomUUID(), ...(note && { note }), ...(question?.action !== "recall" && { version: question?.version }) };
  const [opens, closes] = [instant("opens", s.opensAt), instant("closes", s.closesAt)];
  switch (question?.action) {
    case "reschedule":
      return opens < closes ? { ...body, action: "reschedule", opensAt: opens.toISOString(), closesAt: closes.toISOString() } : "badWindow";
    case "extend":
      return +until(s) ? { ...body, action: "extend", until: until(s).toISOString() } : "badUntil";
    case "add":
      return /^[1-9]\d{0,8}$/.test(typed("units")) ? { ...body, action: "add", stock: Number(typed("units")) } : "badUnits";
    case "recall":
      return !note ? "badNote" : typed("typed") === s.saleId ? { ...body, action: "recall" } : "badId";
  }
  return { ...body, action: "resume" };
}

/** Sends what was asked, if the sale is still as it was shown. @param {Event} event */
async function confirm(event) {
  event.preventDefault();
  const asked = question;
  if (!asked || !sale || asked.checking) return;
  const body = wanted(sale);
  asked.trouble = "";
  render(); // so that the same trouble is said again
  if (stampOf(sale) !== asked.stamp) { // it is said already
    [asked.stamp, asked.version] = [stampOf(sale), sale.version];
    return render();
  }
  if (typeof body === "string") asked.trouble = word(words, body);
  if (typeof body === "string") return render();
  asked.checking = true;
  render();
  const a = await call("GET", path(sale.saleId), token());
  if (question !== asked) return;
  asked.checking = false;
  if (a.code === "unauthorized") expire();
  if (a.code) asked.trouble = words.cannotCheck;
  else {
    replaceSale(a.body);
    if (stampOf(sale) === asked.stamp) {
      close();
      send(sale, body);
    } else nudge();
  }
  render();
}

/** The dialog: the effect in numbers, what it needs, and both answers. @param {Sale} s */
export function asking(s) {
  if (!question) return [];
  const { action, stamp, trouble, checking } = question;
  const Name = action[0].toUpperCase() + action.slice(1);
  const moved = stampOf(s) !== stamp;
  question.seen ||= moved;
  const last = trail && trail.of === s.saleId && trail.stamp === stampOf(s) ? trail.changes[0] : undefined;
  const b = s.books;
  const then = (/** @type {string} */ was, /** @type {Date} */ is) => (+is && +is !== Date.parse(was) ? [time(was), " ", time(is.toISOString(), "→ ")] : [time(was)]);
  const [opens, closes] = [instant("opens", s.opensAt), instant("closes", s.closesAt)];
  const units = action === "add" ? Number(typed("units")) || 0 : 0;
  /** @type {[string, Child | Child[]][]} */
  const rows = [
    [words.unitsLeft, unitsOf(s) === undefined ? words.notCounted : units ? fill(words.then, number(unitsOf(s)), number(unitsOf(s) + units)) : number(unitsOf(s))],
    [words.total, units ? fill(words.then, number(s.seeded), number(s.seeded + units)) : number(s.seeded)],
    [words.opens, then(s.opensAt, opens)],
    [words.closes, then(s.closesAt, closes)],
  ];
  if (action === "recall") {
    rows.splice(1, 3, ...(b ? /** @type {[string, string][]} */ ([[words.unpaid, number(b.unpaid)], [words.paid, number(b.paid)], [words.pending, number(b.pending)], [words.confirmed, number(b.confirmed)]]) :
      /** @type {[string, string][]} */ ([[words.orders, words.notCounted]])));
  } else if (action === "extend") rows.splice(0, 4, [words.unpaid, b ? number(b.unpaid) : words.notCounted], [words.payUntil, s.payUntil ? then(s.payUntil, until(s)) : +until(s) ? time(until(s).toISOString(), "→ ") : fill(words.payWithin, duration(1000 * s.payWithin))]);
  else if (action === "resume") rows.push([words.after, phase(s.opensAt, s.closesAt)]);
  else if (action === "reschedule") rows.push([words.after, opens < closes ? (s.paused ? words.state.PAUSED + words.comma : "") + phase(opens.toISOString(), closes.toISOString()) : words.badWindow]);
  return [
    h("form", { onsubmit: confirm, novalidate: true, "data-key": action },
      h("h2", { id: "asked" }, fill(word(words, action + "Title"), s.name || s.saleId)),
      action === "recall" && h("p", { class: "warns" }, words.recallWarns),
      question.seen && h("p", { class: "warns", role: "alert" }, last ? fill(words.movedBy, toldOf(s, last)) : words.moved),
      action === "reschedule" && [field("opens", words.opens, { type: "datetime-local", step: 1, value: fieldTime(s.opensAt) }), field("closes", words.closes, { type: "datetime-local", step: 1, value: fieldTime(s.closesAt) })],
      action === "extend" && field("until", words.until, { type: "datetime-local", step: 1, value: s.payUntil && fieldTime(s.payUntil) }),
      action === "add" && field("units", words.units, { type: "number", min: 1, step: 1, inputmode: "numeric" }),
      h("dl", { class: "effect" }, rows.map(([name, value]) => fact(name, value))),
      action === "recall" && b && h("p", { class: "faint" }, fill(words.countedAt, ago(b.asOf))),
      field("why", action === "recall" ? words.noteNeeded : words.note, { maxlength: 500 }),
      action === "recall" && field("typed", fill(words.typeId, s.saleId), { autocapitalize: "off", spellcheck: "false" }),
      h("p", { role: "alert", class: "bad" }, checking ? words.checking : trouble),
      h("p", { class: "answers" },
        h("button", { class: "main " + action, "aria-disabled": checking }, moved ? words.seenIt : word(words, "yes" + Name)),
        h("button", { type: "button", onclick: close }, words.no)),
    ),
  ];
}
