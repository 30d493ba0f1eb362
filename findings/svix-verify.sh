#!/bin/bash
# What Webhook.verify of npm's svix returns for a webhook that is valid.
# One would guess: the payload, as parsed JSON, so that one works with what was verified and not with what was sent.
# It is so up to svix 1.99.1, and in standardwebhooks 1.1.1, which svix uses for it. From svix 2 on it returns nothing: what
# is written `const event = wh.verify(body, headers)` has undefined, and must parse the body itself.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error standardwebhooks@1.1.1 svix1@npm:svix@1.99.1 svix2@npm:svix@2.5.0 >/dev/null
cat >run.js <<'JS'
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix1 } from "svix1";
import { Webhook as Svix2 } from "svix2";
const secret = "whsec_" + Buffer.from("an example of a secret").toString("base64"), body = '{"type":"paid"}', now = new Date();
const headers = { "webhook-id": "msg_1", "webhook-timestamp": `${Math.floor(now / 1000)}`, "webhook-signature": new Standard(secret).sign("msg_1", now, body) };
for (const [name, Webhook] of Object.entries({ Standard, Svix1, Svix2 })) console.log(name, JSON.stringify(new Webhook(secret).verify(body, headers)));
JS
npm ls --depth 0 | grep @
seen=$(node run.js)
echo "$seen"
[ "$seen" = 'Standard {"type":"paid"}
Svix1 {"type":"paid"}
Svix2 undefined' ]
