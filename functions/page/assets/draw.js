// What only a sale with a draw needs besides: the entry that is kept, whether the roll and the dice fit it, the place and the
// calendar. A face loads it for such a sale. It imports nothing, so that node can test its arithmetic.

/** @param {string} digits */
const bytes = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** @param {...BlobPart} parts texts count as UTF-8 */
async function sha256(...parts) {
  const digest = await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer());
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The digest of a page is that of its leaves, that of a roll is of its pages', and the dice are that of a signature. @param {...string} values */
export const digestOf = (...values) => sha256(bytes(values.join("")));

/** @param {string} user @param {string} nonce */
export const leafOf = (user, nonce) => sha256(user + "\0", bytes(nonce));

/** @param {string} sale @param {string} roll @param {string} dice */
export const seedOf = (sale, roll, dice) => sha256("flashsale draw 1\0" + sale + "\0", bytes(roll + dice));

/** @param {string} seed @param {string} leaf */
export const rankOf = async (seed, leaf) => (await digestOf(seed, leaf)).slice(0, 32);

/** @typedef {import("./flashsale.js").State} State @typedef {import("./flashsale.js").Sale} Sale */

/**
 * @typedef {object} Page what this module uses of a face
 * @property {import("./flashsale.js").Drop} drop
 * @property {string} api as the drop's
 * @property {() => string} token the access token; "" if it is not known
 * @property {() => void} render
 * @property {(id: string, text: string) => HTMLElement} put
 * @property {(id: string, text: string, address: string) => void} putLink
 * @property {import("./language.js").Language["say"]} say
 * @property {Intl.DateTimeFormat} dates
 * @property {import("./draw-en.js").Words} words
 */

/**
 * @typedef {object} Kept what is kept on the device of an entry
 * @property {string} leaf "" without an entry
 * @property {string} nonce
 * @property {string} enteredAt
 * @property {string} roll the first digest that was shown of the roll
 * @property {boolean | null} on whether the leaf is on the roll; null before that was seen
 * @property {string} user who entered; "" if that is not known
 */

/** How long the roll, the dice and the first call take on AWS, at least, from the end of entering. */
const least = 4560000;
/** From the end of a call to the next one. */
const gap = 60000;
/** drand's quicknet: when its first round was, and the time between two of them. */
const [genesis, period] = [1692803367000, 3000];

/** The user of an access token; "" if it does not say. @param {string} token */
function userOf(token) {
  try {
    const text = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
    return String(JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0)))).sub ?? "");
  } catch {
    return "";
  }
}

/** The times and calls of a draw. @param {Sale} sale */
function termsOf({ draw = {}, opensAt, closesAt }) {
  const [from, until, opens, closes] = [draw.enterFrom, draw.enterUntil, opensAt, closesAt].map(Date.parse);
  const calls = /** @type {Record<string, any>[]} */ (draw.calls ?? []);
  const last = calls[calls.length - 1];
  // The local stack is faster than AWS, and so are the times between two reads.
  const pace = Math.min(1, (opens - until) / least);
  // When the next call may begin. A call of nobody does not last.
  const next = !last ? opens : last.open ? Infinity : Date.parse((last.hi ?? last.lo) === last.lo ? last.from : last.until) + gap * pace;
  return { from, until, opens, closes, calls, last, pace, next };
}

