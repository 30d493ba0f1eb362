// The buyer's page. It reads the sale when it is loaded, shortly before the opening, after the
// end, and while it is seen every minute or so. It counts down by itself, and orders when the
// buyer presses the button.

import { awake, call, now, offline, passing, slept } from "./api.js";
import { load as loadLanguage } from "./language.js";
import { available, ended, expire, finish, renew, signIn, signOut, tokenAt, validSale } from "./signin.js";

/** @typedef {import("./api.js").Answer} Answer */

/**
 * @typedef {object} Sale
 * @property {string} id
 * @property {string} name
 * @property {number} opens in milliseconds since 1970, as all times
 * @property {number} closes
 * @property {string} state as the shop said
 * @property {number} units that are left
 * @property {number} seeded units, sold ones included
 * @property {boolean} about whether units is approximate
 * @property {number} read when the shop said so
 * @property {boolean} mayReturn whether units may come back when all are sold
 * @property {boolean} mustPay whether an order has to be paid
 * @property {string} price as it is shown; "" if there is none
 * @property {string} image
 * @property {string} text
 * @property {string} link
 * @property {boolean} grouped whether an order bars the other sales of a group
 * @property {Record<string, any>} [draw] what the shop says of its draw; a sale without one has none
 */

/** How often a request is repeated that gets no final answer. */
const most = 8;
/** The longest wait between two repeats, besides what the shop asks for. */
const longest = 30000;
/** An order that is too early by up to this is sent again at the opening. */
const soon = 90000;
/** How often a page that is seen reads a sale that may change. What others share is read by all pages. */
const minute = 60000;
/** How often a final state is read as often as one that is not. */
const doubted = 10;

const buyers = await loadLanguage(navigator.languages);
const { countdown, dates, day, dir, language, locale, money, say, time } = buyers;
/** All words; those of a draw are there once its sale is known. @type {import("./language.js").Words & Record<string, any>} */
const words = { ...buyers.words };

const { sale: saleId = "", group = "" } = document.documentElement.dataset;
/** The page's own id: of a sale, or of a group of which the buyer chooses one. */
const pageId = group || saleId;
const at = group ? "g" : "s";
const orderPath = (id = sale?.id ?? saleId) => `/sales/${id}/orders`;
/** @param {string} [id] */
const claimPath = (id) => orderPath(id) + "/me";

/** The buyer's token, if it is valid by the shop's clock. */
const token = () => tokenAt(now());

/** What the page is called before the sale is read. */
const unread = document.querySelector("[property='og:title']")?.getAttribute("content") || words.page;

/** @type {Sale[]} Those of the group, or the one. */
let sales = [];
/** @type {Sale | undefined} The one that the page is about. */
let sale;
let chosen = group && keep(); // id of the sale that the buyer has chosen
/** @type {Record<string, any> | undefined} The buyer's own claim, as the shop shows it. */
let claim;
let already = false; // the claim was there before the order
let elsewhere = ""; // the sale of the group in which the buyer has an order
let broken = ""; // the picture that cannot be loaded
let doing = "reading"; // or "sending", "entering", or "" for nothing
let ordering = false; // the latest request that was repeated was an order
let code = ""; // of the latest answer, "" if it was a success
let gaveUp = false; // the latest answer was not final
let orders = 0; // how many were sent, or may have been before a reload
let reread = Infinity; // when the sale is read again before its opening, or for its draw
let due = Infinity; // by performance.now(), when it is read again if the page is seen
let since = -Infinity; // by performance.now(), when it was read
let same = 0; // how often it was read in the same state
let failed = 0; // how often draw.js did not arrive
let sought = -Infinity; // by performance.now(), when the claim was asked for
let moved = false; // the opening is another one than the page has shown
let trouble = ""; // why the button did nothing
let cancelling = ""; // what is said about cancelling, as it is called in words-en.js
/** @type {ReturnType<import("./draw.js").begin> | undefined} What a sale with a draw has besides. */
let lot;

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 0x7fffffff)));

/**
 * Waits until something is so, which an event may have changed.
 * @param {EventTarget} target @param {string} event @param {() => boolean} is
 */
async function until(target, event, is) {
  while (!is()) await new Promise((resolve) => target.addEventListener(event, resolve, { once: true }));
}

/** The buyer looks at the page. */
const seen = () => until(document, "visibilitychange", () => !document.hidden);

