// Refunds that the stack sends to their providers: pressed once, followed and stopped. A press is sent again as it was
// until its answer is certain, in its author's name alone; it begins once.

import { call, passing, rest } from "./api.js";
import { h } from "./elements.js";
import { amount } from "./money.js";
import { fill, language, number, word, words } from "./words.js";

/** @typedef {Record<string, any>} Refund as the API shows it, and so is a sending */
/** @typedef {{rows: Refund[], at: string, unreadable: number, left: number, whole: boolean}} List */

const at = new URL(import.meta.url).search; // of this try to load it
/** @type {typeof import("./sendings-en.js")} */
const { w } = await (language === "zh" ? import("./sendings-zh.js" + at) : import("./sendings-en.js" + at));

/** @param {Refund} r */
const providerOf = (r) => r.payment.split("#")[0];

/** What a provider has said, in its own words. @param {Refund} said */
const wordsOf = ({ code, words: text }) => (code || text) && h("q", { dir: "auto", translate: "no" }, [code, text].filter(Boolean).join(": "));

/** @param {Refund} s */
const isOpen = (s) => !s.stoppedAt && !s.endedAt;

/** Why a refund that is not back is not sent; "" if it is. @param {Refund} r @param {string} asOf */
function whyNot(r, asOf) {
  const provider = providerOf(r);
  if (["disputed", "lost"].includes(r.state)) return "held";
  if (!["stripe", "wechat-pay", "alipay", "adyen"].includes(provider)) return "provider";
  if (r.sent?.state === "accepted") return "accepted";
  if (!r.amount || r.currency === "XXX") return "amount";
  if (r.state === "stuck") return "stuck";
  if (r.back) return "part";
  if (provider === "adyen" && r.sent?.state === "unknown" && Date.parse(asOf) - Date.parse(r.sent.at) >= 30 * 86400000) return "old"; // it knows an id no longer
  return r.late || r.at > asOf ? "late" : ""; // or its mark was taken back since
}

