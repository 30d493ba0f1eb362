// The calls of the operators' API.

import { language } from "./words.js";

/**
 * @typedef {object} Answer
 * @property {number} status 0: there was none, so what happened is unknown
 * @property {string} code of a problem; "" of a success
 * @property {Record<string, any>} body
 * @property {number} wait of Retry-After, in milliseconds; 0 without one
 */

/** How long an answer may take, in milliseconds. A change of many shards takes a while. */
const limit = 35000;

/** A signal for a request that takes too long or is stopped; AbortSignal.any is of 2024. @param {AbortSignal} [stop] */
function signalOf(stop) {
  const either = new AbortController();
  setTimeout(() => either.abort(), limit);
  stop?.addEventListener("abort", () => either.abort());
  return either.signal;
}

/**
 * Makes one request. It never fails: no answer is an answer, too.
 * @param {string} method @param {string} path @param {string} token
 * @param {object | string} [body] a string is sent as it is @param {AbortSignal} [stop]
 * @returns {Promise<Answer>}
 */
export async function call(method, path, token, body, stop) {
  const headers = { Authorization: "Bearer " + token, ...(body && { "Content-Type": "application/json" }) };
  const signal = signalOf(stop);
  try {
    const response = await fetch(path, { method, headers, body: typeof body === "string" ? body : body && JSON.stringify(body), cache: "no-store", credentials: "omit", signal });
    const found = parse(await response.text());
    const { status } = response;
    const wait = 1000 * Number(response.headers.get("Retry-After") ?? 0);
    const code = response.ok && found ? "" : typeof found?.code === "string" ? found.code : codeOf(status);
    if (code && typeof found?.detail === "string" && language === "zh") found.detail = await inChinese(found);
    return { status, code, body: found ?? {}, wait: wait > 0 ? wait : 0 };
  } catch {
    return { status: 0, code: "busy", body: {}, wait: 0 };
  }
}

/** Why something was refused, in Chinese, and in English if the words for it do not arrive. @param {Record<string, any>} body */
async function inChinese({ detail, template, values = [] }) {
  try {
    const late = new Promise((_, reject) => setTimeout(reject, 5000));
    const { details } = await Promise.race([/** @type {Promise<typeof import("./details.js")>} */ (import("./details.js")), /** @type {Promise<never>} */ (late)]);
    let n = 0;
    return details[template ?? detail]?.replace(/%[a-z]/g, () => values[n++]) ?? detail;
  } catch {
    return detail;
  }
}

/** The object in a body; undefined if there is none. A number beyond 2^53 is a BigInt, where browsers tell its text (2025). @param {string} text @returns {Record<string, any> | undefined} */
function parse(text) {
  try {
    const value = JSON.parse(text, (/** @type {string} */ _, /** @type {any} */ n, /** @type {any} */ of = {}) => (n >= 2 ** 53 && /^\d+$/.test(of.source) ? BigInt(of.source) : n));
    return value && typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What API Gateway's own answers mean, which have no code. @param {number} status */
const codeOf = (status) => (status === 401 ? "unauthorized" : status === 403 ? "forbidden" : status === 429 || status > 499 ? "busy" : "HTTP " + status);

/** Whether the same request may get another answer soon, so that this one decides nothing. @param {Answer} a */
export const passing = ({ status, code }) => !!code && (status < 400 || status === 429 || status > 499);

/** Waits before a request is made again: longer after each try, never as long as another page's, and at least as long as was asked for. @param {Answer} a @param {number} tries */
export const rest = ({ wait }, tries) => new Promise((resolve) => setTimeout(resolve, Math.max(wait, Math.min(500 * 2 ** tries, 30000)) * (1 + Math.random() / 4)));