/**
 * Makes a request until its answer is final, or gives up. Pages repeat at different times,
 * and never before the shop's Retry-After. Without a network it does not give up.
 * @param {() => Promise<Answer>} request
 * @param {boolean} [quiet] whether the page shows nothing of it
 */
async function repeat(request, quiet = false) {
  for (let n = 0; ; n++) {
    const a = await request();
    const early = !quiet && ordering && ["sale-not-open", "not-your-turn"].includes(a.code) && a.wait > 0 && a.wait <= soon;
    const again = early || passing(a);
    if (!quiet) [code, gaveUp] = [a.code, again && n === most];
    if (!again || n === most) return a;
    if (!quiet) render();
    if (early) await pause(a.wait + 500 * Math.random());
    else if (!offline()) await pause(a.wait + 500 + Math.random() * Math.min(1000 * 2 ** n, longest));
    else {
      n--;
      // Some browsers miss the event.
      await Promise.race([until(window, "online", () => navigator.onLine), pause(longest * (1 + Math.random()) / 2)]);
      await pause(2000 * Math.random());
    }
  }
}

/** An address that is safe to show; "" for any other. @param {unknown} address @param {string} [own] an origin that may be without https */
function safe(address, own) {
  if (!address || typeof address !== "string") return "";
  try {
    const { protocol, origin, href } = new URL(address, own);
    return protocol === "https:" || origin === own ? href : "";
  } catch {
    return ""; // it is none
  }
}

/** A sale as the shop shows it. @param {Record<string, any>} s @param {string} read @returns {Sale} */
const saleOf = (s, read) => ({
  id: saleId || String(s.saleId), name: String(s.name || s.saleId || saleId), opens: Date.parse(s.opensAt), closes: Date.parse(s.closesAt), state: String(s.state ?? "?"),
  units: Number(s.remaining), seeded: Number(s.seeded), about: !!s.approximate, read: Date.parse(read), mayReturn: !!s.mayReturn,
  mustPay: s.payWithin > 0, price: s.price > 0 && /^[A-Z]{3}$/.test(s.currency) ? money(s.price, s.currency) : "",
  image: safe(s.image), text: typeof s.about === "string" ? s.about : "", link: safe(s.link), grouped: !!s.limitGroup,
  draw: s.draw,
});

const letters = "XXS XS S 小 M 中 L 大 XL XXL 2XL 3XL".split(" ");

/** The place of a size in letters, with which a name ends. @param {Sale} s */
const lettered = ({ name }) => letters.indexOf(name.split(" ").pop() ?? "");

/** @param {Answer} a */
function take(a) {
  if (a.code || (sale && Date.parse(a.body.now) < sale.read)) return; // an older one that comes later
  const before = phase();
  const byName = new Intl.Collator(locale, { numeric: true }).compare;
  sales = (group ? a.body.sales ?? [] : [a.body]).map((/** @type {any} */ s) => saleOf(s, s.now ?? a.body.now)).sort((/** @type {Sale} */ a, /** @type {Sale} */ b) => lettered(a) - lettered(b) || byName(a.name, b.name));
  const kept = claim ? sale?.id : chosen;
  about(sales.find((s) => s.id === kept) ?? sales.find((s) => s.state === "OPEN" || s.state === "NOT_OPEN") ?? sales[0]);
  same = phase() === before ? same + 1 : 0;
}

/**
 * Sets when a page that is seen reads the sale again: every minute or so while it sells or the
 * buyer has an order in it, more rarely before the opening and when it has been sold out or
 * over for a while, and not before the rush of the opening is over. An end may be moved, so it is
 * read before it is announced.
 */
function plan() {
  if (!sale) return;
  const is = phase();
  const held = claim && !["EXPIRED", "CANCELLED"].includes(claim.state);
  const final = (is === "SOLD_OUT" && !sale.mayReturn) || is === "CLOSED";
  const [opens, closes] = [sale.opens - now(), sale.closes - now()];
  const spread = 1 + Math.random() / 2;
  let wait = minute * spread;
  if (!held && is === "NOT_OPEN") wait *= 10;
  if (!held && final && same >= doubted) wait *= 5;
  if (opens > 0 && opens < wait) wait = opens + minute * spread;
  if ((!held && is === "RECALLED") || (is === "CLOSED" && closes < -60 * minute && !payBy())) wait = Infinity;
  for (const end of [sale.closes, lot?.end(sale, "called") ?? NaN]) {
    if (sale.read < end && end - now() < wait) wait = Math.max(end - now(), 0) + 1000 + 9000 * Math.random();
  }
  due = performance.now() + wait;
}

