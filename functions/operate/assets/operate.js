// The operators' page: shows the view of the place where the person is, and signs people in. What is read is in
// reading.js, what is changed in acting.js and dialog.js, and what is seen in views.js.

import { doingOf, forget, goOn, news, notice, notices, remember, said, sending } from "./acting.js";
import { askAgain, asking, close, dialog, question } from "./dialog.js";
import { element, h, render, renders, show } from "./elements.js";
import { groupPlace } from "./group.js";
import { health } from "./health.js";
import { code, every, failing, leave, making, mayChange, me, nameOf, now, nudge, place, poll, readAt, refundsPlace, sale, sales, token } from "./reading.js";
import { available, ended, expire, finish, signIn, signOut } from "./signin.js";
import { fieldTime, fromField, time, turnZone, utc, zone } from "./times.js";
import { glance, group, pauseOf, unsaid, views, whole } from "./views.js";
import { duration, fill, language, word, words } from "./words.js";

/** @typedef {import("./elements.js").Child} Child */
/** @typedef {import("./reading.js").Sale} Sale */

// Loaded when they are asked for.
/** @type {{view: (copied: string) => Child[]} | undefined} */
let form;
/** @type {{view: (s: Sale) => Child} | undefined} */
let chart;
/** @type {{view: () => Child[]} | undefined} */
let list;
/** @type {{view: (found: Sale) => Child[]} | undefined} */
let story;
let failed = 0; // scripts that did not arrive
let missing = false; // the latest of them

/** A script that arrives in time. @template T @param {Promise<T>} script @returns {Promise<T>} */
const soon = (script) => Promise.race([script, new Promise((_, reject) => setTimeout(reject, 15000))]);

/** Loads what the place shows. Browsers do not ask again for an address that has failed. */
async function load() {
  missing = false;
  const at = "?" + failed;
  try {
    if (!form && making() !== undefined) {
      const { creating } = await soon(/** @type {Promise<typeof import("./create.js")>} */ (import("./create.js" + at)));
      form ??= creating({ token, expire, render, now, toField: fieldTime, fromField, zone });
    }
    if (!chart && place()) {
      const { charts } = await soon(/** @type {Promise<typeof import("./chart.js")>} */ (import("./chart.js" + at)));
      chart ??= charts(views);
    }
    if (!story && place()) {
      const { stories } = await soon(/** @type {Promise<typeof import("./story.js")>} */ (import("./story.js" + at)));
      story ??= stories(views);
    }
    if (!list && refundsPlace()) {
      const { sendings } = await soon(/** @type {Promise<typeof import("./sendings.js")>} */ (import("./sendings.js" + at)));
      const { refunds } = await soon(/** @type {Promise<typeof import("./refunds.js")>} */ (import("./refunds.js" + at)));
      list ??= refunds(views, sendings);
    }
  } catch {
    failed++;
    missing = true;
  }
  render();
}

/** What stands where a script is not there yet. @param {string} [title] of a view that is nothing else */
const absent = (title) => h("div", { "data-key": "absent" }, title && h("h1", {}, title), h("p", { role: "status" }, missing ? words.missing : words.loading), missing && h("button", { onclick: () => (load(), render()) }, words.again));

/** The page for who is not signed in, or may not look. @param {string} why @param {boolean} button */
const door = (why, button) => [h("div", { "data-key": "door", class: "door" }, h("h1", {}, words.page), h("p", {}, why), button && h("p", {}, h("button", { class: "main", onclick: enter }, words.signIn)))];

/** Signs in, and comes back to this place. */
async function enter() {
  try {
    sessionStorage.setItem("place", location.hash);
    await signIn("", "");
  } catch {
    notice("", "bad", words.noStorage, "sign-in");
    render();
  }
}

function exit() {
  for (const name of ["place", "sending", "draft"]) sessionStorage.removeItem(name);
  signOut("", "");
}

