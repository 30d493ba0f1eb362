/**
 * A client of one sale, or of a group of sales of which a person gets one order. It has no words, no styles and no storage,
 * goes nowhere by itself, and does nothing when it is imported: what it knows is in `state`, and a face draws that.
 *
 * A drop is one person's: it keeps the order that it has found, whoever signs in later. When another person signs in, or
 * this one out, stop it and make another one. The only other module that it may load is drawrules.js, for a sale with a draw or with orders of several units.
 */
export function flashsale(options: Options): Drop;

export interface Options {
  /** Where the shop's API is, such as `https://api.shop.example`; "" is the page's own origin. */
  api: string;
  /** The sale's id, or the group's: one of the two. */
  sale?: string;
  group?: string;
  /**
   * Gives the access token; null or "" is of somebody who is not signed in. It is asked before each call of the person's
   * own, and once more after the shop has refused a token, which it is then given: to give that one again means that there
   * is no other. If it throws, or takes more than 15 s, the call is repeated as if the shop were busy. The token is not kept.
   */
  token?: (refused?: string) => string | null | undefined | Promise<string | null | undefined>;
  /** Makes a request; the default is `fetch`. */
  request?: Request;
  /** Whether somebody looks at it: who does not is not kept up to date. The default asks the document, if there is one. */
  seen?: () => boolean;
  /** Opens the channel to the other tabs, which then look for the order, too. The default is a BroadcastChannel, if there is such a thing; null is none. */
  tabs?: ((name: string) => Tabs) | null;
}

/** What is used of `fetch`. It rejects if there is no answer; after 15 s nobody waits for it any more. */
export type Request = (
  url: string,
  options: { method: "GET" | "POST" | "PUT" | "DELETE"; headers: Record<string, string>; body?: string; credentials: "omit"; cache?: "no-store"; signal?: AbortSignal },
) => Promise<{ status: number; headers: { get(name: string): string | null | undefined }; text(): Promise<string> }>;

/** What is used of a BroadcastChannel. */
export interface Tabs {
  postMessage(message: unknown): void;
  onmessage: ((event: any) => void) | null;
  close(): void;
}

/** All members work without `this`. The acts do nothing unless `state.can` has them, resolve once they are decided or given up, or `stop` is called, and never reject. */
export interface Drop {
  /** Frozen, and the same object until something changes. */
  readonly state: State;
  /** The state before the start, as a server renders it. */
  readonly initial: State;
  /** Calls f whenever `state` has changed. Returns what ends that. */
  subscribe(f: () => void): () => void;
  /** Reads the sale and the person's order, and keeps both up to date until `stop`. Both may be called again, in any order. */
  start(): void;
  stop(): void;
  /** Chooses a sale of the group, also before it is read; an id that is not among `sales` chooses nothing. */
  choose(saleId: string): void;
  /**
   * Orders units: one by default, and at most the sale's `maxPerOrder`. It is repeated for as long as the shop is busy, and can
   * be pressed twice: a person gets at most one order. A press's event, which a listener is given, is one.
   */
  buy(units?: number | Event): Promise<State>;
  /** Cancels an order that is not paid. */
  cancel(): Promise<State>;
  /** Enters the person in the sale's draw. */
  enter(): Promise<State>;
  /** Looks again: after a sign-in or a sign-out, back from paying, when it is seen again, or online. */
  refresh(): void;
  /** The shop's clock, in milliseconds since 1970; NaN before the first answer. */
  now(): number;
}

export interface State {
  phase: Phase;
  /** What the person can do: a shop draws its buttons from it. */
  can: Act[];
  /** The sale that it is about; of a group the one that is chosen or ordered, else the first that sells. */
  sale?: Sale;
  /** Those of the group, or the one. */
  sales: Sale[];
  /** The id that was chosen of the group. */
  chosen?: string;
  claim?: Claim;
  /** The person's entry in the sale's draw. */
  entry?: Entry;
  /** Until when the phase lasts, by the shop's clock in milliseconds since 1970, for a countdown. */
  until?: number;
  /** Why it is being tried again, while it is. */
  retrying?: "busy" | "paused" | "early" | "offline";
  /** There is no network: what is shown may be old. */
  offline?: boolean;
  /** How many units are left, of fewer than the order asked for: `buy(left)` gets them while nobody else does. */
  left?: number;
  /** It is sold out or has not enough, and units may come back. */
  mayReturn?: boolean;
  /** Whether the latest question had a token. */
  signedIn?: boolean;
  /** The latest act. */
  last?: "buy" | "enter" | "cancel";
  /** The order was there before `buy`. */
  already?: boolean;
  /** The cancellation is being sent, or was not confirmed. */
  cancelling?: "sending" | "failed";
  /** The id of the sale of the group, not among `sales`, in which the person has an order. */
  elsewhere?: string;
  /** Of the latest refusal. */
  code?: Code;
  /** Of the latest answer, for the shop's support. */
  requestId?: string;
  /** While the order must be paid. */
  pay?: Pay;
}