/** Makes a sale the one that the page is about. @param {Sale | undefined} next */
function about(next) {
  const before = next?.id === sale?.id ? sale?.opens ?? NaN : NaN;
  if (next?.id !== sale?.id) moved = false;
  sale = next;
  if (!sale) return;
  moved ||= Math.abs(sale.opens - before) > 0;
  // An opening may be moved, so it is read again before it is announced. Pages do that at
  // different times.
  const left = sale.opens - now();
  if (sale.opens !== before) reread = left > 10000 ? sale.opens - (0.2 + 0.6 * Math.random()) * Math.min(left, 150000) : Infinity;
}

/**
 * Keeps the choice over a sign-in and a reload, if the browser stores anything, and returns it.
 * @param {string} [id]
 */
function keep(id) {
  try {
    if (id) sessionStorage.setItem("chosen " + group, id);
    return sessionStorage.getItem("chosen " + group) ?? "";
  } catch {
    return "";
  }
}

/** Chooses a sale of the group. @param {string} id */
function choose(id) {
  chosen = id;
  keep(id);
  about(sales.find((s) => s.id === id) ?? sale);
  if (!doing && !claim) code = "";
  render();
  learn();
}

/**
 * Makes a request of the buyer's own. A token that has ended, or that the shop does not accept, is
 * renewed first, if the provider lets it be. If that does not answer, there is no answer.
 * @param {string} method @param {string} path @param {string} [key] @returns {Promise<Answer>}
 */
async function own(method, path, key) {
  if (!token() && await renew(now(), true)) return silence;
  const a = await call(method, path, token(), key);
  if (a.code !== "unauthorized") return a;
  expire();
  if (await renew(now())) return silence;
  return token() ? own(method, path, key) : a;
}

/** What is no answer. @type {Answer} */
const silence = { status: 0, code: "busy", body: {}, wait: 0 };

/** Reads the page's sale, or its group. */
const look = () => call("GET", group ? "/groups/" + group : "/sales/" + saleId);

/** Finds out what the buyer has to do with the draw of the sale, if it has one. */
async function learn() {
  if (!sale?.draw) return;
  try {
    // Browsers do not ask again for an address that has failed.
    const script = import("./draw.js" + "?" + failed);
    const [draw, drawWords] = /** @type {[typeof import("./draw.js"), import("./draw-en.js").Words]} */ (
      await Promise.race([Promise.all([script, buyers.drawWords("?" + failed)]), pause(15000)]));
    lot ??= draw.begin({ now, call, own, token, render, put, putLink, say, dates, words: drawWords });
    Object.assign(words, lot.words);
    Object.assign(names, draw.names);
    await lot.learn(sale);
    reread = claim ? Infinity : lot.reread(sale);
  } catch {
    failed++;
    [code, gaveUp] = ["busy", true];
  }
  render();
}

/** The part of the draw in a state of the page; undefined if it has none. @param {string} is */
const inDraw = (is) => (sale?.draw && lot && is in lot.words ? lot : undefined);

/** Enters the buyer in the draw. To do it again changes nothing. */
async function enter() {
  [doing, ordering] = ["entering", false];
  code = "";
  render();
  const a = await repeat(() => own("PUT", `/sales/${sale?.id}/entries/me`));
  if (!a.code && sale) await lot?.enter(sale, a.body);
  doing = "";
  await learn();
}

/** Reads the sale, and the buyer's claim. */
async function load() {
  [doing, ordering, code] = ["reading", false, ""];
  [due, since] = [Infinity, performance.now()];
  render();
  renew(now());
  take(await repeat(look));
  if (!code) await learn();
  if (sale && token()) {
    // The last order may have been sent before a reload.
    if (performance.getEntriesByType("navigation").some((e) => "type" in e && e.type !== "navigate")) orders++;
    // Nobody waits for a slow answer before they can order. Who has ordered is not refused first.
    if (["NOT_OPEN", "OPEN"].includes(phase())) await Promise.race([seek(true), pause(1000)]);
    else await seek(false);
  }
  doing = "";
  plan();
  if (gaveUp) due = performance.now() + minute * (1 + Math.random());
  render();
}