const strip = health({ token, expire, render, mayChange, time, nameOf, unsaid, pauseOf });
renders(() => {
  const id = place();
  const inGroup = groupPlace();
  const inside = !!token();
  const old = !Number.isNaN(readAt) && (failing || performance.now() - readAt > 3 * every);
  const age = Number.isNaN(readAt) ? (failing ? words.noAnswer : "") : fill(!navigator.onLine ? words.offline : old ? words.stale : words.asOf, duration(performance.now() - readAt));
  show(element("top"), inside ? [
    h("p", {}, me.role && h("b", { dir: "auto" }, me.actor), me.role && " " + me.roles.map((role) => word(words, role)).join(words.comma)),
    h("p", { class: old || failing ? "bad" : "faint" }, code === "forbidden" ? "" : age),
    h("p", {}, h("button", { class: "plain", onclick: exit }, words.signOut)),
  ] : []);
  // Screen readers say here what is shown beside each sale.
  show(element("told"), [...[...sending.values()].map(doingOf), ...notices.map((n) => n.text)].map((text) => h("p", { "data-key": text }, text)));
  const beside = new Set(!inside || code === "forbidden" ? [] : id ? [id] : refundsPlace() ? [] : sales?.map((s) => s.saleId));
  const others = said((of) => !beside.has(of));
  element("others").hidden = !others.length;
  show(element("others"), others);
  const copied = making();
  const shown = !inside ? door(ended(now()) ? words.signedOut : available ? words.signInFirst : words.noSignIn, available) :
    code === "forbidden" ? door(words.needsViewer, false) : copied !== undefined && mayChange() ? (form ? form.view(copied) : [absent(words.create)]) : id ? whole(id, (s) => (chart ? chart.view(s) : missing && absent()), (found) => (story ? story.view(found) : absent())) : inGroup ? group.view(inGroup, sales, code) : refundsPlace() ? (list ? list.view() : [absent(words.refunds.title)]) : glance();
  element("main").className = old ? "old" : "";
  show(element("health"), inside && me.role ? strip.view() : []);
  const heading = shown[0] instanceof Element && shown[0].querySelector("h1")?.textContent;
  show(/** @type {Element} */ (document.querySelector("title")), [[...new Set([heading, words.page])].filter(Boolean).join(" · ")]);
  show(element("main"), shown);
  show(element("foot"), inside ? [h("p", {}, fill(words.zone, zone())), (utc || zone() !== "UTC") && h("button", { class: "plain", onclick: turnZone }, utc ? words.showLocal : words.showUTC)] : []);
  if (question && (!sale || sale.saleId !== id || !inside)) return close();
  show(dialog(), question && sale ? asking(sale) : []);
});

/** The page at /signin, to which the identity provider sends the person back. */
async function callback() {
  show(element("main"), [h("p", {}, words.signingIn)]);
  const { done } = await finish();
  let to = "/";
  try {
    to += sessionStorage.getItem("place") ?? "";
  } catch {
    // Without storage nobody is signed in.
  }
  to = to.startsWith("/#") ? to : "/";
  if (done) location.replace(to);
  else show(element("main"), [h("h1", {}, words.page), h("p", {}, words.signInFailed), h("p", {}, h("a", { href: to }, words.back))]);
}

document.documentElement.lang = language === "zh" ? "zh-CN" : language;
document.title = words.page;
element("others").ariaLabel = words.trail;
if (location.pathname === "/signin") callback();
else {
  dialog().onclose = () => dialog().open || close();
  addEventListener("hashchange", ({ oldURL }) => {
    load();
    forget();
    leave(!!groupPlace() || oldURL.includes("#group/"));
    render();
    element("main").focus();
    scrollTo(0, 0);
  });
  for (const event of ["online", "offline"]) addEventListener(event, () => (nudge(), render()));
  document.addEventListener("visibilitychange", () => document.hidden || nudge());
  remember();
  render();
  poll({ news, goOn, askAgain });
  strip.poll();
  load();
  setInterval(render, 1000);
}

