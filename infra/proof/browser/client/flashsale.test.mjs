import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import "../../../../functions/page/assets/drawrules.js"; // so that it is there at once
import { flashsale } from "../../../../functions/page/assets/flashsale.js";

// Time passes only by pass().
const realImmediate = setImmediate;
const start = Date.parse("2026-11-11T12:00:00Z");
let [time, date, timers] = [0, start, []];
globalThis.setTimeout = (run, ms) => (timers.push({ run, due: time + ms }), timers.at(-1));
globalThis.clearTimeout = (timer) => (timers = timers.filter((t) => t !== timer));
Date.now = () => date + time;
performance.now = () => time;
const settle = async () => {
  for (let n = 0; n < 2; n++) await new Promise((done) => realImmediate(done));
};
async function pass(seconds) {
  const end = time + 1000 * seconds;
  for (await settle(); ; await settle()) {
    const [next] = timers.sort((a, b) => a.due - b.due);
    if (!next || next.due > end) break;
    timers.shift();
    time = Math.max(time, next.due);
    next.run();
  }
  time = end;
}
const iso = (seconds) => new Date(start + 1000 * seconds).toISOString();
const clock = () => iso(time / 1000);

/** The shop's answers, by method and path: a body, [status, body, Retry-After], or what gives one. */
let answers, calls;
const sale = (more = {}) => () => ({ saleId: "s", state: "OPEN", opensAt: iso(-60), closesAt: iso(36000), now: clock(), remaining: 5, seeded: 5, ...more });
const noOrder = [404, { code: "order-not-found" }];
const never = new Promise(() => {});
async function request(url, { method, ...options }) {
  const path = url.replace(/^https?:\/\/[^/]+/, "");
  calls.push({ call: method + " " + path, url, ...options });
  let answer = answers[method + " " + path] ?? [404, {}];
  if (typeof answer === "function") answer = await answer();
  const [status, body, wait] = Array.isArray(answer) ? answer : [200, answer];
  return { status, headers: { get: (name) => (name === "Retry-After" ? wait : null) }, text: async () => JSON.stringify(body) };
}
const called = (call) => calls.filter((c) => c.call === call);

let drops = [];
function open(given, more = {}) {
  [answers, calls] = [{ "GET /sales/s": sale(), "GET /sales/s/orders/me": noOrder, ...given }, []];
  return again(more);
}
function again(more) {
  const drop = flashsale({ api: "https://api.example", sale: "s", token: () => "T", tabs: null, request, ...more });
  drops.push(drop);
  drop.start();
  return drop;
}
afterEach(() => {
  for (const drop of drops) drop.stop();
  [time, date, timers, drops] = [0, start, [], []];
  delete globalThis.location;
});
const unpaid = (more = {}) => ({ claimId: "C", saleId: "s", state: "CONFIRMED", orderId: "1", payBy: iso(1800), amount: 5000, currency: "ISK", ...more });

test("what is public is asked for without a header, and the token goes with what is one's own", async () => {
  const drop = open({ "POST /sales/s/orders": [202, { claimId: "C", state: "CONFIRMED" }] });
  await pass(1);
  await drop.buy();
  assert.deepEqual(calls.map((c) => [c.call, c.headers]), [["GET /sales/s", {}], ["GET /sales/s/orders/me", { Authorization: "Bearer T" }], ["POST /sales/s/orders", { Authorization: "Bearer T" }]]);
});

test("only a page of the same origin sends what makes a browser ask first", async () => {
  globalThis.location = { origin: "https://api.example" };
  open();
  await pass(1);
  assert.equal(calls[0].cache, "no-store");
  globalThis.location = { origin: "https://shop.example" };
  open();
  await pass(1);
  assert.ok(!("cache" in calls[0]), "another origin's request has a cache mode");
});