/**
 * Looks for the buyer's claim. There may be one before an opening that was put off, and in any
 * sale of the group: the shop says in which.
 * @param {boolean} quiet as for repeat
 */
async function seek(quiet) {
  sought = performance.now();
  let id = sale?.id;
  let a = await repeat(() => own("GET", claimPath(id)), quiet);
  const other = a.code === "order-not-found" ? a.body.saleId : undefined;
  if (other && sales.some((s) => s.id === other)) {
    id = other;
    a = await repeat(() => own("GET", claimPath(id)), quiet);
  }
  if (!quiet && !gaveUp) code = "";
  if (claim || doing === "sending") return;
  if (other && id !== other) [code, elsewhere] = ["already-ordered", other];
  if (!a.code) about(sales.find((s) => s.id === id));
  settle(a, true);
}

/** Looks again for a claim that was not there. */
const seekAgain = () => sale && token() && !claim && !doing && seek(true);

/** What the next reading of the sale may disprove. Other answers are about the buyer. */
const passed = ["sale-not-open", "sale-paused", "sold-out", "sale-closed", "recalled", "not-your-turn", "turn-over", "entering-not-open", "entering-closed"];

/** Reads the sale again, and the buyer's claim; before the opening also later, if there is no answer. */
async function refresh() {
  if (now() >= reread) reread = Infinity;
  [due, since] = [Infinity, performance.now()];
  const a = await look();
  take(a);
  if (!a.code && !doing && passed.includes(code)) code = "";
  if (!a.code) await learn();
  if (claim && !token()) await renew(now());
  if (claim && token()) know(await own("GET", claimPath())); // the shop may have cancelled it
  if (passing(a) && (phase() === "NOT_OPEN" || sale?.draw)) reread = now() + a.wait + 5000 + 5000 * Math.random();
  plan();
  render();
}

/**
 * Orders one unit. The first order has no Idempotency-Key: to look for one costs the shop a
 * read for every buyer who comes too late. A repeat has the same key in every tab, so that
 * the shop looks for the buyer's claim before it refuses.
 */
async function order() {
  [doing, ordering, code] = ["sending", true, ""];
  render();
  const a = await repeat(() => own("POST", orderPath(), orders++ ? "page" : ""));
  if (a.code === "sale-not-open") { // it was put off
    [doing, code] = ["reading", ""];
    render();
    await refresh();
    // The answer may have come from a cache that has not heard of it yet.
    if (sale && phase() !== "NOT_OPEN" && a.wait) [sale.state, sale.opens] = ["NOT_OPEN", now() + a.wait];
  }
  doing = "";
  if (sale && a.body.mayReturn) sale.mayReturn = true;
  if (group && sale && a.code === "sold-out") sale.state = "SOLD_OUT";
  elsewhere = a.code === "already-ordered" && a.body.saleId !== sale?.id && !a.body.claim ? String(a.body.saleId ?? "") : "";
  if (elsewhere && sales.some((s) => s.id === elsewhere)) {
    choose(elsewhere);
    settle(await repeat(() => own("GET", claimPath())), true);
  } else settle(a, false);
  plan();
}

/**
 * Takes the claim from an answer, if it has one.
 * @param {Answer} a @param {boolean} old whether the claim was there before an order
 */
function settle(a, old) {
  const exists = a.code === "already-ordered" && !elsewhere;
  const found = exists ? a.body.claim ?? {} : a.code ? undefined : a.body;
  if (found && !claim) {
    [claim, already, code] = [{ state: "PENDING", ...found }, old || exists, ""];
    if (!old) others?.postMessage("");
    follow(exists ? a.wait || 1 : a.wait); // that refusal does not say until when to pay
  }
  render();
}

/** The other tabs with this sale, which may be somebody else's: each asks for its own claim. */
const others = "BroadcastChannel" in window ? new BroadcastChannel("claimed " + pageId) : undefined;
if (others) others.onmessage = seekAgain;

/** The states of a claim that may become another one. */
const undecided = ["PENDING", "CONFIRMED"];

/** Until when the claim must be paid; NaN if it need not be. */
const payBy = () => (claim?.state === "CONFIRMED" ? Date.parse(claim.payBy) : NaN);

