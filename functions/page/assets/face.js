// The buyer's page in any root: a document, or a shadow root with the same elements.
//
//   face(root, drop, options) → { stop() }
//
// draws drop.state, whenever it changes and once a second, into the elements that root has by id: name, price, panel, line,
// clock, countdown, order, detail, sizes, bar, left, pay, ask, cancel, sure, calendar, act, about, link, facts, entry, copy, dice,
// leave, picture, old; `main` gets data-state. One that is not there is skipped. It neither starts nor stops the drop, makes no
// HTML of texts, and sets no inline style. What needs the document is the caller's, in options:
//
//   language   what load() of language.js gives: words, say, countdown, dates, number, money, locale, language, dir
//   signIn()   begins the sign-in; absent if none is set up. It may throw or reject: then no storage is there
//   signOut()  absent: there is no such button
//   ended()    whether the person was signed in and that has ended (optional)
//   title(name) is told the sale's name (optional)
//   pay(event, pay)  is called when the link to pay is pressed; preventDefault keeps the link from being followed (optional)
//   show(saleId)     shows another sale, in which the person has an order (optional)
//
// page.js keeps: the title, the html element's language, /signin, the sign-in by redirection, the choice over a reload.

/**
 * @param {Document | ShadowRoot} root @param {import("./flashsale.js").Drop} drop @param {Record<string, any>} options
 * @returns {{ stop(): void }}
 */
export function face(root, drop, options) {
  throw new Error("not yet");
}
