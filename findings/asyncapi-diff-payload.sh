#!/bin/bash
# `asyncapi diff` of a document from whose payload a required member is removed.
# One would guess: a breaking change, and exit status 1, as when a channel's address changes.
# It is so: nothing in a payload is classified. The one change is told six times as "unclassified" (below components,
# channels and operations), and the status is 0. In a document whose schemas have no names every later schema counts as
# changed besides, because the parser numbers them.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @asyncapi/diff@0.5.0 @asyncapi/parser@3.6.6 >/dev/null
cat >run.js <<'JS'
import { diff } from "@asyncapi/diff";
import { Parser } from "@asyncapi/parser";
const made = async (address, required) => {
  const properties = Object.fromEntries(required.map((name) => [name, { type: "string" }]));
  const { document } = await new Parser().parse(JSON.stringify({
    asyncapi: "3.0.0", info: { title: "t", version: "1" },
    channels: { orders: { address, messages: { Paid: { $ref: "#/components/messages/Paid" } } } },
    operations: { publish: { action: "send", channel: { $ref: "#/channels/orders" } } },
    components: { messages: { Paid: { payload: { type: "object", required, properties } } } },
  }));
  return document.json();
};
const before = await made("orders", ["id", "user"]);
for (const [name, after] of [["another address", await made("elsewhere", ["id", "user"])], ["a member less", await made("orders", ["id"])]]) {
  const { changes } = diff(before, after).getOutput();
  console.log(`${name}: ${changes.map((c) => c.type).sort().join(" ")}`);
}
JS
npm ls --depth 0 | grep @
seen=$(node run.js)
echo "$seen"
[ "$seen" = "another address: breaking unclassified
a member less: unclassified unclassified unclassified unclassified unclassified unclassified" ]
