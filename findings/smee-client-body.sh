#!/bin/bash
# Webhooks that a channel of smee.io delivers to a developer's machine by npm's smee-client, which is where the handler of a signed webhook is tried
# first. The channel is an event stream. Its server (probot/smee.io, lib/server.js) puts the headers and, as body, what the JSON was read as into data.
#
# One would guess: the handler gets the webhook as it was sent, so that what verifies its signature in production does so here.
# It is so: the client writes the body anew, as JSON.stringify does, and the sender's signature goes with it as if it still fitted.
# - An order id of 18 digits is another number, 1499.00 is 1499, a slash has no backslash any more, and what was indented is on one line.
# - A webhook verifies only if its JSON is as JSON.stringify would have written it. Others are refused as a forged one is.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error smee-client@5.0.0 >/dev/null
cat >try.js <<'EOF2'
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import SmeeClient from "smee-client";

console.log("smee-client", JSON.parse(readFileSync("node_modules/smee-client/package.json")).version);
const sign = (body) => createHmac("sha256", "secret").update(body).digest("hex");
const served = (answer) => new Promise((ready) => {
  const server = createServer(answer).listen(0, "127.0.0.1", () => ready(`http://127.0.0.1:${server.address().port}`));
});
let stream, next;
const channel = await served(async (request, response) => {
  if (request.method === "GET") return (stream = response.writeHead(200, { "Content-Type": "text/event-stream" })).write("event: ready\ndata: {}\n\n");
  stream.write(`data: ${JSON.stringify({ ...request.headers, body: JSON.parse(await text(request)), query: {}, timestamp: 0 })}\n\n`);
  response.end();
});
const handler = await served(async (request, response) => {
  const body = await text(request);
  next(`${body}, and the signature ${request.headers["x-signature"] === sign(body) ? "fits" : "does not fit"}`);
  response.end();
});
const client = new SmeeClient({ source: `${channel}/shop`, target: handler, logger: { info() {}, error: console.error } });
await client.start();
for (const body of ['{"order":"5","paid":true}', '{"order":523415642750058497}', '{"amount":1499.00}', '{"page":"https:\\/\\/shop.example"}', '{ "order": "5" }']) {
  const got = new Promise((resolve) => (next = resolve));
  await fetch(`${channel}/shop`, { method: "POST", headers: { "Content-Type": "application/json", "X-Signature": sign(body) }, body });
  console.log(`${body} comes as ${await got}`);
}
process.exit();
EOF2
node try.js | tee said
diff said - <<'EOF2'
smee-client 5.0.0
{"order":"5","paid":true} comes as {"order":"5","paid":true}, and the signature fits
{"order":523415642750058497} comes as {"order":523415642750058500}, and the signature does not fit
{"amount":1499.00} comes as {"amount":1499}, and the signature does not fit
{"page":"https:\/\/shop.example"} comes as {"page":"https://shop.example"}, and the signature does not fit
{ "order": "5" } comes as {"order":"5"}, and the signature does not fit
EOF2
