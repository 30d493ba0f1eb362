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

const en = {
  copyTitle: "Copy {0}",
  goods: "What is sold",
  name: "Name", nameHelp: "Up to 200 characters.",
  id: "Id", idHelp: "In links and reports; it cannot be changed. 1 to 64 letters, digits, _ and -.",
  image: "Picture (optional)", imageHelp: "An address that begins with {0}/, this stack’s ImageOrigin.", noImages: "None can be shown: this stack’s parameter ImageOrigin is empty.",
  about: "About it (optional)", aboutHelp: "Up to 500 characters, several lines.",
  page: "Link to a page about it (optional)",
  when: "When",
  units: "Units",
  stock: "Units", stockHelp: "Only without sizes: with them it is their sum.",
  sizes: "Sizes (optional)", sizesHelp: "As 38: 20, 39: 20. Each becomes a sale of one group, and a customer orders once in all of them.",
  most: "Units an order (optional)", mostHelp: "1 to 8; without it 1. Who wants several gets all of them or none. Not in a draw.",
  rate: "Orders a second at the opening (optional)", rateHelp: "1 to 20,000; without it 1,000. It decides the number of shards.",
  payment: "Payment",
  price: "Price", priceHelp: "Without a price nobody is asked to pay.",
  currency: "Currency", currencyHelp: "Three letters, as EUR.",
  minutes: "Minutes to pay", minutesHelp: "1 to 10,080 (a week).",
  late: "Days late (optional)", lateHelp: "0 to 7: for so long a late payment still counts while units are left. Not in a draw.",
  draw: "Draw", drawHelp: "Instead of a rush: people enter, dice decide their order, and each who is called has time to buy. Leave both times empty for none.",
  enterFrom: "Entering from", enterUntil: "Entering until", enterHelp: "It opens at least {0} after entering ends: the roll, the dice and the first call need that.",
  hours: "Hours that a unit is kept for who is called", hoursHelp: "1 to 168 (a week).",
  note: "Note for the trail (optional)",
  preview: "What buyers will see",
  pictureHere: "no picture",
  opensIn: "Opens in {0}",
  buys: "Order now", choose: "Choose a size", enters: "Enter the draw", each: "One for each customer", eachMost: "One order of at most {0} for each customer",
  costs: "About $0.05 at AWS for 1,000 orders, $0.44 with 50,000 requests a second and warm environments: flashsale plan computes yours.",
  costsDraw: "About $5.56 at AWS for a million entrants and 10,000 units: flashsale plan --draw computes yours.",
  create: "Create {0|sale|sales} with {1|unit|units}",
  now: "It sells at once: its opening has passed.",
  creating: "{0}: being created … not certain yet.",
  again: "{0}: no final answer yet. It is asked for again, and counts once.",
  done: "{0}: certain, it is there.",
  already: "{0}: certain, it was there already with the same contents.",
  refused: "{0}: not done. {1}",
  group: "All are created: see the group",
  wrongN: "Nothing is sent yet: see beside {0|field|fields} what is not right.",
  badId: "Give 1 to 64 letters, digits, _ and -.",
  badSizes: "Give at most 30 sizes as 38: 20, 39: 20, each once.",
  badStock: "Give a whole number of units, or sizes.",
  badMost: "Give 1 to 8, and none with a draw.",
  badRate: "Give 1 to 20,000, or nothing.",
  badAddress: "Give an address that begins with https://.",
  badImage: "Give an address that begins with {0}/.",
  badTime: "Give a date and a time.",
  badCloses: "Give a time after the opening, and after now.",
  badPrice: "Give a price in figures, as 89.90, or in JPY 8990, or no currency.",
  badCurrency: "Give a currency of three letters, or no price.",
  badMinutes: "Give 1 to 10,080 minutes.",
  badLate: "Give 0 to 7, and none without a price or with a draw.",
  badUntil: "Give a time after entering begins.",
  badHours: "Give 1 to 168 hours.",
};

