#!/bin/bash
# A request without a body whose client declares a type all the same, as curl -d '' and k6 do, to an operation whose body may be
# absent and would be application/json. One would guess: without a body there is nothing to refuse.
# It is so: express-openapi-validator refuses it with 415 (kin-openapi and Prism let it pass). It also refuses a query value in
# which a blank is "+", as URLSearchParams in every browser writes it, and takes %20.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error express@5.3.0 express-openapi-validator@5.6.2 >/dev/null
cat >run.js <<'JS'
import express from "express";
import { middleware } from "express-openapi-validator";
const app = express();
const requestBody = { required: false, content: { "application/json": { schema: { type: "object" } } } };
const responses = { 200: { description: "d" } };
const apiSpec = {
  openapi: "3.1.0", info: { title: "t", version: "1" }, servers: [{ url: "/" }],
  paths: { "/a": { post: { requestBody, responses }, get: { parameters: [{ name: "after", in: "query", schema: { type: "string" } }], responses } } },
};
app.use(express.json(), middleware({ apiSpec }), (request, answer) => answer.end("passed"));
app.use((error, request, answer, next) => answer.status(error.status).end());
const server = app.listen(0, "127.0.0.1", async () => {
  const to = async (what, path, more) => console.log(what, (await fetch(`http://127.0.0.1:${server.address().port}${path}`, more)).status);
  await to("no body, no type", "/a", { method: "POST" });
  await to("no body, the type of JSON", "/a", { method: "POST", headers: { "content-type": "application/json" } });
  await to("no body, the type of a form", "/a", { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" } });
  await to("a blank as %20", "/a?after=a%20b");
  await to("a blank as +", "/a?" + new URLSearchParams({ after: "a b" }));
  process.exit();
});
JS
npm ls 2>/dev/null | grep -o 'express-openapi-validator@.*'
seen=$(node run.js)
echo "$seen"
[ "$seen" = 'no body, no type 200
no body, the type of JSON 200
no body, the type of a form 415
a blank as %20 200
a blank as + 400' ]
