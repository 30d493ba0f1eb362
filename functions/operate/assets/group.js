// A group of sales, as the sizes of a shoe: its card, and its page with one pause and one recall. Each
// sale's change is its own, under one id for all of them.

import { h } from "./elements.js";
import { moneyOf } from "./money.js";
import { fill, language, number, words } from "./words.js";

/** @typedef {import("./elements.js").Child} Child */
/** @typedef {Record<string, any>} Sale */
/** @typedef {any} Page what views.js gives the other views */

const groupWords = words.groups;

/** How long an impatient second press may take, in milliseconds. */
const patience = 3000;

const natural = new Intl.Collator(language, { numeric: true });

const letters = "XXS XS S 小 M 中 L 大 XL XXL 2XL 3XL".split(" ");

/** The place of a size in letters, with which a name ends; -1 of any other. @param {Sale} s */
const lettered = ({ name = "" }) => letters.indexOf(name.slice(name.lastIndexOf(" ") + 1));

/** As people sort sizes: 9 before 10, S before M. @param {Sale[]} sales */
export const bySize = (sales) => [...sales].sort((a, b) => lettered(a) - lettered(b) || natural.compare(a.name ?? "", b.name ?? "") || natural.compare(a.saleId, b.saleId));

/** The group of the page's address, or "". */
export const groupPlace = () => /^#group\/([\w-]{1,64})$/.exec(location.hash)?.[1] ?? "";

