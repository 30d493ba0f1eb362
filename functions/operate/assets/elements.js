// Makes elements and brings the page up to date with them. Texts become text, never markup.

/** @typedef {Node | string | false | undefined | null} Child */

let draw = () => {};

/** Says how the page is shown. @param {() => void} how */
export const renders = (how) => void (draw = how);

/** Shows the page as it is. */
export const render = () => draw();

/** @param {string} name */
export const element = (name) => /** @type {HTMLElement} */ (document.getElementById(name));

/** What was typed into the field with that id. @param {string} name */
export const typed = (name) => /** @type {HTMLInputElement | null} */ (document.getElementById(name))?.value.trim() ?? "";

// What an element has may be a translation by the browser, which stays until something else is written.
/** The attributes that were written last, on a copy. @type {WeakMap<Node, Element>} */
const attributes = new WeakMap();
/** The children that were written last, with the values of the texts. @type {WeakMap<Node, [Node, string | null][]>} */
const contents = new WeakMap();

/** @param {Element} e */
const note = (e) => contents.set(e, [...e.childNodes].map((n) => [n, n.nodeValue]));

/**
 * Makes an element. A property that is a function is a handler; of the others true is an empty
 * attribute and false none, but for ARIA's, which are said; undefined is never an attribute.
 * @param {string} tag @param {Record<string, unknown>} [properties] @param {...(Child | Child[])} children
 */
export function h(tag, properties = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") Object.assign(e, { [name]: value });
    else if (value === true && !name.startsWith("aria-")) e.setAttribute(name, "");
    else if (value !== undefined && (value !== false || name.startsWith("aria-"))) e.setAttribute(name, String(value));
  }
  for (const child of children.flat()) {
    if (child) e.append(child);
  }
  attributes.set(e, /** @type {Element} */ (e.cloneNode()));
  note(e);
  return e;
}

const handlers = /** @type {const} */ (["onclick", "onsubmit", "oninput", "onchange"]);

/** What makes an element another one than its neighbours. @param {Node | undefined} n */
const key = (n) => (n instanceof HTMLElement ? n.dataset.key : undefined);

/** @param {Node} a @param {Node} b */
const alike = (a, b) => a.nodeName === b.nodeName && key(a) === key(b);

/**
 * Gives an element these children, and keeps those that are there: with their focus, and with
 * what was typed. An element with a data-key never becomes another one, so that nobody presses
 * a button that has just become one of something else. If what has the focus goes, what it was
 * in gets it.
 * @param {Element} old @param {Child[]} children
 */
export function show(old, children) {
  const active = document.activeElement;
  const around = [];
  for (let e = active; e; e = e.parentElement) around.push(e);
  bring(old, h("div", {}, children));
  if (active === document.activeElement) return;
  const next = around.find((e) => e.isConnected && (e === active || e.hasAttribute("tabindex")));
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
}

/** @param {Element} old @param {Element} wanted */
function bring(old, wanted) {
  const was = contents.get(old) ?? [];
  const children = [...wanted.childNodes];
  if (was.length === children.length && was.every(([n, text], i) => alike(n, children[i]) && text === children[i].nodeValue)) {
    for (const [i, [n]] of was.entries()) if (n instanceof HTMLElement) become(n, /** @type {HTMLElement} */ (children[i]));
    return;
  }
  // What the browser has put there goes, and that in whose place it stood comes back.
  const mine = was.map(([n]) => n);
  for (const n of [...old.childNodes]) if (!mine.includes(n)) n.remove();
  for (const [i, n] of mine.entries()) if (n !== old.childNodes[i]) old.insertBefore(n, old.childNodes[i] ?? null);
  for (const [i, child] of children.entries()) {
    let at = old.childNodes[i];
    if (key(child) && key(at) !== key(child)) {
      const found = [...old.childNodes].find((n) => key(n) === key(child));
      if (found) at = old.insertBefore(found, at);
    }
    if (!at || !alike(at, child)) old.insertBefore(child, at ?? null);
    else if (child instanceof HTMLElement) become(/** @type {HTMLElement} */ (at), child);
    else if (at.nodeValue !== child.nodeValue) at.nodeValue = child.nodeValue;
  }
  while (old.childNodes.length > children.length) old.lastChild?.remove();
  note(old);
}

/** @param {HTMLElement} old @param {HTMLElement} wanted */
function become(old, wanted) {
  const was = attributes.get(old);
  for (const { name } of was?.attributes ?? []) {
    if (!wanted.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (was?.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  attributes.set(old, wanted);
  for (const name of handlers) Object.assign(old, { [name]: wanted[name] });
  bring(old, wanted);
}

/** @param {string} id @param {string} label @param {Record<string, unknown>} properties */
export const field = (id, label, properties) => h("p", { class: "field", "data-key": id }, h("label", { for: id }, label), h("input", { id, autocomplete: "off", oninput: render, ...properties }));

/** @param {string} name @param {Child | Child[]} value @param {string} [tone] */
export const fact = (name, value, tone) => h("div", { class: tone }, h("dt", {}, name), h("dd", {}, ...[value].flat()));
