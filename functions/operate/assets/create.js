// The form that creates sales, with a preview of what buyers will see. It is loaded when somebody
// asks for it. One size is one sale of a group; each creation has an id, and is sent again under it
// until the answer is final.

import { call, passing, rest } from "./api.js";
import { h } from "./elements.js";
import { bySize } from "./group.js";
import { amount } from "./money.js";
import { words as common, duration, fill, language, number } from "./words.js";

/** @typedef {import("./elements.js").Child} Child */
/** @typedef {Record<string, any>} Body of a creation */
/** @typedef {{token: () => string, expire: () => void, render: () => void, now: () => number, toField: (iso: string) => string, fromField: (text: string) => Date, zone: () => string}} Page what the page around it can do */

const at = new URL(import.meta.url).search; // of this try to load it
/** @type {typeof import("./create-en.js")} */
const { words } = await (language === "zh" ? import("./create-zh.js" + at) : import("./create-en.js" + at));

/** The text of a field; "?" if the browser takes it for none, as half a date. @param {string} id */
const typed = (id) => {
  const e = /** @type {HTMLInputElement | HTMLTextAreaElement | null} */ (document.getElementById("new-" + id));
  return e?.validity.badInput ? "?" : e?.value.trim() ?? "";
};

/** The currency of the field. */
const currencyOf = () => typed("currency").toUpperCase();

const { lead: seconds, images, digits = "" } = document.documentElement.dataset;
const lead = Number(seconds) || 0;
const currencies = /^[a-z]{3}$/i;

/** How many digits a currency's minor unit has. @param {string} currency */
function digitsOf(currency) {
  const n = digits.split(",").findIndex((codes) => codes.split(" ").includes(currency));
  return n < 0 ? 2 : n; // of what is no currency, which is refused
}

/** The price in minor units, 0 if it is none: without more decimals than its currency has. */
function minorOf() {
  const n = digitsOf(currencyOf());
  const [, whole = "", part = ""] = /^(\d+)(?:\.(\d+))?$/.exec(typed("price")) ?? [];
  const minor = Number(whole + part.padEnd(n, "0"));
  return part.length > n || minor > 1e12 ? 0 : minor;
}

/** The sizes of a text such as "38: 20, 39: 20"; undefined if it is none. @param {string} text */
function sizesOf(text) {
  const all = text.split(/[,，;\n]/).filter((one) => one.trim()).map((one) => one.split(/[:：=]/).map((part) => part.trim()));
  return all.every(([size, n, more]) => size && more === undefined && /^[1-9]\d{0,8}$/.test(n)) ? all.map(([size, n]) => ({ size, stock: Number(n) })) : undefined;
}

/** What was typed and is not created yet, by field: it outlives a sign-in and a reload. @returns {Record<string, string>} */
function drafted() {
  try {
    return JSON.parse(sessionStorage.getItem("draft") ?? "{}") ?? {};
  } catch {
    return {}; // it was not written by this page
  }
}