/** @param {Page} page */
export function groups(page) {
  const { fact, badge, bar, said, mayChange, mayPause, pausing, field, typed, send, render, findings, unwell } = page;
  /** The recall that is asked for, of the sales that were there when it began, and what is missing. @type {{of: string, take: Set<string>, trouble: string} | undefined} */
  let recall;
  /** What each group's button pauses: what could be paused when it appeared. One that takes another's place rests for a while. @type {Map<string, {of: string[], from: number}>} */
  const seen = new Map();
  addEventListener("hashchange", () => seen.clear());

  const mayRecall = (/** @type {Sale} */ s) => mayChange() && s.state && s.state !== "DRAFT" && !s.recalledAt;

  /** Changes several sales under one id. @param {Sale[]} sales @param {"pause" | "recall"} action @param {string} note */
  function all(sales, action, note) {
    const id = crypto.randomUUID();
    for (const s of sales) send(s, { id, action, ...(note && { note }) });
  }

  /** @param {string} id @param {Sale[]} sales @param {string} [note] */
  const pauseAll = (id, sales, note) => {
    const able = sales.filter(mayPause);
    let these = able.filter((s) => seen.get(id)?.of.includes(s.saleId));
    if (able.length && !these.length) seen.set(id, { of: (these = able).map((s) => s.saleId), from: seen.has(id) ? performance.now() + patience : 0 });
    const resting = performance.now() < (seen.get(id)?.from ?? 0);
    const label = fill(these.length < able.length ? groupWords.pauseSome : groupWords.pause, these.length, able.length);
    return able.length > 0 && h("button", { "data-key": "pause", class: "pause", "aria-label": label + ", " + id, "aria-disabled": resting || these.every(pausing), onclick: () => resting || all(these, "pause", note ? typed(note) : "") }, label);
  };

  /** The states that the sales are in. @param {Sale[]} sales */
  const states = (sales) => {
    /** @type {Map<string, number>} */
    const n = new Map();
    for (const s of sales) n.set(s.state, (n.get(s.state) ?? 0) + 1);
    return [...n].map(([state, count]) => number(count) + " " + (/** @type {any} */ (words.state)[state] ?? words.loading)).join(" · ");
  };

  /** Those whose units can be bought: of a recalled one nobody buys what is left. @param {Sale[]} sales */
  const sold = (sales) => (sales.every((s) => s.recalledAt) ? sales : sales.filter((s) => !s.recalledAt));

  /** All sales as one, for the bar and the counts. @param {Sale[]} sales */
  const whole = (sales) => {
    const sum = (/** @type {(s: Sale) => number | undefined} */ of) => sales.reduce((n, s) => n + (of(s) ?? 0), 0);
    return { recalledAt: sales.every((s) => s.recalledAt), seeded: sum((s) => s.seeded), books: sales.every((s) => s.books) ? { stock: sum((s) => s.books.stock) } : undefined };
  };

  /** The card of a group among the sales. @param {string} id @param {Sale[]} sales */
  function card(id, sales) {
    const wrong = sales.some((s) => page.troubles(s).length);
    return h("li", { "data-key": "group " + id, tabindex: -1, class: "card" + (wrong ? " wrong" : "") },
      h("div", { class: "head" },
        h("div", {}, h("h2", {}, h("a", { href: "#group/" + id, translate: "no" }, id)), h("p", { class: "faint" }, fill(groupWords.sizes, sales.length), " · ", states(sales))),
        pauseAll(id, sales)),
      bar(whole(sold(sales)), "left-group-" + id),
      h("ul", { class: "sizes" }, bySize(sales).map((s) => row(s))));
  }

  /** @param {Sale} s */
  function row(s) {
    const b = s.books;
    const left = s.remaining?.units ?? b?.stock;
    return h("li", { "data-key": s.saleId },
      recall && mayRecall(s) && recall.of === groupPlace() && h("input", { type: "checkbox", id: "take-" + s.saleId, "aria-label": fill(groupWords.take, s.name || s.saleId), checked: recall.take.has(s.saleId), onchange: (/** @type {Event} */ e) => {
        recall?.take[/** @type {HTMLInputElement} */ (e.target).checked ? "add" : "delete"](s.saleId);
        render();
      } }),
      h("a", { href: "#sale/" + s.saleId, dir: "auto" }, s.name || s.saleId),
      s.error ? h("span", { class: "bad" }, fill(words.cannotRead, s.error)) : badge(s),
      h("span", {}, left === undefined ? words.notCounted : fill(s.recalledAt ? words.unsold : words.left, number(left), number(s.seeded))),
      h("span", { class: "faint" }, [s.maxPerOrder && fill(words.maxPerOrder, s.maxPerOrder), ...(b ? [b.pending > 0 && words.pending + " " + number(b.pending), s.payWithin > 0 && words.paid + " " + number(b.paid), s.payWithin > 0 && words.unpaid + " " + number(b.unpaid), b.refundsDue > 0 && words.refundsDue + " " + number(b.refundsDue)] : [])].filter(Boolean).join(" · ")),
      s.recalling && h("p", { class: "faint" }, words.recalling),
      said((/** @type {string} */ of) => of === s.saleId), unwell(s), findings(s));
  }

  /** What one recall of several sales asks. @param {string} id @param {Sale[]} sales */
  function recalling(id, sales) {
    const able = sales.filter(mayRecall);
    if (!recall || recall.of !== id || !able.length) return able.length > 0 && h("p", { class: "others", "data-key": "recall" }, h("button", { class: "recall", onclick: () => ((recall = { of: id, take: new Set(able.map((s) => s.saleId)), trouble: "" }), render()) }, groupWords.recall));
    const asked = recall;
    const chosen = able.filter((s) => asked.take.has(s.saleId));
    const sum = (/** @type {string} */ name) => number(chosen.reduce((n, s) => n + (s.books?.[name] ?? 0), 0));
    const yes = (/** @type {Event} */ event) => {
      event.preventDefault();
      const note = typed("why");
      asked.trouble = !chosen.length ? groupWords.noneChosen : !note ? words.badNote : typed("typed") !== id ? groupWords.badId : "";
      if (!asked.trouble) {
        recall = undefined;
        all(chosen, "recall", note);
      }
      render();
    };
    return h("form", { "data-key": "recalling", class: "recalling", onsubmit: yes, novalidate: true },
      h("h2", {}, fill(groupWords.recallTitle, chosen.length, able.length)),
      h("p", { class: "warns" }, words.recallWarns),
      h("dl", { class: "effect" }, fact(words.unpaid, sum("unpaid")), fact(words.paid, sum("paid")), fact(words.pending, sum("pending"))),
      field("why", words.noteNeeded, { maxlength: 500 }),
      field("typed", fill(groupWords.typeId, id), { autocapitalize: "off", spellcheck: "false" }),
      h("p", { role: "alert", class: "bad" }, asked.trouble),
      h("p", { class: "answers" }, h("button", { class: "main recall" }, fill(groupWords.yesRecall, chosen.length)), h("button", { type: "button", onclick: () => ((recall = undefined), render()) }, words.no)));
  }

  /** The page of a group. @param {string} id @param {Sale[] | undefined} sales @param {string} code why there are none */
  function view(id, sales, code) {
    const top = h("p", {}, h("a", { href: "#" }, "← " + words.all));
    const members = bySize((sales ?? []).filter((s) => s.limitGroup === id || s.error));
    if (!members.length) return [h("div", { "data-key": "none " + id }, top, h("h1", {}, id), h("p", {}, code === "group-not-found" ? groupWords.none : words.loading))];
    const counted = members.filter((s) => s.books);
    const unbalanced = counted.filter((s) => !s.books.balanced).length;
    return [h("div", { "data-key": "group " + id },
      top,
      h("div", { class: "head" }, h("div", {}, h("h1", { translate: "no" }, id), h("p", { class: "faint" }, fill(groupWords.sizes, members.length), " · ", states(members))), mayChange() && h("a", { href: "#create/" + members[0].saleId }, groupWords.copy)),
      h("section", { "data-key": "actions", class: "actions", tabindex: -1, "aria-label": words.actions },
        members.some(mayPause) && h("div", { "data-key": "pausing", class: "pausing" }, pauseAll(id, members, "note"), field("note", words.note, { maxlength: 500 }), h("p", { class: "faint" }, groupWords.pauseHelp)),
        bar(whole(sold(members)), "left"),
        h("ul", { class: "sizes" }, members.map(row)),
        recalling(id, members)),
      moneyOf(members, page, "#refunds/group/" + id),
      h("section", { "data-key": "receipt", "aria-labelledby": "receipt" }, h("h2", { id: "receipt" }, words.books),
        h("p", { class: unbalanced ? "bad" : undefined }, unbalanced ? "✕ " + fill(groupWords.unbalanced, unbalanced, counted.length) : !counted.length ? words.notCounted : fill(groupWords.balanced, counted.length, members.length))))];
  }

  return { card, view };
}
