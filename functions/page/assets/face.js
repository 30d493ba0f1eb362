// The buyer's page in any root: a document, or a shadow root with the same elements.
//
// face(root, drop, options) draws drop.state, whenever it changes and once a second, into the elements that root has by id: main
// (which gets data-state), name, price, panel, line, clock, countdown, order, detail, sizes, bar, left, pay, ask, cancel, sure,
// calendar, act, about, link, facts, entry, copy, dice, leave, picture. One that is not there is skipped. It neither starts nor
// stops the drop, makes no HTML of texts, and sets no inline style.

/** @typedef {import("./flashsale.js").Sale} Sale */

/**
 * @typedef {object} Options what a face leaves to its document
 * @property {import("./language.js").Language} language
 * @property {string} [api] as the drop's
 * @property {boolean} [group] whether the drop is of a group
 * @property {string} [unread] what it is called before the sale is read
 * @property {() => unknown} [signIn] absent: nobody can. It fails if the browser stores nothing
 * @property {() => unknown} [signOut]
 * @property {() => boolean} [ended] whether the person was signed in and that has ended
 * @property {() => string} [token] the access token, which says who has entered a draw
 * @property {(name: string) => void} [title] is told what is sold
 * @property {(event: MouseEvent) => void} [pay] the link to pay was pressed; preventDefault() keeps it from being followed
 * @property {(units?: number) => number} [keep] keeps how many units the buyer wants, if that is given, and returns it
 * @property {(saleId: string) => void} [show] shows another sale, in which the person has an order
 */

/** The states in which an order may be possible, now or later. */
const orderable = ["notOpen", "open", "notEnough", "paused", "otherState", "enterSoon", "enter", "called", "openCall"];
/** The states in which nobody can order now. */
const refusals = ["soldOut", "paused", "closed", "recalled", "otherState", "turnOver", "notEntered"];
/** The states that have the text of another one below. @type {Record<string, string>} */
const details = { early: "busy", pausedBusy: "busy", expired: "ended", cancelled: "ended" };
/** The states of an order that is under way. */
const pending = ["sending", "early", "busy", "pausedBusy", "offline", "stuckOrder"];

const letters = "XXS XS S 小 M 中 L 大 XL XXL 2XL 3XL".split(" ");

/** What a sale is called. @param {Sale} sale */
const nameOf = ({ name, saleId }) => String(name || saleId);

/** The place of a size in letters, with which a name ends. @param {Sale} sale */
const lettered = (sale) => letters.indexOf(nameOf(sale).split(" ").pop() ?? "");

/** The words with which all names begin, with what joins them to the rest. @param {string[]} names */
function common([first, ...rest]) {
  const parts = first?.match(/\S+\s*/g) ?? [];
  while (parts.length && !rest.every((n) => n.startsWith(parts.join("")))) parts.pop();
  return rest.length ? parts.join("") : "";
}

/** An address that is safe to show; "" for any other. @param {unknown} address */
function safe(address) {
  try {
    const { protocol, href } = new URL(String(address));
    return protocol === "https:" ? href : "";
  } catch {
    return ""; // it is none
  }
}