for (const [paymentUrl, url, query] of [
  ["/pay?order=1&signature=a%20b", "https://api.example/pay?order=1&signature=a%20b", "order=1&signature=a%20b"], ["https://pay.example/1", "https://pay.example/1"],
  ["javascript:alert(1)"], ["http://pay.example/1"], ["//pay.example/1"], ["/\t/pay.example"], ["https://"], [undefined],
]) {
  test(`the address ${paymentUrl} leads ${url ? "to " + url : "nowhere"}`, async () => {
    const drop = open({ "GET /sales/s/orders/me": unpaid({ paymentUrl }) });
    await pass(1);
    const pay = { by: start + 1800000, amount: 5000, currency: "ISK", ...(url && { url }), ...(query && { query }) };
    assert.deepEqual([drop.state.phase, drop.state.can, drop.state.pay], ["unpaid", url ? ["pay", "cancel"] : ["cancel"], pay]);
  });
}

test("a sale opens by itself at its opening", async () => {
  const drop = open({ "GET /sales/s": sale({ state: "NOT_OPEN", opensAt: iso(600) }) });
  await pass(599);
  assert.deepEqual([drop.state.phase, drop.state.can, drop.state.until], ["notOpen", [], start + 600000]);
  await pass(1.01);
  assert.deepEqual([drop.state.phase, drop.state.can], ["open", ["buy"]]);
});

test("the question whether it may order is asked shortly before the opening, once, by a page of another origin", async () => {
  globalThis.location = { origin: "https://shop.example" };
  const before = { "GET /sales/s": sale({ state: "NOT_OPEN", opensAt: iso(600) }) };
  open(before);
  await pass(530);
  assert.equal(called("GET /sales/s/orders").length, 0);
  await pass(100);
  assert.deepEqual(called("GET /sales/s/orders").map((c) => c.headers), [{ Authorization: "Bearer T" }]);
  globalThis.location = { origin: "https://api.example" };
  open(before);
  await pass(630);
  assert.equal(called("GET /sales/s/orders").length, 0);
});

test("an order in another sale of the group is shown", async () => {
  const group = () => ({ now: clock(), sales: ["s", "t"].map((saleId) => sale({ saleId })()) });
  const drop = open({ "GET /groups/g": group, "POST /sales/s/orders": [409, { code: "already-ordered", saleId: "t" }] }, { sale: undefined, group: "g" });
  await pass(1);
  assert.deepEqual([drop.state.phase, drop.state.can], ["open", ["choose"]]);
  drop.choose("s");
  answers["GET /sales/t/orders/me"] = unpaid({ saleId: "t" });
  const { phase, sale: shown, already, elsewhere } = await drop.buy();
  assert.deepEqual([phase, shown.saleId, already, elsewhere], ["unpaid", "t", true, "t"]);
});

test("nothing is ordered of a group that the buyer has not chosen of it", async () => {
  const group = (...ids) => () => ({ now: clock(), sales: ids.map((saleId) => sale({ saleId })()) });
  const early = open({ "GET /groups/g": group("s", "t") }, { sale: undefined, group: "g" });
  early.choose("gone"); // as it was kept from the day before
  await pass(1);
  assert.deepEqual([early.state.can, early.state.chosen], [["choose"], undefined]);
  early.choose("42"); // a size, and no id of a sale
  assert.deepEqual([early.state.can, early.state.chosen, (await early.buy()).phase, called("POST /sales/s/orders").length], [["choose"], undefined, "open", 0]);
  early.choose("t");
  assert.deepEqual([early.state.can, early.state.chosen], [["choose", "buy"], "t"]);
  answers["GET /groups/g"] = group("s");
  await pass(100);
  assert.deepEqual([early.state.can, early.state.chosen], [["choose"], undefined]);
});

test("a browser that lets a page store nothing, and have no channel, sells", async () => {
  const forbidden = () => { throw new DOMException("denied", "SecurityError"); };
  const drop = open({}, { tabs: forbidden });
  await pass(1);
  assert.deepEqual([drop.state.phase, drop.state.can], ["open", ["buy"]]);
});

test("the tabs tell each other of an order, and who hears of one tells nobody", async () => {
  const heard = [];
  const listener = Object.assign(new BroadcastChannel("claimed https://api.examples"), { onmessage: () => heard.push(time) });
  const [one, other] = [open({ "POST /sales/s/orders": [202, unpaid()] }, { tabs: undefined }), again({ tabs: undefined })];
  await pass(1);
  answers["GET /sales/s/orders/me"] = unpaid();
  await one.buy();
  await pass(5);
  listener.close();
  assert.deepEqual([one.state.phase, one.state.already, other.state.phase, other.state.already, heard.length], ["unpaid", undefined, "unpaid", true, 1]);
});

