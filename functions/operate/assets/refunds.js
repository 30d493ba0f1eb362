// The refunds that are due and done, of a sale, of a group, or of all: found, marked one by one, many at once or by a file,
// and saved as CSV. A refund is marked once, so whatever is not certain is sent again.

import { call, passing, rest } from "./api.js";
import { h } from "./elements.js";
import { amount } from "./money.js";
import { fill, number, words } from "./words.js";

/** @typedef {import("./api.js").Answer} Answer */
/** @typedef {Record<string, any>} Refund as the API shows it */
/** @typedef {any} Page what views.js gives the other views */
/** @typedef {{line: string, payment: string, outcome: string, refund?: Refund, back?: string}} Line what became of a line of a file, or of a refund that was chosen; "" is due */

const w = words.refunds;

/** How many refunds one request marks, and how many the page shows at a time. */
const batch = 100;
const shown = 50;
/** How long a packed list and a list may be: OperateFunction takes 5 MiB of JSON, and unpacks 32. */
const [longestPacked, longest] = [(5 << 20) - 1024, 32 << 20];

/** The provider's own reference of a payment. @param {string} payment */
const reference = (payment) => payment.slice(payment.indexOf("#") + 1);

/**
 * An amount as a number with a decimal point, as files have it. Three digits get a fourth, 0: a spreadsheet in a language with a
 * decimal comma reads 89.900 as 89900.
 * @param {Refund} r
 */
const decimal = ({ amount: n, digits }) => (digits === undefined ? "" : digits ? String(n).padStart(digits + 1, "0").replace(new RegExp(`(.{${digits}})$`), ".$1") + (digits === 3 ? "0" : "") : String(n));

/** A cell of a number or of a word of this page. @param {unknown} cell */
const plain = (cell) => ({ plain: String(cell ?? "") });

/**
 * One line of CSV. A spreadsheet must take no text for a formula, also where it separates by semicolons or tabs, and none
 * for a number or a date, as it does 1e3 and nov-11: an apostrophe makes them texts, as in the lists of the command.
 * @param {unknown[]} cells
 */
const csvLine = (cells) => cells.map((c) => (c instanceof Object ? /** @type {{plain: string}} */ (c).plain : c && `"'${String(c).replace(/[;\t\r\n]/g, "$&'").replace(/"/g, '""')}"`)).join(",") + "\r\n";

/** Gives the person a file. @param {string} name @param {string[]} parts */
function give(name, ...parts) {
  const a = h("a", { href: URL.createObjectURL(new Blob(parts, { type: "text/csv" })), download: name });
  /** @type {HTMLElement} */ (a).click();
}

/** Gives a sheet. @param {string} name @param {string} titles @param {unknown[][]} lines */
const save = (name, titles, lines) => give(name, "\uFEFF", titles, "\r\n", ...lines.map(csvLine));

/** Gives the files of a provider's bulk refund. @param {string} provider @param {Refund[]} rows @param {number} perFile */
function giveBulk(provider, rows, perFile) {
  for (let at = 0; at < rows.length; at += perFile) give(`refunds-${provider}-${at / perFile + 1}.csv`, ...rows.slice(at, at + perFile).map((r) => r.bulkLine + "\n"));
}

/** A file in base64, packed if the browser can. @param {File} file */
async function packed(file) {
  const stream = "CompressionStream" in globalThis ? file.stream().pipeThrough(new CompressionStream("gzip")) : file.stream();
  const blob = await new Response(stream).blob();
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    const reader = Object.assign(new FileReader(), { onload: () => resolve(String(reader.result)), onerror: reject });
    reader.readAsDataURL(blob);
  });
  return url.slice(url.indexOf(",") + 1);
}

/** @param {string} key */
const focusOn = (key) => /** @type {HTMLElement | null} */ (document.querySelector(`[data-key=${key}]`))?.focus();

