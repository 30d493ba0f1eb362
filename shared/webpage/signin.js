// Signs a person in by OpenID Connect's code flow with PKCE. All of it is kept in
// sessionStorage, which belongs to this tab and ends with it.

const { authorize = "", token: exchange = "", logout = "", client = "", scope = "", origin = "" } = document.documentElement.dataset;

/** Whether a sign-in is set up. */
export const available = authorize !== "";

const callback = () => location.origin + "/signin";

/** @param {string} id */
export const validSale = (id) => /^[A-Za-z0-9_-]{1,64}$/.test(id);

/** @param {ArrayBuffer | Uint8Array<ArrayBuffer>} bytes */
const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** @param {string} key @returns {Record<string, string>} */
function read(key) {
  try {
    const value = JSON.parse(sessionStorage.getItem(key) ?? "{}");
    return value && typeof value === "object" ? value : {};
  } catch {
    return {};
  }
}

/** @param {Record<string, unknown>} tokens */
const store = (tokens) => sessionStorage.setItem("token", JSON.stringify(tokens));

/**
 * The access token, "" without one. A 401 has the last word on whether it is valid.
 * @param {number} now by the shop's clock, as the device's may be wrong or be set; NaN as long as it is not known
 */
export function tokenAt(now) {
  const { access, expires } = read("token");
  return access && !(now >= Number(expires)) ? access : "";
}

/** Whether the person was signed in and that has ended. @param {number} now as for tokenAt */
export const ended = (now) => "expires" in read("token") && !tokenAt(now);

/** How long before its end a token is renewed, which pages do at different times. */
const early = 240000 + 120000 * Math.random();
/** When it may be tried again, by performance.now(); Infinity while it is tried. */
let again = 0;

/** @type {Promise<boolean> | undefined} The latest renewal. */
let renewal;

/**
 * Renews the token when it is about to end, or has ended, if the provider has given what that takes.
 * The promise is of whether the provider did not answer.
 * @param {number} now as for tokenAt: until it is known, the device's clock will do
 * @param {boolean} [must] whether nothing goes on without a token, so that it is tried at once
 */
export function renew(now, must) {
  const { expires, refresh } = read("token");
  if (!refresh) return;
  if (must ? again < Infinity : Number(expires) - early <= (now || Date.now()) && again <= performance.now()) {
    again = Infinity;
    renewal = replace(refresh);
  }
  return renewal;
}

/** @param {string} refresh */
async function replace(refresh) {
  try {
    const { status, answer } = await ask({ grant_type: "refresh_token", refresh_token: refresh });
    const kept = read("token");
    if (kept.refresh !== refresh) return false; // signed out meanwhile
    if (status === 200 && answer.access_token) keep(answer, refresh);
    else if (status === 400) store({ ...kept, refresh: undefined });
    return status === 429 || status > 499;
  } catch {
    return true; // the token stays as it is
  } finally {
    again = performance.now() + 60000;
  }
}

/** Notes that the server did not accept the token. */
export const expire = () => store({ ...read("token"), access: "", expires: 0 });

/**
 * Leaves for the identity provider, which comes back to /signin.
 * @param {string} sale @param {string} at "s", or "g" if it is a group
 */
export async function signIn(sale, at) {
  // The provider comes back to one origin only, whose sessionStorage must have the verifier.
  if (origin && origin !== location.origin) return location.assign(origin + location.pathname + location.hash);
  const [nonce, verifier] = [random(), random()];
  const state = validSale(sale) ? [random(), at, sale].join(".") : random();
  sessionStorage.setItem("signin", JSON.stringify({ state, nonce, verifier, sale, at }));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const to = new URL(authorize, location.origin);
  to.search = new URLSearchParams({
    response_type: "code",
    client_id: client,
    redirect_uri: callback(),
    scope,
    state,
    nonce,
    code_challenge: base64url(digest),
    code_challenge_method: "S256",
    ui_locales: document.documentElement.lang,
    lang: document.documentElement.lang, // what Cognito calls it; others ignore a parameter that they do not know
  }).toString();
  location.assign(to);
}

/** Forgets the token, here and at the provider. @param {string} sale @param {string} at as for signIn */
export function signOut(sale, at) {
  sessionStorage.removeItem("token");
  if (!logout) return location.reload();
  sessionStorage.setItem("signin", JSON.stringify({ sale, at }));
  const to = new URL(logout, location.origin);
  to.search = new URLSearchParams({ client_id: client, logout_uri: callback() }).toString();
  location.assign(to);
}

/**
 * Handles the return to /signin.
 * @returns {Promise<{sale: string, at: string, done: boolean, lost?: boolean}>} the page to go back to; sale is "" if it is
 * not known. lost: the sign-in was begun in another browser, as apps do that open pages in one of their own.
 */
export async function finish() {
  const { state, nonce, verifier, sale = "", ...page } = read("signin");
  const at = page.at === "g" ? "g" : "s";
  const answer = new URLSearchParams(location.search);
  const back = validSale(sale) ? sale : "";
  const [, theirAt = "", theirSale = ""] = /^[\w-]{43}\.([sg])\.([\w-]{1,64})$/.exec(answer.get("state") ?? "") ?? [];
  // Without the verifier nobody is signed in: the state only says for which page to sign in again.
  if (!state && theirSale) return { sale: theirSale, at: theirAt, done: false, lost: true };
  if (!state && !answer.has("code")) return { sale: back, at, done: true }; // signed out
  try {
    // Only once: a repeated or foreign answer must not sign anybody in.
    sessionStorage.setItem("signin", JSON.stringify({ sale: back, at }));
    const code = answer.get("code");
    const done = state && code && answer.get("state") === state && (await redeem(code, verifier, nonce));
    return { sale: back, at, done: !!done };
  } catch {
    return { sale: back, at, done: false };
  }
}

/** Asks the provider for tokens, for as long as any call may take. @param {Record<string, string>} grant @returns {Promise<{status: number, answer: Record<string, any>}>} */
async function ask(grant) {
  const body = new URLSearchParams({ client_id: client, ...grant });
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 15000);
  const response = await fetch(new URL(exchange, location.origin), { method: "POST", body, credentials: "omit", cache: "no-store", signal: stop.signal });
  return { status: response.status, answer: await response.json() };
}

/** What a token says. @param {string} token @returns {Record<string, any>} */
const claimsOf = (token) => JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));

/**
 * Keeps the tokens. The access token itself says when it ends: API Gateway takes no other one. A provider that
 * gives no new refresh token lets the old one be used again.
 * @param {Record<string, any>} answer @param {string} [refresh]
 */
function keep({ access_token: access, refresh_token: next }, refresh) {
  store({ access, expires: 1000 * claimsOf(access).exp, refresh: next ?? refresh });
}

/** Exchanges the code for the token. @param {string} code @param {string} verifier @param {string} nonce */
async function redeem(code, verifier, nonce) {
  const { status, answer } = await ask({ grant_type: "authorization_code", redirect_uri: callback(), code, code_verifier: verifier });
  if (status !== 200 || typeof answer.access_token !== "string" || claimsOf(answer.id_token).nonce !== nonce) return false;
  keep(answer);
  return true;
}