test("clients repeat at different times, and none before the shop lets it", async () => {
  const at = [];
  open({ "GET /sales/s": () => (at.push(time), [503, { code: "busy" }, 2]) });
  for (let n = 1; n < 40; n++) again();
  await pass(4);
  const repeats = at.filter((ms) => ms > 0);
  const [first, last] = [Math.min(...repeats), Math.max(...repeats)];
  assert.ok(repeats.length === 40 && first >= 2000 && last - first >= 500, `${repeats.length} repeats between ${first} and ${last} ms`);
});

test("the clock is that of the answer that was least under way, and never goes back", async () => {
  let late = 0;
  const drop = open({ "GET /sales/s": () => sale({ now: iso(time / 1000 + 3600 - late) })() });
  await pass(1);
  assert.equal(drop.now() - start, 3601000);
  late = 2;
  await pass(100);
  assert.equal(called("GET /sales/s").length, 2);
  assert.equal(drop.now() - start, 3701000);
});

test("what is sold out and may return is read again when the shop says", async () => {
  const drop = open({ "POST /sales/s/orders": [409, { code: "sold-out", mayReturn: true }, 40] });
  await pass(1);
  const { phase, mayReturn, can } = await drop.buy();
  assert.deepEqual([phase, mayReturn, can], ["soldOut", true, []]);
  await pass(38);
  assert.equal(called("GET /sales/s").length, 1);
  await pass(3);
  assert.deepEqual([called("GET /sales/s").length, drop.state.phase], [2, "open"]);
});

test("an order of more than are left is offered what is left, and of no more than the sale allows", async () => {
  let n = 0;
  const drop = open({ "GET /sales/s": sale({ maxPerOrder: 2 }), "POST /sales/s/orders": () => (n++ ? [202, { claimId: "C", state: "CONFIRMED", units: 1 }] : [409, { code: "not-enough", left: 1, mayReturn: true }]) });
  await pass(1);
  const { phase, can, left, mayReturn } = await drop.buy(3);
  assert.deepEqual([phase, can, left, mayReturn], ["notEnough", ["buy"], 1, true]);
  assert.deepEqual([(await drop.buy(left)).phase, drop.state.left], ["confirmed", undefined]);
  assert.deepEqual(called("POST /sales/s/orders").map((c) => [c.body, c.headers["Content-Type"]]), [['{"units":2}', "application/json"], [undefined, undefined]]);
});

test("what is not enough may be enough at the next reading, and a press's event asks for one", async () => {
  const drop = open({ "GET /sales/s": sale({ maxPerOrder: 8 }), "POST /sales/s/orders": [409, { code: "not-enough", left: 3 }] });
  await pass(1);
  assert.equal((await drop.buy(4)).phase, "notEnough");
  await pass(100);
  assert.deepEqual([drop.state.phase, drop.state.left], ["open", undefined]);
  await drop.buy({ type: "click" });
  assert.equal(calls.at(-1).body, undefined);
});

test("an order whose answer is lost is sent again under one key, and one that is made twice is one", async () => {
  let n = 0;
  const drop = open({ "POST /sales/s/orders": () => (n++ ? [202, { claimId: "C", state: "PAID" }] : never) });
  await pass(1);
  const [one, other] = [drop.buy(), drop.buy()];
  await pass(14);
  assert.deepEqual([drop.state.phase, drop.state.retrying], ["sending", undefined]);
  await pass(1.1);
  assert.equal(drop.state.retrying, "busy");
  await pass(5);
  assert.equal((await one).phase, "paid");
  assert.equal((await other).phase, "sending");
  assert.deepEqual(called("POST /sales/s/orders").map((c) => c.headers["Idempotency-Key"]).slice(-1), ["page"]);
  assert.equal(n, 2);
});

for (const [name, token, retrying, phase] of [
  ["throws", () => { throw new Error(); }, "busy", "stuckOrder"],
  ["never answers", () => never, "busy", "stuckOrder"],
]) {
  test(`a token function that ${name} is one of a busy shop`, async () => {
    let ask = () => "T";
    const drop = open({}, { token: () => ask() });
    await pass(1);
    ask = token;
    drop.buy();
    await pass(16);
    assert.deepEqual([drop.state.phase, drop.state.retrying], ["sending", retrying]);
    await pass(600);
    assert.deepEqual([drop.state.phase, drop.state.can, called("POST /sales/s/orders").length], [phase, ["buy"], 0]);
  });
}