/** @param {Document | ShadowRoot} root @param {import("./flashsale.js").Drop} drop @param {Options} options */
export function face(root, drop, options) {
  const { say, number, money, dates, day, time, locale, countdown } = options.language;
  /** All words but those that say how many units; those of a draw are there once its sale is known. @type {import("./language.js").Language["words"] & Record<string, any>} */
  const plain = { ...options.language.words };
  let words = plain;
  const byName = new Intl.Collator(locale, { numeric: true }).compare;
  const { now } = drop;
  let s = drop.state;
  /** @type {Sale[]} As they are shown. */
  let sales = [];
  let broken = ""; // the picture that cannot be loaded
  let trouble = ""; // why the button did nothing
  let asking = false; // whether to cancel
  /** @type {Record<string, string>} When each sale was to open as it was shown first. */
  const opening = Object.create(null);
  /** @type {ReturnType<import("./draw.js").begin> | undefined} What a sale with a draw has besides. */
  let lot;
  let arriving = false; // draw.js is
  let failed = 0; // how often draw.js did not arrive
  let missing = false; // the latest time it did not
  /** @type {ReturnType<import("./units.js").begin> | undefined} What a sale with orders of several units has besides. */
  let several;
  let retry = 0; // when units.js is asked for, by the browser's clock
  let wanted = 1; // units, if nothing else keeps that

  /** Both files; a browser waits for one that does not arrive indefinitely. @template A, B @param {[Promise<A>, Promise<B>]} files @returns {Promise<[A, B]>} */
  const within = (files) => Promise.race([Promise.all(files), /** @type {Promise<never>} */ (new Promise((_, late) => setTimeout(late, 15000)))]);

  /** Loads what a sale with a draw has besides. */
  async function learn() {
    [arriving, missing] = [true, false];
    try {
      // Browsers do not ask again for an address that has failed, and bundlers follow an address that is whole.
      const again = failed ? "?" + failed : "";
      const [draw, drawWords] = await within([again ? import("./draw.js" + again) : import("./draw.js"), options.language.drawWords(again)]);
      Object.assign(plain, drawWords);
      lot = /** @type {typeof import("./draw.js")} */ (draw).begin({ drop, say, dates, words: drawWords, put, putLink, render, api: options.api ?? "", token: options.token ?? (() => "") });
    } catch {
      failed++;
      missing = true;
    }
    arriving = false;
    render();
  }

  /** Loads what a sale with orders of several units has besides. Until it is there, one unit can be ordered. */
  async function learnUnits() {
    const again = retry ? "?" + retry : "";
    retry = Infinity;
    try {
      const [units, unitWords] = await within([again ? import("./units.js" + again) : import("./units.js"), options.language.unitWords(again)]);
      several = /** @type {typeof import("./units.js")} */ (units).begin({ root, render, say, number, words: unitWords, keep: options.keep ?? ((n) => (wanted = n ?? wanted)) });
      render();
    } catch {
      retry = Date.now() + 15000;
    }
  }

  /** The state that is shown: the name of its line among the words. */
  function state() {
    const { phase, retrying, sale, claim } = s;
    if (retrying) return retrying === "paused" ? "pausedBusy" : retrying;
    if (sale?.draw && !claim && phase !== "loading") {
      if (!lot) return missing ? "stuck" : "loading";
      return lot.state(s);
    }
    if (phase === "unknown" && sale) return "unfit";
    if (phase === "paid" && (claim?.refund?.state ?? "part") !== "part") return "unsettled";
    return phase === "signedOut" || (options.ended?.() && orderable.includes(phase)) ? "signedOut" : phase;
  }

  /** What so many units cost; "" of a sale without a price. */
  const price = (units = 1) => (s.sale && Number(s.sale.price) > 0 && /^[A-Z]{3}$/.test(s.sale.currency ?? "") ? money(units * Number(s.sale.price), s.sale.currency ?? "") : "");

  /** Whether what the buyer chooses is a size. */
  const sized = () => sales.every((sale) => /(^|\s)(\d[\d.,/½]*|\d?X*[SML])$/i.test(nameOf(sale)));

  /**
   * What the button does in a state: its label, and its action if it can be pressed.
   * @param {string} is @returns {[string, (() => unknown)?]}
   */
  function button(is) {
    const can = (/** @type {import("./flashsale.js").Act} */ act) => s.can.includes(act);
    const label = price() ? say(words.orderFor, price()) : words.order;
    if (missing && is === "stuck") return [words.again, learn];
    if (is === "signedOut" || can("signIn")) return options.signIn ? [words.signIn, options.signIn] : [""];
    if (is === "elsewhere") return options.show ? [words.showOrder, () => options.show?.(s.elsewhere ?? "")] : [""];
    if (can("refresh")) return [words.again, drop.refresh];
    if (can("choose") && !s.chosen && orderable.includes(is)) return [sized() ? words.chooseSize : words.choose, () => element("sizes").querySelector("input")?.focus()];
    if (can("buy")) return [is === "stuckOrder" || is === "other" ? words.again : label, () => drop.buy(several?.count(s))];
    if (is === "enter" || is === "enterSoon") return [words.enterNow, can("enter") ? drop.enter : undefined];
    return [is === "notOpen" || s.phase === "sending" ? label : ""];
  }

  /** The line below: what the buyer may do. @param {string} is */
  function detail(is) {
    const { sale, claim, signedIn } = s;
    if (claim && !signedIn) return words.signedOut;
    if (is === "unpaid") return say(words.payBy, dates.format(s.until));
    if (s.already && s.elsewhere && ["accepted", "reserved", "confirmed", "unpaid", "paid", "held"].includes(is)) return say(words.alreadyGroup, sale ? nameOf(sale) : "");
    if (is !== "offline" && s.offline) return words.offline + " " + words.offlineDetail;
    if (orderable.includes(is) && !signedIn && !options.signIn) return words.noSignIn;
    if (["notOpen", "open"].includes(is) && !signedIn) return words.signInDetail;
    if (lot && sale?.draw && lot.has(is)) return lot.detail(s, is);
    if (is === "open" && options.group) return words.elsewhereDetail;
    if (is === "soldOut" && sales.some((other) => other.state === "OPEN" && other.saleId !== sale?.saleId)) return words.otherChoice;
    if (is === "soldOut" && s.mayReturn) return words.mayReturn;
    if (is === "notEnough" && s.mayReturn) return words.notEnoughDetail + "\n" + words.mayReturn;
    return (s.already && s.last === "buy" && ["accepted", "confirmed", "held"].includes(is) ? words.already + "\n" : "") + (words[(details[is] ?? is) + "Detail"] ?? "");
  }

  /** What became of the order's payment, and of others. */
  function refunds() {
    const said = (/** @type {Record<string, any>} */ { amount, currency, back, refundedAt, state }) => say(words[state + "Money"] ?? (refundedAt ? words.refunded : words.refundDue),
      money(amount, currency), refundedAt ? day.format(Date.parse(refundedAt)) : "", money(back, currency));
    const others = (s.claim?.refunds ?? []).map(said), own = s.claim?.refund ? said(s.claim.refund) : "";
    return others.includes(own) ? others : [own, ...others];
  }

  /** The sale's dates and, as long as nobody buys, its units. */
  function facts() {
    const [opens, closes] = [Date.parse(s.sale?.opensAt ?? ""), Date.parse(s.sale?.closesAt ?? "")];
    if (!(closes > opens)) return "";
    const lines = [say(words.opens, dates.format(opens)), say(words.closes, dates.format(closes))];
    const units = sales.reduce((sum, sale) => sum + Number(sale.remaining), 0);
    if (/^(NOT_OPEN|WAITING)$/.test(s.sale?.state ?? "") && now() < opens && units > 0) lines.push(say(sales.some((sale) => sale.approximate) ? words.about : words.units, units));
    return lines.join("\n");
  }

  /** An element of the page; that of the release before may lack it. @param {string} id */
  const element = (id) => root.getElementById(id) ?? document.createElement("p");

  /** What was written last into each element. @type {WeakMap<Element, string>} */
  const written = new WeakMap();

  /**
   * Writes a text that is another one than the last. What an element has may be a translation by the browser, and a
   * screen reader says the line again whenever it is set.
   * @param {Element} e @param {string} text
   */
  function write(e, text) {
    if (written.get(e) === text) return;
    written.set(e, text);
    e.textContent = text;
  }

  /** @param {string} id @param {string} text Nothing is shown without a text. */
  function put(id, text) {
    const e = element(id);
    write(e, text);
    if (!text && root.activeElement === e) element("line").focus();
    e.hidden = !text;
    return e;
  }

  /** Shows a link if there is an address. @param {string} id @param {string} text @param {string} address */
  function putLink(id, text, address) {
    const link = put(id, address && text);
    if (address) {
      link.setAttribute("href", address);
      link.setAttribute("rel", "noreferrer");
    } else link.removeAttribute("href");
    return link;
  }

  /** Shows what is sold. A picture that cannot be loaded leaves no gap. @param {string} name @param {boolean} selling */
  function renderSale(name, selling) {
    const { sale } = s;
    if (!sale) return;
    put("price", price());
    put("about", typeof sale.about === "string" ? sale.about : "");
    putLink("link", words.more, safe(sale.link));
    const picture = element("picture");
    const image = safe(sale.image) !== broken ? safe(sale.image) : "";
    picture.hidden = !image;
    let img = picture.querySelector("img");
    if (image && img?.src !== image) {
      img = document.createElement("img");
      img.src = image;
      picture.replaceChildren(img);
    }
    if (img && written.get(img) !== name) {
      written.set(img, name);
      img.alt = name;
      img.decode().catch(() => {
        broken = image;
        render();
      });
    }
    // What was left is true only of when it was read.
    const bar = /** @type {HTMLProgressElement} */ (element("bar"));
    const [units, seeded, read] = [Number(sale.remaining), Number(sale.seeded), Date.parse(sale.now)];
    const counted = selling && !options.group && seeded > 0 && units > 0 && read >= Date.parse(sale.opensAt);
    bar.hidden = !counted;
    [bar.max, bar.value] = [seeded || 1, units || 0];
    put("left", counted ? say(sale.approximate ? words.leftAbout : words.left, units, seeded, time.format(read)) : "");
  }

  /** Shows the sales of the group as one choice. */
  function renderSizes() {
    const box = /** @type {HTMLFieldSetElement} */ (element("sizes"));
    box.hidden = !options.group || !sales.length || !!s.claim;
    if (box.hidden) return;
    const head = common(sales.map(nameOf));
    const legend = box.querySelector("legend") ?? box.appendChild(document.createElement("legend"));
    write(legend, sized() ? words.size : words.choice);
    for (const gone of [...box.querySelectorAll("label")].slice(sales.length)) gone.remove();
    for (const [i, sale] of sales.entries()) {
      let label = box.querySelectorAll("label")[i];
      if (!label) {
        label = box.appendChild(document.createElement("label"));
        label.append(Object.assign(document.createElement("input"), { type: "radio", name: "size" }), document.createElement("span"), document.createElement("small"));
      }
      const [input, name, left] = /** @type {[HTMLInputElement, HTMLElement, HTMLElement]} */ ([...label.children]);
      const sells = /^(NOT_)?OPEN$/.test(sale.state);
      write(name, nameOf(sale).slice(head.length) || nameOf(sale));
      write(left, sells ? say(sale.approximate ? words.unitsAbout : words.unitsLeft, Number(sale.remaining)) : words[sale.state] ?? "");
      label.className = (sells ? "" : "gone ") + (sale.saleId === s.chosen ? "chosen" : "");
      [input.checked, input.disabled] = [sale.saleId === s.chosen, !s.can.includes("choose")];
      input.onchange = () => drop.choose(sale.saleId);
    }
  }

  /** Shows everything as it is. */
  function render() {
    if (stopped) return;
    s = drop.state;
    const { sale, claim } = s;
    if (sale?.draw && !lot && !arriving && !missing) learn();
    if (!several && Number(sale?.maxPerOrder) > 1 && Date.now() >= retry) learnUnits();
    words = several ? { ...plain, ...several.texts(s, price) } : plain;
    sales = [...s.sales].sort((a, b) => lettered(a) - lettered(b) || byName(nameOf(a), nameOf(b)));
    const is = state();
    element("main").dataset.state = is;
    const name = (options.group && !s.chosen && !claim && common(sales.map(nameOf)).replace(/(\s-|\s*[,，·:：–])\s*\S*\s*$/, "").trim()) || (sale ? nameOf(sale) : options.unread ?? words.page);
    options.title?.(name);
    put("name", name);
    const line = is === "notOpen" && sale && sale.opensAt !== (opening[sale.saleId] ??= sale.opensAt) ? say(words.moved, dates.format(Date.parse(sale.opensAt))) :
      is === "soldOut" && s.last === "buy" ? words.missed : say(words[is] ?? "", is === "other" ? s.code ?? "" : String((claim ?? sale)?.state));
    put("line", (refusals.includes(is) && !s.signedIn && options.signIn ? (words[is + "SignIn"] ?? words.signInToSee) + "\n" : "") + line);
    renderClock(is, (s.until ?? NaN) - now());
    element("panel").className = ["accepted", "confirmed", "paid"].includes(is) ? "won" : ["reserved", "unpaid", "called"].includes(is) ? "held" : "";
    put("order", [...(claim && sale ? [claim.units ? say("{0} × {1}", claim.units, nameOf(sale)) : nameOf(sale), words.sum || price(claim.units)] : []), typeof claim?.orderId === "string" ? say(words.orderId, claim.orderId) : ""].filter(Boolean).join("\n"));
    put("detail", [detail(is), ...refunds()].filter(Boolean).join("\n"));
    lot?.show(s, is);
    put("facts", facts());
    renderPayment();
    renderSale(name, is === "open");
    renderSizes();
    several?.show(s, !claim && (!options.group || !!s.chosen) && [...orderable, ...pending].includes(is), words.sum);
    put("leave", options.signOut && s.signedIn && !["loading", "sending", "entering"].includes(s.phase) ? words.signOut : "").onclick = () => options.signOut?.();
    const [label, action] = button(is);
    const act = put("act", label);
    act.setAttribute("aria-disabled", String(!action));
    act.onclick = async () => {
      try {
        await action?.();
      } catch {
        trouble = words.noStorage;
        render();
      }
    };
  }

  /** Shows the clock of a state. That of a hold says what it counts, and changes in its last minute. @param {string} is @param {number} left */
  function renderClock(is, left) {
    const last = (is === "unpaid" || is === "called") && left <= 60000;
    put("clock", last ? words.lastMinute : is === "unpaid" ? words.payLeft : "");
    put("countdown", countdown(left)).className = last ? "last" : "";
  }

  /**
   * Shows where to pay, and the button to cancel, which asks first. The answer in its place
   * then changes nothing, because a button may be pressed twice.
   */
  function renderPayment() {
    putLink("pay", words.pay, s.pay?.url ?? "").onclick = (event) => options.pay?.(event);
    const [can, sending] = [s.can.includes("cancel"), s.pay && s.cancelling === "sending"];
    if (!can) asking = false;
    put("ask", sending ? words.cancelling : !can ? trouble : asking ? ((options.group || s.sale?.limitGroup) && words.cancelSureGroup) || words.cancelSure : s.cancelling ? words.notCancelled : "");
    const keep = put("cancel", !can ? "" : asking ? words.keep : words.cancel);
    keep.className = asking ? "keep" : "";
    keep.onclick = () => {
      asking = !asking;
      render();
    };
    put("sure", asking ? words.sure : "").onclick = drop.cancel;
  }

  let stopped = false;
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  /** Once a second, and at the end of a countdown. */
  function tick() {
    render();
    const left = (s.until ?? NaN) - now();
    timer = setTimeout(tick, left > 0 ? left % 1000 || 1000 : 1000);
  }
  const end = drop.subscribe(render);
  tick();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      end();
    },
  };
}
