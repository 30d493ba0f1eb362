#!/bin/bash
# Schemas of JSON Schema 2020-12, read by zod's fromJSONSchema and by json-schema-to-zod.
#
# One would guess: what a schema says is held against each value, or the reader says that it cannot: fromJSONSchema throws at not, if and
# dependentRequired.
# It is so: of a schema without a type only its $ref, const, enum, allOf, anyOf or oneOf is read, and of one with a $ref nothing else. Dropped without a word are
# - the members of an object that builds on another by allOf, unless it repeats type: object, which the other says already;
# - a pattern without a type, a length beside a $ref, and what alternatives (anyOf) require, if they say no more than that.
# json-schema-to-zod also drops contains, propertyNames, minProperties, dependentRequired, if and what may follow a tuple; zod holds them or throws.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error zod@4.6.7 json-schema-to-zod@2.8.1 ajv@8.20.0 >/dev/null
cat >try.js <<'EOF2'
import Ajv from "ajv/dist/2020.js";
import { jsonSchemaToZod } from "json-schema-to-zod";
import { readFileSync } from "node:fs";
import { z } from "zod";

for (const name of ["zod", "json-schema-to-zod", "ajv"]) console.log(name, JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version);
const base = { type: "object", required: ["kind"], properties: { kind: { type: "string" } } };
const members = { required: ["code"], properties: { code: { type: "string", const: "sold-out" } } };
// Each with a value that breaks it.
const schemas = {
  "members beside an allOf": [{ allOf: [base], ...members }, { kind: "a", code: "other" }],
  "the same with type: object": [{ type: "object", allOf: [base], ...members }, { kind: "a", code: "other" }],
  "a pattern without a type": [{ pattern: "^a$" }, "b"],
  "maxLength beside a $ref": [{ $ref: "#/$defs/text", maxLength: 2, $defs: { text: { type: "string" } } }, "abc"],
  "alternatives that require": [{ type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] }, {}],
  "contains": [{ type: "array", contains: { const: "x" } }, ["a"]],
  "propertyNames": [{ type: "object", propertyNames: { pattern: "^a" } }, { b: 1 }],
  "minProperties": [{ type: "object", minProperties: 1 }, {}],
  "dependentRequired": [{ type: "object", dependentRequired: { a: ["b"] } }, { a: 1 }],
  "if and then": [{ type: "object", if: { required: ["a"] }, then: { required: ["b"] } }, { a: 1 }],
  "a tuple and no more": [{ type: "array", prefixItems: [{ type: "string" }], items: false }, ["a", "b"]],
};
const tried = (read, value) => {
  try {
    return read()(value) ? "accepted" : "refused";
  } catch {
    return "throws";
  }
};
for (const [name, [schema, value]] of Object.entries(schemas)) {
  const results = [
    () => (value) => z.fromJSONSchema({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema }).safeParse(value).success,
    () => (value) => new Function("z", `return ${jsonSchemaToZod(schema)}`)(z).safeParse(value).success,
    () => new Ajv.default({ strict: false }).compile(schema),
  ].map((read) => tried(read, value));
  console.log(`${name}: zod ${results[0]}, json-schema-to-zod ${results[1]}, ajv ${results[2]}`);
}
EOF2
node try.js | tee said
diff said - <<'EOF2'
zod 4.6.7
json-schema-to-zod 2.8.1
ajv 8.20.0
members beside an allOf: zod accepted, json-schema-to-zod accepted, ajv refused
the same with type: object: zod refused, json-schema-to-zod refused, ajv refused
a pattern without a type: zod accepted, json-schema-to-zod accepted, ajv refused
maxLength beside a $ref: zod accepted, json-schema-to-zod accepted, ajv refused
alternatives that require: zod accepted, json-schema-to-zod accepted, ajv refused
contains: zod refused, json-schema-to-zod accepted, ajv refused
propertyNames: zod refused, json-schema-to-zod accepted, ajv refused
minProperties: zod refused, json-schema-to-zod accepted, ajv refused
dependentRequired: zod throws, json-schema-to-zod accepted, ajv refused
if and then: zod throws, json-schema-to-zod accepted, ajv refused
a tuple and no more: zod refused, json-schema-to-zod accepted, ajv refused
EOF2
