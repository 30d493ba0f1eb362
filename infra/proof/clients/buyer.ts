// The program buys, enters a draw and is refused, with a client of openapi-typescript and
// openapi-fetch, and prints a line of each answer.
import createClient from "openapi-fetch";
import type { paths } from "./openapi.js";
import type { paths as operatePaths } from "./operate.js";

declare const process: { argv: string[] };

/** What there is to buy, and for whom: the first three addresses, then tokens, then sales and the id of a change. */
type World = Record<"api" | "operate" | "buyer" | "operator" | "viewer" | "open" | "soldOut" | "later" | "drawn" | "unknown" | "id", string>;

const w: World = JSON.parse(process.argv[2] ?? "");
const as = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
const shop = createClient<paths>({ baseUrl: w.api, ...as(w.buyer) });
const of = (saleId: string) => ({ params: { path: { saleId } } });

/** The answer's data. */
function must<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const sale = must(await shop.GET("/sales/{saleId}", of(w.open)));
console.log("sale", sale.state, sale.remaining);

const purchase = (saleId: string, key?: string) =>
  shop.POST("/sales/{saleId}/orders", { params: { path: { saleId }, header: { "Idempotency-Key": key } } });
const held = must(await purchase(w.open, "k-1"));
console.log("purchase", held.state);
console.log("the same purchase", must(await purchase(w.open, "k-1")).claimId === held.claimId);

for (const saleId of [w.open, w.soldOut, w.later, w.unknown]) {
  const { error, response } = await purchase(saleId);
  if (!error || !("code" in error)) throw new Error(`${response.status}`);
  switch (error.code) {
    case "already-ordered":
      console.log("refused", error.code, error.claim?.claimId === held.claimId);
      break;
    case "sold-out":
      console.log("refused", error.code, error.order);
      break;
    case "sale-not-open":
      console.log("refused", error.code, Number(response.headers.get("Retry-After")) > 0);
      break;
    case "sale-not-found":
      console.log("refused", error.code, error.status);
      break;
    default:
      throw new Error(error.code);
  }
}

let orderId: string | undefined;
while (!orderId) {
  const answer = await shop.GET("/sales/{saleId}/orders/me", of(w.open));
  const claim = must(answer);
  if (claim.state === "PENDING" || !("orderId" in claim)) {
    await new Promise((wake) => setTimeout(wake, Number(answer.response.headers.get("Retry-After")) * 1000));
    continue;
  }
  orderId = claim.orderId;
  console.log("claim", claim.state, claim.claimId === held.claimId);
}
const order = must(await shop.GET("/orders/{orderId}", { params: { path: { orderId } } }));
console.log("order", order.claimId === held.claimId);

/** The code of a problem, or API Gateway's message. */
const said = (error?: { code: string } | { message: string }) => (error && "code" in error ? error.code : error?.message);
console.log("refused", said((await shop.DELETE("/sales/{saleId}/orders/me", of(w.open))).error));

const entered = must(await shop.PUT("/sales/{saleId}/entries/me", of(w.drawn)));
const entry = must(await shop.GET("/sales/{saleId}/entries/me", of(w.drawn)));
console.log("entered", entered.leaf === entry.leaf);
console.log("refused", said((await shop.PUT("/sales/{saleId}/entries/me", of(w.open))).error));
console.log("refused", said((await shop.GET("/sales/{saleId}/orders/me", { ...of(w.open), ...as("none") })).error));

// A pause, and a sale that sells again: at first by the version before the pause, which is refused.
const operators = createClient<operatePaths>({ baseUrl: w.operate, ...as(w.operator) });
const pause = { ...of(w.open), body: { id: w.id, action: "pause" } } as const;
console.log("refused", said((await operators.POST("/operate/sales/{saleId}/changes", { ...pause, ...as(w.viewer) })).error));
let version = must(await operators.GET("/operate/sales/{saleId}", of(w.open))).version ?? "";
console.log("changed", must(await operators.POST("/operate/sales/{saleId}/changes", pause)).paused);
for (const n of [0, 1]) {
  const body = { id: w.id + n, action: "resume", version } as const;
  const { data, error } = await operators.POST("/operate/sales/{saleId}/changes", { ...of(w.open), body });
  if (error && "code" in error && error.code === "changed-meanwhile") {
    console.log("refused", error.code, error.change?.action);
    version = error.version ?? "";
  } else {
    console.log("changed", data ? data.paused : said(error));
  }
}
