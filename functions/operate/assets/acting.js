// The changes that are made here: each has an id, made once, and is sent again under it until the answer is
// certain, also over a sign-in. What became of it is a notice, and so is what others have changed.

import { call, passing, rest } from "./api.js";
import { h, render } from "./elements.js";
import { cancelled } from "./order.js";
import { buyer, find, mayChange, me, most, nudge, path, sale, sales, token, unread } from "./reading.js";
import { expire } from "./signin.js";
import { local } from "./times.js";
import { fill, number, word, words } from "./words.js";

/** @typedef {import("./api.js").Answer} Answer */
/** @typedef {import("./reading.js").Sale} Sale */
/** @typedef {"resume" | "reschedule" | "extend" | "add" | "recall"} Asked an action that asks first */
/** @typedef {{id: string, action: Asked | "pause" | "cancel", note?: string, opensAt?: string, closesAt?: string, until?: string, stock?: number, version?: string, orderId?: string, expected?: string, unit?: string}} Change */

/** The ids of the changes that are known here: made for certain, or told. @type {Set<string>} */
const heard = new Set();

/** Tells what others have changed. @param {Sale} s @param {{edits: number, seeded: number, at: number} | undefined} was when it was read before @param {Sale[]} changes newest first */
export function news(s, was, changes) {
  // An addition bears the time at which it began.
  const fresh = changes.filter((c) => was && (c.n ? c.n > was.edits : was.seeded !== s.seeded && Date.parse(c.at) > was.at - 60000) && !heard.has(c.id) && sending.get(s.saleId)?.body.id !== c.id);
  for (const c of changes) if (sending.get(s.saleId)?.body.id !== c.id) heard.add(c.id);
  for (const c of fresh.slice(0, most).reverse()) notice(s.saleId, "news", toldOf(s, c) + (c.note ? " “" + c.note + "”" : ""), "change " + c.id);
}

/** Who did what, in a sentence. @param {Sale} s @param {Sale} c */
export const toldOf = (s, c) => fill(words.told, s.name || s.saleId, c.actor || words.nobody, didOf(c));

/** Who changed the sale meanwhile, what, when and why, as far as the API can tell. @param {Sale | undefined} c */
const betweenOf = (c) => (c ? fill(words.between, c.actor || words.nobody, didOf(c), local(c.at)) + (c.note ? " “" + c.note + "”" : "") : "");

/** What a change did. @param {Sale} c */
export function didOf(c) {
  const what = ["name", "image", "about", "link"].filter((f) => f in c);
  const values = c.action === "describe" ? [what.join(", ")] : "units" in c ? [number(c.units)] : c.action === "extend" ? [local(c.payUntil)] : [local(c.opensAt), local(c.closesAt)];
  return c.action in words.did ? fill(word(words.did, c.action), ...values) : fill(words.otherDid, c.action);
}

// Notices.

/** @type {{of: string, key: string, tone: string, text: string}[]} Newest first. */
export let notices = [];

/** Of news the latest stay, of outcomes one for each sale. @param {string} of the sale @param {string} tone "good", "bad" or "news" @param {string} text @param {string} key */
export function notice(of, tone, text, key) {
  notices = [{ of, key, tone, text }, ...notices.filter((n, i) => n.key !== key && !(n.of === of && n.tone === "good") && (i < 6 || n.tone !== "news"))];
}