test("a refused token is asked for again, once, and an old one signs nobody in", async () => {
  const asked = [];
  const refuse = ({ headers }) => (headers.Authorization === "Bearer new" ? [202, { claimId: "C", state: "PAID" }] : [401, { message: "Unauthorized" }]);
  const drop = open({}, { token: async (refused) => (asked.push(refused), refused ? "new" : "old") });
  await pass(1);
  answers["POST /sales/s/orders"] = () => refuse(calls.at(-1));
  asked.length = 0;
  assert.equal((await drop.buy()).phase, "paid");
  assert.deepEqual(asked, [undefined, "old"]);
  const old = open({ "POST /sales/s/orders": [401, {}] }, { token: () => "old" });
  await pass(1);
  const { phase, can, signedIn } = await old.buy();
  assert.deepEqual([phase, can, signedIn, called("POST /sales/s/orders").length], ["signedOut", ["signIn"], undefined, 1]);
});

test("who is not signed in can sign in, and after that buy", async () => {
  let mine = null;
  const drop = open({}, { token: () => mine });
  await pass(2);
  assert.deepEqual([drop.state.phase, drop.state.can], ["open", ["signIn"]]);
  mine = "T";
  drop.refresh();
  await pass(1);
  assert.deepEqual([drop.state.can, drop.state.signedIn], [["buy"], true]);
});

test("the state is frozen, and the same until something changes", async () => {
  const drop = open();
  const { subscribe } = drop;
  let changes = 0;
  const end = subscribe(() => changes++);
  assert.deepEqual([drop.initial.phase, drop.initial.can], ["loading", []]);
  await pass(2);
  const before = drop.state;
  changes = 0;
  await pass(30);
  assert.ok(drop.state === before && changes === 0, "it has changed");
  assert.throws(() => (before.sale.remaining = 7), TypeError);
  end();
  answers["GET /sales/s"] = sale({ state: "RECALLED" });
  await pass(60);
  assert.deepEqual([drop.state.phase, changes], ["recalled", 0]);
});

test("it starts, stops and starts again, and asks for nothing after a stop", async () => {
  const drop = open();
  drop.stop();
  drop.start();
  drop.start();
  await pass(1);
  assert.equal(called("GET /sales/s/orders/me").length, 1);
  assert.equal(drop.state.phase, "open");
  answers["POST /sales/s/orders"] = () => never;
  const order = drop.buy();
  drop.stop();
  await order;
  const n = calls.length;
  await pass(3600);
  assert.equal(calls.length, n);
});

test("no timer keeps a program from ending after a stop, nor one of an answer that has come", async () => {
  const drop = open({ "GET /sales/s/orders/me": { claimId: "C", state: "PENDING" } });
  await pass(1);
  assert.deepEqual(timers.filter(({ due }) => due - time > 10000), []);
  drop.stop();
  await settle();
  assert.deepEqual(timers, []);
});

test("what waits for the network when it stops does not go on", async () => {
  const { navigator } = globalThis;
  Object.defineProperty(globalThis, "navigator", { value: { onLine: false }, configurable: true });
  const lost = { request: (...asked) => (calls.push(asked), Promise.reject(new Error())) };
  const drop = open({}, lost);
  await pass(1);
  drop.stop();
  calls.length = 0;
  drop.refresh();
  await settle();
  Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
  assert.equal(calls.length, 0);
});

test("what is pending when it stops is followed when it starts again", async () => {
  const pending = { claimId: "C", state: "PENDING" };
  const drop = open({ "GET /sales/s/orders/me": pending });
  await pass(1);
  drop.stop();
  drop.start();
  await pass(0.5);
  answers["GET /sales/s/orders/me"] = { ...pending, state: "PAID", orderId: "1" };
  await pass(5);
  assert.equal(drop.state.phase, "paid");
});

