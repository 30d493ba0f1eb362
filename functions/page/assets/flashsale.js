// A client of one sale, or of a group, without a face: no words, styles or storage. flashsale.d.ts says what it gives.

/** @typedef {import("./flashsale.js").State} State @typedef {import("./flashsale.js").Phase} Phase @typedef {import("./flashsale.js").Act} Act */
/** @typedef {"GET" | "POST" | "PUT" | "DELETE"} Method @typedef {Record<string, any>} Fields */

/**
 * @typedef {object} Answer
 * @property {boolean} [busy] the same request may get another answer soon, or there was none, so what happened is unknown
 * @property {string} code of a problem; "" of a success
 * @property {Fields} body
 * @property {number} wait of Retry-After, in milliseconds; 0 without one
 * @property {string | null} [id] of the request
 */

/** The orders that were sent from here, also by another drop. */
const sent = new Set();

/** @param {import("./flashsale.js").Options} options @returns {import("./flashsale.js").Drop} */
export function flashsale({
  api, sale: saleId = "", group = "", token = () => "", request = (url, options) => fetch(url, options), seen = () => !globalThis.document?.hidden,
  tabs = (name) => globalThis.BroadcastChannel && new BroadcastChannel(name),
}) {
  // A mini program has hardly any of these.
  const { location, navigator, AbortController, performance: clock = Date } = globalThis;
  const base = api.replace(/\/+$/, "");
  const origin = /^https?:\/\/[^/]+/.exec(base)?.[0] ?? location?.origin;
  const foreign = location && origin !== location.origin;
  const name = group || saleId;

  /** How often a request is repeated that gets no final answer. */
  const most = 8;
  /** How often a sale that may change is read while it is seen. What others share is read by all. */
  const minute = 60000;
  /** How long an answer may take. */
  const limit = 15000;

  /** @param {string} code @param {boolean} [busy] @returns {Answer} */
  const without = (code, busy) => ({ busy, code, body: {}, wait: 0 });
  /** No answer. */
  const silence = without("busy", true);
  /** No question. */
  const none = without("");
  /** What who is not signed in is answered. */
  const denied = without("unauthorized");

  /** Whether the same request may get another answer soon. @param {Answer} a */
  const passing = ({ busy, code }) => busy || /^(sale-paused|order-pending)$/.test(code);

  /** What the next reading of the sale may disprove. Other refusals are about the person. */
  const passed = /^(sale-|sold|recalled|not-your|not-en|turn|entering)/;
  /** An order is too early. */
  const tooEarly = /^(sale-not-open|not-your-turn)$/;

  /** Phases with another name than the code of the refusal or the state, which are written as phases. @type {Record<string, Phase>} */
  const renamed = { notFound: "unknown", invalidRequest: "unknown", alreadyOrdered: "elsewhere", unauthorized: "signedOut", pending: "accepted" };
  /** The others: soldOut of sold-out and of SOLD_OUT, closed of sale-closed. */
  const alike = /^(notOpen|open|paused|soldOut|closed|recalled|notEligible|forbidden|confirmed|paid|expired|cancelled)$/;
  /** The phase of a code or a state. @param {string} name @returns {Phase | undefined} */
  const phaseOf = (name) => {
    const written = name.toLowerCase().replace(/sale-|group-|[-_](.)/g, (_, c = "") => c.toUpperCase());
    return renamed[written] ?? /** @type {Phase} */ (alike.exec(written)?.[0]);
  };

  /** The phases in which an order is possible: in a pause, if it would be without it. */
  const buyable = /^(notEnough|open|otherState|called|openCall)$/;

  const time = Date.parse;
  /** Spreads what all would do at once. @param {number} n */
  const upTo = (n) => n * Math.random();
  /** The claim in an answer: a refusal has it besides. @param {Answer} a @returns {Fields | undefined} */
  const claimIn = ({ code, body }) => (code ? body.claim : body);
  /** Whether a claim may become another one. @param {Fields} claim */
  const undecided = (claim) => /^(PENDING|CONFIRMED)$/.test(claim.state);

  /** @type {Fields[]} */
  let sales = [];
  /** The one that it is about; without a state before it is read. @type {Fields} */
  let sale = { saleId };
  let chosen = "";
  /** Without a state if there is none. @type {Fields} */
  let claim = {};
  let already = false; // the claim was there before the order
  let elsewhere = ""; // the sale of the group in which the person has an order
  /** @type {ReturnType<typeof import("./drawrules.js").begin> | undefined} Of draws and of orders of several units, once one is seen. */
  let rules;
  let failed = 0; // how often they did not arrive
  /** @type {Phase | ""} */
  let doing = name && "loading";
  /** @type {State["last"]} */
  let last;
  /** Of the latest question, and whether it was given up. @type {Answer} */
  let latest = none;
  let gaveUp = false;
  let signedIn = false;
  let cancelling = "";
  let reread = Infinity; // when the sale is read again before its opening
  let due = Infinity; // by the clock, when it is read again if it is seen
  let since = -Infinity; // by the clock, when it was read
  let sought = -Infinity; // by the clock, when the claim was asked for
  let same = 0; // how often it was read in the same state
  let warm = foreign ? 20000 + upTo(40000) : 0; // how long before the opening the browser asks whether it may order

  // The clock. The shop reads its own before it answers, so an answer's `now` is never ahead when it is received: it is
  // behind by the way back, and by up to two seconds in a cache. So the largest difference is the best one, and the clock
  // never goes back. Half of the round trip is not added: most of it may be a cold start, before the clock is read.
  let offset = NaN;
  let drift = NaN; // how far the date was ahead when the clock was measured
  const ahead = () => Date.now() - clock.now();
  const now = () => clock.now() + offset;
  /** Whether the clock must be measured again: performance.now() may stand still in a sleep. */
  const slept = () => Math.abs(ahead() - drift) > 1000;

  let life = 0;
  /** What waits ends with a stop: nothing of before goes on after it. @param {(value?: any) => void} f */
  const alive = (f, mine = life) => (/** @type {any} */ value) => void (mine === life && f(value));
  /** What ends each timer: a program ends after its last one. @type {Set<() => void>} */
  const timers = new Set();
  /** Returns what ends the timer. @param {(value?: any) => void} f @param {number} ms */
  const later = (f, ms) => {
    const end = () => {
      clearTimeout(timer);
      timers.delete(end);
    };
    const timer = setTimeout(() => {
      end();
      f();
    }, Math.min(ms, 2e9));
    timers.add(end);
    return end;
  };
  /** @param {number} ms @returns {Promise<any>} */
  const pause = (ms) => new Promise((done) => later(done, ms));
  /** @template T @param {Promise<T>} promise @returns {Promise<T>} */
  const within = (promise) => new Promise((done, fail) => {
    promise.then(alive(done), alive(fail)).then(later(fail, limit));
  });
  /** @type {((value?: any) => void) | undefined} Ends what waits for an act. */
  let halt;

  let answered = false; // the latest request, and the browser has not lost the network since
  /** Some browsers say that there is no network while there is one: an answer proves it. */
  const offline = () => navigator?.onLine === false && !answered;
  /** @type {((value?: any) => void) | undefined} Ends a wait for the network. */
  let connected;

  /**
   * Makes one request. It never fails: no answer is an answer, too.
   * @param {Method} method @param {string} path @param {string} [bearer] @param {string} [key] @returns {Promise<Answer>}
   */
  async function call(method, path, bearer, key) {
    const stop = AbortController && new AbortController();
    try {
      const [{ status, headers }, at, text] = await within((async () => {
        const r = await request(base + path, {
          method, credentials: "omit", signal: stop?.signal,
          headers: { ...(bearer && { Authorization: "Bearer " + bearer }), ...(key && { "Idempotency-Key": key }) },
          // From another origin a browser would ask first whether it may send the header that this makes.
          ...(!foreign && { cache: "no-store" }),
        });
        return /** @type {const} */ ([r, clock.now(), await r.text()]);
      })());
      answered = true;
      let body;
      try {
        body = JSON.parse(text);
      } catch {} // it has none
      const fine = Object(body) === body;
      const measured = time(body?.now) - at;
      if (measured === measured) {
        // A clock without performance may be set.
        if (!(offset > measured) || (clock === Date && offset - measured > limit)) offset = measured;
        drift = ahead();
      }
      const busy = status === 429 || status > 499;
      return {
        busy, body: fine ? body : {}, wait: 1000 * Number(headers.get("Retry-After")) || 0, id: headers.get("Apigw-Requestid"),
        // What API Gateway answers itself has no code.
        code: fine && status < 300 ? "" : String(body?.code ?? { 401: denied.code, 403: "forbidden" }[status] ?? (busy ? "busy" : "HTTP " + status)),
      };
    } catch {
      stop?.abort();
      answered = false;
      return silence;
    }
  }

  /**
   * Makes a request of the person's own, with another token if the first is refused.
   * @param {Method} method @param {string} path @param {string} [key] @param {string} [refused] the token that was refused @returns {Promise<Answer>}
   */
  async function own(method, path, key, refused) {
    let bearer;
    try {
      bearer = await within(Promise.resolve(refused).then(token));
    } catch {
      return silence;
    }
    const a = bearer && bearer !== refused ? await call(method, path, bearer, key) : denied;
    signedIn = a.code !== denied.code;
    if (signedIn && latest.code === denied.code) latest = none;
    return signedIn || !bearer || refused ? a : own(method, path, key, bearer);
  }

  /**
   * Makes a request until its answer is final, or gives up. Clients repeat at different times,
   * and never before the shop's Retry-After. Without a network it does not give up.
   * @param {() => Promise<Answer>} ask @param {boolean} [quiet] whether nothing is shown of it
   */
  async function repeat(ask, quiet) {
    for (let n = 0; ; n++) {
      const a = await ask();
      // An order that is too early by a minute and a half is sent again at the opening.
      const opening = !quiet && last === "buy" && tooEarly.test(a.code) && a.wait && a.wait <= 90000;
      const again = opening || passing(a);
      if (!quiet) {
        latest = a;
        gaveUp = again && n === most;
      }
      if (!again || n === most) return a;
      if (!quiet) publish();
      const off = offline();
      if (off) n--;
      // Some browsers miss the event that ends a wait for the network.
      await Promise.race([
        pause(off ? limit + upTo(limit) : a.wait + (opening ? upTo(500) : 500 + upTo(Math.min(1000 * 2 ** n, minute / 2)))),
        new Promise((done) => (connected = off ? alive(done) : undefined)),
      ]);
    }
  }

  const path = (/** @type {string} */ rest, id = sale.saleId) => `/sales/${encodeURIComponent(id)}${rest}`;
  /** Reads the sale or the group. */
  async function look() {
    const a = await call("GET", group ? "/groups/" + encodeURIComponent(group) : path(""));
    if (!rules && /"draw|maxPer/.test(JSON.stringify(a.body))) {
      try {
        // Browsers do not ask again for an address that has failed, and bundlers follow an address that is whole.
        const { begin } = await within(failed ? import("./drawrules.js?" + failed) : import("./drawrules.js"));
        ({ request } = rules = begin({ now, own, path, repeat, request }));
      } catch {
        failed++;
        return silence;
      }
    }
    return a;
  }
  /** @param {string} [id] */
  const mine = (id) => own("GET", path("/orders/me", id));
  const opens = () => time(sale.opensAt);
  /** The sale's state, which only at the opening is another one than the shop has said. The first call of a draw opens it. */
  const said = () => (sale.state === "NOT_OPEN" || (sale.state === "WAITING" && !sale.draw?.calls?.length) ? now() >= opens() ? "OPEN" : "NOT_OPEN" : sale.state);
  /** Until when the claim must be paid; NaN if it need not be. */
  const payBy = () => (claim.state === "CONFIRMED" ? time(claim.payBy) : NaN);
  /** @param {Answer} a */
  function take({ code, body }) {
    if (code || time(body.now) < time(sale.now)) return; // an older one that comes later
    const before = said();
    sales = (group ? body.sales ?? [] : [{ ...body, saleId }]).map((/** @type {Fields} */ s) => ({ now: body.now, ...s }));
    if (!named(chosen)) chosen = "";
    const kept = claim.state ? sale.saleId : chosen;
    about(named(kept) ?? sales.find((s) => /OPEN/.test(s.state)) ?? sales[0]);
    same = said() === before ? same + 1 : 0;
  }

  /** A sale of the group. @param {string} id */
  const named = (id) => sales.find((s) => s.saleId === id);

  /** Makes a sale the one that it is about. @param {Fields} [next] */
  function about(next = sale) {
    const before = next.saleId === sale.saleId && opens();
    sale = next;
    const left = opens() - now();
    // An opening may be moved, so it is read again before it is announced. Clients do that at different times.
    if (opens() !== before) reread = left > 10000 ? opens() - (0.2 + upTo(0.6)) * Math.min(left, 150000) : Infinity;
  }

  /**
   * Sets when what is seen is read again: every minute or so while the sale sells or the person has an order in it, more
   * rarely before the opening and when it has been sold out or over for a while, and not before the rush of the opening is
   * over. An end may be moved, so it is read before it is announced.
   * @param {number} [asked] how long the shop asks to wait
   */
  function plan(asked) {
    const is = said();
    if (!is) return;
    const held = claim.state && !/^(EXPIRED|CANCELLED)$/.test(claim.state);
    const left = opens() - now();
    const closes = time(sale.closesAt);
    const spread = minute + upTo(minute / 2);
    let wait = (is === "SOLD_OUT" && asked) || spread;
    if (!held && is === "NOT_OPEN") wait *= 10;
    if (same > 9 && !held && (is === "CLOSED" || (is === "SOLD_OUT" && !sale.mayReturn))) wait *= 5;
    // In a draw there is no rush.
    if (left > 0 && left < wait) wait = left + (sale.draw ? spread / 3 : spread);
    if ((!held && is === "RECALLED") || (is === "CLOSED" && now() - closes > 60 * minute && !payBy())) wait = Infinity;
    for (const end of /** @type {number[]} */ ([closes, rules?.until(sale).called])) {
      if (time(sale.now) < end && end - now() < wait) wait = Math.max(end - now(), 0) + 1000 + upTo(9000);
    }
    due = clock.now() + wait;
  }

  /** Finds out what is known of the person's entry in the draw of the sale, if it has one. */
  async function learn() {
    const a = await rules?.learn(sale);
    if (a && passing(a)) reread = Math.min(reread, now() + a.wait + minute + upTo(minute));
  }

  /** The phase in a draw, by that of a sale without one. @param {Phase} is */
  const inDraw = (is, code = "") => rules?.phase(sale, is, code, signedIn) ?? is;

  /** @returns {Phase} */
  function phase() {
    const { code } = latest;
    const is = claim.state;
    if (is && is !== "EXPIRED" && sale.state === "RECALLED") return "recalledOrder";
    if (payBy()) return now() < payBy() ? "unpaid" : "late";
    // Until the order has its id, nobody knows until when it must be paid.
    if (sale.payWithin > 0 && undecided(claim)) return "reserved";
    if (is) return phaseOf(is) ?? "held";
    if (doing) return doing;
    if (gaveUp && code && code !== "sale-paused") return last === "buy" ? "stuckOrder" : "stuck";
    if (!name || (!sale.state && !code)) return "unknown";
    return inDraw(phaseOf(code || said()) ?? (code ? "other" : "otherState"), code);
  }

  /** What is paid, and where: only with https, or at the API's own origin. */
  function payment() {
    const to = String(claim.paymentUrl ?? "");
    const url = /^\/[^/\\\s]/.test(to) ? origin + to : (/^https:\/\/[^/\\\s]/.test(to) || to.startsWith(origin + "/")) && to;
    return { url, by: payBy(), amount: claim.amount, currency: claim.currency, query: to.split("?")[1] };
  }

  function view() {
    const is = phase();
    const { code, id, body } = latest;
    const pay = is === "unpaid" && payment();
    const opening = said() === "NOT_OPEN" && opens();
    const picked = !group || chosen;
    const can = [
      group && sale.state && !claim.state && doing !== "sending" && "choose",
      pay && pay.url && "pay",
      !signedIn && (claim.state || (sale.state && !doing && !gaveUp)) ? "signIn" :
        is === "unpaid" ? cancelling !== "sending" && "cancel" :
        is === "stuck" || (is === "other" && last !== "buy") ? "refresh" :
        is === "enter" ? picked && is :
        (/^(stuckOrder|other)$/.test(is) || (picked && buyable.test(is === "paused" ? inDraw("open") : is))) && "buy",
    ].filter(Boolean);
    return {
      phase: is, can, sale: sale.state && sale, sales, chosen, claim: claim.state && claim,
      until: { notOpen: opening, unpaid: payBy(), signedOut: opening, ...rules?.until(sale) }[/** @type {string} */ (is)],
      retrying: !claim.state && doing && code && (offline() ? "offline" : code === "sale-paused" ? "paused" : tooEarly.test(code) ? "early" : "busy"),
      offline: offline(), signedIn, mayReturn: is === "soldOut" && sale.mayReturn, last, already, cancelling, elsewhere, code, pay, requestId: code && id, ...rules?.view(sale, body),
    };
  }

  /** @type {Set<() => void>} */
  const listeners = new Set();
  let text = "";
  let state = /** @type {State} */ ({});
  function publish() {
    const shown = JSON.stringify(view(), (_, value) => (value || value === 0 ? value : undefined));
    if (shown === text) return;
    state = JSON.parse((text = shown), (_, value) => Object.freeze(value));
    // One that throws stops nothing here.
    for (const f of listeners) Promise.resolve().then(() => listeners.has(f) && f());
  }

  /** Reads the sale, and the person's claim. */
  async function load() {
    due = Infinity;
    since = clock.now();
    begin("loading");
    take(await repeat(look));
    if (sale.state && !latest.code) {
      await learn();
      // Nobody waits for a slow answer before they can order. Who has ordered is not refused first.
      await (/OPEN/.test(said()) ? Promise.race([seek(true), pause(1000)]) : seek());
    }
    doing = "";
    plan();
    if (gaveUp) due = clock.now() + minute + upTo(minute);
    publish();
  }

  /**
   * Looks for the person's claim. There may be one before an opening that was put off, and in any
   * sale of the group: the shop says in which.
   * @param {boolean} [quiet] as for repeat
   */
  async function seek(quiet) {
    sought = clock.now();
    let id = sale.saleId;
    let a = await repeat(() => mine(id), quiet);
    const other = a.code && a.body.saleId;
    if (named(other)) {
      id = other;
      a = await repeat(() => mine(id), quiet);
    }
    if (!quiet && !gaveUp) latest = none;
    if (claim.state) know(a);
    if (claim.state || doing === "sending") return;
    if (other && id !== other) {
      latest = without("already-ordered");
      elsewhere = other;
    }
    if (!a.code) about(named(id));
    settle(a, true);
  }

  /** Looks again for a claim that was not there. */
  const seekAgain = () => void (sale.state && !claim.state && !doing && seek(true));

  /** Reads the sale again, and the person's claim; before the opening also later, if there is no answer. */
  async function again() {
    if (now() >= reread) reread = Infinity;
    due = Infinity;
    since = clock.now();
    const a = await look();
    take(a);
    if (!a.code) {
      if (!doing && passed.test(latest.code)) latest = none;
      await learn();
    }
    if (claim.state) know(await mine()); // the shop may have cancelled it
    if (passing(a) && said() === "NOT_OPEN") reread = now() + a.wait + 5000 + upTo(5000);
    plan(a.wait);
    publish();
  }

  /** Begins an act, or a reading. @param {Phase} is @param {State["last"]} [act] */
  function begin(is, act) {
    doing = is;
    last = act;
    latest = none;
    gaveUp = false;
    publish();
  }

  /**
   * Orders units. The first order has no Idempotency-Key: to look for one costs the shop a
   * read for everybody who comes too late. A repeat has the same key in every tab, so that
   * the shop looks for the person's claim before it refuses.
   * @param {any} wanted how many; a press may give its event, which is none
   */
  async function buy(wanted) {
    rules?.ask(wanted, sale);
    begin("sending", "buy");
    const to = path("/orders");
    const a = await repeat(() => {
      const key = sent.has(base + to) ? "page" : "";
      sent.add(base + to);
      return own("POST", to, key);
    });
    if (a.code === "sale-not-open") { // it was put off
      latest = none;
      await again();
      // The answer may have come from a cache that has not heard of it yet.
      if (said() !== "NOT_OPEN") {
        sale.state = "NOT_OPEN";
        sale.opensAt = new Date(now() + a.wait).toISOString();
      }
    }
    doing = "";
    if (a.code === "sold-out") {
      sale.state = "SOLD_OUT";
      sale.mayReturn = a.body.mayReturn;
    }
    elsewhere = a.code && a.body.saleId; // a refusal names only another sale
    if (named(elsewhere)) {
      choose(elsewhere);
      settle(await repeat(() => mine()), true);
    } else settle(a);
    plan(a.wait);
  }

  /** Takes the claim from an answer, if it has one. @param {Answer} a @param {boolean} [old] whether the claim was there before an order */
  function settle(a, old) {
    const found = claimIn(a) ?? (a.code === "already-ordered" && !elsewhere && {}); // that there is one is enough
    if (found && !claim.state) {
      claim = { state: "PENDING", ...found };
      already = old || !!a.code;
      latest = none;
      if (!old) others?.postMessage("");
      follow(a.wait);
    }
    publish();
  }

  /** Asks for the claim while it is pending, or lacks until when to pay. @param {number} wait as the shop said */
  async function follow(wait) {
    for (let n = 0; (claim.state === "PENDING" || phase() === "reserved") && signedIn; n++) {
      await pause(Math.max(wait, Math.min(2000 * 1.5 ** n, minute)) * (1 + upTo(0.25)));
      while (!seen()) await pause(1000);
      const a = await mine();
      know(a);
      wait = a.wait;
      publish();
    }
  }

  /**
   * Takes what an answer says of the claim, and returns it. An answer may be older than the one
   * before it: what is decided stays so.
   * @param {Answer} a
   */
  function know(a) {
    const found = claimIn(a);
    if (found && (undecided(claim) || !undecided(found))) claim = { ...claim, refund: undefined, ...found };
    return found;
  }

  /** Cancels the order. An answer that says why not has the claim, too. */
  async function cancel() {
    cancelling = "sending";
    publish();
    const a = await repeat(() => own("DELETE", path("/orders/me")));
    latest = none;
    cancelling = know(a) ? "" : "failed";
  }

  /** Enters the person in the draw. To do it again changes nothing. */
  async function enter() {
    begin("entering", "enter");
    await rules?.enter(sale);
    doing = "";
    await learn();
  }

  /** @param {string} id */
  function choose(id) {
    if (!sales[0] || named(id)) chosen = id;
    about(named(id));
    if (!doing && !claim.state) latest = none;
    publish();
    learn().then(publish);
  }

  /** Does what can be done now, until it is decided or stopped. @param {Act} act @param {(given?: any) => Promise<void>} f @returns {(given?: any) => Promise<State>} */
  const doable = (act, f) => async (given) => {
    publish();
    if (state.can.includes(act)) await Promise.race([f(given), new Promise((done) => (halt = done))]);
    publish();
    return state;
  };

  /** Reads the sale again, or what could not be read. */
  function lookAgain() {
    if (doing) return;
    if (last !== "buy" && ((gaveUp && latest.code) || !sale.state || phase() === "other")) load();
    else again();
  }

  /**
   * Looks again when it is seen again, if what is shown is half a minute old, or may be paid by now. It measures
   * the clock, which may have stood still.
   */
  function wake() {
    if (!seen() || !(clock.now() - since > minute / 2 || slept() || payBy())) return;
    drift = ahead();
    lookAgain();
    if (clock.now() - sought > minute) seekAgain();
  }

  /** Once a second, and at the opening. */
  function tick() {
    const left = opens() - now();
    later(tick, (left > 0 && left % 1000) || 1000);
    if (now() >= reread) again();
    else if (slept()) wake();
    else if (clock.now() >= due && seen()) lookAgain();
    // Before the first order from another origin a browser asks whether it may send it: what it is told here holds then.
    if (signedIn && left > 0 && left < warm) {
      warm = 0;
      own("GET", path("/orders"));
    }
    publish();
  }

  /** @type {import("./flashsale.js").Tabs | undefined} The other tabs with this sale, which may be somebody else's: each asks for its own claim. */
  let others;
  /** @param {Event} event */
  function heard({ type }) {
    if (type === "offline") answered = false;
    else {
      wake();
      connected?.();
    }
    publish();
  }
  let running = false;
  const listen = (/** @type {"addEventListener" | "removeEventListener"} */ how) => {
    for (const type of ["online", "offline", "pageshow", "visibilitychange"]) globalThis[how]?.(type, /** @type {EventListener} */ (heard), true);
  };

  publish();
  return {
    get state() {
      return state;
    },
    initial: state,
    now,
    choose,
    buy: doable("buy", buy),
    cancel: doable("cancel", cancel),
    enter: doable("enter", enter),
    subscribe(f) {
      listeners.add(f);
      return () => void listeners.delete(f);
    },
    refresh() {
      connected?.();
      lookAgain();
      seekAgain();
    },
    start() {
      if (running || !name) return;
      running = true;
      listen("addEventListener");
      try {
        others = /** @type {NonNullable<typeof tabs>} */ (tabs)("claimed " + base + name);
        others.onmessage = seekAgain;
      } catch {} // there is none: Firefox throws where it stores nothing
      // The last order may have been sent before a reload.
      if (/** @type {any} */ (clock).getEntriesByType?.("navigation").some((/** @type {any} */ e) => e.type !== "navigate")) sent.add(base + path("/orders"));
      cancelling = "";
      load();
      follow(0);
      tick();
    },
    stop() {
      running = false;
      life++;
      for (const end of timers) end();
      listen("removeEventListener");
      others?.close();
      halt?.();
    },
  };
}