/** Where the claim is paid; "" unless that is an address of this shop or one with https. */
const payAt = () => safe(claim?.paymentUrl, location.origin);

/** Asks for the claim while it is pending, and while the shop says when to ask again. @param {number} wait as it said */
async function follow(wait) {
  for (let n = 0; (claim?.state === "PENDING" || state() === "reserved" || wait) && token(); n++) {
    await pause(Math.max(wait, Math.min(2000 * 1.5 ** n, 60000)) * (1 + Math.random() / 4));
    await seen();
    const a = await own("GET", claimPath());
    know(a);
    wait = a.wait;
    render();
  }
}

/**
 * Takes what an answer says of the claim, and returns it. An answer may be older than the one
 * before it: what is decided stays so.
 * @param {Answer} a
 */
function know({ code, body }) {
  const found = code ? body.claim : body;
  if (found && (undecided.includes(claim?.state) || !undecided.includes(found.state))) Object.assign(claim ?? {}, { refund: undefined }, found);
  return found;
}

/** Cancels the order. An answer that says why not has the claim, too. */
async function cancel() {
  cancelling = "cancelling";
  const a = await repeat(() => own("DELETE", claimPath()));
  code = "";
  cancelling = know(a) ? "" : "notCancelled";
  render();
}

/** The sale's state, which only at the opening is another one than the shop has said. */
const phase = () => (sale?.state === "NOT_OPEN" && now() >= sale.opens ? "OPEN" : sale?.state ?? "");

/** @type {Record<string, string>} What a final answer or a sale's state is called in words-en.js. */
const names = {
  "sale-not-found": "unknown", "group-not-found": "unknown", "invalid-request": "unknown", "sale-not-open": "notOpen", "sale-paused": "paused", "sold-out": "soldOut",
  "sale-closed": "closed", recalled: "recalled", "already-ordered": "elsewhere", "not-eligible": "notEligible", forbidden: "forbidden",
  NOT_OPEN: "notOpen", OPEN: "open", PAUSED: "paused", SOLD_OUT: "soldOut", CLOSED: "closed", RECALLED: "recalled",
};

/** @type {Record<string, string>} What a claim's state is called. */
const claims = { PENDING: "accepted", CONFIRMED: "confirmed", PAID: "paid", EXPIRED: "expired", CANCELLED: "cancelled" };

/** @type {Record<string, string>} What an order that is being repeated is called. */
const meanwhile = { "": "sending", "sale-paused": "pausedBusy", "sale-not-open": "early", "not-your-turn": "early" };

/** The state of the page: the name of its line in words-en.js. */
function state() {
  if (claim && claim.state !== "EXPIRED" && sale?.state === "RECALLED") return "recalledOrder";
  if (payBy()) return now() < payBy() ? "unpaid" : "late";
  // Until the order has its id, nobody knows until when it must be paid.
  if (sale?.mustPay && undecided.includes(claim?.state)) return "reserved";
  if (claim) return claim.state === "PAID" && (claim.refund?.state ?? "part") !== "part" ? "unsettled" : claims[claim.state] ?? "held";
  if (doing && code && offline()) return "offline";
  if (doing === "sending") return meanwhile[code] ?? "busy";
  if (doing) return code ? "busy" : doing === "entering" ? doing : "loading";
  if (gaveUp && code && code !== "sale-paused") return ordering ? "stuckOrder" : "stuck";
  const is = !pageId || (group && !sale && !code) ? "unknown" : code === "invalid-request" && sales.length ? "unfit" : code ? (names[code] ?? "other") : (names[phase()] ?? "otherState");
  if (sale?.draw && lot && code !== "unauthorized") return lot.state(sale, is);
  return ended(now()) && (code === "unauthorized" || orderable.includes(is)) ? "signedOut" : is;
}

/** The states in which an order may be possible, now or later. */
const orderable = ["notOpen", "open", "paused", "otherState", "enterSoon", "enter", "called", "openCall"];
/** The states in which nobody can order now. */
const refusals = ["soldOut", "paused", "closed", "recalled", "otherState", "turnOver", "notEntered"];

/**
 * What the button does in a state: its label, and its action if it can be pressed.
 * @param {string} is @returns {[string, (() => unknown)?]}
 */