test("two drops of a page do not disturb each other", async () => {
  const one = open({ "GET /sales/t": sale({ saleId: "t", state: "RECALLED" }) });
  const other = again({ sale: "t" });
  await pass(1);
  assert.deepEqual([one.state.phase, other.state.phase], ["open", "recalled"]);
  one.stop();
  answers["GET /sales/t"] = sale({ saleId: "t" });
  other.refresh();
  await pass(1);
  assert.equal(other.state.phase, "open");
});

test("a sale that does not exist, is recalled, or is moved says so", async () => {
  const none = open({ "GET /sales/s": [404, { code: "sale-not-found" }] });
  await pass(1);
  assert.deepEqual([none.state.phase, none.state.can, none.state.code], ["unknown", [], "sale-not-found"]);
  const drop = open({ "GET /sales/s": sale({ state: "NOT_OPEN", opensAt: iso(600) }) });
  await pass(1);
  answers["GET /sales/s"] = sale({ state: "NOT_OPEN", opensAt: iso(7200) });
  await pass(600);
  assert.deepEqual([drop.state.phase, drop.state.until], ["notOpen", start + 7200000]);
});

test("after an hour's sleep the clock is measured again", async () => {
  const drop = open({ "GET /sales/s": () => sale({ state: "NOT_OPEN", opensAt: iso(7200), now: new Date(Date.now()).toISOString() })() });
  await pass(1);
  date += 3600000;
  await pass(2);
  assert.equal(drop.now(), Date.now());
});

test("a program that has nothing of a browser buys", async () => {
  const had = { fetch, URL, AbortController, BroadcastChannel, performance };
  for (const name in had) Object.defineProperty(globalThis, name, { value: undefined, configurable: true, writable: true });
  const drop = open({ "POST /sales/s/orders": [202, unpaid({ paymentUrl: "/pay?a=1" })] }, { tabs: undefined });
  await pass(1);
  const { pay } = await drop.buy();
  for (const name in had) Object.defineProperty(globalThis, name, { value: had[name], configurable: true, writable: true });
  assert.deepEqual([pay.url, pay.query], ["https://api.example/pay?a=1", "a=1"]);
});

test("a draw is entered, and sells to whom it calls", async () => {
  const draw = { enterFrom: iso(-60), enterUntil: iso(3600) };
  const early = { state: "WAITING", opensAt: iso(10800) };
  const entry = { leaf: "0f", nonce: "1b", enteredAt: iso(1) };
  const drop = open({ "GET /sales/constructor": sale({ ...early, draw }), "GET /sales/constructor/entries/me": [404, { code: "entry-not-found" }], "PUT /sales/constructor/entries/me": entry, "GET /sales/constructor/orders/me": noOrder }, { sale: "constructor" }); // an id like others
  await pass(1);
  assert.deepEqual([drop.state.phase, drop.state.can], ["enter", ["enter"]]);
  const entered = await drop.enter();
  assert.deepEqual([entered.phase, entered.can, entered.until, entered.entry], ["entered", [], start + 10800000, entry]);
  answers["GET /sales/constructor"] = sale({ ...early, draw: { ...draw, roll: "r", seed: "d" } });
  answers["GET /sales/constructor/entries/me"] = { ...entry, onRoll: true, rank: "30" };
  await pass(7200);
  assert.deepEqual([drop.state.phase, drop.state.entry.rank, called("GET /sales/constructor/entries/me").length], ["diced", "30", 2]);
  await pass(3601); // the opening is not one for everybody
  assert.deepEqual([drop.state.phase, drop.state.can], ["calling", []]);
  const call = (hi) => sale({ ...early, state: "OPEN", draw: { ...draw, roll: "r", seed: "d", calls: [{ call: 1, from: iso(10800), until: iso(14400), lo: "00", hi }] } });
  answers["GET /sales/constructor"] = call("2f");
  await pass(90);
  assert.deepEqual([drop.state.phase, drop.state.can], ["notDrawn", []]);
  answers["GET /sales/constructor"] = call("30");
  await pass(90);
  assert.deepEqual([drop.state.phase, drop.state.can, drop.state.until, drop.state.entry.turn.call], ["called", ["buy"], start + 14400000, 1]);
  await pass(3600);
  assert.deepEqual([drop.state.phase, drop.state.can, called("GET /sales/constructor/entries/me").length], ["turnOver", [], 2]);
});
