// The buyer's page. It reads the sale when it is loaded and once more shortly before the
// opening, counts down by itself, and orders when the buyer presses the button.

import { awake, call, now, passing, slept } from "./shop.js";
import { available, ended, expire, finish, signIn, signOut, token, validSale } from "./signin.js";
import { countdown, dates, fill, language, words } from "./words.js";

/** @typedef {import("./shop.js").Answer} Answer */

/**
 * @typedef {object} Sale
 * @property {string} name
 * @property {number} opens in milliseconds since 1970, as all times
 * @property {number} closes
 * @property {string} state as the shop said
 * @property {number} units
 * @property {boolean} about whether units is approximate
 * @property {boolean} mayReturn whether units may come back when all are sold
 * @property {boolean} mustPay whether an order has to be paid
 */

/** How often a request is repeated that gets no final answer. */
const most = 8;
/** The longest wait between two repeats, besides what the shop asks for. */
const longest = 30000;
/** How long after payBy an order is still asked for. */
const late = 600000;
/** An order that is too early by up to this is sent again at the opening. */
const soon = 90000;

const saleId = document.documentElement.dataset.sale ?? "";
const salePath = "/sales/" + saleId;
const claimPath = salePath + "/orders/me";

/** @type {Sale | undefined} */
let sale;
/** @type {Record<string, any> | undefined} The buyer's own claim, as the shop shows it. */
let claim;
let already = false; // the claim was there before the order
let doing = "reading"; // or "sending", or "" for nothing
let ordering = false; // the latest request that was repeated was an order
let code = ""; // of the latest answer, "" if it was a success
let gaveUp = false; // the latest answer was not final
let orders = 0; // how many were sent, or may have been before a reload
let reread = Infinity; // when the sale is read again before its opening
let moved = false; // the opening is another one than the page has shown
let trouble = ""; // why the button did nothing
let returning = false; // the page looks for units that came back
let cancelling = ""; // what is said about cancelling, as it is called in words.js

/** Fills a text, which words.js of another release may lack. @type {typeof fill} */
const say = (text, ...values) => fill(text ?? "", ...values);

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
 * and never before the shop's Retry-After.
 * @param {() => Promise<Answer>} request
 */
async function repeat(request) {
  for (let n = 0; ; n++) {
    const a = await request();
    code = a.code;
    const early = ordering && code === "sale-not-open" && a.wait > 0 && a.wait <= soon;
    gaveUp = n === most && (early || passing(a));
    if (gaveUp || !(early || passing(a))) return a;
    render();
    if (early) await pause(a.wait + 500 * Math.random());
    else if (navigator.onLine) await pause(a.wait + 500 + Math.random() * Math.min(1000 * 2 ** n, longest));
    else {
      await until(window, "online", () => navigator.onLine);
      await pause(2000 * Math.random());
    }
  }
}

/** @param {Answer} a */
function take(a) {
  if (a.code) return;
  const { name, opensAt, closesAt, state, remaining, approximate, mayReturn, payWithin } = a.body;
  const before = sale?.opens ?? NaN;
  sale = {
    name: String(name || saleId), opens: Date.parse(opensAt), closes: Date.parse(closesAt), state: String(state ?? "?"),
    units: Number(remaining), about: approximate === true, mayReturn: mayReturn === true,
    mustPay: payWithin > 0,
  };
  moved ||= Math.abs(sale.opens - before) > 0;
  // An opening may be moved, so it is read again before it is announced. Pages do that at
  // different times.
  const left = sale.opens - now();
  if (sale.opens !== before) reread = left > 10000 ? sale.opens - (0.2 + 0.6 * Math.random()) * Math.min(left, 150000) : Infinity;
}

/** Reads the sale, and the buyer's claim if there may be one. */
async function load() {
  [doing, ordering, code] = ["reading", false, ""];
  render();
  take(await repeat(() => call("GET", salePath)));
  if (sale && phase() !== "NOT_OPEN" && token()) {
    // The last order may have been sent before a reload.
    if (performance.getEntriesByType("navigation").some((e) => "type" in e && e.type !== "navigate")) orders++;
    const mine = () => call("GET", claimPath, token());
    // Nobody waits for a slow answer before they can order. Who has ordered is not refused first.
    if (phase() === "OPEN") await Promise.race([mine().then((a) => settle(a, true)), pause(1000)]);
    else {
      settle(await repeat(mine), true);
      if (!gaveUp) code = "";
    }
  }
  doing = "";
  render();
  returns();
}

