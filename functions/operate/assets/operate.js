// The operators' page: sales at a glance, one sale with its actions, its trail, and one
// buyer's story. It polls while it is seen, one request at a time. A change has an id, made
// once, and is sent again under it until the answer is certain, also over a sign-in.

import { call, passing, rest } from "./api.js";
import { h, show } from "./elements.js";
import { groupPlace, groups } from "./group.js";
import { health } from "./health.js";
import { moneyOf } from "./money.js";
import { orders } from "./order.js";
import { available, ended, expire, finish, signIn, signOut, token as tokenAt, validSale } from "./signin.js";
import { duration, fill, language, number, words } from "./words.js";

/** @typedef {import("./api.js").Answer} Answer */
/** @typedef {import("./elements.js").Child} Child */
/** @typedef {Record<string, any>} Sale as the API shows it, and so are changes and books */
/** @typedef {"resume" | "reschedule" | "extend" | "add" | "recall"} Asked an action that asks first */
/** @typedef {{id: string, action: Asked | "pause" | "cancel", note?: string, opensAt?: string, closesAt?: string, until?: string, stock?: number, seen?: string, orderId?: string, saw?: string, unit?: string}} Change */

/** How often the page reads, and how long it waits at most after errors, in milliseconds. */
const every = 5000;
const longest = 60000;
/** The most sales of which one reading asks who changed them. */
const most = 3;

let me = { actor: "", role: "" };
/** @type {Sale[] | undefined} */
let sales;
/** @type {Sale | undefined} The one that is looked at. */
let sale;
/** @type {{of: string, changes: Sale[], more: boolean, stamp: string, read: number} | undefined} */
let trail;
/** @type {{of: string, user: string, answer?: Answer} | undefined} */
let buyer;
let code = ""; // of the latest reading, "" if it was a success
let failing = false; // the latest reading has no final answer
let filter = "";
let drained = false;
let read = NaN; // when what is shown was read, by performance.now()
let offset = 0; // the API's time less performance.now()
let turn = 0; // of readings: one that a change or another place overtakes is not shown
let utc = false;

/** What a sale's changes were when it was last read. @type {Map<string, {edits: number, seeded: number, at: number}>} */
const before = new Map();
/** The ids of the changes that are known here: made for certain, or told. @type {Set<string>} */
const heard = new Set();

const now = () => performance.now() + offset;

/** The person's token, if it is valid by the API's clock. */
const token = () => tokenAt(now());

/** @param {string} name */
const element = (name) => /** @type {HTMLElement} */ (document.getElementById(name));

/** The field with that id. @param {string} name */
const typed = (name) => /** @type {HTMLInputElement | null} */ (document.getElementById(name))?.value.trim() ?? "";

/** A word that may be missing. @param {object} of @param {unknown} name @returns {string} */
const word = (of, name) => /** @type {Record<string, string>} */ (of)[String(name)] ?? String(name);

/** Where the person is. */
function place() {
  const [kind, id = ""] = location.hash.slice(1).split("/");
  return kind === "sale" && validSale(id) ? id : "";
}

/** What is copied by the form that creates sales, "" for nothing; undefined if it is not shown. */
const making = () => {
  const [kind, id = ""] = location.hash.slice(1).split("/");
  return kind === "create" ? (validSale(id) ? id : "") : undefined;
};

/** Whose refunds the page's address asks for: "all", "sale/…" or "group/…"; "" elsewhere. */
const refundsPlace = () => {
  const found = /^#refunds(?:\/((?:sale|group)\/[\w-]{1,64}))?$/.exec(location.hash);
  return found ? (found[1] ?? "all") : "";
};

// Loaded when they are asked for.
/** @type {{view: (copied: string) => Child[]} | undefined} */
let form;
/** @type {{view: (s: Sale) => Child} | undefined} */
let chart;
/** @type {{view: () => Child[]} | undefined} */
let list;
let failed = 0; // scripts that did not arrive
let missing = false; // the latest of them

/** A script that arrives in time. @template T @param {Promise<T>} script @returns {Promise<T>} */
const soon = (script) => Promise.race([script, new Promise((_, reject) => setTimeout(reject, 15000))]);

/** Loads what the place shows. Browsers do not ask again for an address that has failed. */
async function load() {
  missing = false;
  const at = "?" + failed;
  try {
    if (!form && making() !== undefined) {
      const { creating } = await soon(/** @type {Promise<typeof import("./create.js")>} */ (import("./create.js" + at)));
      form ??= creating({ token, expire, render, now, toField: fieldTime, fromField, zone });
    }
    if (!chart && place()) {
      const { charts } = await soon(/** @type {Promise<typeof import("./chart.js")>} */ (import("./chart.js" + at)));
      chart ??= charts(views);
    }
    if (!list && refundsPlace()) {
      const { refunds } = await soon(/** @type {Promise<typeof import("./refunds.js")>} */ (import("./refunds.js" + at)));
      list ??= refunds(views);
    }
  } catch {
    failed++;
    missing = true;
  }
  render();
}

