#!/bin/bash
# An answer 503 with Retry-After: 2592000, thirty days, as for a sale that opens then, and npm's clients that try again.
#
# One would guess: who honours Retry-After waits for thirty days, or has a limit of its own and gives up, or asks after that.
# It is so: of ky, undici and @vercel/fetch-retry. axios-retry and got wait by one timer of Node's, which holds 2^31 - 1 milliseconds, 24.8 days;
# a longer one is set to 1 ms, with a warning of the process. So all tries are made at once: the longer one is to wait, the sooner they ask. Up to
# 24 days both wait. retry-axios gives up at once at both.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error axios@1.21.1 axios-retry@4.5.0 retry-axios@4.0.3 got@14.6.6 ky@1.14.3 undici@7.30.2 @vercel/fetch-retry@5.1.3 node-fetch@2.7.0 >/dev/null
cat >run.js <<'JS'
import axios from "axios";
import axiosRetry from "axios-retry";
import { attach } from "retry-axios";
import { got } from "got";
import ky from "ky";
import { Agent, RetryAgent, request } from "undici";
import fetchRetry from "@vercel/fetch-retry";
import nodeFetch from "node-fetch";
import { once } from "node:events";
import { createServer } from "node:http";
const asked = {};
const server = createServer((q, r) => {
  const [, name, days] = q.url.split("/");
  asked[q.url] = (asked[q.url] ?? 0) + 1;
  r.writeHead(503, { "Retry-After": days * 86400 }).end();
}).listen(0, "127.0.0.1");
await once(server, "listening");
const plain = axios.create(), other = axios.create();
axiosRetry(plain, { retries: 2 });
attach(other);
const clients = {
  "axios-retry": url => plain.get(url),
  "retry-axios": url => other.get(url, { raxConfig: { instance: other } }),
  got: url => got(url),
  ky: url => ky(url),
  undici: url => request(url, { dispatcher: new RetryAgent(new Agent()) }),
  fetchRetry: url => fetchRetry(nodeFetch)(url),
};
const lines = Object.keys(clients).flatMap(name => [24, 30].map(async days => {
  const path = `/${name}/${days}`, done = clients[name](`http://127.0.0.1:${server.address().port}${path}`).then(() => "hands the answer on", () => "gives up");
  const outcome = await Promise.race([done, new Promise(resolve => setTimeout(resolve, 9000, "waits"))]);
  return `${name}, ${days} days: asks ${asked[path] === 1 ? "once" : "again"} in 9 s, ${outcome}`;
}));
console.log((await Promise.all(lines)).join("\n"));
process.exit();
JS
npm ls --depth 0 | grep @
node --no-warnings run.js | tee said
diff said - <<'SEEN'
axios-retry, 24 days: asks once in 9 s, waits
axios-retry, 30 days: asks again in 9 s, gives up
retry-axios, 24 days: asks once in 9 s, gives up
retry-axios, 30 days: asks once in 9 s, gives up
got, 24 days: asks once in 9 s, waits
got, 30 days: asks again in 9 s, gives up
ky, 24 days: asks once in 9 s, waits
ky, 30 days: asks once in 9 s, waits
undici, 24 days: asks once in 9 s, waits
undici, 30 days: asks once in 9 s, waits
fetchRetry, 24 days: asks once in 9 s, hands the answer on
fetchRetry, 30 days: asks once in 9 s, hands the answer on
SEEN