function button(is) {
  const wanted = orderable.includes(is);
  const label = sale?.price ? say(words.orderFor, sale.price) : words.order;
  if (is === "signedOut" || (!token() && (wanted || claim || refusals.includes(is)))) {
    return available ? [words.signIn, () => signIn(pageId, at)] : [""];
  }
  if (is === "elsewhere") return [words.showOrder, () => location.assign("/s/" + elsewhere)];
  if (is === "stuck" || (is === "other" && !ordering)) return [words.again, load];
  if (is === "stuckOrder" || is === "other") return [words.again, order];
  if (wanted && group && !chosen) return [sized() ? words.chooseSize : words.choose, () => element("sizes").querySelector("input")?.focus()];
  if (is === "enter" || is === "enterSoon") return [words.enterNow, is === "enter" ? enter : undefined];
  if (is === "paused" && sale?.draw && !orderable.includes(lot?.state(sale, "open") ?? "")) return [""];
  if (wanted && is !== "notOpen") return [label, order];
  return [is === "notOpen" || doing === "sending" ? label : ""];
}

/** Whether what the buyer chooses is a size. */
const sized = () => sales.every((s) => /(^|\s)(\d[\d.,/½]*|\d?X*[SML])$/i.test(s.name));

/** The line below: what the buyer may do. @param {string} is */
function detail(is) {
  if (claim && !token()) return words.signedOut;
  if (is === "unpaid") return say(words.payBy, dates.format(payBy()));
  if (already && elsewhere && ["accepted", "reserved", "confirmed", "unpaid", "paid", "held"].includes(is)) return say(words.alreadyGroup, sale?.name ?? "");
  if (is !== "offline" && offline()) return words.offline + " " + words.offlineDetail;
  if (orderable.includes(is) && !token() && !available) return words.noSignIn;
  if (["notOpen", "open"].includes(is) && !token()) return words.signInDetail;
  if (sale && inDraw(is)) return lot?.detail(sale, is) ?? "";
  if (is === "open" && group) return words.elsewhereDetail;
  if (is === "soldOut" && sales.some((s) => s.state === "OPEN" && s !== sale)) return words.otherChoice;
  if (is === "soldOut" && sale?.mayReturn) return words.mayReturn;
  return (already && ordering && ["accepted", "confirmed", "held"].includes(is) ? words.already + "\n" : "") + (words[is + "Detail"] ?? words[{ early: "busyDetail", pausedBusy: "busyDetail", expired: "endedDetail", cancelled: "endedDetail" }[is] ?? ""] ?? "");
}

/** What became of the order's payment, and of others. */
function refunds() {
  const said = (/** @type {Record<string, any>} */ { amount, currency, back, refundedAt, state }) => say(words[state + "Money"] ?? (refundedAt ? words.refunded : words.refundDue),
    money(amount, currency), refundedAt ? day.format(Date.parse(refundedAt)) : "", money(back, currency));
  const others = (claim?.refunds ?? []).map(said), own = claim?.refund ? said(claim.refund) : "";
  return others.includes(own) ? others : [own, ...others];
}

/** The sale's dates and, as long as nobody buys, its units. */
function facts() {
  if (!sale || !(sale.closes > sale.opens)) return "";
  const lines = [say(words.opens, dates.format(sale.opens)), say(words.closes, dates.format(sale.closes))];
  const units = sales.reduce((sum, s) => sum + s.units, 0);
  if (phase() === "NOT_OPEN" && units > 0) lines.push(say(sales.some((s) => s.about) ? words.about : words.units, units));
  return lines.join("\n");
}

/** An element of the page; that of the release before may lack it. @param {string} id */
const element = (id) => document.getElementById(id) ?? document.createElement("p");

/** What was written last into each element. @type {WeakMap<Element, string>} */
const written = new WeakMap();

/**
 * Writes a text that is another one than the last. What an element has may be a translation by the browser, and a
 * screen reader says the line again whenever it is set.
 * @param {Element} e @param {string} text
 */
function write(e, text) {
  if (written.get(e) === text) return;
  written.set(e, text);
  e.textContent = text;
}

/** @param {string} id @param {string} text Nothing is shown without a text. */
function put(id, text) {
  const e = element(id);
  write(e, text);
  if (!text && document.activeElement === e) element("line").focus();
  e.hidden = !text;
  return e;
}