/** What stands where a script is not there yet. @param {string} [title] of a view that is nothing else */
const absent = (title) => h("div", { "data-key": "absent" }, title && h("h1", {}, title), h("p", { role: "status" }, missing ? words.missing : words.loading), missing && h("button", { onclick: () => (load(), render()) }, words.again));

const path = (/** @type {string} */ id) => "/operate/sales/" + id;

// Reading.

let wake = () => {};

/** Reads again soon: what is on the way is not shown any more. */
function nudge() {
  turn++;
  wake();
}

/** Reads for ever, one request at a time, while the page is seen. */
async function poll() {
  for (let errors = 0; ; ) {
    while (document.hidden || !token()) await new Promise((resolve) => (wake = () => resolve(0)));
    const mark = turn;
    const a = await look(mark);
    if (mark !== turn) continue;
    code = a.code;
    failing = passing(a);
    if (code === "unauthorized") expire();
    errors = code ? errors + 1 : 0;
    if (me.actor) goOn();
    render();
    if (again && again.saleId === sale?.saleId && again.saleId === place() && !busy(sale) && !ask) {
      const { action, ...fields } = again.body;
      again = undefined;
      if (action !== "pause" && action !== "cancel" && mayChange() && !sale.recalledAt) open(action, fields);
    }
    const wait = code ? Math.max(a.wait, Math.min(every * 2 ** (errors - 1), longest)) * (1 + Math.random() / 4) : every;
    await new Promise((resolve) => {
      wake = () => resolve(0);
      setTimeout(wake, wait);
    });
  }
}

/** Reads what the place shows. @param {number} mark the turn @returns {Promise<Answer>} */
async function look(mark) {
  const id = place();
  if (!id || !me.role) {
    const group = me.role && groupPlace();
    const a = await call("GET", "/operate/sales" + (group ? "?group=" + group : drained ? "?drained=1" : ""), token());
    if (a.code || mark !== turn) return a;
    me = { actor: String(a.body.actor), role: String(a.body.role) };
    clock(a.body.asOf);
    sales = a.body.sales;
    if (!id) {
      const changed = (sales ?? []).filter((s) => {
        const was = before.get(s.saleId);
        return was && (was.edits !== s.edits || was.seeded !== s.seeded);
      });
      for (const s of sales ?? []) if (!changed.includes(s)) noted(s);
      for (const s of changed.slice(0, most)) {
        const t = await call("GET", path(s.saleId) + "/changes", token());
        if (mark !== turn) return a;
        if (!t.code) tell(s, t.body.changes);
      }
      return a;
    }
  }
  const a = await call("GET", path(id), token());
  if (mark !== turn) return a;
  if (a.code) {
    if (!passing(a)) sale = undefined;
    return a;
  }
  clock(a.body.remaining?.asOf);
  sale = a.body;
  unread.delete(id);
  const stamp = stampOf(sale);
  if (trail?.of === id && trail.stamp === stamp && performance.now() - trail.read < longest) return a;
  const t = await call("GET", path(id) + "/changes", token());
  if (mark !== turn || t.code) return t;
  trail = { of: id, changes: t.body.changes, more: t.body.more, stamp, read: performance.now() };
  tell(sale, trail.changes);
  return a;
}

/** Notes when it was read, and the API's time then. @param {string} asOf */
function clock(asOf) {
  read = performance.now();
  if (asOf) offset = Date.parse(asOf) - read;
}

/** @param {Sale} s */
const noted = (s) => before.set(s.saleId, { edits: s.edits, seeded: s.seeded, at: now() });

/** What a change changes: another stamp means that somebody did. @param {Sale | undefined} s */
const stampOf = (s) => JSON.stringify([s?.seen, s?.edits, s?.seeded, s?.paused, s?.opensAt, s?.closesAt, s?.recalledAt]);

/** Tells what others have changed since the last reading. @param {Sale} s @param {Sale[]} changes newest first */
function tell(s, changes) {
  const was = before.get(s.saleId);
  noted(s);
  // An addition bears the time at which it began.
  const fresh = changes.filter((c) => was && (c.n ? c.n > was.edits : was.seeded !== s.seeded && Date.parse(c.at) > was.at - 60000) && !heard.has(c.id) && sending.get(s.saleId)?.body.id !== c.id);
  for (const c of changes) if (sending.get(s.saleId)?.body.id !== c.id) heard.add(c.id);
  for (const c of fresh.slice(0, most).reverse()) notice(s.saleId, "news", toldOf(s, c) + (c.note ? " “" + c.note + "”" : ""), "change " + c.id);
}

/** Who did what, in a sentence. @param {Sale} s @param {Sale} c */
const toldOf = (s, c) => fill(words.told, s.name || s.saleId, c.actor || words.nobody, didOf(c));

/** Who changed the sale meanwhile, what, when and why, as far as the API can tell. @param {Sale | undefined} c */
const betweenOf = (c) => (c ? fill(words.between, c.actor || words.nobody, didOf(c), local(c.at)) + (c.note ? " “" + c.note + "”" : "") : "");

/** What a change did. @param {Sale} c */
function didOf(c) {
  const what = ["name", "image", "about", "link"].filter((f) => f in c);
  const values = c.action === "describe" ? [what.join(", ")] : "units" in c ? [number(c.units)] : c.action === "extend" ? [local(c.payUntil)] : [local(c.opensAt), local(c.closesAt)];
  return c.action in words.did ? fill(word(words.did, c.action), ...values) : fill(words.otherDid, c.action);
}

