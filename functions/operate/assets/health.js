// The health strip: what is wrong with the stack, and what to press. It is read more rarely than
// the sales, for CloudWatch itself knows it only after a minute.

import { call, passing, rest } from "./api.js";
import { h } from "./elements.js";
import { healthWords } from "./healthwords.js";
import { duration, fill, number, words } from "./words.js";

/** @typedef {import("./elements.js").Child} Child */
/** @typedef {{alarm: string, page: boolean, runbook: string, says?: string, since?: string, saleId?: string}} Trouble */
/** @typedef {{sign: string, level: "green" | "amber" | "red" | "unknown", count: number | null, since?: string, troubles: Trouble[]}} Sign */
/** @typedef {"resend" | "count" | "redrive"} Repair */
/** @typedef {{token: () => string, expire: () => void, render: () => void, mayChange: () => boolean, time: (iso: string) => Node, nameOf: (saleId: string) => string, unsaid: () => Trouble[], pauseOf: (saleId: string) => Child}} Page what the page around it can do */

/** How often it is read, and how long it waits at most after errors, in milliseconds. */
const interval = 10000;
const longestWait = 60000;
/** The most troubles of one alarm that are shown. */
const mostRows = 3;

/** What is pressed for an alarm; of a sale, if the repair is one of a sale. @type {Record<string, Repair>} */
const repairs = { OldestPendingAlarm: "resend", DeadLettersAlarm: "redrive", BooksWrongAlarm: "count" };

/** Where it is done, if not here. @type {Record<string, (saleId: string) => string>} */
const places = { RefundsDueAlarm: (id) => "#refunds/sale/" + id, paused: (id) => "#sale/" + id };

/** @param {object} of @param {string} name @returns {any} */
const healthWord = (of, name) => /** @type {Record<string, any>} */ (of)[name];