/** @param {any} page @param {{total: (rows: Refund[]) => string, sums: (rows: Refund[]) => Map<string, Refund>, focusOn: (key: string) => void}} list */
export function sendings({ token, render, time, me, mayChange, expire, refundsPlace, nameOf, field, typed }, { total, sums, focusOn }) {
  /** @type {{sends: boolean, sendings: Refund[], unreadable?: boolean} | undefined} */
  let all;
  /** What is asked about; its text is what was sent. @type {{body: Refund, rows: Refund[], not: [string, Refund[]][], sub: string, text: string, busy: boolean, told: string} | undefined} */
  let press;
  let stopping = "", trouble = ""; // the sending that is being stopped, and why it was not
  let wake = () => {};

  addEventListener("hashchange", () => {
    if (!press?.busy) press = undefined;
    wake();
  });

  const mayBegin = () => !!all?.sends && me().roles.includes("cashier");

  /** Makes a request in the person's name. @param {string} method @param {string} path @param {object | string} [body] */
  async function ask(method, path, body) {
    const a = await call(method, "/operate/sendings" + path, token(), body);
    if (a.code === "unauthorized") expire();
    return a;
  }

  /** Keeps what an answer says of a sending. @param {Refund} s */
  const learn = (s) => all && (all.sendings = [s, ...all.sendings.filter((one) => one.id !== s.id)].sort((a, b) => (a.id < b.id ? 1 : -1)));

  /** Reads the sendings while their page is seen, without an end. */
  (async () => {
    for (;;) {
      if (refundsPlace() && token() && !document.hidden) {
        const a = await ask("GET", "");
        if (!a.code) all = /** @type {any} */ (a.body);
        render();
      }
      await new Promise((resolve) => {
        wake = () => resolve(0);
        setTimeout(wake, all?.sendings.some(isOpen) ? 5000 : 30000);
      });
    }
  })();

  /** Sends the press until its answer is certain. @param {Event} event */
  async function begin(event) {
    event.preventDefault();
    const p = press;
    if (!p || p.busy) return;
    const note = typed("given");
    let sure = !p.text; // no try may have begun it
    // The sums may be beyond 2^53, which JSON.stringify does not write.
    p.text ||= JSON.stringify({ sums: 0, ...p.body, ...(note && { note }) }).replace("0", "{" + [...sums(p.rows)].map(([code, s]) => `"${code}":${s.amount}`).join() + "}");
    [p.busy, p.told] = [true, w.going];
    for (let tries = 1; token() && p.sub === me().actor; tries++) {
      render();
      const a = await ask("POST", "", p.text);
      if (!a.code) {
        learn(a.body.sending);
        press = undefined;
        wake();
        return render();
      }
      if (!passing(a) && a.code !== "unauthorized") {
        const why = String(a.body.detail ?? a.code);
        [p.busy, p.told, p.text] = [false, sure ? why : w.ended + " " + why, sure ? "" : p.text];
        return render();
      }
      sure = false;
      p.told = w.unsure;
      render();
      if (token()) await rest(a, tries);
    }
    [p.busy, p.told] = [false, w.ended];
    if (p.sub !== me().actor) press = undefined;
    render();
  }

  /** Asks for a stop until the answer is certain. @param {string} id */
  async function stop(id) {
    [stopping, trouble] = [id, ""];
    const sub = me().actor;
    render();
    let a = await ask("POST", "/stop", { id });
    for (let tries = 1; passing(a) && token(); tries++) {
      await rest(a, tries);
      if (!token() || me().actor !== sub) break;
      a = await ask("POST", "/stop", { id });
    }
    stopping = "";
    if (a.code) trouble = fill(w.notStopped, String(a.body.detail ?? a.code));
    else learn(a.body.sending);
    render();
  }

  /** Those of the place, and of which it has refunds, newest first. @param {Refund[]} rows @returns {Refund[]} */
  function here(rows) {
    const [kind, id] = refundsPlace().split("/");
    const by = new Set(rows.map((r) => r.sent?.by));
    return (all?.sendings ?? []).filter((s) => kind === "all" || by.has(s.id) || (kind === "group" ? s.group === id : s.saleId === id || s.payments?.some((/** @type {Refund} */ p) => p.saleId === id)) || !(s.saleId || s.group || s.payments));
  }

  /** The button that asks to give back what is chosen, or else all. @param {List} l @param {Refund[]} chosen */
  function button(l, chosen) {
    const some = chosen.length ? chosen : l.rows.filter((r) => !r.refundedAt);
    const rows = some.filter((r) => !whyNot(r, l.at));
    if (!mayBegin() || !rows.length || press) return undefined;
    const why = here(l.rows).some((s) => s.at > l.at) ? w.stale : chosen.length > 100 ? w.most : !chosen.length && (!l.whole || l.unreadable) ? w.unread : "";
    if (why) return h("p", { "data-key": "hint", class: "faint" }, why);
    const [kind, id] = refundsPlace().split("/");
    const scope = chosen.length ? { payments: rows.map(({ saleId, payment }) => ({ ...(saleId && { saleId }), payment })) } : kind === "sale" ? { saleId: id } : kind === "group" ? { group: id } : {};
    return h("button", { "data-key": "give", onclick: () => {
      /** @type {Map<string, Refund[]>} */
      const not = new Map();
      for (const r of some) not.set(whyNot(r, l.at), [...(not.get(whyNot(r, l.at)) ?? []), r]);
      not.delete("");
      press = { body: { id: crypto.randomUUID(), asOf: l.at, count: rows.length, ...scope }, rows, not: [...not], sub: me().actor, text: "", busy: false, told: "" };
      render();
      focusOn("press");
    } }, fill(w.give, number(rows.length), total(rows)));
  }

  /** What is asked, or on its way. */
  function asked() {
    const p = press;
    return p && h("form", { "data-key": "press", class: "warns", tabindex: -1, "aria-labelledby": "give", onsubmit: begin },
      h("p", { id: "give" }, h("b", {}, fill(w.give, number(p.rows.length), total(p.rows)))), h("p", {}, w.warns),
      p.not.map(([why, rows]) => h("p", { "data-key": why, class: "faint" }, fill(w.not, number(rows.length), total(rows), word(w.why, why)))),
      !p.text && field("given", words.note, { maxlength: 500 }),
      h("p", { role: "alert" }, p.told),
      h("p", { class: "answers" }, h("button", { class: "main", "aria-disabled": p.busy }, w.yes), !p.busy && h("button", { type: "button", onclick: () => ((press = undefined), render(), focusOn("give")) }, words.no)));
  }

  /** @param {Refund} s */
  function one(s) {
    const sum = (/** @type {Refund} */ of) => Object.entries(of).map(([code, n]) => amount(n, code, s.digits[code])).join(" + ");
    return h("li", { "data-key": s.id },
      h("p", {}, h("b", {}, fill(w.taken, number(s.taken), number(s.count))), " · ", [sum(s.amounts), sum(s.sums)].filter(Boolean).join(" / "), s.left > 0 && [" · ", fill(w.left, number(s.left)), s.nextAt && " "].join(""), s.left > 0 && s.nextAt && time(s.nextAt, "→ ")),
      h("div", {}, h("p", {}, isOpen(s) ? w.open : s.stoppedAt ? fill(w.stoppedBy, s.stoppedBy) : w.over, " ", !isOpen(s) && time(s.stoppedAt ?? s.endedAt)),
        Object.entries(s.halted).map(([provider, said]) => h("p", { "data-key": provider, class: "bad" }, fill(w.halt, provider), " ", wordsOf(said)))),
      h("div", { class: "faint" }, h("span", { dir: "auto" }, fill(w.by, s.actor)), " ", time(s.at), " · ", s.saleId ? nameOf(s.saleId) : s.group ?? (s.payments ? fill(w.some, s.payments.length) : words.all), s.note && h("blockquote", { dir: "auto" }, s.note)),
      isOpen(s) && (mayChange() || me().roles.includes("cashier")) && h("p", {}, h("button", { class: "stop", "aria-disabled": stopping === s.id, onclick: () => stopping || stop(s.id) }, w.stop)));
  }

  /** The sendings that go on, and the last ones. @param {Refund[]} rows */
  function list(rows) {
    const found = here(rows).filter((s, i) => i < 5 || isOpen(s));
    return found.length > 0 && h("section", { "data-key": "sendings", "aria-labelledby": "sendings" }, h("h2", { id: "sendings" }, w.title),
      h("p", { role: "alert", class: "bad" }, trouble), all?.unreadable && h("p", { class: "bad" }, w.unreadable), h("ul", { class: "refunds" }, found.map(one)));
  }

  /** What became of a refund that is not back. @param {Refund} r */
  const sent = (r) => !r.refundedAt && r.sent && h("p", { "data-key": "sent", class: r.sent.state === "accepted" ? "" : "bad" }, fill(word(w.sent, r.sent.state), providerOf(r)), " ", wordsOf(r.sent), " ", r.sent.at && time(r.sent.at));

  /** How many refunds that are not back have each state. @param {Refund[]} rows */
  const counts = (rows) => Object.entries(w.n).map(([state, text]) => [rows.filter((r) => !r.refundedAt && r.sent?.state === state).length, text]).filter(([n]) => n).map(([n, text]) => fill(String(text), number(Number(n))) + " · ").join("");

  return { mayBegin, button, asked, list, sent, counts };
}
