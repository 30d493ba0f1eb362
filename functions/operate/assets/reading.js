// What is read of the operators' API, and where the person is. The page polls while it is seen, one request
// at a time. Nothing here writes: acting.js does.

import { call, passing } from "./api.js";
import { render } from "./elements.js";
import { groupPlace } from "./group.js";
import { expire, tokenAt, validSale } from "./signin.js";

/** @typedef {import("./api.js").Answer} Answer */
/** @typedef {Record<string, any>} Sale as the API shows it, and so are changes and books */

/** How often the page reads, and how long it waits at most after errors, in milliseconds. */
export const every = 5000;
const longest = 60000;
/** The most sales of which one reading asks who changed them. */
export const most = 3;

/** @type {{actor: string, role: string, roles: string[]}} */
export let me = { actor: "", role: "", roles: [] };
/** @type {Sale[] | undefined} */
export let sales;
/** @type {Sale | undefined} The one that is looked at. */
export let sale;
/** @type {{of: string, changes: Sale[], more: boolean, stamp: string, read: number} | undefined} */
export let trail;
/** @type {{of: string, user: string, answer?: Answer} | undefined} */
export let buyer;
export let code = ""; // of the latest reading, "" if it was a success
export let failing = false; // the latest reading has no final answer
export let drained = false;
export let readAt = NaN; // when what is shown was read, by performance.now()
let offset = 0; // the API's time less performance.now()
let turn = 0; // of readings: one that a change or another place overtakes is not shown

/** What a sale's changes were when it was last read. @type {Map<string, {edits: number, seeded: number, at: number}>} */
const before = new Map();

/** The sales that have a new change and were not read since: what is shown of them is not whole. @type {Set<string>} */
export const unread = new Set();

export const now = () => performance.now() + offset;

/** The person's token, if it is valid by the API's clock. */
export const token = () => tokenAt(now());

/** Where the person is. */
export function place() {
  const [kind, id = ""] = location.hash.slice(1).split("/");
  return kind === "sale" && validSale(id) ? id : "";
}

/** What is copied by the form that creates sales, "" for nothing; undefined if it is not shown. */
export const making = () => {
  const [kind, id = ""] = location.hash.slice(1).split("/");
  return kind === "create" ? (validSale(id) ? id : "") : undefined;
};

/** Whose refunds the page's address asks for: "all", "sale/…" or "group/…"; "" elsewhere. */
export const refundsPlace = () => {
  const found = /^#refunds(?:\/((?:sale|group)\/[\w-]{1,64}))?$/.exec(location.hash);
  return found ? (found[1] ?? "all") : "";
};

export const path = (/** @type {string} */ id) => "/operate/sales/" + id;

export const mayChange = () => me.role === "operator";

/** @param {string} id */
export const nameOf = (id) => [sale, ...(sales ?? [])].find((s) => s?.saleId === id)?.name || id;

let wake = () => {};

/** Reads again soon: what is on the way is not shown any more. */
export function nudge() {
  turn++;
  wake();
}

/** Shows drained sales, too, or no longer. @param {boolean} too */
export function showDrained(too) {
  drained = too;
  nudge();
}

/** Another place is shown. @param {boolean} group whether it or the one before is a group's */
export function leave(group) {
  buyer = undefined;
  if (group) sales = undefined;
  nudge();
}

/** Shows a sale that was read outside of the turn. @param {Sale} s */
export const replaceSale = (s) => (sale = s);

/** @typedef {{news: (s: Sale, was: {edits: number, seeded: number, at: number} | undefined, changes: Sale[]) => void, goOn: () => void, askAgain: () => void}} After what follows a reading */

/** Reads without an end, one request at a time, while the page is seen. @param {After} after */
export async function poll({ news, goOn, askAgain }) {
  for (let errors = 0; ; ) {
    while (document.hidden || !token()) await new Promise((resolve) => (wake = () => resolve(0)));
    const mark = turn;
    const a = await look(mark, news);
    if (mark !== turn) continue;
    code = a.code;
    failing = passing(a);
    if (code === "unauthorized") expire();
    errors = code ? errors + 1 : 0;
    if (me.actor) goOn();
    render();
    askAgain();
    const wait = code ? Math.max(a.wait, Math.min(every * 2 ** (errors - 1), longest)) * (1 + Math.random() / 4) : every;
    await new Promise((resolve) => {
      wake = () => resolve(0);
      setTimeout(wake, wait);
    });
  }
}

/** Reads what the place shows. @param {number} mark the turn @param {After["news"]} news @returns {Promise<Answer>} */
async function look(mark, news) {
  const id = place();
  if (!id || !me.role) {
    const group = me.role && groupPlace();
    const a = await call("GET", "/operate/sales" + (group ? "?group=" + group : drained ? "?drained=1" : ""), token());
    if (a.code || mark !== turn) return a;
    me = { actor: String(a.body.actor), role: String(a.body.role), roles: a.body.roles ?? [a.body.role] };
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
        if (!t.code) tell(s, t.body.changes, news);
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
  tell(sale, trail.changes, news);
  return a;
}

/** Notes when it was read, and the API's time then. @param {string} asOf */
function clock(asOf) {
  readAt = performance.now();
  if (asOf) offset = Date.parse(asOf) - readAt;
}

/** @param {Sale} s */
const noted = (s) => before.set(s.saleId, { edits: s.edits, seeded: s.seeded, at: now() });

/** What a change changes: another stamp means that somebody did. @param {Sale | undefined} s */
export const stampOf = (s) => JSON.stringify([s?.version, s?.edits, s?.seeded, s?.paused, s?.opensAt, s?.closesAt, s?.recalledAt]);

/** Tells what others have changed since the last reading. @param {Sale} s @param {Sale[]} changes newest first @param {After["news"]} news */
function tell(s, changes, news) {
  const was = before.get(s.saleId);
  noted(s);
  news(s, was, changes);
}

/** Asks for a buyer's story. @param {string} saleId @param {string} user */
export async function find(saleId, user) {
  const b = (buyer = { of: saleId, user, answer: buyer?.of === saleId && buyer.user === user ? buyer.answer : undefined });
  render();
  const answer = await call("GET", path(saleId) + "/buyers/" + encodeURIComponent(user), token());
  if (answer.code === "unauthorized") expire();
  if (buyer === b) buyer = { ...b, answer };
  render();
}
