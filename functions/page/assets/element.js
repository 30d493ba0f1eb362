// The element <flash-sale>: the buyer's page inside of a shop's own. element.d.ts says what it takes. It makes no HTML of
// texts and no inline style, so that it works under a strict policy with trusted types.

import { face } from "./face.js";
import { flashsale } from "./flashsale.js";
import { load } from "./language.js";

// A shop sets the colours and the rest by ::part(), so that there is no more here than what a bare page lacks.
const css = `
:host { display: block; --edge: var(--flash-sale-accent, currentColor); overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
:host([hidden]), [hidden], p:empty, p:has(> [hidden]) { display: none; }
* { box-sizing: border-box; }
p, h2, fieldset { margin: 0 0 .75em; }
[part~=picture] { max-height: 40vh; overflow: hidden; }
[part~=picture] img { display: block; width: 100%; max-height: 40vh; object-fit: contain; }
[part~=price] { font-size: 1.25em; font-weight: 600; }
[part~=panel] { padding: 1em; margin-bottom: 1em; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: .75em; }
[part~=panel].won, [part~=panel].held { border: 2px solid var(--edge); }
[part~=status] { font-size: 1.2em; font-weight: 650; }
[part~=status]:focus:not(:focus-visible) { outline: none; }
[part~=countdown] { font-size: 2.5em; line-height: 1.1; font-weight: 700; }
[part~=status], [part~=order], [part~=detail], [part~=facts], [part~=about], [part~=entry] { white-space: pre-line; }
[part~=facts], [part~=left], [part~=entry] { font-size: .875em; }
fieldset { display: grid; grid-template-columns: repeat(auto-fill, minmax(5.5em, 1fr)); gap: .5em; padding: 0; border: 0; min-width: 0; }
fieldset[hidden] { display: none; }
[part~=units] { grid-template-columns: repeat(auto-fill, minmax(3.5em, 1fr)); }
[part~=units] p { grid-column: 1 / -1; margin: 0; }
label { display: block; position: relative; padding: .5em .75em; border: 1px solid; border-radius: .5em; cursor: pointer; }
label small { display: block; }
label input { position: absolute; opacity: 0; }
label.chosen { border-color: var(--edge); box-shadow: inset 0 0 0 2px var(--edge); font-weight: 650; }
label.gone { border-style: dashed; opacity: .7; }
label:focus-within, :focus-visible { outline: 3px solid; outline-offset: 2px; }
label:has(:focus:not(:focus-visible)) { outline: none; }
progress { width: 100%; accent-color: var(--edge); }
a { color: inherit; }
button { font: inherit; color: inherit; background: none; border: 0; padding: .5em 0; text-decoration: underline; cursor: pointer; }
[part~=button], [part~=pay] { display: block; width: 100%; margin-bottom: .75em; padding: .75em 1em; border: 2px solid var(--edge); border-radius: .5em; background: none; font-weight: 650; text-align: center; text-decoration: none; }
[part~=button][hidden], [part~=pay][hidden] { display: none; }
[part~=button][aria-disabled=true] { border-style: dashed; opacity: .7; cursor: default; }
`;

/** @param {string} tag @param {string} id of the element in face.js @param {string} part @param {Record<string, string>} attributes @param {...Element} children */
function make(tag, id, part, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries({ id, part, ...attributes })) if (value || name === "hidden") e.setAttribute(name, value);
  e.append(...children);
  return e;
}

const hidden = { hidden: "" };
const button = { type: "button", hidden: "" };

/** The elements that face.js fills. The names of the parts are for shops, and stay. */
const body = () => [
  make("div", "picture", "picture", hidden),
  make("h2", "name", "name", { dir: "auto" }),
  make("p", "price", "price", { translate: "no", hidden: "" }),
  make("div", "panel", "panel", {},
    make("p", "line", "status", { role: "status", tabindex: "-1" }),
    make("p", "clock", "clock", { "aria-live": "polite", hidden: "" }),
    make("p", "countdown", "countdown", { role: "timer", translate: "no", hidden: "" }),
    make("p", "order", "order", { translate: "no", hidden: "" }),
    make("p", "detail", "detail"),
    make("fieldset", "sizes", "choice", hidden, make("legend", "", "")),
    make("progress", "bar", "bar", { "aria-labelledby": "left", hidden: "" }),
    make("p", "left", "left", hidden),
    make("p", "", "", {}, make("a", "pay", "pay", hidden)),
    make("p", "ask", "question", { role: "alert", hidden: "" }),
    make("p", "", "", {}, make("button", "cancel", "cancel", button)),
    make("p", "", "", {}, make("button", "sure", "confirm", button)),
    make("p", "", "", {}, make("a", "calendar", "link", { download: "call.ics", hidden: "" }))),
  make("button", "act", "button", button),
  make("p", "about", "about", { dir: "auto", hidden: "" }),
  make("p", "", "", {}, make("a", "link", "link", hidden)),
  make("p", "facts", "facts"),
  make("p", "entry", "entry", { translate: "no", hidden: "" }),
  make("p", "", "", {}, make("button", "copy", "copy", button)),
  make("p", "", "", {}, make("a", "dice", "link", hidden)),
];

/** On a server there are no elements. */
const Base = /** @type {typeof HTMLElement} */ (globalThis.HTMLElement ?? Object);

export class FlashSaleElement extends Base {
  static observedAttributes = ["api", "sale", "group", "lang"];

