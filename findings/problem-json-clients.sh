#!/bin/bash
# A refusal in application/problem+json (RFC 9457), as an API answers it to a client that asked for JSON, in the error or answer of
# ten HTTP clients of npm.
#
# One would guess: a media type that ends in +json is JSON (RFC 6839), so whoever parses application/json by itself parses this, too; or
# leaves the text to who asks.
# It is so: of axios, ky, ofetch, superagent, redaxios and Wreck. The others:
# - undici's responseError, which hands on the body of JSON and of plain text: the error's body is empty, so what was refused is lost.
# - gaxios, Google's: a Blob, which prints as {}. With responseType "json" it is parsed.
# - wretch: error.json is undefined, and the text is in error.message. needle: the text.
# - In capitals, Application/JSON, which is the same type (RFC 9110, 8.3.1), undici, wretch and needle do not know application/json either.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error axios@1.21.1 ky@1.14.3 ofetch@1.5.1 superagent@10.4.2 redaxios@0.5.1 @hapi/wreck@18.1.2 undici@7.30.2 gaxios@7.3.1 \
	wretch@2.11.1 needle@3.5.0 >/dev/null
cat >run.js <<'JS'
import axios from "axios";
import ky from "ky";
import { ofetch } from "ofetch";
import superagent from "superagent";
import redaxios from "redaxios";
import Wreck from "@hapi/wreck";
import { Agent, interceptors, request } from "undici";
import { request as gaxios } from "gaxios";
import wretch from "wretch";
import needle from "needle";
import { once } from "node:events";
import { createServer } from "node:http";
const server = createServer((q, r) => r.writeHead(409, { "Content-Type": q.url.slice(1) }).end('{"code":"sold-out"}')).listen(0, "127.0.0.1");
await once(server, "listening");
const dispatcher = new Agent().compose(interceptors.responseError());
const clients = {
  axios: async url => axios.get(url).catch(e => e.response.data),
  ky: async url => ky(url).catch(e => e.data ?? e.response.json()),
  ofetch: async url => ofetch(url).catch(e => e.data),
  superagent: async url => superagent.get(url).catch(e => e.response.body),
  redaxios: async url => (redaxios.default ?? redaxios).get(url).catch(e => e.data),
  wreck: async url => Wreck.get(url, { json: true }).catch(e => e.data.payload),
  undici: async url => request(url, { dispatcher }).catch(e => e.body),
  gaxios: async url => gaxios({ url }).catch(e => e.response.data),
  wretch: async url => wretch(url).get().json().catch(e => e.json),
  needle: async url => (await needle("get", url)).body,
};
for (const type of ["application/json", "application/problem+json", "Application/JSON", "Application/Problem+JSON"]) {
  console.log(type);
  for (const [name, ask] of Object.entries(clients)) {
    const seen = await ask(`http://127.0.0.1:${server.address().port}/${type}`);
    console.log(`  ${name}:`, seen?.code === "sold-out" ? "parsed" : `${seen?.constructor?.name} ${JSON.stringify(seen?.toString("utf8"))}`);
  }
}
process.exit();
JS
npm ls --depth 0 | grep @
node run.js | tee said
diff said - <<'SEEN'
application/json
  axios: parsed
  ky: parsed
  ofetch: parsed
  superagent: parsed
  redaxios: parsed
  wreck: parsed
  undici: parsed
  gaxios: parsed
  wretch: parsed
  needle: parsed
application/problem+json
  axios: parsed
  ky: parsed
  ofetch: parsed
  superagent: parsed
  redaxios: parsed
  wreck: parsed
  undici: String ""
  gaxios: Blob "[object Blob]"
  wretch: undefined undefined
  needle: String "{\"code\":\"sold-out\"}"
Application/JSON
  axios: parsed
  ky: parsed
  ofetch: parsed
  superagent: parsed
  redaxios: parsed
  wreck: parsed
  undici: String ""
  gaxios: parsed
  wretch: undefined undefined
  needle: Buffer "{\"code\":\"sold-out\"}"
Application/Problem+JSON
  axios: parsed
  ky: parsed
  ofetch: parsed
  superagent: parsed
  redaxios: parsed
  wreck: parsed
  undici: String ""
  gaxios: Blob "[object Blob]"
  wretch: undefined undefined
  needle: Buffer "{\"code\":\"sold-out\"}"
SEEN
