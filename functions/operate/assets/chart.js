// A sale over time: when its own orders were accepted, as counted last, and how the purchases of all sales
// were answered in the last hour, by the stack's metrics. It is loaded when a sale is looked at, and only
// then asks for the metrics, which cost money.

import { call } from "./api.js";
import { h } from "./elements.js";
import { duration, fill, language, number, words } from "./words.js";

/** @typedef {Record<string, any>} Sale */
/** @typedef {{token: () => string, expire: () => void, render: () => void, local: (iso: string) => string, ago: (iso: string) => string, zone: () => string | undefined}} Page what the page around it can do */

/** How often the metrics are read, in milliseconds: a minute has one figure. */
const every = 60000;

const en = {
  title: "Over time",
  sale: "This sale",
  all: "All sales of this stack together, each minute of the hour until {0}. Read {1} ago; CloudWatch may still lack the last two minutes. Nobody counts refusals by sale.",
  line: "{0}, at most {1} a minute, at {2}.",
  none: "none.",
  /** @type {Record<string, string[]>} what each line is, and what it counts */
  lines: { accepted: ["Accepted", "Repeats of a request are counted, too."], refused: ["Refused", "Sold out, too few left, ordered before, too early, too late, paused or not eligible."], busy: ["Busy or failed", "The same request may be made again."] },
  unknown: "How purchases are answered is not known: {0}",
};

/** @type {typeof en} */
const zh = {
  title: "随时间变化",
  sale: "本活动",
  all: "本系统全部活动合计，截至 {0} 的一小时内每分钟。{1}前读取；最后两分钟在 CloudWatch 中可能尚不完整。被拒绝的次数不按活动统计。",
  line: "{0} 次，每分钟最多 {1} 次（{2}）。",
  none: "无。",
  lines: { accepted: ["已接受", "含重复的请求。"], refused: ["被拒绝", "售罄、余量不足、已下单、未开始、已结束、暂停或无资格。"], busy: ["繁忙或失败", "可重试同一请求。"] },
  unknown: "购买的答复情况未知：{0}",
};

const w = language === "zh" ? zh : en;

/** Counts as bars, below what they say. @param {string} key @param {number[]} counts @param {string} name @param {string} says @param {string} [means] */
function bars(key, counts, name, says, means) {
  const most = Math.max(...counts);
  return h("figure", { "data-key": key },
    h("figcaption", {}, h("b", {}, name), " ", says, " ", h("small", {}, means ?? "")),
    most > 0 && h("div", { class: "pace", "data-line": key, "aria-hidden": "true" }, counts.map((n) => h("i", { "data-h": n ? Math.max(1, Math.round((20 * n) / most)) : 0 }))));
}

/** @param {Page} page */
export function charts(page) {
  /** @type {Sale | undefined} */
  let answers;
  let read = 0; // when, by performance.now()
  let trouble = "";
  let asked = -every;

  async function ask() {
    asked = performance.now();
    const a = await call("GET", "/operate/purchases", page.token());
    if (a.code === "unauthorized") page.expire();
    trouble = a.code && String(a.body.detail ?? a.code);
    if (!a.code) [answers, read] = [a.body, performance.now()];
    page.render();
  }

  /** When a step of counts began. @param {Sale} of @param {number} step */
  const at = (of, step) => new Date(Date.parse(of.from) + 1000 * of.every * step);
  const clock = (/** @type {Date} */ time) => new Intl.DateTimeFormat(language, { timeStyle: "short", timeZone: page.zone() }).format(time);

  /** When the orders of a sale were accepted. @param {Sale} s */
  function own(s) {
    const a = s.books?.accepted;
    if (!(a?.counts.length > 1)) return undefined;
    const [from, until] = [at(a, 0), at(a, a.counts.length)].map((time) => page.local(time.toISOString()));
    return bars("sale", a.counts, w.sale, fill(words.money.pace, from, until, number(Math.max(...a.counts)), duration(1000 * a.every)), fill(words.money.asOf, page.ago(s.books.asOf)));
  }

  /** @param {Sale} of @param {string} line */
  function one(of, line) {
    const counts = /** @type {number[]} */ (of[line]);
    const most = Math.max(...counts);
    const sum = counts.reduce((sum, n) => sum + n, 0);
    return bars(line, counts, w.lines[line][0], most ? fill(w.line, number(sum), number(most), clock(at(of, counts.indexOf(most)))) : w.none, w.lines[line][1]);
  }

  return {
    /** @param {Sale} s */
    view(s) {
      if (!document.hidden && performance.now() - asked >= every) ask();
      const of = answers;
      return h("section", { "data-key": "time", "aria-labelledby": "time" },
        h("h2", { id: "time" }, w.title),
        own(s),
        trouble && h("p", { class: "bad", "data-key": "trouble" }, fill(w.unknown, trouble)),
        of && h("p", { "data-key": "all", class: "faint" }, fill(w.all, clock(at(of, of.accepted.length)), duration(performance.now() - read))),
        of && Object.keys(w.lines).map((line) => one(of, line)));
    },
  };
}