/** @type {typeof en} */
const zh = {
  copyTitle: "复制 {0}",
  goods: "商品",
  name: "名称", nameHelp: "最多 200 个字符。",
  id: "编号", idHelp: "用于链接和报表，永不改变：1 至 64 个字母、数字、_ 和 -。",
  image: "图片（可选）", imageHelp: "以 {0}/ 开头的地址（本系统的 ImageOrigin）。", noImages: "无法显示图片：本系统的参数 ImageOrigin 为空。",
  about: "介绍（可选）", aboutHelp: "最多 500 个字符，可分行。",
  page: "介绍页链接（可选）",
  when: "时段",
  units: "件数",
  stock: "件数", stockHelp: "仅在没有尺码时填写；有尺码时为其总和。",
  sizes: "尺码（可选）", sizesHelp: "如 38: 20, 39: 20。每个尺码成为同组的一个活动，每位顾客在其中限下一单。",
  most: "每单最多件数（可选）", mostHelp: "1 至 8，不填为 1。一单的件数要么全部买到，要么一件也没有。抽签活动不设。",
  rate: "开始时每秒订单数（可选）", rateHelp: "1 至 20,000，不填为 1,000。它决定分片数。",
  payment: "付款",
  price: "价格", priceHelp: "不填则无需付款。",
  currency: "货币", currencyHelp: "三个字母，如 CNY。",
  minutes: "付款时限（分钟）", minutesHelp: "1 至 10,080（一周）。",
  late: "可迟付天数（可选）", lateHelp: "0 至 7：有余量时，迟到的付款在此期间仍有效。抽签活动没有。",
  draw: "抽签", drawHelp: "代替抢购：先报名，由骰子决定顺序，被叫到的人有时间购买。两个时间都不填则不抽签。",
  enterFrom: "报名开始", enterUntil: "报名结束", enterHelp: "活动须在报名结束至少 {0}后开始：名册、骰子和第一次叫号需要这段时间。",
  hours: "为被叫到的人保留的小时数", hoursHelp: "1 至 168（一周）。",
  note: "更改记录备注（可选）",
  preview: "买家将看到",
  pictureHere: "没有图片",
  opensIn: "{0}后开始",
  buys: "立即下单", choose: "选择尺码", enters: "报名抽签", each: "每位顾客限一件", eachMost: "每位顾客限一单，最多 {0} 件",
  costs: "AWS 费用：每 1,000 单约 0.05 美元，每秒 50,000 个请求并预热环境时为 0.44 美元；用 flashsale plan 计算。",
  costsDraw: "AWS 费用：一百万人报名、10,000 件约 5.56 美元；用 flashsale plan --draw 计算。",
  create: "创建 {0} 个活动，共 {1} 件",
  now: "开始时间已过，会立即销售。",
  creating: "{0}：正在创建……尚未确定。",
  again: "{0}：还没有最终答复，正在重试，只会生效一次。",
  done: "{0}：已确定，活动已创建。",
  already: "{0}：已确定，此前已以相同内容创建。",
  refused: "{0}：未执行。{1}",
  group: "全部已创建：查看该组",
  wrongN: "尚未发送：有 {0} 处填写有误，见各栏旁的说明。",
  badId: "请填写 1 至 64 个字母、数字、_ 和 -。",
  badSizes: "请填写最多 30 个尺码，如 38: 20, 39: 20，每个只写一次。",
  badStock: "请填写整数件数，或填写尺码。",
  badMost: "请填写 1 至 8；有抽签时不填。",
  badRate: "请填写 1 至 20,000，或不填。",
  badAddress: "请填写以 https:// 开头的地址。",
  badImage: "请填写以 {0}/ 开头的地址。",
  badTime: "请填写日期和时间。",
  badCloses: "请填写晚于开始、也晚于现在的时间。",
  badPrice: "请填写数字价格，如 89.90（日元如 8990），或不填货币。",
  badCurrency: "请填写三个字母的货币，或不填价格。",
  badMinutes: "请填写 1 至 10,080 分钟。",
  badLate: "请填写 0 至 7；没有价格或有抽签时不填。",
  badUntil: "请填写晚于报名开始的时间。",
  badHours: "请填写 1 至 168 小时。",
};

const words = language === "zh" ? zh : en;

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
