// What only a sale with orders of several units needs besides: how many the buyer asks for, and texts that say a number. A face
// loads it for such a sale, and orders one unit without it.

/** @typedef {import("./flashsale.js").State} State @typedef {import("./language.js").Language} Language */

/**
 * @typedef {object} Page what this module uses of a face
 * @property {Document | ShadowRoot} root
 * @property {() => void} render
 * @property {Language["say"]} say
 * @property {Language["number"]} number
 * @property {import("./units-en.js").Words} words
 * @property {(units?: number) => number} keep keeps how many the buyer wants, if that is given, and returns it
 */

/** @param {Page} page */
export function begin({ root, render, say, number, words, keep }) {
  /** How many units the button orders: as many as the buyer wants, if the sale allows that and so many are left. @param {State} state */
  const count = ({ sale, left }) => Math.max(1, Math.min(keep(), sale?.maxPerOrder ?? 1, left ?? 8));

  /**
   * The texts that are others than those of a sale of single units. Of an order of one unit those are right.
   * @param {State} state @param {(units: number) => string} price of so many; "" without one
   */
  function texts(state, price) {
    const { sale, claim, left } = state;
    const most = sale?.maxPerOrder ?? 1;
    const n = claim ? claim.units ?? 1 : count(state);
    /** @type {Record<string, string>} */
    const all = { sum: n > 1 && price(1) ? say("{0} × {1} = {2}", n, price(1), price(n)) : "" };
    if (most > 1) Object.assign(all, { openDetail: say(words.openDetail, most), stuckOrderDetail: words.stuckOrderDetail });
    if (left) Object.assign(all, { notEnough: say(words.notEnough, left), notEnoughDetail: words.notEnoughDetail });
    const many = /** @type {const} */ (["order", "reserved", "unpaid", "cancelSure", "cancelSureGroup"]);
    if (n > 1) for (const name of many) all[name] = say(words[name], n);
    if (n > 1) all.orderFor = say(words.orderFor, n, price(n));
    return all;
  }

  /** Shows the choice above the button. @param {State} state @param {boolean} possible whether it may be ordered, now or later @param {string} sum */
  function show(state, possible, sum) {
    const { sale, left = 8, phase } = state;
    const most = sale?.maxPerOrder ?? 1;
    let box = /** @type {HTMLFieldSetElement | null} */ (root.getElementById("units"));
    if (!box) {
      box = Object.assign(document.createElement("fieldset"), { id: "units" });
      box.setAttribute("part", "units");
      box.append(Object.assign(document.createElement("legend"), { textContent: words.howMany }), Object.assign(document.createElement("p"), { ariaLive: "polite" }));
      box.lastElementChild?.setAttribute("translate", "no");
      root.getElementById("act")?.before(box);
    }
    box.hidden = most < 2 || !possible;
    const total = /** @type {HTMLElement} */ (box.lastElementChild);
    if (total.textContent !== sum) total.textContent = sum;
    const labels = box.getElementsByTagName("label");
    while (labels.length > most) labels[most].remove();
    for (let n = labels.length + 1; n <= most; n++) {
      const label = document.createElement("label");
      label.append(Object.assign(document.createElement("input"), { type: "radio", name: "units" }), Object.assign(document.createElement("span"), { textContent: number(n) }));
      total.before(label);
    }
    for (const [i, label] of [...labels].entries()) {
      const input = /** @type {HTMLInputElement} */ (label.firstElementChild);
      const [n, chosen] = [i + 1, count(state) === i + 1];
      [input.checked, input.disabled] = [chosen, n > left || phase === "sending"];
      label.className = (n > left ? "gone " : "") + (chosen ? "chosen" : "");
      input.onchange = () => {
        keep(n);
        render();
      };
    }
  }

  return { count, texts, show };
}
