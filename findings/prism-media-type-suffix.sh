#!/bin/bash
# An answer that comes in two media types, each with a schema of its own: application/problem+json of a service (RFC 9457),
# application/json of the gateway before it. One would guess: Prism's proxy with --errors judges an answer by the schema of its own type.
# It is so: of a type with a suffix it compares what stands behind the "+" alone, so both are the same to it, and the one
# that the document lists first judges both: the other's valid answers become 500. text/plain beside them is told apart.
set -euo pipefail
work=$(mktemp -d) && trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @stoplight/prism-http-server@5.12.2 @stoplight/prism-http@5.12.0 @stoplight/prism-core@5.8.0 pino@6.14.0 >/dev/null
cat >run.js <<'JS'
import http from "node:http";
import { createServer } from "@stoplight/prism-http-server/dist/index.js";
import { getHttpOperationsFromSpec } from "@stoplight/prism-http";
import pino from "pino";
const problem = { "application/problem+json": { schema: { type: "object", required: ["code"] } } };
const message = { "application/json": { schema: { type: "object", required: ["message"] } } };
const text = { "text/plain": { schema: { type: "string", minLength: 3 } } };
const answers = { "/problem": ["application/problem+json", '{"code":"sold-out"}'], "/message": ["application/json", '{"message":"Forbidden"}'], "/text": ["text/plain", "gone"] };
const upstream = http.createServer((request, answer) => {
  const [type, body] = answers[request.url];
  answer.writeHead(200, { "content-type": type }).end(body);
}).listen(0, "127.0.0.1", async () => {
  for (const [what, content] of [["problem first", { ...problem, ...message, ...text }], ["message first", { ...message, ...problem, ...text }]]) {
    const paths = Object.fromEntries(Object.keys(answers).map((path) => [path, { get: { responses: { 200: { description: "d", content } } } }]));
    const operations = await getHttpOperationsFromSpec({ openapi: "3.1.0", info: { title: "t", version: "1" }, paths });
    const server = createServer(operations, {
      cors: false, components: { logger: pino({ level: "silent" }) },
      config: { isProxy: true, upstream: new URL(`http://127.0.0.1:${upstream.address().port}`), checkSecurity: false, validateRequest: true, validateResponse: true, mock: false, errors: true },
    });
    const address = await server.listen(0, "127.0.0.1");
    for (const path of Object.keys(answers)) console.log(what, path, (await fetch(address + path)).status);
    await server.close();
  }
  process.exit();
});
JS
npm ls 2>/dev/null | grep -o '@stoplight/prism-http.*'
seen=$(node run.js)
echo "$seen"
[ "$seen" = 'problem first /problem 200
problem first /message 500
problem first /text 200
message first /problem 500
message first /message 200
message first /text 200' ]
