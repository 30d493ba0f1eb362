// The views: all sales at a glance, and one sale with its actions, its trail and one buyer's story.

import { busy, didOf, mayPause, pause, pausing, said, send } from "./acting.js";
import { open } from "./dialog.js";
import { fact, field, h, render, typed } from "./elements.js";
import { groups } from "./group.js";
import { moneyOf } from "./money.js";
import { orders } from "./order.js";
import { buyer, code, drained, failing, find, mayChange, me, nameOf, now, place, refundsPlace, sale, sales, showDrained, token, trail } from "./reading.js";
import { badge, bar, counts, findings, phaseOf, troubles, unwell, wrongs } from "./sale.js";
import { expire } from "./signin.js";
import { ago, local, time, utc } from "./times.js";
import { duration, fill, number, word, words } from "./words.js";

/** @typedef {import("./elements.js").Child} Child */
/** @typedef {import("./reading.js").Sale} Sale */
/** @typedef {import("./acting.js").Asked} Asked */

let filter = "";

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
export function glance() {
  const all = sales ?? [];
  const found = sorted(all.filter((s) => [s.saleId, s.name, s.limitGroup].join(" ").toLowerCase().includes(filter)));
  const type = (/** @type {Event} */ { target }) => {
    const { value, checked, type } = /** @type {HTMLInputElement} */ (target);
    if (type === "checkbox") showDrained(checked);
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

/** One sale with everything, and its actions. @param {string} id @param {(s: Sale) => Child} chart @param {(found: Sale) => Child | Child[]} story of a buyer */
export function whole(id, chart, story) {
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
      h("p", { class: "faint" }, [fill(words.shards, number(s.shards)), s.maxPerOrder && fill(words.maxPerOrder, s.maxPerOrder), s.payWithin > 0 && fill(words.payWithin, duration(1000 * s.payWithin)), s.lateDays > 0 && fill(words.lateDays, s.lateDays), s.extras && words.extras, s.limitGroup && fill(words.group, s.limitGroup)].filter(Boolean).join(" · ")),
      moneyOf([s], views, "#refunds/sale/" + id),
      chart(s),
      h("section", { "data-key": "trail", "aria-labelledby": "trail" }, h("h2", { id: "trail" }, words.trail), changes(id)),
      h("section", { "data-key": "buyer", "aria-labelledby": "buyer" }, h("h2", { id: "buyer" }, words.buyer), search(s, story))),
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

/** @param {Sale} s @param {(found: Sale) => Child | Child[]} story */
function search(s, story) {
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
      story(found.body),
      order.cancel(s, found.body)))));
}

/** What no alarm says of the sales that are listed: nobody can buy, though their window is open, or they cannot be read. */
export const unsaid = () => (place() ? [] : sales ?? []).flatMap((s) => {
  const alarm = s.error ? "unreadable" : s.paused && !s.recalledAt && Date.parse(s.opensAt) <= now() && now() < Date.parse(s.closesAt) ? "paused" : "";
  return alarm ? { alarm, page: false, runbook: "", saleId: s.saleId } : [];
});

/** The button that pauses a sale at once; none of one that cannot be paused. @param {string} saleId */
export const pauseOf = (saleId) => {
  const s = place() === saleId ? sale : sales?.find((one) => one.saleId === saleId);
  return s && mayPause(s) && h("button", { "data-key": "pause", class: "pause", "aria-label": fill(words.pauseOf, s.name || saleId), "aria-disabled": pausing(s), onclick: () => pause(s) }, words.pause);
};

/** What the other views are given. */
export const views = {
  token, expire, render, now, send, said, refundsPlace, typed, field, fact, time, local, ago, word, badge, bar, findings, unwell, troubles, mayChange, mayPause, pausing, busy, nameOf, me: () => me, zone: () => (utc ? "UTC" : undefined),
};
export const group = groups(views);
const order = orders(views);
