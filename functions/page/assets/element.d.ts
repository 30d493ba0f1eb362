// The element <flash-sale>. To import element.js defines it; where there is no document, as on a server, it does nothing.
import type { Drop, Options, Pay, Request, State } from "./flashsale.js";

/** The attributes, which may be changed at any time. */
export interface FlashSaleAttributes {
  /** The stack's origin, such as https://api.example. By default the page's own. */
  api?: string;
  /** The id of the sale, */
  sale?: string;
  /** or of the group of sales of which the buyer chooses one. */
  group?: string;
  /** The language, such as "de" or "pt-BR". By default that of the nearest element that has one, then the browser's. */
  lang?: string;
}

/** What `detail` of the event "token" has. */
export interface TokenRequest {
  /** The token that the shop has refused, if it was that. */
  refused?: string;
  /** Gives the token, or a promise of it, before the listener returns. */
  respondWith(token: string | null | undefined | Promise<string | null | undefined>): void;
}

export interface FlashSaleEvents {
  /** Something has changed. It bubbles, as all do. */
  change: CustomEvent<State>;
  /** The buyer has pressed "Pay now". preventDefault() keeps the browser on the page: take `pay.query` to a page of your own. */
  pay: CustomEvent<Pay>;
  /** The buyer wants to sign in, or in again. If no property changes by that, call `drop.refresh()` afterwards. */
  signin: CustomEvent<null>;
  /** An access token is needed, and the property `token` is undefined. Nobody who answers: signed out. */
  token: CustomEvent<TokenRequest>;
}

export class FlashSaleElement extends HTMLElement implements FlashSaleAttributes {
  api: string;
  sale: string;
  group: string;
  /** The buyer's access token, or what gives one before each call of the buyer's own; null: signed out; undefined: see the event. */
  token: string | null | undefined | Options["token"];
  /** Texts in place of the language's own, by their names. */
  words: Record<string, unknown> | null;
  /** Sends the requests in place of fetch. */
  request: Request | undefined;
  /** The drop that is shown. Everything that is read, and what a page may do by itself, is there. */
  readonly drop: Drop | null;
  addEventListener<K extends keyof FlashSaleEvents>(type: K, listener: (this: FlashSaleElement, event: FlashSaleEvents[K]) => unknown, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "flash-sale": FlashSaleElement;
  }
}