/** Shows a link if there is an address. @param {string} id @param {string} text @param {string} address */
function putLink(id, text, address) {
  const link = put(id, address && text);
  if (!address) return link.removeAttribute("href");
  link.setAttribute("href", address);
  link.setAttribute("rel", "noreferrer");
}

/** Shows what is sold. A picture that cannot be loaded leaves no gap. @param {string} name @param {boolean} selling */
function renderSale(name, selling) {
  if (!sale) return;
  put("price", sale.price);
  put("about", sale.text);
  putLink("link", words.more, sale.link);
  const picture = element("picture");
  const image = sale.image !== broken ? sale.image : "";
  picture.hidden = !image;
  let img = picture.querySelector("img");
  if (image && img?.src !== image) {
    img = document.createElement("img");
    img.src = image;
    picture.replaceChildren(img);
  }
  if (img && written.get(img) !== name) {
    written.set(img, name);
    img.alt = name;
    img.decode().catch(() => {
      broken = image;
      render();
    });
  }
  // What was left is true only of when it was read.
  const bar = /** @type {HTMLProgressElement} */ (element("bar"));
  const counted = selling && !group && sale.seeded > 0 && sale.units > 0 && sale.read >= sale.opens ? sale : undefined;
  bar.hidden = !counted;
  [bar.max, bar.value] = [sale.seeded || 1, sale.units || 0];
  put("left", counted ? say(counted.about ? words.leftAbout : words.left, counted.units, counted.seeded, time.format(counted.read)) : "");
}

/** Shows the sales of the group as one choice. @param {boolean} open whether the buyer may still choose */
function renderSizes(open) {
  const box = /** @type {HTMLFieldSetElement} */ (element("sizes"));
  box.hidden = !group || !sales.length || !!claim;
  if (box.hidden) return;
  const head = common(sales.map((s) => s.name));
  const legend = box.querySelector("legend") ?? box.appendChild(document.createElement("legend"));
  write(legend, sized() ? words.size : words.choice);
  for (const [i, s] of sales.entries()) {
    let label = box.querySelectorAll("label")[i];
    if (!label) {
      label = box.appendChild(document.createElement("label"));
      label.innerHTML = '<input type="radio" name="size"><span></span><small></small>';
    }
    const [input, name, left] = /** @type {[HTMLInputElement, HTMLElement, HTMLElement]} */ ([...label.children]);
    const note = s.state === "OPEN" || s.state === "NOT_OPEN" ? say(s.about ? words.unitsAbout : words.unitsLeft, s.units) : words[s.state] ?? "";
    write(name, s.name.slice(head.length) || s.name);
    write(left, note);
    label.className = (["OPEN", "NOT_OPEN"].includes(s.state) ? "" : "gone ") + (s.id === chosen ? "chosen" : "");
    [input.checked, input.disabled] = [s.id === chosen, !open];
    input.onchange = () => choose(s.id);
  }
}

/** The words with which all names begin, with what joins them to the rest. @param {string[]} names */
function common(names) {
  const [first, ...rest] = names;
  const parts = first?.match(/\S+\s*/g) ?? [];
  while (parts.length && !rest.every((n) => n.startsWith(parts.join("")))) parts.pop();
  return rest.length ? parts.join("") : "";
}

/** @param {string} name */
function entitle(name) {
  write(/** @type {Element} */ (document.querySelector("title")), name);
  put("name", name);
}

/** Shows the page as it is. */
function render() {
  const is = state();
  element("main").dataset.state = is;
  const name = (group && !chosen && !claim && common(sales.map((s) => s.name)).replace(/(\s-|\s*[,，·:：–])\s*\S*\s*$/, "").trim()) || (sale?.name ?? unread);
  entitle(name);
  const line = is === "notOpen" && moved && sale ? say(words.moved, dates.format(sale.opens)) :
    is === "soldOut" && ordering ? words.missed : say(words[is] ?? "", is === "other" ? code : String((claim ?? sale)?.state));
  put("line", (refusals.includes(is) && !token() && available ? (words[is + "SignIn"] ?? words.signInToSee) + "\n" : "") + line);
  const to = sale && inDraw(is) ? lot?.end(sale, is) ?? NaN : sale && ["notOpen", "signedOut"].includes(is) && phase() === "NOT_OPEN" ? sale.opens : is === "unpaid" ? payBy() : NaN;
  renderClock(is, to - now());
  const won = ["accepted", "confirmed", "paid"].includes(is);
  const held = ["reserved", "unpaid", "called"].includes(is);
  element("panel").className = won ? "won" : held ? "held" : "";
  put("order", [...(claim && sale ? [sale.name, sale.price] : []), typeof claim?.orderId === "string" ? say(words.orderId, claim.orderId) : ""].filter(Boolean).join("\n"));
  put("detail", [detail(is), ...refunds()].filter(Boolean).join("\n"));
  lot?.show?.(claim ? undefined : sale, is);
  put("facts", facts());
  renderPayment(is === "unpaid");
  renderSale(name, is === "open");
  renderSizes(doing !== "sending");
  put("leave", token() && !doing ? words.signOut : "").onclick = () => signOut(pageId, at);
  const [label, action] = button(is);
  const act = put("act", label);
  act.setAttribute("aria-disabled", String(!action));
  act.onclick = async () => {
    try {
      await action?.();
    } catch {
      trouble = words.noStorage;
      render();
    }
  };
}

