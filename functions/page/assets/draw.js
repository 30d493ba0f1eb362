// What only a sale with a draw needs: the entry, the roll, the dice and the calls. The page
// loads it for such a sale. It imports nothing, so that node can test its arithmetic.

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

/** What refusals are called. */
export const names = { "not-your-turn": "notYourTurn", "turn-over": "turnOver", "entering-not-open": "enterSoon", "entering-closed": "notEntered" };

/** @typedef {import("./api.js").Answer} Answer */

/**
 * @typedef {object} Sale of the page's
 * @property {string} id
 * @property {string} name
 * @property {number} units
 * @property {number} opens the first call
 * @property {number} closes
 * @property {number} read when the shop said so
 * @property {Record<string, any>} [draw] as the shop shows it
 */

/**
 * @typedef {object} Page what this module uses of it
 * @property {() => number} now
 * @property {(method: string, path: string) => Promise<Answer>} call
 * @property {(method: string, path: string) => Promise<Answer>} own of the buyer's own
 * @property {() => string} token
 * @property {() => void} render
 * @property {(id: string, text: string) => HTMLElement} put
 * @property {(id: string, text: string, address: string) => void} putLink
 * @property {import("./language.js").Language["say"]} say
 * @property {Intl.DateTimeFormat} dates
 * @property {import("./draw-en.js").Words} words
 */

