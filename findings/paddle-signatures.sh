#!/bin/bash
# Does Paddle's own library verify a webhook while its secret is replaced?
#
# The header is Paddle-Signature: ts=…;h1=…, where each h1 is the HMAC-SHA256 of the time and the body by one secret. Paddle's documentation
# (developer.paddle.com, "Verify webhook signatures") says that there is at least one h1, that rotation may come, and that there are several then.
#
# One would guess: npm's @paddle/paddle-node-sdk looks for one that fits, as the libraries of Stripe and of Standard Webhooks do.
# It is so: of several it keeps the last one. A receiver whose secret made the first refuses every webhook until the rotation is over, and says
# what it says of a forged one; the same two signatures in the other order are right. To be asked for each secret in turn does not help it.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @paddle/paddle-node-sdk@3.10.0 >/dev/null
cat >try.js <<'EOF2'
const { createHmac } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { Paddle } = require("@paddle/paddle-node-sdk");
console.log("@paddle/paddle-node-sdk " + JSON.parse(readFileSync("node_modules/@paddle/paddle-node-sdk/package.json", "utf8")).version);
const paddle = new Paddle("pdl_sdbx_apikey_1");
const body = '{"event_id":"evt_1","event_type":"transaction.paid","data":{}}';
const told = async (name, secret, ...signers) => {
  const ts = Math.floor(Date.now() / 1000);
  const header = ["ts=" + ts, ...signers.map((one) => "h1=" + createHmac("sha256", one).update(ts + ":" + body).digest("hex"))].join(";");
  console.log(name + ": " + (await paddle.webhooks.isSignatureValid(body, secret, header)));
};
(async () => {
  await told("one signature, by the receiver's secret", "old", "old");
  await told("two, the receiver's is the last", "old", "new", "old");
  await told("two, the receiver's is the first", "old", "old", "new");
})();
EOF2
node try.js | tee said
diff said - <<'EOF2'
@paddle/paddle-node-sdk 3.10.0
one signature, by the receiver's secret: true
two, the receiver's is the last: true
two, the receiver's is the first: false
EOF2