/** Reads the sale again; before the opening also later, if there is no answer. */
async function refresh() {
  const a = await call("GET", salePath);
  take(a);
  if (!a.code && !doing) code = "";
  if (passing(a) && phase() === "NOT_OPEN") reread = now() + a.wait + 5000 + 5000 * Math.random();
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
  const a = await repeat(() => call("POST", salePath + "/orders", token(), orders++ ? "page" : ""));
  if (a.code === "sale-not-open") { // it was put off
    [doing, code] = ["reading", ""];
    render();
    await refresh();
    // The answer may have come from a cache that has not heard of it yet.
    if (sale && phase() !== "NOT_OPEN" && a.wait) [sale.state, sale.opens] = ["NOT_OPEN", now() + a.wait];
  }
  doing = "";
  if (sale && a.body.mayReturn === true) sale.mayReturn = true;
  settle(a, false);
  returns();
}

/**
 * Takes the claim from an answer, if it has one.
 * @param {Answer} a @param {boolean} old whether the claim was there before an order
 */
function settle(a, old) {
  if (a.code === "unauthorized") expire();
  const exists = a.code === "already-ordered";
  const found = exists ? a.body.claim ?? {} : a.code ? undefined : a.body;
  if (found && !claim) {
    [claim, already, code] = [{ state: "PENDING", ...found }, old || exists, ""];
    if (!old) others.postMessage("");
    follow(exists ? a.wait || 1 : a.wait); // that refusal does not say until when to pay
  }
  render();
}

/** The other tabs with this sale, which may be somebody else's: each asks for its own claim. */
const others = new BroadcastChannel("claimed " + saleId);
others.onmessage = async () => {
  if (!claim && token()) settle(await call("GET", claimPath, token()), true);
};

/** Until when the claim must be paid; NaN if it need not be. */
const payBy = () => (claim?.state === "CONFIRMED" ? Date.parse(claim.payBy) : NaN);

/** Whether a payment may still arrive. */
const mayBePaid = () => claim?.state !== "PAID" && now() < Date.parse(claim?.payBy) + late;

/** Where the claim is paid; "" unless that is an address of this shop or one with https. */
function payAt() {
  const { paymentUrl } = claim ?? {};
  if (!paymentUrl || typeof paymentUrl !== "string" || !URL.canParse(paymentUrl, location.origin)) return "";
  const { protocol, origin, href } = new URL(paymentUrl, location.origin);
  return protocol === "https:" || origin === location.origin ? href : "";
}

/**
 * Asks for the claim while it is pending, while the shop says when to ask again, and while
 * a payment may arrive: then once a minute, and when the buyer comes back to the page.
 * @param {number} wait as the shop said
 */
async function follow(wait) {
  for (let n = 0; (claim?.state === "PENDING" || state() === "reserved" || wait || mayBePaid()) && token(); n++) {
    if (mayBePaid()) {
      const back = new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
      await Promise.all([pause(wait), Promise.race([pause(60000 * (1 + Math.random() / 4)), back])]);
    } else await pause(Math.max(wait, Math.min(2000 * 1.5 ** n, 60000)) * (1 + Math.random() / 4));
    await seen();
    const was = claim;
    const a = await call("GET", claimPath, token());
    if (claim !== was) return; // the buyer has cancelled it
    if (!a.code) claim = { state: "PENDING", ...a.body };
    else if (a.code === "unauthorized") expire();
    wait = a.wait;
    render();
  }
}

/** Cancels the order. An answer that says why not has the claim, too. */
async function cancel() {
  cancelling = "cancelling";
  const a = await repeat(() => call("DELETE", claimPath, token()));
  code = "";
  if (a.code === "unauthorized") expire();
  const found = a.code ? a.body.claim : a.body;
  cancelling = found ? "" : "notCancelled";
  claim = found ? { ...claim, ...found } : claim;
  render();
}

/** Looks again from time to time while units may come back. */
async function returns() {
  if (returning) return;
  returning = true;
  while (state() === "soldOut" && sale?.mayReturn) {
    await pause(60000 + 30000 * Math.random());
    await seen();
    await refresh();
  }
  returning = false;
}

