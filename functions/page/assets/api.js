// The calls of the shop's API, and its clock.

/**
 * @typedef {object} Answer
 * @property {number} status 0: there was none, so what happened is unknown
 * @property {string} code of a problem; "" of a success
 * @property {Record<string, any>} body
 * @property {number} wait of Retry-After, in milliseconds; 0 without one
 */

/** How long an answer may take, in milliseconds. */
const limit = 15000;

/** Whether the latest request was answered, and the browser has not lost the network since. */
let answered = false;
addEventListener("offline", () => void (answered = false));

/** Whether there is no network. Some browsers say so while there is one: an answer proves it. */
export const offline = () => !navigator.onLine && !answered;

/**
 * Makes one request. It never fails: no answer is an answer, too.
 * @param {string} method @param {string} path @param {string} [token] @param {string} [key]
 * @returns {Promise<Answer>}
 */
export async function call(method, path, token, key) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (token) headers.Authorization = "Bearer " + token;
  if (key) headers["Idempotency-Key"] = key;
  const stop = new AbortController();
  setTimeout(() => stop.abort(), limit);
  try {
    const response = await fetch(path, { method, headers, cache: "no-store", credentials: "omit", signal: stop.signal });
    answered = true;
    const received = performance.now();
    const text = await response.text();
    const body = parse(text);
    measure(body?.now, received);
    const { status } = response;
    const wait = 1000 * Number(response.headers.get("Retry-After") ?? 0);
    const code = response.ok && body ? "" : typeof body?.code === "string" ? body.code : codeOf(status);
    return { status, code, body: body ?? {}, wait: wait > 0 ? wait : 0 };
  } catch {
    answered = false;
    return { status: 0, code: "busy", body: {}, wait: 0 };
  }
}

/** The object in a body; undefined if there is none. @param {string} text @returns {Record<string, any> | undefined} */
function parse(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What API Gateway's own answers mean, which have no code. @param {number} status */
const codeOf = (status) => (status === 401 ? "unauthorized" : status === 403 ? "forbidden" : status === 429 || status > 499 ? "busy" : "HTTP " + status);

/** Whether the same request may get another answer soon. @param {Answer} a */
export const passing = ({ status, code }) =>
  status === 0 || status === 429 || status > 499 || ["busy", "sale-paused", "internal", "too-many-requests", "order-pending"].includes(code);

/** The shop's time less performance.now(); NaN before the first measurement. */
let offset = NaN;

/** How far the date was ahead of performance.now() when the clock was measured. */
let drift = 0;

const dateDrift = () => Date.now() - performance.now();

/**
 * The shop reads its clock before it answers, so an answer's `now` is never ahead when it is
 * received: it is behind by the way back, and by up to two seconds in a cache. So the largest
 * difference is the best one, and the shop's clock as it is shown never goes back. Half of
 * the round trip is not added: most of it may be a cold start, before the clock is read.
 * @param {unknown} text @param {number} received
 */
function measure(text, received) {
  const now = typeof text === "string" ? Date.parse(text) : NaN;
  if (Number.isNaN(now)) return;
  const measured = now - received;
  if (!(offset > measured)) offset = measured;
  drift = dateDrift();
}

/** The shop's time in milliseconds since 1970. */
export const now = () => performance.now() + offset;

/** Whether the clock must be measured again: performance.now() may stand still in a sleep. */
export const slept = () => !Number.isNaN(offset) && Math.abs(dateDrift() - drift) > 1000;

/** Marks the clock as good: a sleep is noticed once. */
export const awake = () => void (drift = dateDrift());