export type Act = "signIn" | "choose" | "buy" | "enter" | "pay" | "cancel" | "refresh";

export type Phase =
  // What is known of the sale. unknown: there is none, or with a sale: the shop does not take the id of this account. otherState is one that this version does not know: see `sale.state`.
  | "loading" | "unknown" | "notOpen" | "open" | "paused" | "soldOut" | "closed" | "recalled" | "otherState"
  // What becomes of an act. stuck: there is no answer; stuckOrder: the order may have arrived, and `buy` can be pressed again.
  | "sending" | "entering" | "stuck" | "stuckOrder"
  // Refusals. notEnough: see `left`; other is one that this version does not know: see `code`.
  | "signedOut" | "notEligible" | "notEnough" | "forbidden" | "elsewhere" | "other"
  // The order. reserved: it is to be paid as soon as its id is known; late: the time to pay is over, and nothing is decided yet;
  // held: a state that this version does not know. Of money that goes back see `claim.refund`.
  | "accepted" | "reserved" | "confirmed" | "unpaid" | "late" | "paid" | "expired" | "cancelled" | "recalledOrder" | "held"
  // A draw. checking: whether the person has entered is not known yet; calling: whether it is their turn.
  | "enterSoon" | "enter" | "entered" | "onRoll" | "diced" | "calling" | "called" | "notDrawn" | "notYourTurn" | "turnOver" | "openCall" | "notEntered" | "notOnRoll" | "checking";

/** A code of the API, `busy` if there was no answer, or `HTTP 418` of an answer without one. */
export type Code =
  | "invalid-request" | "unauthorized" | "forbidden" | "not-eligible" | "sale-not-found" | "group-not-found" | "sale-not-open" | "sale-paused" | "sale-closed" | "sold-out" | "not-enough" | "recalled"
  | "already-ordered" | "order-not-found" | "order-pending" | "order-paid" | "order-expired" | "not-cancellable" | "not-your-turn" | "turn-over" | "entering-not-open" | "entering-closed"
  | "too-many-requests" | "busy" | "internal" | (string & {});

/** A sale as the shop shows it. Times are texts of RFC 3339, amounts in minor units. */
export interface Sale {
  saleId: string;
  name?: string;
  /** What the shop says; `phase` is what holds. */
  state: "NOT_OPEN" | "OPEN" | "WAITING" | "PAUSED" | "SOLD_OUT" | "CLOSED" | "RECALLED" | (string & {});
  opensAt: string;
  closesAt: string;
  /** When the shop said so. */
  now: string;
  remaining?: number;
  seeded?: number;
  /** `remaining` is approximate. */
  approximate?: boolean;
  mayReturn?: boolean;
  /** The most units of one order, 2 to 8; absent if it is one. */
  maxPerOrder?: number;
  /** In seconds, if orders have to be paid. */
  payWithin?: number;
  price?: number;
  currency?: string;
  image?: string;
  about?: string;
  link?: string;
  limitGroup?: string;
  draw?: Record<string, any>;
}

/** The person's claim on units. */
export interface Claim {
  claimId?: string;
  saleId?: string;
  state: "PENDING" | "CONFIRMED" | "PAID" | "EXPIRED" | "CANCELLED" | (string & {});
  orderId?: string;
  acceptedAt?: string;
  /** How many it has; absent if it is one. */
  units?: number;
  payBy?: string;
  paymentUrl?: string;
  amount?: number;
  currency?: string;
  refund?: Record<string, any>;
  refunds?: Record<string, any>[];
}

/** The person's entry in a draw. */
export interface Entry {
  leaf: string;
  nonce: string;
  enteredAt: string;
  /** Absent before the roll; who is not on it is `notOnRoll`. */
  onRoll?: boolean;
  /** Absent before the dice. */
  rank?: string;
  /** The call in which this person may buy; `until` is exclusive. */
  turn?: { call: number; from: string; until: string };
  /** When the next call may begin. */
  next?: string;
}

export interface Pay {
  /** Absolute. Only https, or the API's own origin; absent if the shop gave no such address. */
  url?: string;
  /** The end of the time to pay, by the shop's clock in milliseconds since 1970. */
  by: number;
  /** In minor units by ISO 4217, of which browsers know other numbers: 5000 is 5,000 of ISK and 5.000 of OMR. */
  amount?: number;
  currency?: string;
  /** What is behind the "?" of `url`, for an app that pays on a page of its own. */
  query: string;
}