  /** @type {import("./flashsale.js").Drop | null} */
  #drop = null;
  /** @type {(() => void) | undefined} What ends the face and the drop; undefined while nothing is shown. */
  #stop;
  /** @type {import("./element.js").FlashSaleElement["token"] | undefined} */
  #token;
  #given = ""; // the latest token
  /** @type {import("./flashsale.js").Request | undefined} */
  #request;
  /** @type {Record<string, unknown> | null} */
  #words = null;
  #due = false;

  connectedCallback() {
    // What was set before this script had been loaded are properties of the element's own, in front of those of the class.
    for (const name of /** @type {const} */ (["token", "words", "request", "api", "sale", "group"])) {
      if (!this.hasOwnProperty(name)) continue;
      const value = this[name];
      delete this[name];
      Object.assign(this, { [name]: value });
    }
    this.#update();
  }

  disconnectedCallback() {
    this.#update();
  }

  // Without it moveBefore() would call both of these.
  connectedMoveCallback() {}

  /** @param {string} name @param {string | null} before @param {string | null} after */
  attributeChangedCallback(name, before, after) {
    if (before === after) return;
    if (name !== "lang") this.#forget();
    else this.#end();
    this.#update();
  }

  get api() { return this.getAttribute("api") ?? ""; }
  set api(value) { this.#set("api", value); }
  get sale() { return this.getAttribute("sale") ?? ""; }
  set sale(value) { this.#set("sale", value); }
  get group() { return this.getAttribute("group") ?? ""; }
  set group(value) { this.#set("group", value); }

  get token() { return this.#token; }
  set token(value) {
    const before = this.#token;
    this.#token = value;
    // A function is asked before each call. That a framework makes a new one whenever it draws says nothing.
    if (value !== before && !(typeof value === "function" && typeof before === "function")) this.#drop?.refresh();
  }

  get words() { return this.#words; }
  set words(value) {
    if (value === this.#words) return;
    this.#words = value;
    this.#end();
    this.#update();
  }

  get request() { return this.#request; }
  set request(value) { this.#request = value ?? undefined; }

  get drop() {
    const { api, sale, group } = this;
    if (!this.#drop && (sale || group)) {
      this.#drop = flashsale({
        api, ...(group ? { group } : { sale }),
        token: async (refused) => (this.#given = (await this.#ask(refused)) ?? ""),
        request: (url, options) => (this.#request ?? fetch)(url, options),
      });
    }
    return this.#drop;
  }

  /** @param {string} name @param {string | null | undefined} value */
  #set(name, value) {
    if (value) this.setAttribute(name, value);
    else this.removeAttribute(name);
  }

  /** @param {string} [refused] */
  #ask(refused) {
    if (typeof this.#token === "function") return this.#token(refused);
    if (this.#token !== undefined) return this.#token;
    /** @type {ReturnType<NonNullable<import("./flashsale.js").Options["token"]>>} */
    let token = null;
    this.#send("token", { refused, respondWith: (/** @type {typeof token} */ given) => void (token = given) });
    return token;
  }

  /** @param {string} type @param {unknown} detail @returns {boolean} whether nobody has prevented what follows */
  #send(type, detail) {
    return this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true, cancelable: type !== "change" }));
  }

  /** Shows what there is to show, after all changes of the same moment: an element that is moved is taken away and put back. */
  #update() {
    if (this.#due) return;
    this.#due = true;
    queueMicrotask(() => {
      this.#due = false;
      if (!this.isConnected) this.#end();
      else if (!this.#stop) this.#begin();
    });
  }

  #begin() {
    const drop = this.drop;
    if (!drop) return;
    const root = this.#root();
    let ended = false;
    /** @type {{ stop(): void } | undefined} */
    let shown;
    const unsubscribe = drop.subscribe(() => this.#send("change", drop.state));
    drop.start();
    this.#stop = () => {
      ended = true;
      unsubscribe();
      shown?.stop();
      drop.stop();
    };
    const nearest = /** @type {HTMLElement | null} */ (this.closest("[lang]"))?.lang;
    load([...(nearest ? [nearest] : []), ...navigator.languages]).then((language) => {
      if (ended) return;
      const main = /** @type {HTMLElement} */ (root.getElementById("main"));
      // A shop that has no text for a name may say so by undefined.
      const own = Object.fromEntries(Object.entries(this.#words ?? {}).filter(([, text]) => text != null));
      Object.assign(main, { lang: language.language, dir: language.dir, hidden: false });
      root.querySelector("slot")?.remove();
      shown = face(root, drop, {
        language: { ...language, words: { ...language.words, ...own } },
        api: this.api, group: !!this.group, token: () => this.#given,
        signIn: () => void this.#send("signin", null),
        pay: (event) => void (this.#send("pay", drop.state.pay) || event.preventDefault()),
        show: (sale) => void Object.assign(this, { group: "", sale }),
      });
    });
  }

  #end() {
    this.#stop?.();
    this.#stop = undefined;
  }

  #forget() {
    this.#end();
    this.#drop = null;
  }

  #root() {
    if (this.shadowRoot) return this.shadowRoot;
    const root = this.attachShadow({ mode: "open" });
    // The constructor of style sheets alone says nothing: there are documents without adopted ones that have it.
    if ("adoptedStyleSheets" in root) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
      root.adoptedStyleSheets = [sheet];
    } else {
      /** @type {ShadowRoot} */ (root).append(Object.assign(document.createElement("style"), { textContent: css }));
    }
    // Until there are words, and if they do not arrive, what the shop has written into the element is shown.
    root.append(make("slot", "", ""), make("div", "main", "main", hidden, ...body()));
    return root;
  }
}

if (globalThis.customElements && !customElements.get("flash-sale")) customElements.define("flash-sale", FlashSaleElement);
