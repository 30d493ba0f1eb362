#!/bin/bash
# A part of a schema that has a name, {"$anchor": "item"}, and a reference to it, {"$ref": "#item"}: JSON Schema's core since 2019-09, which OpenAPI 3.1
# and AsyncAPI 3 have with it.
#
# One would guess: whoever reads that draft knows the keyword, or says that there is no such name.
# It is so: of @cfworker/json-schema and @exodus/schemasafe.
# - ajv resolves the reference, and still refuses the schema as it is preset (strict): "unknown keyword: $anchor". $dynamicAnchor it knows.
# - @apidevtools/json-schema-ref-parser leaves the reference as it stands, in what is said to have none any more, without a word; so types cannot be made
#   of it by json-schema-to-typescript. zod's fromJSONSchema says that it does not find it.
# - jsonschema takes the draft and says of a valid value that it does not fit.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error ajv@8.20.0 @apidevtools/json-schema-ref-parser@16.0.6 @cfworker/json-schema@4.1.6 \
	@exodus/schemasafe@1.3.0 jsonschema@1.5.0 json-schema-to-typescript@16.0.0 zod@4.6.7 >/dev/null
cat >try.js <<'EOF2'
import { dereference } from "@apidevtools/json-schema-ref-parser";
import { Validator } from "@cfworker/json-schema";
import { validator } from "@exodus/schemasafe";
import Ajv from "ajv/dist/2020.js";
import { compile } from "json-schema-to-typescript";
import { validate } from "jsonschema";
import { z } from "zod";

const schema = () => ({
  $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", properties: { item: { $ref: "#item" } },
  $defs: { item: { $anchor: "item", type: "string" } },
});
const valid = { item: "a" }, not = { item: 1 };
const readers = {
  "@cfworker/json-schema": () => [valid, not].map((value) => new Validator(schema(), "2020-12").validate(value).valid),
  "@exodus/schemasafe": () => [valid, not].map(validator(schema(), { mode: "spec" })).join(),
  "ajv, strict: false": () => [valid, not].map((value) => new Ajv.default({ strict: false }).validate(schema(), value)),
  ajv: () => [valid, not].map((value) => new Ajv.default().validate(schema(), value)),
  jsonschema: () => [valid, not].map((value) => validate(value, schema()).valid),
  "zod's fromJSONSchema": () => [valid, not].map((value) => z.fromJSONSchema(schema()).safeParse(value).success),
  "json-schema-ref-parser's dereference": async () => JSON.stringify((await dereference(schema())).properties),
  "json-schema-to-typescript": () => compile(schema(), "Order"),
};
for (const [name, read] of Object.entries(readers)) {
  try {
    console.log(`${name}: ${await read()}`);
  } catch (error) {
    console.log(`${name} throws ${error.message}`);
  }
}
EOF2
node try.js 2>&1 | tee said
diff said - <<'EOF2'
@cfworker/json-schema: true,false
@exodus/schemasafe: true,false
ajv, strict: false: true,false
ajv throws strict mode: unknown keyword: "$anchor"
jsonschema: false,false
zod's fromJSONSchema throws Reference not found: #item
json-schema-ref-parser's dereference: {"item":{"$ref":"#item"}}
json-schema-to-typescript throws Refs should have been resolved by the resolver! { '$ref': '#item' }
EOF2