// Notices.

/** @type {{of: string, key: string, tone: string, text: string}[]} Newest first. */
let notices = [];

/** Of news the latest stay, of outcomes one for each sale. @param {string} of the sale @param {string} tone "good", "bad" or "news" @param {string} text @param {string} key */
function notice(of, tone, text, key) {
  notices = [{ of, key, tone, text }, ...notices.filter((n, i) => n.key !== key && !(n.of === of && n.tone === "good") && (i < 6 || n.tone !== "news"))];
}

/** What is said about the changes of a sale, or of every sale that is not shown. @param {(saleId: string) => boolean} of */
function said(of) {
  const one = (/** @type {string} */ key, /** @type {string} */ tone, /** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ press) =>
    h("p", { "data-key": key, class: "notice", "data-tone": tone }, h("span", { dir: "auto" }, text), h("button", { class: "plain", onclick: () => (press(), render()) }, label));
  return [
    ...[...sending.values()].filter((o) => of(o.saleId)).map((o) => one(o.saleId + o.body.id, "busy", doingOf(o), words.stop, () => drop(o, words.stopped))),
    ...notices.filter((n) => of(n.of)).map((n) => one(n.key, n.tone, n.text, words.dismiss, () => (notices = notices.filter((m) => m !== n)))),
  ];
}

/** Where a change is that is not certain yet. @param {Order} o */
const doingOf = (o) => fill(!token() ? words.signInToGoOn : o.uncertain ? words.uncertain : words.sending, o.name, word(words.doing, o.body.action), o.tries);

// Changing.

/** @typedef {{saleId: string, name: string, sub: string, body: Change, tries: number, uncertain: boolean, begun?: boolean, stop: AbortController}} Order sub is its author's */
/** The changes that are not certain yet, by sale. @type {Map<string, Order>} */
const sending = new Map();
/** The sales that have a new change and were not read since: what is shown of them is not whole. @type {Set<string>} */
const unread = new Set();
/** @param {Sale} s */
const busy = (s) => sending.has(s.saleId) || unread.has(s.saleId);

/** The one that others overtook, to be asked again. @type {Order | undefined} */
let again;

/** Remembers them over a reload and a sign-in. */
const keep = () => sessionStorage.setItem("sending", JSON.stringify([...sending.values()].map(({ saleId, name, sub, body }) => ({ saleId, name, sub, body }))));

/** Recalls those that were not certain when the page was left. */
function remember() {
  try {
    for (const { saleId, name, sub, body } of JSON.parse(sessionStorage.getItem("sending") ?? "[]")) sending.set(saleId, { saleId, name, sub, body, tries: 1, uncertain: true, stop: new AbortController() });
  } catch {
    // It was not written by this page.
  }
}

/** Sends them, if it is still their author who is signed in: nobody's change is made in another one's name. */
function goOn() {
  for (const o of sending.values()) if (o.sub !== me.actor) drop(o, words.anothers);
  for (const o of sending.values()) if (!o.begun) run(o);
}

/**
 * Sends a change. A pause does not wait for the change before, which is not sent again then: it
 * might undo the pause.
 * @param {Sale} s @param {Change} body
 */
function send({ saleId, name }, body) {
  const other = sending.get(saleId);
  if (other?.body.action === body.action) return;
  if (other) drop(other, words.superseded);
  again = undefined;
  sending.set(saleId, { saleId, name: name || saleId, sub: me.actor, body, tries: 0, uncertain: false, stop: new AbortController() });
  keep();
  goOn();
}

/** Sends a change until the answer is final, as it is: with what its author had seen. @param {Order} o */
async function run(o) {
  const { saleId, body } = o;
  o.begun = true;
  const is = () => sending.get(saleId) === o;
  while (is() && token()) {
    o.tries++;
    render();
    const a = await call("POST", path(saleId) + "/changes", token(), body, o.stop.signal);
    if (!is()) return;
    if (a.code === "unauthorized") expire();
    else if (!passing(a)) {
      sending.delete(saleId);
      keep();
      if (!a.code) heard.add(body.id);
      settle(o, a);
      nudge();
    } else o.uncertain = true;
    render();
    if (is() && token()) await rest(a, o.tries);
  }
}

/** Sends a change no more, though nobody knows whether it was done. @param {Order} o @param {string} why */
function drop(o, why) {
  sending.delete(o.saleId);
  o.stop.abort();
  keep();
  notice(o.saleId, "bad", fill(why, o.name, word(words.doing, o.body.action)), o.saleId + o.body.id);
}

/** Shows what a final answer says. @param {Order} o @param {Answer} a */
function settle(o, a) {
  const { action } = o.body;
  unread.add(o.saleId);
  if (action === "cancel" && buyer?.of === o.saleId) find(buyer.of, buyer.user);
  if (a.code === "changed-meanwhile" && action !== "cancel") {
    again = o;
    return notice(o.saleId, "bad", fill(words.meanwhile, o.name, word(words.doing, action), betweenOf(a.body.change)), o.saleId + o.body.id);
  }
  if (a.code) {
    const why = a.code === "forbidden" ? words.needsOperator : fill(words.refused, o.name, word(words.doing, action), String(a.body.detail ?? a.code));
    return notice(o.saleId, "bad", why, o.saleId + o.body.id);
  }
  const { paused, opensAt, closesAt, payUntil, recalledAt, seeded } = a.body;
  const did = { cancel: order.did(a.body), extend: fill(words.didExtend, local(payUntil)), pause: words.didPause, resume: words.didResume, recall: words.didRecall, add: fill(words.didAdd, number(seeded)), reschedule: fill(words.didReschedule, local(opensAt), local(closesAt)) }[action];
  notice(o.saleId, "good", fill(a.body.applied === false && o.tries === 1 ? words.already : words.done, o.name, did), o.saleId + o.body.id);
  for (const s of [sale, ...(sales ?? [])]) {
    if (s?.saleId !== o.saleId || action === "cancel") continue;
    if (action === "add") s.seeded = seeded;
    else Object.assign(s, { paused, opensAt, closesAt, payUntil, recalledAt, state: recalledAt ? "RECALLED" : paused ? "PAUSED" : s.state });
  }
}

/** Pauses at once. @param {Sale} s @param {string} [note] */
function pause(s, note) {
  send(s, { id: crypto.randomUUID(), action: "pause", ...(note && { note }) });
}

// Asking.

/** What the answer is to: saw is of the sale as the dialog shows it. @type {{action: Asked, stamp: string, saw: string, seen: boolean, trouble: string, checking: boolean} | undefined} */
let ask;
const dialog = () => /** @type {HTMLDialogElement} */ (element("ask"));

/** @param {Asked} action @param {Partial<Change>} [was] what was asked before and is asked again */
function open(action, was) {
  ask = { action, stamp: stampOf(sale), saw: sale?.seen, seen: !!was, trouble: "", checking: false };
  show(dialog(), []);
  render();
  dialog().showModal();
  for (const [id, value] of Object.entries({ why: was?.note, units: was?.stock, opens: was?.opensAt && fieldTime(was.opensAt), closes: was?.closesAt && fieldTime(was.closesAt), until: was?.until && fieldTime(was.until) })) {
    if (value && element(id)) /** @type {HTMLInputElement} */ (element(id)).value = String(value);
  }
  render(); // with what is in its fields
}

/** Closes the dialog, which tells it only later. */
function close() {
  ask = undefined;
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
  const body = { id: crypto.randomUUID(), ...(note && { note }), ...(ask?.action !== "recall" && { seen: ask?.saw }) };
  const [opens, closes] = [instant("opens", s.opensAt), instant("closes", s.closesAt)];
  switch (ask?.action) {
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
  const asked = ask;
  if (!asked || !sale || asked.checking) return;
  const body = wanted(sale);
  asked.trouble = "";
  render(); // so that the same trouble is said again
  if (stampOf(sale) !== asked.stamp) { // it is said already
    [asked.stamp, asked.saw] = [stampOf(sale), sale.seen];
    return render();
  }
  if (typeof body === "string") asked.trouble = word(words, body);
  if (typeof body === "string") return render();
  asked.checking = true;
  render();
  const a = await call("GET", path(sale.saleId), token());
  if (ask !== asked) return;
  asked.checking = false;
  if (a.code === "unauthorized") expire();
  if (a.code) asked.trouble = words.cannotCheck;
  else {
    sale = a.body;
    if (stampOf(sale) === asked.stamp) {
      close();
      send(sale, body);
    } else nudge();
  }
  render();
}

/** The instant of a field's value; none of a time that the zone's clocks leave out. @param {string} text */
function fromField(text) {
  const at = new Date(text && text + (utc ? "Z" : ""));
  return +at && fieldTime(at.toISOString()) === text.padEnd(19, ":00") ? at : new Date(NaN);
}

/** The zone in which times are shown. */
const zone = () => (utc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone);

/** Shows times in UTC, or no longer: those in fields stay the same instants. */
function turnZone() {
  const fields = [.../** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("main [type=datetime-local]"))].map((f) => ({ f, at: fromField(f.value) }));
  utc = !utc;
  for (const { f, at } of fields) {
    if (+at) f.value = fieldTime(at.toISOString());
    f.dispatchEvent(new Event("input"));
  }
  render();
}

/** A value for a field of date and time. @param {string} iso */
function fieldTime(iso) {
  const d = new Date(iso);
  return new Date(d.getTime() - (utc ? 0 : d.getTimezoneOffset() * 60000)).toISOString().slice(0, 19);
}

/** The dialog: the effect in numbers, what it needs, and both answers. @param {Sale} s */
function asking(s) {
  if (!ask) return [];
  const { action, stamp, trouble, checking } = ask;
  const Name = action[0].toUpperCase() + action.slice(1);
  const moved = stampOf(s) !== stamp;
  ask.seen ||= moved;
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
      ask.seen && h("p", { class: "warns", role: "alert" }, last ? fill(words.movedBy, toldOf(s, last)) : words.moved),
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

/** @param {string} id @param {string} label @param {Record<string, unknown>} properties */
const field = (id, label, properties) => h("p", { class: "field", "data-key": id }, h("label", { for: id }, label), h("input", { id, autocomplete: "off", oninput: render, ...properties }));

// Showing.

/** An instant as text. @param {string} iso @param {boolean} [inUTC] */
const local = (iso, inUTC = utc) => (Number.isNaN(Date.parse(iso)) ? "?" : new Date(iso).toLocaleString(language, { dateStyle: "medium", timeStyle: "medium", timeZone: inUTC ? "UTC" : undefined }));

/** An instant, with its UTC on hover. @param {string} iso @param {string} [before] */
const time = (iso, before = "") => h("time", { datetime: iso, translate: "no", title: local(iso, true) + " UTC" }, before + local(iso));

/** How long ago an instant was. @param {string} iso */
const ago = (iso) => duration(now() - Date.parse(iso));

/** @param {string} name @param {Child | Child[]} value @param {string} [tone] */
const fact = (name, value, tone) => h("div", { class: tone }, h("dt", {}, name), h("dd", {}, ...[value].flat()));

/** Units left; undefined if nobody has counted them. @param {Sale} s */
const unitsOf = (s) => s.remaining?.units ?? s.books?.stock;

/** What a window means now. @param {string} opensAt @param {string} closesAt */
function phase(opensAt, closesAt) {
  const [opens, closes] = [Date.parse(opensAt), Date.parse(closesAt)];
  if (now() < opens) return fill(words.opensIn, duration(opens - now()));
  return now() < closes ? words.sells + words.comma + fill(words.closesIn, duration(closes - now())) : fill(words.closedSince, duration(now() - closes));
}

/** How long the oldest order waits for its id, if it still does: as counted, and since. @param {Sale} s */
const waits = (s) => (s.books?.pending > 0 ? 1000 * s.books.oldestPendingSeconds + now() - Date.parse(s.books.asOf) : 0);

/** An order has its id within seconds, and is counted every minute. @param {Sale} s */
const hangs = (s) => waits(s) >= 90000 || (waits(s) > 0 && s.books?.oldestPendingSeconds >= 30);

/** What may be wrong with a sale, the alarm whose entry in the runbook helps, and its heading there. @type {[string, (s: Sale) => unknown, string, string][]} */
const wrongs = [
  [words.unbalanced, (s) => s.books?.balanced === false, "BooksWrongAlarm", "bookswrongalarm"],
  [words.hang, hangs, "OldestPendingAlarm", "oldestpendingalarm"],
  [words.uncounted, (s) => s.books && !s.drained && now() - Date.parse(s.books.asOf) >= 600000, "ReconcileSilentAlarm", "tickets-the-functions"],
];

/** @param {Sale} s */
const troubles = (s) => wrongs.filter(([, is]) => is(s));

/** @param {Sale} s */
const unwell = (s) => {
  const { runbook } = document.documentElement.dataset;
  return troubles(s).length > 0 && h("ul", { class: "troubles" }, troubles(s).map(([what, , alarm, heading]) => h("li", { "data-key": alarm }, what + " · ", h("a", { href: runbook ? runbook + "#" + heading : undefined }, fill(words.runbook, alarm)))));
};

/** The state of a sale, and what else is true of it. @param {Sale} s */
const badge = (s) => h("span", { class: "badge", "data-state": s.state, "data-unwell": troubles(s).length > 0 }, word(words.state, s.state), s.drained && words.comma + words.isDrained, hangs(s) && words.comma + words.hang);

/** What a sale's window means in its state. @param {Sale} s */
const phaseOf = (s) => (s.state === "RECALLED" || s.state === "DRAFT" ? "" : phase(s.opensAt, s.closesAt).replace(words.sells + words.comma, ""));

/** The bar of the units that are left. @param {Sale} s @param {string} id */
function bar(s, id) {
  const left = unitsOf(s);
  if (left === undefined || !s.seeded) return h("p", { class: "left" }, words.unitsLeft + words.colon + words.notCounted);
  return h("div", { class: "left" }, h("progress", { max: s.seeded, value: left, "aria-labelledby": id }), h("p", { id }, fill(s.recalledAt ? words.unsold : words.left, number(left), number(s.seeded))));
}

/** What the last count of a sale says. @param {Sale} s */
function counts(s) {
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
const findings = (s) => s.books?.balanced === false && h("ul", { class: "findings", lang: "en" }, (s.books.findings ?? []).map((/** @type {unknown} */ f) => h("li", {}, typeof f === "string" ? f : JSON.stringify(f))));

const mayChange = () => me.role === "operator";
/** @param {Sale} s */
const mayPause = (s) => mayChange() && !s.paused && ["OPEN", "NOT_OPEN", "SOLD_OUT"].includes(s.state);

/** @param {Sale} s */
const pausing = (s) => sending.get(s.saleId)?.body.action === "pause";

/** @param {Sale} s */
function card(s) {
  if (s.error) return h("li", { "data-key": s.saleId, class: "card" }, h("h2", {}, h("a", { href: "#sale/" + s.saleId }, s.saleId)), h("p", { class: "bad" }, fill(words.cannotRead, s.error)));
  return h("li", { "data-key": s.saleId, tabindex: -1, class: "card" + (troubles(s).length ? " wrong" : "") },
    h("div", { class: "head" },
      h("div", {}, h("h2", {}, h("a", { href: "#sale/" + s.saleId, dir: "auto" }, s.name || s.saleId)), h("p", { class: "faint", translate: "no" }, s.saleId)),
      badge(s),
      pauseOf(s.saleId)),
    h("p", { class: "faint" }, time(s.opensAt), " – ", time(s.closesAt), phaseOf(s) && " · " + phaseOf(s)),
    said((of) => of === s.saleId),
    unwell(s),
    h("div", { class: "body" }, bar(s, "left-" + s.saleId), counts(s)), findings(s));
}

/** The sales in the order in which they are looked for: a pause moves none. @param {Sale[]} all */
const sorted = (all) => {
  const over = (/** @type {Sale} */ s) => (["CLOSED", "RECALLED"].includes(s.state) ? 1 : 0);
  return [...all].sort((a, b) => over(a) - over(b) || (Date.parse(a.opensAt) || 0) - (Date.parse(b.opensAt) || 0) || (a.saleId < b.saleId ? -1 : 1));
};

/** The cards of sales. A group has one, where its first sale stands, and all its sales. @param {Sale[]} found @param {Sale[]} all */
const cards = (found, all) => found.map((s, i) => {
  if (!s.limitGroup) return card(s);
  return found.findIndex((one) => one.limitGroup === s.limitGroup) === i && group.card(s.limitGroup, all.filter((one) => one.limitGroup === s.limitGroup));
});

/** All sales at a glance. */
function glance() {
  const all = sales ?? [];
  const found = sorted(all.filter((s) => [s.saleId, s.name, s.limitGroup].join(" ").toLowerCase().includes(filter)));
  const type = (/** @type {Event} */ { target }) => {
    const { value, checked, type } = /** @type {HTMLInputElement} */ (target);
    if (type === "checkbox") (drained = checked), nudge();
    else (filter = value.trim().toLowerCase()), render();
  };
  const count = (/** @type {(s: Sale) => unknown} */ is) => all.filter(is).length;
  const due = all.reduce((n, s) => n + (s.books?.refundsDue ?? 0), 0);
  const wrong = wrongs.filter(([, is]) => count(is)).map(([what, is]) => fill(words.withN, count(is), what)).join(" · ");
  const summary = [fill(words.shown, all.length), fill(words.selling, count((s) => s.state === "OPEN")), fill(words.pausedN, count((s) => s.paused && !s.recalledAt)), due && fill(words.dueN, number(due))].filter(Boolean).join(" · ");
  return [
    h("div", { "data-key": "glance" },
      h("h1", {}, words.page),
      sales && h("p", {}, summary, " · ", h("b", { class: wrong ? "bad" : undefined }, wrong || (count((s) => s.books) ? words.allBalanced : words.notCounted)), " · ", h("a", { href: "#refunds" }, words.refunds.link)),
      h("div", { class: "tools" },
        h("p", { class: "field" }, h("label", { for: "filter" }, words.filter), h("input", { id: "filter", type: "search", autocomplete: "off", value: filter, oninput: type })),
        mayChange() && h("p", { "data-key": "create", class: "check" }, h("a", { href: "#create" }, words.create)),
        h("label", { class: "check" }, h("input", { id: "drained", type: "checkbox", checked: drained, onchange: type }), words.drained)),
      sales ? h("ul", { class: "cards" }, cards(found, all)) : h("p", {}, words.loading),
      sales && !found.length && h("p", {}, all.length ? words.noneFound : words.none)),
  ];
}

/** One sale with everything, and its actions. @param {string} id */
function whole(id) {
  const s = sale?.saleId === id ? sale : undefined;
  const top = h("p", {}, h("a", { href: "#" }, "← " + words.all));
  if (!s || s.error) {
    const why = s?.error ? fill(words.cannotRead, s.error) : code === "sale-not-found" ? words.noSale : code && !failing ? fill(words.cannotRead, code) : words.loading;
    return [h("div", { "data-key": "none " + id }, top, h("h1", {}, id), h("p", {}, why))];
  }
  return [
    h("div", { "data-key": "sale " + id },
      top,
      h("div", { class: "head" }, h("div", {}, h("h1", { dir: "auto" }, s.name || id), h("p", { class: "faint", translate: "no" }, id)), badge(s)),
      s.recallNote && h("p", {}, fill(words.because, s.recallNote)),
      s.recalling && h("p", { class: "warns" }, words.recalling),
      mayChange() && s.state !== "DRAFT" && !s.recalledAt ? actions(s) : said((of) => of === id),
      unwell(s),
      bar(s, "left"),
      h("dl", {}, fact(words.opens, time(s.opensAt)), fact(words.closes, time(s.closesAt)), phaseOf(s) && fact(words.window, phaseOf(s)), s.draw && [fact(words.entering, [time(s.draw.enterFrom), " – ", time(s.draw.enterUntil)]), s.draw.call > 0 && fact(fill(words.call, s.draw.call), [time(s.draw.from), " – ", time(s.draw.until)])], s.payUntil && fact(words.payUntil, time(s.payUntil))),
      counts(s), findings(s),
      mayChange() && h("p", {}, h("a", { href: "#create/" + id }, words.copy)),
      h("p", { class: "faint" }, [fill(words.shards, number(s.shards)), s.payWithin > 0 && fill(words.payWithin, duration(1000 * s.payWithin)), s.lateDays > 0 && fill(words.lateDays, s.lateDays), s.limitGroup && fill(words.group, s.limitGroup)].filter(Boolean).join(" · ")),
      moneyOf([s], views, "#refunds/sale/" + id),
      chart ? chart.view(s) : missing && absent(),
      h("section", { "data-key": "trail", "aria-labelledby": "trail" }, h("h2", { id: "trail" }, words.trail), changes(id)),
      h("section", { "data-key": "buyer", "aria-labelledby": "buyer" }, h("h2", { id: "buyer" }, words.buyer), search(s))),
  ];
}

/** @param {Sale} s */
function actions(s) {
  const button = (/** @type {Asked} */ action) => h("button", { "data-key": action, class: action, "aria-disabled": busy(s), onclick: () => busy(s) || open(action) }, words[action]);
  return h("section", { "data-key": "actions", class: "actions", tabindex: -1, "aria-label": words.actions },
    said((of) => of === s.saleId),
    mayPause(s) && h("div", { "data-key": "pausing", class: "pausing" },
      h("button", { class: "pause", "aria-describedby": "helps", "aria-disabled": pausing(s), onclick: () => pause(s, typed("note")) }, words.pause),
      field("note", words.note, { maxlength: 500 }),
      h("p", { id: "helps", class: "faint" }, words.pauseHelp)),
    h("p", { "data-key": "others", class: "others" }, s.paused && button("resume"), button("reschedule"), s.payWithin > 0 && button("extend"), button("add"), button("recall")));
}

/** @param {string} id */
function changes(id) {
  if (trail?.of !== id) return h("p", {}, words.loading);
  if (!trail.changes.length) return h("p", {}, words.noTrail);
  return h("div", {},
    h("ol", { class: "trail" }, trail.changes.map((c) => h("li", { "data-key": c.id + " " + c.action },
      h("p", {}, time(c.at), " ", h("b", { dir: "auto" }, c.actor || words.nobody), c.actor && h("small", { class: c.verified ? "sure" : "told" }, c.verified ? "✓ " + words.verified : words.asTold), " ", didOf(c)),
      c.note && h("blockquote", { dir: "auto" }, c.note)))),
    trail.more && h("p", { class: "faint" }, words.older));
}

/** Asks for a buyer's story. @param {string} saleId @param {string} user */
async function find(saleId, user) {
  const b = (buyer = { of: saleId, user, answer: buyer?.of === saleId && buyer.user === user ? buyer.answer : undefined });
  render();
  const answer = await call("GET", path(saleId) + "/buyers/" + encodeURIComponent(user), token());
  if (answer.code === "unauthorized") expire();
  if (buyer === b) buyer = { ...b, answer };
  render();
}

/** @param {Sale} s */
function search(s) {
  const ask = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (typed("user")) find(s.saleId, typed("user"));
  };
  const b = buyer?.of === s.saleId ? buyer : undefined;
  const found = b?.answer;
  return h("div", {},
    h("form", { class: "tools", onsubmit: ask, role: "search" }, field("user", words.user, { maxlength: 256, spellcheck: "false", autocapitalize: "off", oninput: undefined }), h("button", {}, words.search)),
    h("div", { role: "status" }, b && (!found ? h("p", {}, words.searching) : found.code ? h("p", { class: "bad" }, fill(words.searchFailed, String(found.body.detail ?? found.code))) : h("div", { class: "story" },
      h("p", {}, h("b", { dir: "auto" }, b.user), " · ", word(words.buyerState, found.body.state), found.body.claimId && " · " + fill(words.claim, found.body.claimId)),
      h("ol", { class: "trail" }, (found.body.lines ?? []).map((/** @type {Sale} */ l) => h("li", {}, l.at && time(l.at), l.at && " ", h("span", {}, l.text)))),
      found.body.forBuyer && h("p", { class: "say" }, h("b", {}, words.say, " "), h("span", {}, found.body.forBuyer)),
      order.cancel(s, found.body)))));
}

/** The page for who is not signed in, or may not look. @param {string} why @param {boolean} button */
const door = (why, button) => [h("div", { "data-key": "door", class: "door" }, h("h1", {}, words.page), h("p", {}, why), button && h("p", {}, h("button", { class: "main", onclick: enter }, words.signIn)))];

/** Signs in, and comes back to this place. */
async function enter() {
  try {
    sessionStorage.setItem("place", location.hash);
    await signIn("", "");
  } catch {
    notice("", "bad", words.noStorage, "sign-in");
    render();
  }
}

function leave() {
  for (const name of ["place", "sending", "draft"]) sessionStorage.removeItem(name);
  signOut("", "");
}

/** @param {string} id */
const nameOf = (id) => [sale, ...(sales ?? [])].find((s) => s?.saleId === id)?.name || id;

/** What no alarm says of the sales that are listed: nobody can buy, though their window is open, or they cannot be read. */
const unsaid = () => (place() ? [] : sales ?? []).flatMap((s) => {
  const alarm = s.error ? "unreadable" : s.paused && !s.recalledAt && Date.parse(s.opensAt) <= now() && now() < Date.parse(s.closesAt) ? "paused" : "";
  return alarm ? { alarm, page: false, runbook: "", saleId: s.saleId } : [];
});

/** The button that pauses a sale at once; none of one that cannot be paused. @param {string} saleId */
const pauseOf = (saleId) => {
  const s = place() === saleId ? sale : sales?.find((one) => one.saleId === saleId);
  return s && mayPause(s) && h("button", { "data-key": "pause", class: "pause", "aria-label": fill(words.pauseOf, s.name || saleId), "aria-disabled": pausing(s), onclick: () => pause(s) }, words.pause);
};

const strip = health({ token, expire, render, mayChange, time, nameOf, unsaid, pauseOf });
const views = {
  token, expire, render, now, send, said, refundsPlace, typed, field, fact, time, local, ago, word, badge, bar, findings, unwell, troubles, mayChange, mayPause, pausing, busy, nameOf, me: () => me, zone: () => (utc ? "UTC" : undefined),
};
const group = groups(views);
const order = orders(views);

/** Shows the page as it is. */
function render() {
  const id = place();
  const inGroup = groupPlace();
  const inside = !!token();
  const old = !Number.isNaN(read) && (failing || performance.now() - read > 3 * every);
  const age = Number.isNaN(read) ? (failing ? words.noAnswer : "") : fill(!navigator.onLine ? words.offline : old ? words.stale : words.asOf, duration(performance.now() - read));
  show(element("top"), inside ? [
    h("p", {}, me.role && h("b", { dir: "auto" }, me.actor), me.role && " " + word(words, me.role)),
    h("p", { class: old || failing ? "bad" : "faint" }, code === "forbidden" ? "" : age),
    h("p", {}, h("button", { class: "plain", onclick: leave }, words.signOut)),
  ] : []);
  // Screen readers say here what is shown beside each sale.
  show(element("told"), [...[...sending.values()].map(doingOf), ...notices.map((n) => n.text)].map((text) => h("p", { "data-key": text }, text)));
  const beside = new Set(!inside || code === "forbidden" ? [] : id ? [id] : refundsPlace() ? [] : sales?.map((s) => s.saleId));
  const others = said((of) => !beside.has(of));
  element("others").hidden = !others.length;
  show(element("others"), others);
  const copied = making();
  const shown = !inside ? door(ended(now()) ? words.signedOut : available ? words.signInFirst : words.noSignIn, available) :
    code === "forbidden" ? door(words.needsViewer, false) : copied !== undefined && mayChange() ? (form ? form.view(copied) : [absent(words.create)]) : id ? whole(id) : inGroup ? group.view(inGroup, sales, code) : refundsPlace() ? (list ? list.view() : [absent(words.refunds.title)]) : glance();
  element("main").className = old ? "old" : "";
  show(element("health"), inside && me.role ? strip.view() : []);
  const heading = shown[0] instanceof Element && shown[0].querySelector("h1")?.textContent;
  show(/** @type {Element} */ (document.querySelector("title")), [[...new Set([heading, words.page])].filter(Boolean).join(" · ")]);
  show(element("main"), shown);
  show(element("foot"), inside ? [h("p", {}, fill(words.zone, zone())), (utc || zone() !== "UTC") && h("button", { class: "plain", onclick: turnZone }, utc ? words.showLocal : words.showUTC)] : []);
  if (ask && (!sale || sale.saleId !== id || !inside)) return close();
  show(dialog(), ask && sale ? asking(sale) : []);
}

/** The page at /signin, to which the identity provider sends the person back. */
async function callback() {
  show(element("main"), [h("p", {}, words.signingIn)]);
  const { done } = await finish();
  let to = "/";
  try {
    to += sessionStorage.getItem("place") ?? "";
  } catch {
    // Without storage nobody is signed in.
  }
  to = to.startsWith("/#") ? to : "/";
  if (done) location.replace(to);
  else show(element("main"), [h("h1", {}, words.page), h("p", {}, words.signInFailed), h("p", {}, h("a", { href: to }, words.back))]);
}

document.documentElement.lang = language === "zh" ? "zh-CN" : language;
document.title = words.page;
element("others").ariaLabel = words.trail;
if (location.pathname === "/signin") callback();
else {
  dialog().onclose = () => dialog().open || close();
  addEventListener("hashchange", ({ oldURL }) => {
    load();
    buyer = again = undefined;
    if (groupPlace() || oldURL.includes("#group/")) sales = undefined;
    nudge();
    render();
    element("main").focus();
    scrollTo(0, 0);
  });
  for (const event of ["online", "offline"]) addEventListener(event, () => (nudge(), render()));
  document.addEventListener("visibilitychange", () => document.hidden || nudge());
  remember();
  render();
  poll();
  strip.poll();
  load();
  setInterval(render, 1000);
}