/** @param {Page} page */
export function health(page) {
  /** @type {Sign[] | undefined} */
  let signs;
  let offset = 0; // the API's time less performance.now()
  let read = performance.now();
  let old = false;
  let wake = () => {};
  /** What the repairs have done, by their keys. @type {Map<string, {text: string, busy: boolean}>} */
  const told = new Map();

  /** Reads again and again, while the page is seen. */
  async function poll() {
    for (let errors = 0; ; ) {
      while (document.hidden || !page.token()) await new Promise((resolve) => setTimeout(resolve, 1000));
      const a = await call("GET", "/operate/health", page.token());
      if (a.code === "unauthorized") page.expire();
      errors = a.code ? errors + 1 : 0;
      if (a.code === "forbidden") signs = undefined;
      if (!a.code) {
        read = performance.now();
        offset = Date.parse(a.body.asOf) - read;
        signs = a.body.signs;
      }
      old = errors > 1;
      page.render();
      const wait = errors ? Math.max(a.wait, Math.min(interval * 2 ** (errors - 1), longestWait)) * (1 + Math.random() / 4) : interval;
      await new Promise((resolve) => {
        wake = () => resolve(0);
        setTimeout(wake, wait);
      });
    }
  }

  /** Asks for a repair until the answer is final: twice does what once does. @param {Repair} action @param {string} saleId */
  async function repair(action, saleId) {
    const key = action + " " + saleId;
    if (told.get(key)?.busy) return;
    told.set(key, { text: healthWord(healthWords.asking, action), busy: true });
    for (let tries = 1; ; tries++) {
      page.render();
      const a = await call("POST", "/operate/repairs", page.token(), { action, ...(saleId && { saleId }) });
      if (a.code === "unauthorized") page.expire();
      if (!passing(a) || !page.token()) {
        told.set(key, { text: a.code ? fill(healthWords.failed, String(a.body.detail ?? a.code)) : did(a.body), busy: false });
        break;
      }
      told.set(key, { text: healthWords.again, busy: true });
      page.render();
      await rest(a, tries);
    }
    page.render();
    wake();
  }

  /** What a repair has done. @param {Record<string, any>} b */
  function did(b) {
    if (b.action === "redrive") {
      return [fill(healthWords.didRedrive, number(b.moved), number(b.deleted)), b.poison && fill(healthWords.stay, number(b.poison)), b.unknown && fill(healthWords.puzzling, number(b.unknown)), !b.done && healthWords.pressAgain].filter(Boolean).join(" ");
    }
    if (!b.done) return healthWords.goesOn;
    if (b.action === "resend") return fill(healthWords.didResend, b.resent, number(b.pending));
    return b.balanced ? fill(healthWords.didCount, number(b.pending)) : healthWords.didCountWrong;
  }

  /** What a sign shows. @param {Sign} s */
  function valueOf(s) {
    // An order has its id within seconds, and is counted every minute: what is younger has probably its id by now.
    const age = s.since ? performance.now() + offset - Date.parse(s.since) : 0;
    if (s.sign === "pending" && age >= (s.level === "green" ? 90000 : 1)) return duration(age);
    if (s.count === null) return s.troubles.length ? fill(healthWords.failN, s.troubles.length) : healthWords.unknown;
    if (s.sign === "pending") return s.count ? fill(healthWords.pendingN, number(s.count)) : healthWords.none;
    if (s.sign === "books") return s.count ? fill(healthWords.wrongN, s.count) : s.troubles.length ? fill(healthWords.failN, s.troubles.length) : healthWords.balance;
    if (s.sign === "functions" || s.sign === "others") return s.troubles.length ? fill(healthWords.failN, s.troubles.length) : s.sign === "others" ? healthWords.none : healthWords.runs;
    return s.count ? number(s.count) : s.troubles.length ? fill(healthWords.failN, s.troubles.length) : healthWords.none;
  }

  /** @param {Sign} s */
  const tile = (s) =>
    h("li", { "data-key": s.sign, "data-level": s.level }, h("span", { class: "name" }, healthWord(healthWords.signs, s.sign) ?? s.sign), h("b", {}, valueOf(s)), h("small", { class: "heard" }, healthWord(healthWords.levels, s.level)));

  /** A trouble: what is so, what to do, the button and the runbook. @param {Trouble} t */
  function row(t) {
    const { runbook } = document.documentElement.dataset;
    const [what, first] = healthWords.alarms[t.alarm] ?? [t.says || fill(healthWords.rings, t.alarm), healthWords.see];
    const there = t.saleId && places[t.alarm]?.(t.saleId);
    const action = repairs[t.alarm];
    const may = page.mayChange() && action && (action === "redrive" || t.saleId);
    const said = told.get(action + " " + (action === "redrive" ? "" : t.saleId ?? ""));
    return h("li", { "data-key": t.alarm + " " + (t.saleId ?? ""), "data-level": t.page ? "red" : "amber" },
      h("div", {},
        h("p", {}, t.saleId && [h("a", { href: "#sale/" + t.saleId, dir: "auto" }, page.nameOf(t.saleId)), words.colon], h("b", { lang: healthWords.alarms[t.alarm] ? undefined : "en" }, what)),
        h("p", {}, first, " ", t.runbook && h("a", { href: runbook ? runbook + "#" + t.runbook : undefined }, t.alarm), t.since && [" · ", page.time(t.since)]),
        said && h("p", { role: "status", class: "did" }, said.text)),
      there && h("a", { class: "button", href: there }, healthWord(healthWords, t.alarm)),
      t.alarm === "BooksWrongAlarm" && page.pauseOf(t.saleId ?? ""),
      may && h("button", { "data-key": "repair", "aria-disabled": !!said?.busy, onclick: () => repair(action, action === "redrive" ? "" : t.saleId ?? "") }, healthWords[action]));
  }

  return {
    poll,
    /** @returns {Child[]} */
    view() {
      if (!signs) return [];
      const shown = signs.filter((s) => s.sign !== "others" || s.level === "red" || s.level === "amber");
      const troubles = [...shown.flatMap((s) => s.troubles), ...page.unsaid()].sort((a, b) => Number(b.page) - Number(a.page));
      /** @type {Map<string, number>} */
      const of = new Map();
      const rows = troubles.filter(({ alarm }) => {
        of.set(alarm, (of.get(alarm) ?? 0) + 1);
        return (of.get(alarm) ?? 0) <= mostRows;
      });
      const rest = troubles.length - rows.length;
      const well = shown.every((s) => s.level === "green") && !troubles.length;
      // What was done stays said, when its trouble is gone.
      const rowKeys = new Set(rows.map((t) => repairs[t.alarm] + " " + (repairs[t.alarm] === "redrive" ? "" : t.saleId ?? "")));
      const done = [...told].filter(([key]) => !rowKeys.has(key));
      return [
        h("section", { "data-key": "health", class: "health" + (old ? " stale" : ""), "aria-label": healthWords.health },
          old && h("p", { class: "bad" }, fill(healthWords.cannotLook, duration(performance.now() - read))),
          h("p", { class: "well" }, well && "✓ " + healthWords.well),
          h("ul", { class: "signs" }, shown.map(tile)),
          rows.length > 0 && h("ul", { class: "rows" }, rows.map(row)),
          rest > 0 && h("p", { class: "faint" }, fill(healthWords.more, number(rest))),
          done.map(([key, { text }]) => h("p", { "data-key": key, role: "status", class: "did" }, text))),
      ];
    },
  };
}