/** Shows the clock of a state. That of a hold says what it counts, and changes in its last minute. @param {string} is @param {number} left */
function renderClock(is, left) {
  const [pays, last] = [is === "unpaid", (is === "unpaid" || is === "called") && left <= 60000];
  put("clock", last ? words.lastMinute : pays ? words.payLeft : "");
  put("countdown", countdown(left)).className = last ? "last" : "";
}

/**
 * Shows where to pay, and the button to cancel, which asks first. The answer in its place
 * then changes nothing, because a button may be pressed twice.
 * @param {boolean} unpaid
 */
function renderPayment(unpaid) {
  putLink("pay", words.pay, unpaid ? payAt() : "");
  const can = unpaid && token() !== "";
  const asking = cancelling === "cancelSure";
  put("ask", !can ? trouble : cancelling ? (asking && (group || sale?.grouped) && words.cancelSureGroup) || words[cancelling] : "");
  const keep = put("cancel", !can || cancelling === "cancelling" ? "" : asking ? words.keep : words.cancel);
  keep.className = asking ? "keep" : "";
  keep.onclick = () => {
    cancelling = asking ? "" : "cancelSure";
    render();
  };
  put("sure", can && asking ? words.sure : "").onclick = cancel;
}

/** Once a second, and at the opening. */
function tick() {
  if (now() >= reread) refresh();
  else if (slept()) wake();
  else if (performance.now() >= due && !document.hidden) lookAgain();
  if ((sought < 0 || code === "unauthorized") && seekAgain()) code = ""; // the token was renewed late
  if ([...orderable, "signedOut", "unpaid"].includes(state())) renew(now());
  render();
  const left = sale ? sale.opens - now() : 0;
  setTimeout(tick, left > 0 ? left % 1000 || 1000 : 1000);
}

/** Reads the sale again, and what could not be read. */
function lookAgain() {
  if (doing) return;
  if (gaveUp && code && !ordering) load();
  else if (sale) refresh();
}

/**
 * Looks again when the page is seen again, if what it shows is half a minute old, or may be paid by now. It measures
 * the clock, which may have stood still.
 */
function wake() {
  if (document.hidden || !(performance.now() - since > minute / 2 || slept() || payBy())) return;
  awake();
  lookAgain();
  if (performance.now() - sought > minute) seekAgain();
}

/** The page at /signin, to which the identity provider sends the buyer back. */
async function callback() {
  put("line", words.signingIn);
  const { sale: id, at, done, lost } = await finish();
  const back = id && `/${at}/${id}`;
  if (done && back) return location.replace(back);
  put("line", words.signInFailed);
  put("detail", lost ? words.signInElsewhere : words.signInFailedDetail);
  put("act", back && (lost ? words.signIn : words.back)).onclick = () => {
    if (lost) signIn(id, at).catch(() => {}); // without a storage, of which the text speaks
    else location.replace(back);
  };
}

element("old").hidden = true;
Object.assign(document.documentElement, { lang: language, dir });
entitle(unread);
if (location.pathname === "/signin") callback();
else if (!validSale(pageId)) {
  doing = "";
  render();
} else {
  for (const event of ["online", "offline"]) addEventListener(event, render);
  for (const event of ["online", "pageshow"]) addEventListener(event, wake);
  document.addEventListener("visibilitychange", wake);
  load();
  tick();
}
