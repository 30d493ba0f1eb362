#!/bin/bash
# Types that Modelina makes of an AsyncAPI payload whose condition (if, then) narrows a number and a text.
# One would guess: conditions are left out, or the members get narrower types: a number and a text.
# It is so: both have the type 'gift' | number, the constant text and a number. The parser gives no id to the members below
# if, then and else, and the generator takes all schemas without an id for the same one, the first.
# The same payload as plain JSON Schema has the right types, and so has the condition under dependentSchemas.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @asyncapi/modelina@5.10.1 @asyncapi/parser@3.6.6 >/dev/null
cat >run.js <<'JS'
import { TypeScriptGenerator } from "@asyncapi/modelina";
const members = { type: "object", properties: { kind: { type: "string" }, price: { type: "integer" }, note: { type: "string" } } };
const condition = {
  if: { properties: { kind: { const: "gift" } } },
  then: { properties: { price: { type: "integer", maximum: 0 }, note: { type: "string", minLength: 1 } } },
};
const document = (payload) => ({
  asyncapi: "3.0.0", info: { title: "t", version: "1" },
  channels: { c: { address: "c", messages: { Order: { payload: { title: "Order", ...payload } } } } },
  operations: { o: { action: "send", channel: { $ref: "#/channels/c" } } },
});
for (const [name, input] of Object.entries({
  "AsyncAPI": document({ ...members, ...condition }),
  "AsyncAPI, dependentSchemas": document({ ...members, dependentSchemas: { kind: condition } }),
  "JSON Schema": { $schema: "http://json-schema.org/draft-07/schema#", title: "Order", ...members, ...condition },
})) {
  const models = await new TypeScriptGenerator({ modelType: "interface" }).generate(input);
  const text = models.map((model) => model.result).join("\n");
  const member = (name) => text.match(new RegExp(`${name}\\?: ([^;]+);`))[1];
  console.log(`${name}: price ${member("price")}, note ${member("note")}`);
}
JS
npm ls --depth 0 | grep @
seen=$(node run.js)
echo "$seen"
[ "$seen" = "AsyncAPI: price 'gift' | number, note 'gift' | number
AsyncAPI, dependentSchemas: price number, note string
JSON Schema: price number, note string" ]
