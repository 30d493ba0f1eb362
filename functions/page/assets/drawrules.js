// The rules of a sale with a draw, or with orders of several units: what is known of the person's entry, how many units are
// asked for, and which phase it is in. flashsale.js imports it when a sale has one of both.

/** @typedef {import("./flashsale.js").Phase} Phase @typedef {Record<string, any>} Fields */
/** @typedef {{ busy?: boolean, code: string, body: Fields, wait: number }} Answer as in flashsale.js */

/**
 * @typedef {object} Client what this module uses of flashsale.js
 * @property {() => number} now
 * @property {(ask: () => Promise<any>) => Promise<Answer>} repeat
 * @property {(method: "GET" | "PUT", path: string) => Promise<any>} own
 * @property {(rest: string, id: string) => string} path
 * @property {import("./flashsale.js").Request} request
 */

const time = Date.parse;

/** Phases by the code of a refusal. @type {Record<string, Phase>} */
const refused = { "not-your-turn": "notYourTurn", "turn-over": "turnOver", "entering-not-open": "enterSoon", "entering-closed": "notEntered", "not-enough": "notEnough" };

/** @param {Client} client */
export function begin({ now, repeat, own, path, request }) {
  let units = 1; // of the latest order; NaN is one, too
  /** @type {Record<string, Fields>} The entries by sale; missed is when the shop knew of none. */
  const entries = Object.create(null);
  /** @param {Fields} sale */
  const entryOf = ({ saleId }) => (entries[saleId] ??= { missed: 0 });
  /** The call in which the person is: the first that goes so far. A call may be made longer, so the sale says its end. @param {Fields} sale @returns {Fields | undefined} */
  const turnOf = (sale) => {
    const { rank } = entryOf(sale);
    return rank && sale.draw?.calls?.find((/** @type {Fields} */ c) => !c.open && rank <= (c.hi ?? ""));
  };
  /** @param {Fields} sale */
  const address = ({ saleId }) => path("/entries/me", saleId);

  return {
    /** Asks for the person's entry, if that may say more than what is known. @param {Fields} sale @returns {Promise<Answer | undefined>} */
    async learn(sale) {
      const { enterFrom, enterUntil, roll, seed } = sale.draw ?? {};
      const known = entryOf(sale);
      const until = time(enterUntil);
      // Once more when entering is over, as the person may have entered on another device; and for the roll and the dice.
      const more = known.leaf ? (roll && known.onRoll === undefined) || (seed && known.onRoll && !known.rank) : known.missed < (now() < until ? 1 : until);
      if (!(now() >= time(enterFrom)) || !more) return;
      const a = await own("GET", address(sale));
      if (a.code === "entry-not-found") known.leaf ? (known.onRoll = false) : (known.missed = now());
      else if (!a.code) Object.assign(known, a.body);
      return a;
    },

    /** Enters the person. To do it again changes nothing. @param {Fields} sale */
    async enter(sale) {
      const a = await repeat(() => own("PUT", address(sale)));
      if (!a.code) Object.assign(entryOf(sale), a.body);
    },

    /** What a state shows besides: the person's entry, and of a refusal what is left. @param {Fields} sale @param {Fields} body of the latest answer */
    view(sale, { left, mayReturn }) {
      const { missed, ...entry } = entryOf(sale);
      return { entry: entry.leaf && { ...entry, turn: turnOf(sale) }, ...(left && { left, mayReturn }) };
    },

    /** Says how many units the next order is of, as far as the sale allows. @param {any} wanted @param {Fields} sale */
    ask(wanted, { maxPerOrder }) {
      units = Math.min(wanted, maxPerOrder);
    },

    /** Makes a request, of an order with its units: nothing else is posted. @type {import("./flashsale.js").Request} */
    request: (url, options) =>
      request(url, options.method === "POST" && units > 1 ? { ...options, headers: { ...options.headers, "Content-Type": "application/json" }, body: JSON.stringify({ units }) } : options),

    /** The ends of the phases that have one. @param {Fields} sale */
    until(sale) {
      const opens = time(sale.opensAt);
      return { enterSoon: time(sale.draw?.enterFrom), entered: opens, onRoll: opens, diced: opens, called: time(turnOf(sale)?.until) };
    },

    /** The phase, by that of a sale without a draw and the code of a refusal. @param {Fields} sale @param {Phase} is @param {string} code @param {boolean} signedIn @returns {Phase} */
    phase(sale, is, code, signedIn) {
      if (refused[code]) return refused[code];
      if (!sale.draw || !/^(notOpen|open|otherState)$/.test(is)) return is;
      const { enterFrom, enterUntil, roll, seed, calls = [] } = sale.draw;
      const { leaf, missed, onRoll } = entryOf(sale);
      const call = calls[calls.length - 1];
      const turn = turnOf(sale);
      if (call?.open) return "openCall";
      if (onRoll === false) return "notOnRoll";
      if (turn) return time(sale.now) < time(turn.until) ? "called" : "turnOver";
      if (leaf && !call && now() < time(sale.opensAt)) return seed ? "diced" : roll ? "onRoll" : "entered";
      if (leaf) return call?.hi ? "notDrawn" : "calling";
      if (now() < time(enterUntil)) return now() < time(enterFrom) ? "enterSoon" : "enter";
      return signedIn && missed < time(enterUntil) ? "checking" : "notEntered";
    },
  };
}
