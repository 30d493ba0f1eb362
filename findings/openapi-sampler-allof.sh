#!/bin/bash
# A schema that has a base under allOf and says more of a member beside it, in properties of its own: here that kind,
# any text in the base, is the constant "paid".
# One would guess: the sample of the whole, as openapi-sampler (it writes the samples of Redoc) makes it, says "paid".
# It is so: of a member that both have, the base's sample is taken, kind is "string" and the sample is not valid; a
# minimum, an enum and an example are lost alike. Among the parts of an allOf the last one wins: with
# the narrower part behind the base the sample is valid.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error openapi-sampler@1.7.10 ajv@8.17.1 >/dev/null
cat >run.js <<'JS'
import { sample } from "openapi-sampler";
import Ajv from "ajv/dist/2020.js";
const base = { type: "object", required: ["kind"], properties: { kind: { type: "string" }, units: { type: "integer" } } };
const constant = { properties: { kind: { type: "string", const: "paid" } } };
for (const [what, schema] of Object.entries({
  "const alone": { type: "object", ...constant },
  "const beside": { type: "object", allOf: [base], ...constant },
  "const behind": { type: "object", allOf: [base, { type: "object", ...constant }] },
  "const before": { type: "object", allOf: [{ type: "object", ...constant }, base] },
  "enum beside": { type: "object", allOf: [base], properties: { kind: { type: "string", enum: ["paid"] } } },
  "minimum beside": { type: "object", allOf: [base], properties: { units: { type: "integer", minimum: 5 } } },
  "example beside": { type: "object", allOf: [base], properties: { kind: { type: "string", example: "paid" } } },
})) {
  const { kind, units } = sample(schema);
  const valid = new Ajv({ strict: false }).validate(schema, sample(schema));
  console.log(what, JSON.stringify({ kind, units }), valid ? "valid" : "not valid");
}
JS
npm ls 2>/dev/null | grep -o 'openapi-sampler@.*'
seen=$(node run.js)
echo "$seen"
[ "$seen" = 'const alone {"kind":"paid"} valid
const beside {"kind":"string","units":0} not valid
const behind {"kind":"paid","units":0} valid
const before {"kind":"string","units":0} not valid
enum beside {"kind":"string","units":0} not valid
minimum beside {"kind":"string","units":0} not valid
example beside {"kind":"string","units":0} valid' ]
