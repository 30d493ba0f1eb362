#!/bin/bash
# A document of OpenAPI 3.1 that uses what 3.1 added: const, a list of types, a licence's identifier.
# One would guess: openapi-backend, whose README names 3.1, serves it; or if it cannot read it, init() rejects.
# It is so: it checks every 3.x document with the schema of 3.0. init() resolves all the same, a warning on the console
# apart, and the backend has no operations: every request of the document is not found. Only strict: true rejects,
# and quick: true, which leaves the check out, serves it and holds requests to the const.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error openapi-backend@5.21.2 >/dev/null
cat >run.js <<'JS'
import { OpenAPIBackend } from "openapi-backend";
console.warn = (error) => console.error(String(error).split("\n")[0]);
const document = (schema, license) => ({
  openapi: "3.1.0",
  info: { title: "t", version: "1", license },
  paths: { "/a": { get: { operationId: "a", parameters: [{ name: "q", in: "query", schema }], responses: { 200: { description: "d" } } } } },
});
const mit = { name: "MIT License", url: "https://opensource.org/license/mit" };
for (const [what, schema, license] of [
  ["nothing", { type: "string", enum: ["x"] }, mit],
  ["const", { type: "string", const: "x" }, mit],
  ["types", { type: ["string", "null"] }, mit],
  ["identifier", { type: "string" }, { name: "MIT License", identifier: "MIT" }],
]) {
  const line = [what];
  for (const options of [{}, { quick: true }, { strict: true }]) {
    const backend = new OpenAPIBackend({ definition: document(schema, license), ...options });
    try {
      await backend.init();
      for (const [name, handler] of Object.entries({ a: () => "a", notFound: () => "notFound", validationFail: () => "refused" })) backend.register(name, handler);
      line.push(await backend.handleRequest({ method: "GET", path: "/a", query: { q: "x" }, headers: {} }));
      if (what === "const" && options.quick) line.push(await backend.handleRequest({ method: "GET", path: "/a", query: { q: "y" }, headers: {} }));
    } catch (error) {
      line.push("rejected");
    }
  }
  console.log(line.join(" "));
}
JS
npm ls 2>/dev/null | grep -o 'openapi-backend@.*'
seen=$(node run.js)
echo "$seen"
[ "$seen" = $'nothing a a a\nconst notFound a refused rejected\ntypes notFound a rejected\nidentifier notFound a rejected' ]