/** What is said about the changes of a sale, or of every sale that is not shown. @param {(saleId: string) => boolean} of */
export function said(of) {
  const one = (/** @type {string} */ key, /** @type {string} */ tone, /** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ press) =>
    h("p", { "data-key": key, class: "notice", "data-tone": tone }, h("span", { dir: "auto" }, text), h("button", { class: "plain", onclick: () => (press(), render()) }, label));
  return [
    ...[...sending.values()].filter((o) => of(o.saleId)).map((o) => one(o.saleId + o.body.id, "busy", doingOf(o), words.stop, () => drop(o, words.stopped))),
    ...notices.filter((n) => of(n.of)).map((n) => one(n.key, n.tone, n.text, words.dismiss, () => (notices = notices.filter((m) => m !== n)))),
  ];
}

/** Where a change is that is not certain yet. @param {Order} o */
export const doingOf = (o) => fill(!token() ? words.signInToGoOn : o.uncertain ? words.uncertain : words.sending, o.name, word(words.doing, o.body.action), o.tries);

// Changing.

/** @typedef {{saleId: string, name: string, sub: string, body: Change, tries: number, uncertain: boolean, begun?: boolean, stop: AbortController}} Order sub is its author's */
/** The changes that are not certain yet, by sale. @type {Map<string, Order>} */
export const sending = new Map();
/** @param {Sale} s */
export const busy = (s) => sending.has(s.saleId) || unread.has(s.saleId);

/** The one that others overtook, to be asked again. @type {Order | undefined} */
export let overtaken;

/** Asks it no more. */
export const forget = () => void (overtaken = undefined);

/** Remembers them over a reload and a sign-in. */
const keepSending = () => sessionStorage.setItem("sending", JSON.stringify([...sending.values()].map(({ saleId, name, sub, body }) => ({ saleId, name, sub, body }))));

/** Recalls those that were not certain when the page was left. */
export function remember() {
  try {
    for (const { saleId, name, sub, body } of JSON.parse(sessionStorage.getItem("sending") ?? "[]")) sending.set(saleId, { saleId, name, sub, body, tries: 1, uncertain: true, stop: new AbortController() });
  } catch {
    // It was not written by this page.
  }
}

/** Sends them, if it is still their author who is signed in: nobody's change is made in another one's name. */
export function goOn() {
  for (const o of sending.values()) if (o.sub !== me.actor) drop(o, words.anothers);
  for (const o of sending.values()) if (!o.begun) run(o);
}

/**
 * Sends a change. A pause does not wait for the change before, which is not sent again then: it
 * might undo the pause.
 * @param {Sale} s @param {Change} body
 */
export function send({ saleId, name }, body) {
  const other = sending.get(saleId);
  if (other?.body.action === body.action) return;
  if (other) drop(other, words.superseded);
  overtaken = undefined;
  sending.set(saleId, { saleId, name: name || saleId, sub: me.actor, body, tries: 0, uncertain: false, stop: new AbortController() });
  keepSending();
  goOn();
}

/** Sends a change until the answer is final, as it is: with the version that its author had read. @param {Order} o */
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
      keepSending();
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
  keepSending();
  notice(o.saleId, "bad", fill(why, o.name, word(words.doing, o.body.action)), o.saleId + o.body.id);
}

/** Shows what a final answer says. @param {Order} o @param {Answer} a */
function settle(o, a) {
  const { action } = o.body;
  unread.add(o.saleId);
  if (action === "cancel" && buyer?.of === o.saleId) find(buyer.of, buyer.user);
  if (a.code === "changed-meanwhile" && action !== "cancel") {
    overtaken = o;
    return notice(o.saleId, "bad", fill(words.meanwhile, o.name, word(words.doing, action), betweenOf(a.body.change)), o.saleId + o.body.id);
  }
  if (a.code) {
    const why = a.code === "forbidden" ? words.needsOperator : fill(words.refused, o.name, word(words.doing, action), String(a.body.detail ?? a.code));
    return notice(o.saleId, "bad", why, o.saleId + o.body.id);
  }
  const { paused, opensAt, closesAt, payUntil, recalledAt, seeded } = a.body;
  const did = { cancel: cancelled(a.body), extend: fill(words.didExtend, local(payUntil)), pause: words.didPause, resume: words.didResume, recall: words.didRecall, add: fill(words.didAdd, number(seeded)), reschedule: fill(words.didReschedule, local(opensAt), local(closesAt)) }[action];
  notice(o.saleId, "good", fill(a.body.applied === false && o.tries === 1 ? words.already : words.done, o.name, did), o.saleId + o.body.id);
  for (const s of [sale, ...(sales ?? [])]) {
    if (s?.saleId !== o.saleId || action === "cancel") continue;
    if (action === "add") s.seeded = seeded;
    else Object.assign(s, { paused, opensAt, closesAt, payUntil, recalledAt, state: recalledAt ? "RECALLED" : paused ? "PAUSED" : s.state });
  }
}

/** Pauses at once. @param {Sale} s @param {string} [note] */
export function pause(s, note) {
  send(s, { id: crypto.randomUUID(), action: "pause", ...(note && { note }) });
}

/** @param {Sale} s */
export const mayPause = (s) => mayChange() && !s.paused && ["OPEN", "NOT_OPEN", "SOLD_OUT"].includes(s.state);

/** @param {Sale} s */
export const pausing = (s) => sending.get(s.saleId)?.body.action === "pause";
