#!/bin/bash
# A message's payload of AsyncAPI 3 that names its schemaFormat, JSON Schema 2020-12, and uses that draft's keywords.
# One would guess: Redocly, which lints AsyncAPI 3, reads the payload by the format it names, or leaves it alone, and
# takes what it takes in a schema of OpenAPI 3.1.
# It is so: the format is not looked at. $defs, prefixItems, dependentRequired, dependentSchemas, unevaluatedProperties
# and minContains are errors in the payload, with the minimal rules, too; the same schemas are none in OpenAPI 3.1.
# if and then, which draft 7 has as well, are none in either.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @redocly/cli@2.77.0 >/dev/null
cat >run.js <<'JS'
import { writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
const list = (more) => ({ properties: { l: { type: "array", ...more } } });
const keywords = {
  if: { if: { required: ["a"] }, then: { required: ["b"] } },
  $defs: { $defs: { text: { type: "string" } } },
  prefixItems: list({ prefixItems: [{ type: "string" }] }),
  dependentRequired: { dependentRequired: { a: ["b"] } },
  dependentSchemas: { dependentSchemas: { a: { required: ["b"] } } },
  unevaluatedProperties: { unevaluatedProperties: false },
  minContains: list({ contains: { type: "string" }, minContains: 2 }),
};
const info = { title: "t", version: "1" };
const schemaFormat = "application/schema+json;version=draft-2020-12";
for (const [keyword, more] of Object.entries(keywords)) {
  const schema = { type: "object", properties: { a: {}, b: {} }, ...more };
  const line = [keyword];
  for (const [kind, document] of Object.entries({
    openapi: { openapi: "3.1.0", info, paths: {}, components: { schemas: { S: schema } } },
    asyncapi: { asyncapi: "3.0.0", info, channels: { c: { address: "c", messages: { m: { payload: { schemaFormat, schema } } } } } },
  })) {
    writeFileSync(`${kind}.json`, JSON.stringify(document));
    const run = spawnSync("node_modules/.bin/redocly", ["lint", `${kind}.json`, "--extends=minimal", "--format=json"], { encoding: "utf8", env: { ...process.env, REDOCLY_TELEMETRY: "off" } });
    const errors = JSON.parse(run.stdout).problems.filter((problem) => problem.severity === "error").map((problem) => problem.message);
    line.push(kind, run.status, ...errors);
  }
  console.log(line.join(" "));
}
JS
npm ls 2>/dev/null | grep -o '@redocly/cli@.*'
seen=$(node run.js)
echo "$seen"
expected="if openapi 0 asyncapi 0"
for keyword in '$defs' prefixItems dependentRequired dependentSchemas unevaluatedProperties minContains; do
  expected+=$'\n'"$keyword openapi 0 asyncapi 1 Property \`$keyword\` is not expected here."
done
[ "$seen" = "$expected" ]
