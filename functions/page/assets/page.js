// The buyer's page: a face in the document, a sign-in by redirection, and a choice that outlasts it.

import { face } from "./face.js";
import { flashsale } from "./flashsale.js";
import { load } from "./language.js";
import { available, ended, expire, finish, renew, signIn, signOut, tokenAt, validSale } from "./signin.js";

const language = await load(navigator.languages);
const { words } = language;
const { sale = "", group = "" } = document.documentElement.dataset;
/** The page's own id: of a sale, or of a group of which the buyer chooses one. */
const id = group || sale;
const at = group ? "g" : "s";
/** What the page is called before the sale is read. */
const unread = document.querySelector("[property='og:title']")?.getAttribute("content") || words.page;

let title = "";
/** Names the page, and leaves what the browser has made of the same name. @param {string} name */
function entitle(name) {
  if (name !== title) /** @type {Element} */ (document.querySelector("title")).textContent = name;
  title = name;
}

/** An element of the page; that of the release before may lack it. @param {string} id */
const element = (id) => document.getElementById(id) ?? document.createElement("p");

/** Keeps a choice over a sign-in and a reload, if the browser stores anything, and returns it. @param {string} what @param {string | number} [chosen] */
function keep(what, chosen) {
  try {
    if (chosen) sessionStorage.setItem(what + " " + id, String(chosen));
    return sessionStorage.getItem(what + " " + id) ?? "";
  } catch {
    return String(chosen ?? "");
  }
}

/**
 * The access token. One that has ended, or that the shop does not accept, is renewed first, if the provider lets it be.
 * @param {string} [refused]
 */
async function token(refused) {
  if (refused && refused === tokenAt(drop.now())) expire();
  if (!tokenAt(drop.now()) && await renew(drop.now(), true)) throw new Error("the provider does not answer");
  return tokenAt(drop.now());
}

const drop = flashsale({ api: "", ...(validSale(id) && { sale, group }), token });
/** The phases in which a token is needed soon. */
const needed = /^(notOpen|open|paused|otherState|enterSoon|enter|called|openCall|signedOut|unpaid)$/;

/** The page of the sale. */
function show() {
  let units = 1;
  face(document, drop, {
    language, unread, group: !!group, title: entitle, token: () => tokenAt(drop.now()), ended: () => ended(drop.now()),
    signIn: available ? () => signIn(id, at) : undefined, signOut: () => signOut(id, at), show: (saleId) => location.assign("/s/" + saleId),
    keep: (n) => (units = Number(keep("units", n)) || units),
  });
  if (group && keep("chosen")) drop.choose(keep("chosen"));
  drop.subscribe(() => void (group && keep("chosen", drop.state.chosen)));
  drop.start();
  let had = !!tokenAt(NaN);
  /** Once a second: a token that is about to end is renewed, unless nobody needs it any more. */
  setInterval(() => {
    if (needed.test(drop.state.phase)) renew(drop.now());
    const has = !!tokenAt(drop.now());
    if (has !== had) drop.refresh();
    had = has;
  }, 1000);
}

/** The page at /signin, to which the identity provider sends the buyer back. */
async function callback() {
  const { sale: id, at, done, lost } = await finish();
  const back = id && `/${at}/${id}`;
  if (done && back) return location.replace(back);
  element("line").textContent = words.signInFailed;
  element("detail").textContent = lost ? words.signInElsewhere : words.signInFailedDetail;
  const act = element("act");
  act.textContent = back && (lost ? words.signIn : words.back);
  act.hidden = !back;
  act.onclick = () => {
    if (lost) signIn(id, at).catch(() => {}); // without a storage, of which the text speaks
    else location.replace(back);
  };
}

element("old").hidden = true;
Object.assign(document.documentElement, { lang: language.language, dir: language.dir });
entitle(unread);
if (location.pathname === "/signin") {
  element("line").textContent = words.signingIn;
  callback();
} else show();