/** The sale's state by the shop's clock. */
function phase() {
  if (!sale) return "";
  if (sale.state === "NOT_OPEN" && now() >= sale.opens) return "OPEN";
  return now() >= sale.closes && ["OPEN", "PAUSED"].includes(sale.state) ? "CLOSED" : sale.state;
}

/** @type {Record<string, string>} What a final answer or a sale's state is called in words.js. */
const names = {
  "sale-not-found": "unknown", "invalid-request": "unknown", "sale-not-open": "notOpen", "sale-paused": "paused", "sold-out": "soldOut",
  "sale-closed": "closed", "not-eligible": "notEligible", forbidden: "forbidden",
  NOT_OPEN: "notOpen", OPEN: "open", PAUSED: "paused", SOLD_OUT: "soldOut", CLOSED: "closed",
};

/** @type {Record<string, string>} What a claim's state is called. */
const claims = { PENDING: "accepted", CONFIRMED: "confirmed", PAID: "paid", EXPIRED: "expired", CANCELLED: "cancelled" };

/** @type {Record<string, string>} What an order that is being repeated is called. */
const meanwhile = { "": "sending", "sale-paused": "pausedBusy", "sale-not-open": "early" };

/** The state of the page: the name of its line in words.js. */
function state() {
  if (payBy()) return now() < payBy() ? "unpaid" : "late";
  // Until the order has its id, nobody knows until when it must be paid.
  if (sale?.mustPay && ["PENDING", "CONFIRMED"].includes(claim?.state)) return "reserved";
  if (claim) return claims[claim.state] ?? "held";
  if (doing && code && !navigator.onLine) return "offline";
  if (doing === "sending") return meanwhile[code] ?? "busy";
  if (doing) return code ? "busy" : "loading";
  if (gaveUp && code && code !== "sale-paused") return ordering ? "stuckOrder" : "stuck";
  const is = !saleId ? "unknown" : code ? (names[code] ?? "other") : (names[phase()] ?? "otherState");
  return ended() && (code === "unauthorized" || orderable.includes(is)) ? "signedOut" : is;
}

/** The states in which an order may be possible, now or later. */
const orderable = ["notOpen", "open", "paused", "otherState"];
/** The states in which nobody can order now. */
const refusals = ["soldOut", "paused", "closed", "otherState"];

/**
 * What the button does in a state: its label, and its action if it can be pressed.
 * @param {string} is @returns {[string, (() => unknown)?]}
 */
function button(is) {
  const wanted = orderable.includes(is);
  if (is === "signedOut" || (!token() && (wanted || claim || refusals.includes(is)))) {
    return available ? [words.signIn, () => signIn(saleId)] : [""];
  }
  if (is === "stuck" || (is === "other" && !ordering)) return [words.again, load];
  if (is === "stuckOrder" || is === "other") return [words.again, order];
  if (wanted && is !== "notOpen") return [words.order, order];
  return [is === "notOpen" || doing === "sending" ? words.order : ""];
}

/** The line below: what the buyer may do. @param {string} is */
function detail(is) {
  if (trouble) return trouble;
  if (claim && !token()) return words.signedOut;
  if (is === "unpaid") return fill(words.payBy, dates.format(payBy()));
  if (already && ["accepted", "confirmed", "paid", "held"].includes(is)) return words.already;
  if (is !== "offline" && !navigator.onLine) return words.offline + " " + words.offlineDetail;
  if (orderable.includes(is) && !token() && !available) return words.noSignIn;
  if (["notOpen", "open"].includes(is) && !token()) return words.signInDetail;
  if (is === "soldOut" && sale?.mayReturn) return words.mayReturn;
  /** @type {Record<string, string>} */
  const all = words;
  return all[is + "Detail"] ?? all[{ early: "busyDetail", pausedBusy: "busyDetail", expired: "endedDetail", cancelled: "endedDetail" }[is] ?? ""] ?? "";
}