/** @param {Page} page @param {typeof import("./sendings.js").sendings} [sendings] a page of the release before has none */
export function refunds(page, sendings) {
  const { token, render, time, ago, word, mayChange, me, expire, refundsPlace, typed } = page;
  /** @type {{of: string, rows: Refund[], at: string, wrong: string, unreadable: number, left: number, whole: boolean, linesPerFile: Record<string, number>} | undefined} */
  let list;
  let text = ""; // of the filter
  let done = false; // shows those that are done
  let most = shown;
  /** @type {Set<string>} */
  let chosen = new Set();
  /** What is asked about, then on its way, then answered. @type {{state: "read" | "asked" | "sent" | "over", lines: Line[], sub: string, began: number, certain: boolean, file: string, others: number} | undefined} */
  let marking;

  addEventListener("hashchange", () => {
    list = undefined; // it is read anew
    if (marking?.state !== "sent") marking = undefined;
  });

  const key = (/** @type {Refund} */ r) => r.saleId + " " + r.payment;
  const over = (/** @type {Refund} */ r) => !!r.refundedAt;
  /** A dispute holds it back, or has given the money back. */
  const held = (/** @type {Refund} */ r) => !over(r) && ["disputed", "lost"].includes(r.state);
  const due = (/** @type {Refund} */ r) => !over(r) && !held(r);
  /** Somebody may have it given back, or mark it. */
  const free = (/** @type {Refund} */ r) => due(r) && r.sent?.state !== "accepted";
  /** Its provider cannot be asked what became of it. */
  const lost = (/** @type {Refund} */ r) => !over(r) && r.sent?.state === "unknown" && r.payment.startsWith("adyen#");
  /** The refund whose mark is asked about, and why it was not taken back. */
  let unmarking = "", unmarked = "";

  /** Takes a mark back in its operator's name. @param {Refund} r @param {Event} event */
  async function unmark(r, event) {
    event.preventDefault();
    const note = typed("why").trim();
    if (!note) return document.getElementById("why")?.focus();
    const a = await call("POST", "/operate/refunds", token(), { ...(r.saleId && { saleId: r.saleId }), payments: [r.payment], action: "unmark", note });
    if (a.code === "unauthorized") expire();
    const one = a.code ? undefined : a.body.refunds[0];
    unmarked = one?.outcome === "unmarked" ? "" : word(w.notUnmarked, one?.outcome ?? "busy");
    if (!unmarked) unmarking = "";
    if (one?.refund) learn([{ line: r.payment, ...one, refund: { ...one.refund, late: over(r) } }]);
    render();
  }

  /** Asks whether a mark is taken back. @param {Refund} r */
  const unmarkForm = (r) => unmarking !== key(r) ?
    h("button", { type: "button", class: "plain", onclick: () => ([unmarking, unmarked] = [key(r), ""], render()) }, lost(r) ? w.notSent : w.unmark) :
    h("form", { "data-key": "unmark", novalidate: true, onsubmit: (/** @type {Event} */ e) => unmark(r, e) }, unmarked && h("p", { class: "bad", role: "alert" }, unmarked),
      page.field("why", w.why, { maxlength: 500 }), h("p", { class: "answers" }, h("button", { class: "main" }, w.yesUnmark), h("button", { type: "button", onclick: () => ((unmarking = ""), render()) }, words.no)));

  /** Reads the refunds of the place, page by page, once. */
  async function load() {
    const of = refundsPlace();
    /** @type {NonNullable<typeof list>} */
    const l = { of, rows: [], at: "", wrong: "", unreadable: 0, left: 1, whole: false, linesPerFile: {} };
    list = l;
    [most, chosen] = [shown, new Set()];
    const get = async (/** @type {string} */ path) => {
      const a = await call("GET", path, token());
      if (a.code === "unauthorized") expire();
      if (a.code) l.wrong = String(a.body.detail ?? a.code);
      return a.code || list !== l ? undefined : a.body;
    };
    const [kind, id] = of.split("/");
    let ids = [id];
    if (kind !== "sale") {
      const all = await get("/operate/sales?" + (kind === "group" ? "group=" + id : "drained=1"));
      if (!all) return render();
      ids = [...all.sales.filter((/** @type {Refund} */ s) => s.state !== "DRAFT").map((/** @type {Refund} */ s) => s.saleId), ...(kind === "all" ? [""] : [])]; // a draft has none
    }
    l.left = ids.length;
    for (const saleId of ids) {
      for (let after = ""; ; ) {
        const found = await get("/operate/refunds?" + new URLSearchParams({ ...(saleId && { saleId }), ...(after && { after }) }));
        if (list !== l || !token()) return render();
        if (!found) break; // and hides no other sale's
        l.rows.push(...found.refunds);
        l.unreadable += found.unreadable;
        if (!l.at || found.asOf < l.at) l.at = found.asOf;
        l.linesPerFile = found.linesPerFile;
        if (!(after = found.next ?? "")) break;
        render();
      }
      l.left--;
      render();
    }
    l.whole = !l.wrong;
    render();
  }

  /** Marks what was asked, in batches, until each has a final answer, in its author's name alone. */
  async function run() {
    const m = marking;
    if (!m || m.state !== "asked") return;
    [m.state, m.began] = ["sent", page.now() - 60000]; // clocks differ
    for (let tries = 0; ; ) {
      const next = m.lines.filter((l) => !l.outcome);
      if (!next.length || !token() || m.sub !== me().actor) break;
      const saleId = next[0].refund?.saleId ?? "";
      const now = next.filter((l) => (l.refund?.saleId ?? "") === saleId).slice(0, batch);
      const a = await call("POST", "/operate/refunds", token(), { ...(saleId && { saleId }), payments: now.map((l) => l.payment) });
      if (a.code === "unauthorized") expire();
      m.certain = !a.code;
      if (a.code && !passing(a) && a.code !== "unauthorized") {
        for (const l of a.code === "forbidden" ? next : now) l.outcome = "failed";
        m.certain = true;
      }
      for (const [i, one] of (a.code ? [] : a.body.refunds).entries()) {
        if (one.outcome === "busy") continue;
        const ours = tries > 0 && one.outcome === "already" && one.refund?.refundedBy === m.sub && Date.parse(one.refund.refundedAt) >= m.began; // by a try whose answer was lost
        [now[i].outcome, now[i].refund] = [ours ? "marked" : one.outcome, one.refund ?? now[i].refund];
      }
      learn(now);
      render();
      tries = now.some((l) => !l.outcome) ? tries + 1 : 0;
      if (tries) await rest(a, tries);
    }
    m.state = "over";
    chosen = new Set();
    render();
  }

  /** Keeps in the list what is known of its refunds since. @param {Line[]} lines */
  function learn(lines) {
    const fresh = new Map(lines.flatMap(({ refund }) => (refund ? [[key(refund), refund]] : [])));
    if (!list) return;
    list.rows = list.rows.map((r) => {
      const now = fresh.get(key(r));
      fresh.delete(key(r));
      return now ?? r;
    });
    if (list.whole) list.rows.push(...fresh.values()); // those that came since
  }

  /** Asks about lines, if one is due. @param {Line[]} lines @param {string} file @param {number} others rows of it that are no refunds */
  function ask(lines, file, others = 0) {
    const state = lines.some((l) => !l.outcome) ? "asked" : "over";
    marking = { state, lines, sub: me().actor, began: 0, certain: true, file, others };
    render();
    focusOn(state); // it stands before what was pressed
  }

  /** Has a file read, as far as its payments are of this place, and asks. @param {Event} event */
  async function read({ target }) {
    const input = /** @type {HTMLInputElement} */ (target);
    const file = input.files?.[0];
    if (!file) return;
    /** @type {NonNullable<typeof marking>} */
    const m = { state: "read", lines: [], sub: me().actor, began: 0, certain: true, file: file.name, others: 0 };
    marking = m;
    input.setCustomValidity("");
    render();
    const wrong = await readInto(m, file).catch(() => fill(w.notRead, file.name));
    input.value = "";
    if (marking !== m) return;
    marking = undefined;
    input.setCustomValidity(wrong);
    if (!wrong) return ask(m.lines, m.file, m.others);
    render();
    input.reportValidity();
  }

  /** Has OperateFunction say what each line of a file means; returns why it cannot be. @param {NonNullable<typeof marking>} m @param {File} file */
  async function readInto(m, file) {
    if (file.size > longest) return w.problem["too-long"];
    const text = await packed(file);
    if (text.length > longestPacked) return w.problem["too-long"];
    const [kind, id] = refundsPlace().split("/");
    const scope = kind === "sale" ? { saleId: id } : kind === "group" ? { group: id } : {};
    for (let after = 0, tries = 0; marking === m; ) {
      const a = await call("POST", "/operate/refunds/list", token(), { list: text, ...scope, ...(after && { after }) });
      if (a.code === "unauthorized") expire();
      if (passing(a) && tries++ < 5) await rest(a, tries);
      else if (a.code) return fill(w.notRead, String(a.body.detail ?? a.code));
      else if (a.body.problem) return fill(word(w.problem, a.body.problem), (a.body.missing ?? []).join(words.comma));
      else {
        const lines = a.body.rows.map((/** @type {Record<string, any>} */ r) => ({ line: r.payment, payment: r.refund?.payment ?? r.payment, outcome: r.outcome === "due" ? "" : r.outcome, refund: r.refund, back: r.back }));
        m.lines = m.lines.concat(lines);
        m.others = a.body.others;
        learn(lines);
        after = a.body.next ?? 0;
        if (!after) return m.lines.length ? "" : w.noneIn;
      }
    }
    return "";
  }

  /** Sums by currency of what is not back. @param {Refund[]} rows */
  function sums(rows) {
    /** @type {Map<string, Refund>} */
    const all = new Map();
    for (const r of rows) all.set(r.currency, { ...r, amount: BigInt(all.get(r.currency)?.amount ?? 0) + BigInt(r.amount) - BigInt(r.back ?? 0) });
    return all;
  }

  /** The sums as text. @param {Refund[]} rows */
  const total = (rows) => [...sums(rows).values()].map((s) => amount(s.amount, s.currency, s.digits)).join(" + ");

  const sent = sendings?.(page, { total, sums, focusOn });

  /** @param {Refund[]} rows */
  const saveRows = (rows) => save(list?.whole ? "refunds.csv" : "refunds-incomplete.csv", "sale,payment,provider,reference,order,user,reason,currency,amount,minorUnits,at,refundedAt,refundedBy,back,state,sent,sentAt,refund,code,words",
    rows.map((r) => [r.saleId, r.payment, r.payment.split("#")[0], reference(r.payment), r.orderId, r.user, plain(r.reason), plain(r.currency), plain(decimal(r)), plain(r.amount), r.at, r.refundedAt, r.refundedBy,
      plain(r.state && decimal({ ...r, amount: r.back ?? 0 })), plain(r.state), plain(r.sent?.state), r.sent?.at, r.sent?.refund, r.sent?.code, r.sent?.words]));

  /** What is asked, on its way or answered. */
  function marked() {
    const m = marking;
    if (!m) return undefined;
    const close = (/** @type {string} */ label) => h("button", { type: "button", onclick: () => {
      marking = undefined;
      render();
      focusOn("mark");
    } }, label);
    if (m.state === "read") return h("p", { "data-key": "read", class: "notice", "data-tone": "busy", role: "status" }, h("span", { dir: "auto" }, fill(w.reading, m.file)));
    const open = m.lines.filter((l) => !l.outcome);
    const outcomes = /** @type {const} */ (["marked", "already", "sent", "doubled", "part", "unsaid", "unknown", "failed"]);
    const others = m.lines.filter((l) => l.outcome !== "marked" && (l.outcome || m.state === "over"));
    const told = [m.file && h("p", { class: "faint", dir: "auto" }, fill(w.from, m.file, number(m.lines.length)), m.others > 0 && " " + fill(w.others, number(m.others))),
      h("p", {}, m.state === "over" && open.length > 0 && fill(w.stopped, number(open.length)) + " ", outcomes.map((o) => [o, m.lines.filter((l) => l.outcome === o).length]).filter(([, n]) => n).map(([o, n]) => fill(word(w.outcome, o), number(Number(n)))).join(" · ")),
      others.length > 0 && h("ul", { class: "lines" }, others.slice(0, 20).map((l, i) => h("li", { "data-key": String(i) }, h("code", { dir: "auto", translate: "no" }, l.line), " ", fill(word(w.line, l.outcome || "open"), l.refund?.refundedAt ? page.local(l.refund.refundedAt) : "", l.refund?.refundedBy ?? words.nobody, l.back ?? "")))),
      others.length > 20 && h("p", { class: "faint" }, fill(w.more, number(others.length - 20)))];
    if (m.state === "asked") {
      return h("div", { "data-key": "asked", class: "warns", role: "group", tabindex: -1, "aria-labelledby": "sure" }, told,
        h("p", { id: "sure" }, h("b", {}, fill(w.sure, number(open.length)), " ", total(open.flatMap((l) => l.refund ?? [])))), h("p", {}, w.movesNone),
        h("p", { class: "answers" }, h("button", { class: "main", onclick: run }, fill(w.yes, number(open.length))), close(words.no)));
    }
    if (m.state === "sent") return h("p", { "data-key": "sent", class: "notice", "data-tone": "busy", role: "status" }, h("span", {}, fill(m.certain ? w.sending : w.uncertain, number(m.lines.length - open.length), number(m.lines.length))));
    return h("div", { "data-key": "over", class: "notice", tabindex: -1, "data-tone": others.length ? "bad" : "good", role: "status" }, h("div", {}, told,
      h("p", { class: "answers" }, h("button", { onclick: () => save("answers.csv", "line,outcome,payment,sale,refundedAt,refundedBy", m.lines.map((l) => [l.line, plain(l.outcome || "open"), l.payment, l.refund?.saleId, l.refund?.refundedAt, l.refund?.refundedBy])) }, w.saveAnswers), close(words.dismiss))));
  }

  const mayChoose = () => mayChange() || sent?.mayBegin();

  /** @param {Refund} r */
  function row(r) {
    const id = "r " + key(r);
    const toggle = (/** @type {Event} */ e) => (chosen[/** @type {HTMLInputElement} */ (e.target).checked ? "add" : "delete"](key(r)), render());
    return h("li", { "data-key": key(r) },
      h("p", { class: "check" }, free(r) && mayChoose() && h("input", { type: "checkbox", id, checked: chosen.has(key(r)), onchange: toggle }), h("label", { for: id, dir: "auto" }, h("b", { translate: "no" }, amount(r.amount, r.currency, r.digits)), " ", h("code", { translate: "no" }, r.payment))),
      h("p", {}, word(w.reason, r.reason)),
      h("p", { class: "faint" }, r.saleId ? h("a", { href: "#sale/" + r.saleId }, page.nameOf(r.saleId)) : w.noOrder, r.orderId && " · " + fill(w.order, r.orderId), r.user && " · ", r.user && h("span", { dir: "auto" }, r.user)),
      r.state && r.state !== "whole" && h("p", { class: "bad" }, fill(word(w.money, r.state), r.back ? amount(r.back, r.currency, r.digits) : "")),
      h("div", {}, sent?.sent(r), h("p", { class: due(r) ? "due" : "faint" }, !over(r) ? [w.since, " ", time(r.at)] : [r.refundedBy ? fill(w.by, r.refundedBy) : w.done, " ", time(r.refundedAt)])),
      (lost(r) || over(r) && r.refundedBy) && mayChange() && unmarkForm(r));
  }

  /** The page. */
  function view() {
    const of = refundsPlace();
    if (list?.of !== of) load();
    const l = list;
    const [kind, id = ""] = of.split("/");
    const rows = l?.rows ?? [];
    const found = rows.filter((r) => (done || !over(r)) && (!text || [r.payment, r.saleId, page.nameOf(r.saleId), r.orderId, r.user, r.reason, word(w.reason, r.reason)].join(" ").toLowerCase().includes(text)));
    const marks = found.filter((r) => free(r) && chosen.has(key(r)));
    const open = found.filter(free);
    const type = (/** @type {Event} */ { target }) => {
      const { value, checked, type: kindOf } = /** @type {HTMLInputElement} */ (target);
      if (kindOf === "checkbox") done = checked;
      else text = value.trim().toLowerCase();
      most = shown;
      render();
    };
    const every = (/** @type {Event} */ e) => ((chosen = new Set(/** @type {HTMLInputElement} */ (e.target).checked ? open.map(key) : [])), render());
    const busy = marking?.state === "sent";
    const bulk = (/** @type {string} */ provider) => (marks.length ? marks : open).filter((r) => r.bulkLine && r.sent?.state !== "unknown" && r.payment.startsWith(provider + "#"));
    return [h("div", { "data-key": "refunds " + of },
      h("p", {}, h("a", { href: kind === "all" ? "#" : "#" + of }, "← " + (kind === "all" ? words.all : kind === "sale" ? page.nameOf(id) : id))),
      h("h1", {}, w.title),
      l?.wrong && h("p", { class: "bad", role: "alert" }, fill(w.incomplete, l.wrong)),
      Number(l?.unreadable) > 0 && h("p", { class: "bad" }, fill(w.unreadable, number(Number(l?.unreadable)))),
      h("p", { role: "status" }, l?.whole ? [h("b", {}, fill(w.due, number(rows.filter(due).length))), " ", total(rows.filter(due)), " · ", fill(w.doneN, number(rows.filter(over).length)), " · ", rows.some(held) && fill(w.heldN, number(rows.filter(held).length)) + " · ", sent?.counts(rows), fill(words.asOf, ago(l.at)), " "] : l?.wrong ? "" : fill(w.loading, number(rows.length), number(l?.left ?? 1)),
        (l?.whole || l?.wrong) && h("button", { class: "plain", onclick: load }, w.again)),
      h("div", { class: "tools" },
        h("p", { class: "field" }, h("label", { for: "find" }, w.filter), h("input", { id: "find", type: "search", autocomplete: "off", value: text, oninput: type })),
        h("p", { class: "check" }, h("input", { id: "done", type: "checkbox", checked: done, onchange: type }), h("label", { for: "done" }, w.showDone))),
      marked(), sent?.asked(),
      h("div", { class: "tools", "data-key": "tools" },
        l && sent?.button(l, marks),
        mayChoose() && open.length > 0 && h("p", { class: "check", "data-key": "every" }, h("input", { id: "every", type: "checkbox", checked: marks.length === open.length, onchange: every }), h("label", { for: "every" }, fill(w.every, number(open.length)))),
        mayChange() && open.length > 0 && h("button", { "data-key": "mark", class: "main", "aria-disabled": !marks.length || busy, onclick: () => marks.length && !busy && ask(marks.map((r) => ({ line: r.payment, payment: r.payment, outcome: "", refund: r })), "") }, fill(w.mark, number(marks.length)), marks.length > 0 && " · " + total(marks)),
        found.length > 0 && l?.left === 0 && h("button", { "data-key": "csv", onclick: () => saveRows(marks.length ? marks : found) }, fill(w.csv, number((marks.length ? marks : found).length))),
        l?.whole && Object.keys(l.linesPerFile).map((provider) => bulk(provider).length > 0 && h("button", { "data-key": "bulk-" + provider, onclick: () => giveBulk(provider, bulk(provider), l.linesPerFile[provider]) }, fill(w.bulk, number(bulk(provider).length), provider))),
        mayChange() && l?.whole && !busy && h("p", { class: "field", "data-key": "file" }, h("label", { for: "file" }, w.file), h("input", { id: "file", type: "file", accept: ".txt,.csv,text/plain,text/csv", onchange: read }))),
      sent?.list(rows),
      h("ul", { class: "refunds" }, found.slice(0, most).map(row)),
      found.length > most && h("p", {}, h("button", { onclick: () => ((most += shown), render()) }, fill(w.showMore, number(Math.min(shown, found.length - most)), number(found.length)))),
      l?.whole && !found.length && h("p", {}, !rows.length ? w.none : text ? w.noneFound : w.allDone))];
  }

  return { view };
}