/**
 * @typedef {object} Place the buyer's, of which the first six members are kept on the device
 * @property {string} leaf "" without an entry
 * @property {string} nonce
 * @property {string} enteredAt
 * @property {string} roll the first digest that was shown of the roll
 * @property {boolean | null} on whether the leaf is on the roll; null before that was seen
 * @property {string} user who entered
 * @property {number} none when the shop knew no entry; 0 before it was asked
 * @property {boolean} looking whether the roll is being read
 * @property {string} rank "" before the dice
 * @property {boolean} doubt whether something does not fit
 * @property {number} late how often nothing new was seen where it was due
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

/** @param {Page} page */
export function begin({ now, call, own, token, render, put, putLink, say, dates, words }) {
  /** @type {Map<string, Place>} By sale. */
  const places = new Map();
  let copied = ""; // the leaf whose entry was copied
  const nowhere = { leaf: "", nonce: "", enteredAt: "", roll: "", on: null, user: "", none: 0, looking: false, rank: "", doubt: false, late: 0 };

  /** @param {Sale} sale */
  function placeOf({ id }) {
    const known = places.get(id);
    if (known) return known;
    /** @type {Place} */
    const place = { ...nowhere };
    try {
      const kept = JSON.parse(localStorage.getItem("draw " + id) ?? "");
      if (/^[0-9a-f]{64}$/.test(kept.leaf)) Object.assign(place, kept);
    } catch {} // there is none that can be read: the shop is asked
    places.set(id, place);
    return place;
  }

  /** @param {Sale} sale @param {Partial<Place>} news */
  function keep(sale, news) {
    const { leaf, nonce, enteredAt, roll, on, user } = Object.assign(placeOf(sale), news);
    try {
      localStorage.setItem("draw " + sale.id, JSON.stringify({ leaf, nonce, enteredAt, roll, on, user }));
    } catch {} // the shop has it, too
  }

  /** The times and calls of a draw. @param {Sale} sale */
  function termsOf({ draw = {}, opens }) {
    const [from, until] = [draw.enterFrom, draw.enterUntil].map(Date.parse);
    const calls = /** @type {Record<string, any>[]} */ (draw.calls ?? []).map((c) => ({ ...c, lo: c.lo, hi: c.hi, stock: c.stock, open: c.open === true, from: Date.parse(c.from), until: Date.parse(c.until) }));
    // The local stack is faster than AWS, and so are the times between two reads.
    return { from, until, calls, last: calls[calls.length - 1], pace: Math.min(1, (opens - until) / least) };
  }

  /** The call in which the buyer is: the first one that goes so far. @param {Sale} sale */
  function turnOf(sale) {
    const { rank } = placeOf(sale);
    return rank ? termsOf(sale).calls.find((c) => !c.open && rank <= (c.hi ?? "")) : undefined;
  }

  /** When the next call may begin. A call of nobody does not last. @param {Sale} sale */
  function nextCall(sale) {
    const { last, pace } = termsOf(sale);
    if (!last) return sale.opens;
    if (last.open) return Infinity;
    return ((last.hi ?? last.lo) === last.lo ? last.from : last.until) + gap * pace;
  }

  /** Takes an entry from the shop's answer. @param {Sale} sale @param {Record<string, any>} body */
  async function enter(sale, { leaf, nonce, enteredAt }) {
    const user = userOf(token());
    keep(sale, { ...nowhere, leaf: String(leaf), nonce: String(nonce), enteredAt: String(enteredAt), user });
    await learn(sale);
  }

  /** Finds out what is known of the buyer, by what was read of the sale. @param {Sale} sale */
  async function learn(sale) {
    const place = placeOf(sale);
    const { id, draw = {} } = sale;
    const user = userOf(token());
    if (user && place.leaf && place.user !== user) Object.assign(place, nowhere); // somebody else's, on the same device
    const { from, until } = termsOf(sale);
    // Once more when entering is over: the buyer may have entered on another device.
    if (token() && !place.leaf && now() >= from && place.none < (now() < until ? 1 : until)) {
      const a = await own("GET", `/sales/${id}/entries/me`);
      if (a.code === "entry-not-found") place.none = now();
      if (!a.code) return enter(sale, a.body);
    }
    if (!place.leaf) return;
    if (draw.roll && !place.roll) keep(sale, { roll: draw.roll });
    const { leaf, nonce, roll } = place;
    place.rank = draw.seed ? await rankOf(draw.seed, leaf) : "";
    place.doubt = (place.user !== "" && leaf !== await leafOf(place.user, nonce)) || (!!draw.roll && draw.roll !== roll) ||
      (!!draw.seed && draw.seed !== await seedOf(id, roll, await digestOf(draw.signature ?? "")));
    if (roll) seek(sale);
  }

  /** Looks once whether the buyer is on the roll. @param {Sale} sale */
  async function seek(sale) {
    const place = placeOf(sale);
    const { leaf } = place;
    if (place.on !== null || place.looking) return;
    place.looking = true;
    const a = await call("GET", `/sales/${sale.id}/roll/${leaf.slice(0, 2)}`);
    place.looking = false;
    if (!a.code && Array.isArray(a.body.leaves) && place.leaf === leaf) keep(sale, { on: a.body.leaves.includes(leaf) });
    render();
  }

  /** @param {Sale} sale @param {string} is the state without a draw */
  function state(sale, is) {
    if (!["notOpen", "open", "otherState"].includes(is)) return is;
    const { from, until, last } = termsOf(sale);
    const { leaf, none, on } = placeOf(sale);
    const turn = turnOf(sale);
    if (last?.open) return "openCall";
    if (on === false) return "notOnRoll";
    // A call may be made longer, so its end is read again before it is announced.
    if (turn) return sale.read < turn.until ? "called" : "turnOver";
    if (leaf && !last && now() < sale.opens) return sale.draw?.seed ? "diced" : sale.draw?.roll ? "onRoll" : "entered";
    if (leaf) return last?.hi ? "notDrawn" : "calling";
    if (now() < until) return now() < from ? "enterSoon" : "enter";
    return token() && none < until ? "checking" : "notEntered";
  }

  /** Until when the countdown of a state is; NaN if it has none. @param {Sale} sale @param {string} is */
  function end(sale, is) {
    if (is === "enterSoon") return termsOf(sale).from;
    return is === "called" ? turnOf(sale)?.until ?? NaN : ["entered", "onRoll", "diced"].includes(is) ? sale.opens : NaN;
  }

  /** What is said of the call after the one that the shop shows. @param {Sale} sale */
  function prospect(sale) {
    const next = nextCall(sale);
    if (next >= sale.closes) return words.lastCall;
    return next > now() ? say(words.nextCall, dates.format(next)) : words.nextLater;
  }

  /**
   * Where the buyer is among all, which the rank tells nearly: ranks are spread evenly, and each
   * call has called as many as there were units. The exact place would take the whole roll.
   * @param {Sale} sale
   */
  function standing(sale) {
    const { rank } = placeOf(sale);
    const entrants = Number(sale.draw?.entrants);
    if (!rank || !(entrants > 0)) return "";
    const share = (/** @type {string} */ hex) => parseInt(hex.slice(0, 12), 16) / 2 ** 48;
    let [called, above] = [0, 0];
    for (const c of termsOf(sale).calls) if (c.hi && c.stock) [called, above] = [called + c.stock, share(c.hi)];
    if (called >= entrants || above > share(rank)) return "";
    const number = called + Math.max(1, Math.ceil((share(rank) - above) / (1 - above) * (entrants - called)));
    const [text, of] = called ? [words.place, called] : [words.placeDiced, Math.min(sale.units, entrants)];
    return of > 0 ? say(text, number, entrants, of) : "";
  }

  /** The next call as an entry of a calendar, the same one whenever the call begins: what the link is called, and its address. @param {Sale} sale @param {string} is */
  function calendar(sale, is) {
    const first = ["entered", "onRoll", "diced"].includes(is);
    const begins = first ? sale.opens : ["notDrawn", "notYourTurn", "turnOver", "notEntered"].includes(is) && termsOf(sale).last ? nextCall(sale) : NaN;
    if (!(begins > now() && begins < sale.closes)) return ["", ""];
    const stamp = (/** @type {number} */ at) => new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
    // A line has at most 75 octets: 18 characters have at most 72.
    const fold = (/** @type {string} */ line) => (new Blob([line]).size > 75 ? line.replace(/.{18}(?=.)/gu, "$&\r\n ") : line);
    const title = say(words.event, sale.name).replace(/[\\,;]/g, "\\$&").replace(/\s+/g, " ");
    const lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//flashsale", "BEGIN:VEVENT", `UID:${sale.id}-call-${termsOf(sale).calls.length + 1}@${location.host}`, "DTSTAMP:" + stamp(now()), "DTSTART:" + stamp(begins),
      "DTEND:" + stamp(begins + 900000), "SUMMARY:" + title, "URL:" + location.href, "BEGIN:VALARM", "ACTION:DISPLAY", "DESCRIPTION:" + title, "TRIGGER:-PT10M", "END:VALARM", "END:VEVENT", "END:VCALENDAR", ""];
    return [first ? words.firstCall : words.laterCall, "data:text/calendar;charset=utf-8," + encodeURIComponent(lines.map(fold).join("\r\n"))];
  }

  /** When the dice fall, if that can be told: the local stack has rounds of its own. @param {Sale} sale */
  function thrown(sale) {
    const at = genesis + (Number(sale.draw?.round) - 1) * period;
    return at > termsOf(sale).until && at < sale.opens ? at : NaN;
  }

  /** The lines below. @param {Sale} sale @param {string} is */
  function detail(sale, is) {
    /** @type {Record<string, string | import("./words-en.js").Forms>} */
    const all = words;
    const text = all[is + "Detail"] ?? "";
    const turn = turnOf(sale);
    const opens = dates.format(sale.opens);
    const lines = [];
    if (is === "enter" || is === "entered") lines.push(say(text, dates.format(termsOf(sale).until), opens));
    else if (is === "called") lines.push(say(text, dates.format(turn?.until)));
    else lines.push(say(text, Number(sale.draw?.entrants), opens));
    if (is === "onRoll" && thrown(sale)) lines.push(say(words.diceAt, dates.format(thrown(sale))));
    if (["diced", "calling", "notDrawn"].includes(is)) lines.push(standing(sale));
    if (is === "turnOver" && turn) lines.push(say(words.turnWas, dates.format(turn.until)));
    if (is === "notEntered" && token()) lines.unshift(words.notIn);
    if (termsOf(sale).last && ["notDrawn", "notYourTurn", "turnOver", "notEntered"].includes(is)) lines.push(prospect(sale));
    if (placeOf(sale).doubt) lines.push(words.doubt);
    return lines.filter(Boolean).join("\n");
  }

  /** Shows what a draw has besides; nothing of no sale. @param {Sale | undefined} sale @param {string} is */
  function show(sale, is) {
    const { leaf, nonce, enteredAt, user } = sale ? placeOf(sale) : nowhere;
    put("entry", leaf && say(words.entry, leaf, dates.format(Date.parse(enteredAt))));
    put("copy", !leaf || !navigator.clipboard ? "" : copied === leaf ? words.copied : words.copy).onclick = async () => {
      await navigator.clipboard.writeText(JSON.stringify({ sale: sale?.id, user, nonce, leaf, enteredAt }, null, 1));
      copied = leaf;
      render();
    };
    const { round, seed } = sale?.draw ?? {};
    putLink("dice", say(words.diceLink, String(round)), sale && seed && thrown(sale) ? "https://api.drand.sh/v2/beacons/quicknet/rounds/" + Number(round) : "");
    const [label, address] = sale ? calendar(sale, is) : ["", ""];
    putLink("calendar", label, address);
  }

  /**
   * When the sale is to be read again, which pages do at different times: once between the
   * roll and the dice, so that many people keep the roll's digest before anybody knows the
   * dice, and once after each call. What is late is looked for ever more rarely.
   * @param {Sale} sale
   */
  function reread(sale) {
    const { until, pace } = termsOf(sale);
    const place = placeOf(sale);
    const [time, random] = [now(), Math.random()];
    const dice = until + pace * least;
    const witness = place.leaf ? !sale.draw?.roll : token() && place.none < until && time >= until;
    const begun = Math.max(time, until);
    if (witness && begun < dice - pace * gap) return begun + (0.25 + 0.7 * random) * (dice - begun);
    const next = nextCall(sale);
    if (next >= sale.closes) return Infinity;
    if (time < next) place.late = 0;
    return time < next ? next + pace * (20000 + 100000 * random) : time + pace * gap * (1 + random) * 2 ** Math.min(place.late++, 5);
  }

  return { words, learn, enter, state, end, detail, show, reread };
}