/** What becomes of payments that are not the order's. */
function refunds() {
  /** @type {Record<string, any>[]} */
  const all = claim?.refunds ?? [];
  return all.map(({ amount, currency, refundedAt }) => {
    const format = new Intl.NumberFormat(language, { style: "currency", currency, currencyDisplay: "narrowSymbol", trailingZeroDisplay: "stripIfInteger" });
    const sum = format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 0));
    const day = new Date(refundedAt).toLocaleDateString(language, { dateStyle: "long" });
    return refundedAt ? say(words.refunded, sum, day) : say(words.refundDue, sum);
  });
}

/** The sale's dates and, as long as nobody buys, its units. */
function facts() {
  if (!sale || !(sale.closes > sale.opens)) return "";
  const lines = [fill(words.opens, dates.format(sale.opens)), fill(words.closes, dates.format(sale.closes))];
  if (phase() === "NOT_OPEN" && sale.units > 0) lines.push(fill(sale.about ? words.about : words.units, sale.units.toLocaleString(language)));
  return lines.join("\n");
}

/** @param {string} id @param {string} text Nothing is shown without a text. */
function put(id, text) {
  const e = /** @type {HTMLElement} */ (document.getElementById(id));
  // A screen reader says the line again whenever it is set.
  if (e.textContent !== text) e.textContent = text;
  if (!text && document.activeElement === e) document.getElementById("line")?.focus();
  e.hidden = !text;
  return e;
}

/** Shows the page as it is. */
function render() {
  const is = state();
  /** @type {HTMLElement} */ (document.getElementById("main")).dataset.state = is;
  if (sale) document.title = sale.name;
  put("name", sale?.name ?? words.page);
  /** @type {Record<string, string>} */
  const all = words;
  const line = is === "notOpen" && moved && sale ? say(words.moved, dates.format(sale.opens)) :
    say(all[is], is === "other" ? code : String((claim ?? sale)?.state));
  put("line", (refusals.includes(is) && !token() && available ? words.signInToSee + "\n" : "") + line);
  const to = sale && ["notOpen", "signedOut"].includes(is) && phase() === "NOT_OPEN" ? sale.opens : payBy();
  put("countdown", countdown(to - now()));
  put("order", typeof claim?.orderId === "string" ? fill(words.orderId, claim.orderId) : "");
  put("detail", [detail(is), ...refunds()].filter(Boolean).join("\n"));
  put("facts", facts());
  renderPayment(is === "unpaid");
  put("leave", token() && !doing ? words.signOut : "").onclick = () => signOut(saleId);
  const [label, action] = button(is);
  const act = put("act", label);
  act.ariaDisabled = String(!action);
  act.onclick = async () => {
    try {
      await action?.();
    } catch {
      trouble = words.signInFailed; // without sessionStorage or cryptography
      render();
    }
  };
}

/**
 * Shows where to pay, and the button to cancel, which asks first. The answer in its place
 * then changes nothing, because a button may be pressed twice.
 * @param {boolean} unpaid
 */
function renderPayment(unpaid) {
  put("pay", unpaid && payAt() ? words.pay : "").setAttribute("href", payAt());
  const can = unpaid && token() !== "";
  const asking = cancelling === "cancelSure";
  /** @type {Record<string, string>} */
  const all = words;
  put("ask", can && cancelling ? all[cancelling] : "");
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
  if (now() >= reread) {
    reread = Infinity;
    refresh();
  }
  render();
  const left = sale ? sale.opens - now() : 0;
  setTimeout(tick, left > 0 ? left % 1000 || 1000 : 1000);
}

/** Measures the clock again when it may have stood still. */
function look() {
  if (document.hidden || !slept()) return;
  awake();
  if (phase() === "NOT_OPEN" || payBy()) refresh();
}

/** The page at /signin, to which the identity provider sends the buyer back. */
async function callback() {
  put("line", words.signingIn);
  const { sale: back, done } = await finish();
  if (done && back) return location.replace("/s/" + back);
  put("line", words.signInFailed);
  put("detail", words.signInFailedDetail);
  put("act", back && words.back).onclick = () => location.replace("/s/" + back);
}

document.documentElement.lang = language === "zh" ? "zh-CN" : language;
document.title = words.page;
put("name", words.page);
if (location.pathname === "/signin") callback();
else if (!validSale(saleId)) {
  doing = "";
  render();
} else {
  for (const event of ["online", "offline"]) addEventListener(event, render);
  addEventListener("pageshow", look);
  document.addEventListener("visibilitychange", look);
  load();
  tick();
}