/** @param {Page} page */
export function creating(page) {
  /** What is copied: its fields as they were. @type {Body | undefined} */
  let from;
  let copied = "";
  /** Whether what is wrong with the fields is said beside them. */
  let tried = false;
  /** @type {Record<string, string>} */
  let wrongs = {};
  /** @type {{saleId: string, group: string, text: string, tone: string}[]} */
  let told = [];
  let busy = false;
  let draft = drafted();

  /** Of what a draft is: the times in it are of one zone. */
  const draftOf = () => copied + " " + page.zone();

  /** Keeps what is typed. */
  function type() {
    draft = { of: draftOf() };
    for (const e of document.querySelectorAll(".making [id^=new-]")) draft[e.id] = /** @type {HTMLInputElement} */ (e).value;
    sessionStorage.setItem("draft", JSON.stringify(draft));
    page.render();
  }

  /** Reads what is to be copied: of a group all sizes, if their names say them. @param {string} id */
  async function copy(id) {
    copied = id;
    const read = async (/** @type {string} */ path) => {
      for (let tries = 1; ; tries++) {
        const a = await call("GET", "/operate/sales" + path, page.token());
        if (a.code === "unauthorized") page.expire();
        if (copied !== id || !passing(a)) return a;
        await rest(a, tries);
      }
    };
    const a = await read("/" + id);
    const { limitGroup, name = "" } = a.body;
    const g = limitGroup ? await read("?group=" + limitGroup) : a;
    if (copied !== id) return;
    from = a.code ? {} : a.body;
    const goods = name.slice(0, name.lastIndexOf(" ") + 1);
    const sizes = bySize(g.body.sales ?? []);
    if (goods && sizes.length && sizes.every((s) => s.name?.startsWith(goods))) Object.assign(from, { name: goods.trim(), sizes: sizes.map((s) => s.name.slice(goods.length) + ": " + s.seeded).join(", ") });
    page.render();
    page.render(); // with what is in its fields
  }

  const extras = () => /** @type {HTMLInputElement | null} */ (document.getElementById("extras"))?.checked;

  /** What the fields say, and what is wrong with them, by field. @returns {{bodies: Body[], wrong: Record<string, string>}} */
  function wanted() {
    /** @type {Record<string, string>} */
    const wrong = {};
    const must = (/** @type {string} */ field, /** @type {unknown} */ ok, /** @type {string} */ why) => ok || (wrong[field] ??= why);
    const id = typed("id"), stock = typed("stock"), price = typed("price"), currency = currencyOf(), rate = typed("rate");
    must("id", /^[A-Za-z0-9_-]{1,64}$/.test(id), words.badId);
    const sizes = sizesOf(typed("sizes"));
    // A size that is not in ASCII is told by its place.
    const ids = sizes?.map(({ size }, i) => ("-" + (/[^ -~]/.test(size) ? "s" + (i + 1) : size)).replace(/[^A-Za-z0-9_-]/g, "-").slice(0, 33)).map((tail) => id.slice(0, 64 - tail.length) + tail);
    must("sizes", sizes && sizes.length <= 30 && new Set(ids).size === sizes.length, words.badSizes);
    must("stock", sizes?.length || /^[1-9]\d{0,8}$/.test(stock), words.badStock);
    must("rate", !rate || (/^\d+$/.test(rate) && Number(rate) >= 1 && Number(rate) <= 20000), words.badRate);
    for (const field of ["image", "page"]) must(field, !typed(field) || /^https:\/\/[^/]/.test(typed(field)), words.badAddress);
    if (typed("image")) must("image", images && (typed("image") + "/").startsWith(images + "/"), images ? fill(words.badImage, images) : words.noImages);
    const [opens, closes] = [page.fromField(typed("opens")), page.fromField(typed("closes"))];
    must("opens", +opens, words.badTime);
    must("closes", +closes > Math.max(+opens || 0, page.now()), words.badCloses);
    const pay = 60 * Number(typed("minutes"));
    const minor = minorOf();
    if (price || currency) must("currency", currencies.test(typed("currency")), words.badCurrency);
    if (price || currency) must("price", minor, words.badPrice);
    if (price) must("minutes", pay >= 60 && pay <= 604800 && Math.abs(pay - Math.round(pay)) < 1e-6, words.badMinutes);
    const [from, until] = [page.fromField(typed("from")), page.fromField(typed("until"))];
    const draws = typed("from") || typed("until");
    const hours = Number(typed("hours"));
    const most = typed("most");
    must("most", /^[1-8]?$/.test(most) && !(Number(most) > 1 && draws), words.badMost);
    const late = typed("late");
    must("late", /^[0-7]?$/.test(late) && (!Number(late) || (price && !draws)), words.badLate);
    if (draws) {
      must("from", +from, words.badTime);
      must("until", +until > (+from || 0), words.badUntil);
      must("hours", Number.isInteger(hours) && hours >= 1 && hours <= 168, words.badHours);
      must("opens", !(+opens < +until + 1000 * lead), fill(words.enterHelp, duration(1000 * lead)));
    }
    if (Object.keys(wrong).length) return { bodies: [], wrong };
    const name = typed("name") || id;
    const terms = {
      action: "create", opensAt: opens.toISOString(), closesAt: closes.toISOString(),
      ...(typed("image") && { image: typed("image") }), ...(typed("about") && { about: typed("about") }), ...(typed("page") && { link: typed("page") }),
      ...(Number(most) > 1 && { maxPerOrder: Number(most) }), ...(rate && { ordersPerSecond: Number(rate) }), ...(price && { price: minor, currency, payWithin: Math.round(pay), ...(Number(late) && { lateDays: Number(late) }), ...(extras() && { extras: "allowed" }) }),
      ...(draws && { enterFrom: from.toISOString(), enterUntil: until.toISOString(), keepHours: hours }), ...(typed("note") && { note: typed("note") }),
    };
    if (!sizes?.length) return { bodies: [{ ...terms, saleId: id, name, stock: Number(stock) }], wrong };
    return { bodies: sizes.map(({ size, stock }, i) => ({ ...terms, saleId: ids?.[i], name: name + " " + size, stock, limitGroup: id })), wrong };
  }

  /** Creates what is asked for, one sale after the other, and stops at a refusal. @param {Event} event */
  async function create(event) {
    event.preventDefault();
    const { bodies } = wanted();
    tried = true;
    page.render();
    /** @type {HTMLElement | null} */ (document.querySelector(".making [aria-invalid=true]"))?.focus();
    if (busy || !bodies.length) return;
    [busy, tried] = [true, false];
    told = [];
    for (const body of bodies) {
      const one = { saleId: body.saleId, group: body.limitGroup, text: fill(words.creating, body.name), tone: "busy" };
      told.push(one);
      const sent = { id: crypto.randomUUID(), ...body };
      for (let tries = 1; one.tone === "busy"; tries++) {
        page.render();
        const a = await call("POST", "/operate/sales", page.token(), sent);
        if (a.code === "unauthorized") { // the draft stays, and is sent again by who signs in
          [busy, told] = [false, []];
          page.expire();
          return page.render();
        }
        if (!passing(a)) Object.assign(one, a.code ? { text: fill(words.refused, body.name, String(a.body.detail ?? a.code)), tone: "bad" } : { text: fill(a.body.applied || tries > 1 ? words.done : words.already, body.name), tone: "good" });
        else {
          one.text = fill(words.again, body.name);
          page.render();
          await rest(a, tries);
        }
      }
      if (one.tone === "bad") break;
    }
    busy = false;
    if (told.every(({ tone }) => tone === "good")) sessionStorage.removeItem("draft");
    page.render();
  }

  /** A field with what it may be. @param {string} id @param {string} label @param {string} help @param {Record<string, unknown>} properties */
  const field = (id, label, help, properties) => {
    const { value: first, ...others } = properties;
    const value = (draft.of === draftOf() ? draft["new-" + id] : undefined) ?? first;
    const wrong = tried && wrongs[id];
    const common = { id: "new-" + id, autocomplete: "off", oninput: type, "aria-invalid": !!wrong, ...((wrong || help) && { "aria-describedby": "help-" + id }), ...others };
    return h("p", { class: "field", "data-key": id }, h("label", { for: "new-" + id }, label),
      others.rows ? h("textarea", common, String(value ?? "")) : h("input", { ...common, value }), (wrong || help) && h("small", { id: "help-" + id, class: wrong ? "bad" : undefined }, wrong || help));
  };

  /** What buyers will see. */
  function preview() {
    const [image, currency, sizes] = [typed("image"), currencyOf(), sizesOf(typed("sizes")) ?? []];
    const opens = page.fromField(typed("opens"));
    const minor = minorOf();
    const draws = typed("from") || typed("until");
    return h("section", { "data-key": "preview", class: "preview", "aria-label": words.preview },
      h("p", { class: "faint" }, words.preview),
      images && image.startsWith(images + "/") ? h("img", { loading: "lazy", src: image, alt: "" }) : h("p", { class: "nothing" }, words.pictureHere),
      h("p", { class: "called", dir: "auto" }, typed("name") || typed("id") || "…"),
      minor > 0 && currencies.test(typed("currency")) && h("p", { class: "price" }, amount(minor, currency, digitsOf(currency))),
      +opens > page.now() && h("p", {}, fill(words.opensIn, duration(+opens - page.now()))),
      sizes.length > 0 && h("p", { class: "tiles" }, sizes.map(({ size }) => h("span", {}, size))),
      h("p", { class: "press" }, draws ? words.enters : sizes.length ? words.choose : words.buys),
      h("p", { class: "faint" }, (Number(typed("most")) > 1 ? fill(words.eachMost, typed("most")) : words.each) + (minor > 0 && Number(typed("minutes")) > 0 ? " · " + fill(common.payWithin, duration(60000 * Number(typed("minutes")))) : "")),
      typed("about") && h("p", { class: "about", dir: "auto" }, typed("about")));
  }

  /** @param {string} id what is copied, "" for nothing @returns {Child[]} */
  function view(id) {
    if (told.length && !busy && !sessionStorage.getItem("draft") && !document.querySelector(".making")) (draft = {}), (told = []); // who comes back after a creation begins anew
    if (id !== copied) (from = undefined), (told = []), (tried = false), id ? copy(id) : (copied = "");
    if (id && !from) return [h("p", {}, common.loading)];
    const f = from ?? {};
    const day = 86400000;
    const since = (/** @type {string} */ then) => Date.parse(f.opensAt) - Date.parse(then);
    const first = day + (f.draw ? since(f.draw.enterFrom) : 0); // of a copied draw, entering begins in a day
    const at = (/** @type {string | undefined} */ iso, /** @type {number} */ later) => page.toField(iso ?? new Date(Math.ceil(page.now() / 3600000) * 3600000 + later).toISOString());
    const { bodies, wrong } = wanted();
    wrongs = wrong;
    const wrongN = Object.keys(wrong).length;
    const sizes = sizesOf(typed("sizes")) ?? [];
    const total = sizes.length ? sizes.reduce((n, { stock }) => n + stock, 0) : Number(typed("stock")) || 0;
    const once = bodies.length > 0 && Date.parse(bodies[0].opensAt) <= page.now();
    const group = told.length > 1 && told.every(({ tone }) => tone === "good") && told[0].group;
    const offer = f.offer ?? {};
    return [
      h("div", { "data-key": "create " + id },
        h("p", {}, h("a", { href: "#" }, "← " + common.all)),
        h("h1", {}, id ? fill(words.copyTitle, f.name ?? id) : common.create),
        h("div", { class: "making" },
          h("form", { onsubmit: create, novalidate: true },
            h("fieldset", {}, h("legend", {}, words.goods),
              field("name", words.name, words.nameHelp, { maxlength: 200, value: f.name }),
              field("id", words.id, words.idHelp, { maxlength: 64, spellcheck: "false", autocapitalize: "off", value: "" }),
              field("image", words.image, images ? fill(words.imageHelp, images) : words.noImages, { type: "url", maxlength: 500, value: offer.image }),
              field("about", words.about, words.aboutHelp, { rows: 3, maxlength: 500, value: offer.about }),
              field("page", words.page, "", { type: "url", maxlength: 500, value: offer.link })),
            h("fieldset", {}, h("legend", {}, words.when + " (" + page.zone() + ")"),
              field("opens", common.opens, "", { type: "datetime-local", step: 1, value: at(undefined, first) }),
              field("closes", common.closes, "", { type: "datetime-local", step: 1, value: at(undefined, first + (f.opensAt ? -since(f.closesAt) : 2 * 3600000)) })),
            h("fieldset", {}, h("legend", {}, words.units),
              field("sizes", words.sizes, words.sizesHelp, { value: f.sizes }),
              field("stock", words.stock, words.stockHelp, { type: "number", min: 1, step: 1, inputmode: "numeric", value: f.sizes ? undefined : f.seeded }),
              field("most", words.most, words.mostHelp, { type: "number", min: 1, max: 8, step: 1, inputmode: "numeric", value: f.maxPerOrder }),
              field("rate", words.rate, words.rateHelp, { type: "number", min: 1, max: 20000, step: 1, inputmode: "numeric" })),
            h("fieldset", {}, h("legend", {}, words.payment),
              field("price", words.price, words.priceHelp, { inputmode: "decimal", value: offer.price && String(offer.price / 10 ** digitsOf(offer.currency)) }),
              field("currency", words.currency, words.currencyHelp, { maxlength: 3, value: offer.currency }),
              field("minutes", words.minutes, words.minutesHelp, { type: "number", min: 1, max: 10080, inputmode: "numeric", value: f.payWithin ? f.payWithin / 60 : 30 }),
              field("late", words.late, words.lateHelp, { type: "number", min: 0, max: 7, step: 1, inputmode: "numeric", value: f.lateDays }),
              h("p", { class: "check" }, h("input", { id: "extras", type: "checkbox", checked: f.extras === "allowed" }), h("label", { for: "extras" }, common.extras))),
            h("fieldset", {}, h("legend", {}, words.draw), h("p", { class: "faint" }, words.drawHelp),
              field("from", words.enterFrom, "", { type: "datetime-local", step: 1, value: f.draw && at(undefined, day) }),
              field("until", words.enterUntil, fill(words.enterHelp, duration(1000 * lead)), { type: "datetime-local", step: 1, value: f.draw && at(undefined, first - since(f.draw.enterUntil)) }),
              field("hours", words.hours, words.hoursHelp, { type: "number", min: 1, max: 168, step: 1, inputmode: "numeric", value: f.draw?.keepHours ?? 4 })),
            field("note", words.note, "", { maxlength: 500 }),
            h("p", { class: "costs" }, typed("from") || typed("until") ? words.costsDraw : words.costs),
            h("p", { role: "alert", class: "bad" }, tried && wrongN > 0 && fill(words.wrongN, wrongN)),
            once && h("p", { class: "warns" }, words.now),
            h("p", {}, h("button", { class: "main", "aria-disabled": busy }, fill(words.create, sizes.length || 1, number(total)))),
            h("div", { role: "status" }, told.map((t) => h("p", { "data-key": t.saleId, class: "notice", "data-tone": t.tone }, h("span", { dir: "auto" }, t.text), t.tone === "good" && h("a", { href: "#sale/" + t.saleId }, t.saleId))), group && h("p", {}, h("a", { href: "#group/" + group }, words.group)))),
          preview())),
    ];
  }
  return { view };
}
