#!/bin/bash
# A server variable of OpenAPI 3.1 with a description, which the specification has.
# One would guess: a document with it is valid.
# It is so: the schema of OpenAPI 3.1 that @apidevtools/swagger-parser (and with it Orval, for instance) checks
# with has a slip of the pen there, `descriptions`, and nothing else is allowed: the document is refused.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @apidevtools/swagger-parser@12.1.0 >/dev/null
cat >run.js <<'JS'
import parser from "@apidevtools/swagger-parser";
for (const more of [{}, { description: "words" }, { descriptions: "words" }]) {
  const variables = { api: { default: "a", ...more } };
  const document = { openapi: "3.1.0", info: { title: "t", version: "1" }, servers: [{ url: "https://{api}.example", variables }], paths: {} };
  try {
    await parser.validate(document);
    console.log("valid", Object.keys(variables.api).join());
  } catch (error) {
    console.log("refused", Object.keys(variables.api).join());
    console.error(error.message);
  }
}
JS
npm ls --all 2>/dev/null | grep -o '@apidevtools/[a-z-]*@[0-9.]*' | sort -u
seen=$(node run.js)
echo "$seen"
[ "$seen" = $'valid default\nrefused default,description\nvalid default,descriptions' ]