/** @param {Page} page */
export function begin({ drop, api, token, render, put, putLink, say, dates, words }) {
  const { now } = drop;
  const nowhere = { leaf: "", nonce: "", enteredAt: "", roll: "", on: null, user: "" };
  /** @type {Map<string, Kept>} By sale. */
  const places = new Map();
  let copied = ""; // the leaf whose entry was copied
  let examined = ""; // what was examined last
  let doubt = false; // whether something does not fit
  let witness = Infinity; // when the roll's digest is looked at

  /** @param {Sale} sale */
  function placeOf({ saleId }) {
    const known = places.get(saleId);
    if (known) return known;
    /** @type {Kept} */
    const place = { ...nowhere };
    try {
      const kept = JSON.parse(localStorage.getItem("draw " + saleId) ?? "");
      if (/^[0-9a-f]{64}$/.test(kept.leaf)) Object.assign(place, kept);
    } catch {} // there is none that can be read: the shop has it
    places.set(saleId, place);
    return place;
  }

  /** @param {Sale} sale @param {Partial<Kept>} news */
  function keep(sale, news) {
    const { leaf, nonce, enteredAt, roll, on, user } = Object.assign(placeOf(sale), news);
    try {
      localStorage.setItem("draw " + sale.saleId, JSON.stringify({ leaf, nonce, enteredAt, roll, on, user }));
    } catch {} // the shop has it, too
  }

  /** Keeps the entry, and examines what the shop shows of the draw, once. @param {State} state */
  async function examine({ sale, entry }) {
    if (!sale) return;
    const place = placeOf(sale);
    const user = userOf(token());
    if (user && place.user && place.user !== user) Object.assign(place, nowhere); // somebody else's, on the same device
    if (entry && entry.leaf !== place.leaf) keep(sale, { ...nowhere, leaf: String(entry.leaf), nonce: String(entry.nonce), enteredAt: String(entry.enteredAt), user });
    const { roll, seed, signature } = sale.draw ?? {};
    const mark = [sale.saleId, place.leaf, roll, seed].join();
    if (examined === mark) return;
    examined = mark;
    doubt = false;
    // Once between the roll and the dice, so that many people keep the roll's digest before anybody knows the dice.
    const { until, pace } = termsOf(sale);
    const [begun, dice] = [Math.max(now(), until), until + pace * least];
    witness = place.leaf && !roll && begun < dice - pace * gap ? begun + (0.25 + 0.7 * Math.random()) * (dice - begun) : Infinity;
    if (!place.leaf) return;
    if (roll && !place.roll) keep(sale, { roll });
    const doubts = (place.user !== "" && place.leaf !== await leafOf(place.user, place.nonce)) || (!!roll && roll !== place.roll) ||
      (!!seed && (seed !== await seedOf(sale.saleId, place.roll, await digestOf(signature ?? "")) || (!!entry?.rank && entry.rank !== await rankOf(seed, place.leaf))));
    if (examined === mark) doubt = doubts;
    if (roll && place.on === null) await seek(sale, place.leaf);
    render();
  }

  /** Looks whether the buyer is on the roll. @param {Sale} sale @param {string} leaf */
  async function seek(sale, leaf) {
    try {
      const { leaves } = await (await fetch(`${api}/sales/${sale.saleId}/roll/${leaf.slice(0, 2)}`, { credentials: "omit" })).json();
      if (Array.isArray(leaves) && placeOf(sale).leaf === leaf) keep(sale, { on: leaves.includes(leaf) });
    } catch {
      examined = ""; // there is no answer: again with the next reading
    }
  }

  /** The state by what is kept on the device, too. @param {State} state */
  function state({ phase, sale }) {
    if (!sale?.draw) return phase;
    const { leaf, on } = placeOf(sale);
    if (on === false && phase in words && phase !== "openCall") return "notOnRoll";
    if (!leaf || (phase !== "enter" && phase !== "checking")) return phase;
    const { last, opens } = termsOf(sale);
    return last || now() >= opens ? "calling" : sale.draw.seed ? "diced" : sale.draw.roll ? "onRoll" : "entered";
  }

  /** What is said of the call after the one that the shop shows. @param {Sale} sale */
  function prospect(sale) {
    const { next, closes } = termsOf(sale);
    if (next >= closes) return words.lastCall;
    return next > now() ? say(words.nextCall, dates.format(next)) : words.nextLater;
  }

  /**
   * Where the buyer is among all, which the rank tells nearly: ranks are spread evenly, and each
   * call has called as many as there were units. The exact place would take the whole roll.
   * @param {Sale} sale @param {string} [rank]
   */
  function standing(sale, rank) {
    const entrants = Number(sale.draw?.entrants);
    if (!rank || !(entrants > 0)) return "";
    const share = (/** @type {string} */ hex) => parseInt(hex.slice(0, 12), 16) / 2 ** 48;
    let [called, above] = [0, 0];
    for (const c of termsOf(sale).calls) if (c.hi && c.stock) [called, above] = [called + c.stock, share(c.hi)];
    if (called >= entrants || above > share(rank)) return "";
    const number = called + Math.max(1, Math.ceil((share(rank) - above) / (1 - above) * (entrants - called)));
    const [text, of] = called ? [words.place, called] : [words.placeDiced, Math.min(Number(sale.remaining), entrants)];
    return of > 0 ? say(text, number, entrants, of) : "";
  }

  /** The next call as an entry of a calendar, the same one whenever the call begins: what the link is called, and its address. @param {Sale} sale @param {string} is */
  function calendar(sale, is) {
    const first = ["entered", "onRoll", "diced"].includes(is);
    const { calls, last, next, opens, closes } = termsOf(sale);
    const begins = first ? opens : ["notDrawn", "notYourTurn", "turnOver", "notEntered"].includes(is) && last ? next : NaN;
    if (!(begins > now() && begins < closes)) return ["", ""];
    const stamp = (/** @type {number} */ at) => new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
    // A line has at most 75 octets: 18 characters have at most 72.
    const fold = (/** @type {string} */ line) => (new Blob([line]).size > 75 ? line.replace(/.{18}(?=.)/gu, "$&\r\n ") : line);
    const title = say(words.event, String(sale.name || sale.saleId)).replace(/[\\,;]/g, "\\$&").replace(/\s+/g, " ");
    const lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//flashsale", "BEGIN:VEVENT", `UID:${sale.saleId}-call-${calls.length + 1}@${location.host}`, "DTSTAMP:" + stamp(now()), "DTSTART:" + stamp(begins),
      "DTEND:" + stamp(begins + 900000), "SUMMARY:" + title, "URL:" + location.href, "BEGIN:VALARM", "ACTION:DISPLAY", "DESCRIPTION:" + title, "TRIGGER:-PT10M", "END:VALARM", "END:VEVENT", "END:VCALENDAR", ""];
    return [first ? words.firstCall : words.laterCall, "data:text/calendar;charset=utf-8," + encodeURIComponent(lines.map(fold).join("\r\n"))];
  }

  /** When the dice fall, if that can be told: the local stack has rounds of its own. @param {Sale} sale */
  function thrown(sale) {
    const at = genesis + (Number(sale.draw?.round) - 1) * period;
    const { until, opens } = termsOf(sale);
    return at > until && at < opens ? at : NaN;
  }

  /** The lines below. @param {State} state @param {string} is */
  function detail({ sale, entry, signedIn }, is) {
    if (!sale) return "";
    /** @type {Record<string, string | import("./words-en.js").Forms>} */
    const all = words;
    const text = all[is + "Detail"] ?? "";
    const { until, opens: at, last } = termsOf(sale);
    const opens = dates.format(at);
    const turn = entry?.turn && dates.format(Date.parse(entry.turn.until));
    const lines = [];
    if (is === "enter" || is === "entered") lines.push(say(text, dates.format(until), opens));
    else if (is === "called") lines.push(say(text, turn ?? ""));
    else lines.push(say(text, Number(sale.draw?.entrants), opens));
    if (is === "onRoll" && thrown(sale)) lines.push(say(words.diceAt, dates.format(thrown(sale))));
    if (["diced", "calling", "notDrawn"].includes(is)) lines.push(standing(sale, entry?.rank));
    if (is === "turnOver" && turn) lines.push(say(words.turnWas, turn));
    if (is === "notEntered" && signedIn) lines.unshift(words.notIn);
    if (last && ["notDrawn", "notYourTurn", "turnOver", "notEntered"].includes(is)) lines.push(prospect(sale));
    if (doubt) lines.push(words.doubt);
    return lines.filter(Boolean).join("\n");
  }

  /** Shows what a draw has besides; nothing with an order. @param {State} state @param {string} is */
  function show(state, is) {
    const sale = state.claim ? undefined : state.sale;
    examine(state);
    if (now() >= witness) {
      witness = Infinity;
      drop.refresh();
    }
    const { leaf, nonce, enteredAt, user } = sale ? placeOf(sale) : nowhere;
    put("entry", leaf && say(words.entry, leaf, dates.format(Date.parse(enteredAt))));
    put("copy", !leaf || !navigator.clipboard ? "" : copied === leaf ? words.copied : words.copy).onclick = async () => {
      await navigator.clipboard.writeText(JSON.stringify({ sale: sale?.saleId, user, nonce, leaf, enteredAt }, null, 1));
      copied = leaf;
      render();
    };
    const { round, seed } = sale?.draw ?? {};
    putLink("dice", say(words.diceLink, String(round)), sale && seed && thrown(sale) ? "https://api.drand.sh/v2/beacons/quicknet/rounds/" + Number(round) : "");
    const [label, address] = sale ? calendar(sale, is) : ["", ""];
    putLink("calendar", label, address);
  }

  return { has: (/** @type {string} */ is) => is in words, state, detail, show };
}
