#!/bin/bash
# A message's schema that is a $ref with properties beside it.
# One would guess: as in JSON Schema 2020-12, which the payload names as its format, both hold.
# It is so: @asyncapi/parser puts what is referred to in place of the whole schema, without a word. Under
# allOf the properties stay.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @asyncapi/parser@3.6.6 >/dev/null
cat >base.json <<'JSON'
{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}
JSON
cat >document.yaml <<'YAML'
asyncapi: 3.0.0
info: { title: t, version: "1" }
channels:
  c:
    address: c
    messages:
      beside: { $ref: "#/components/messages/beside" }
      under: { $ref: "#/components/messages/under" }
components:
  messages:
    beside: { payload: { schemaFormat: application/schema+json;version=draft-2020-12, schema: { $ref: base.json, properties: { kind: { const: a } } } } }
    under: { payload: { schemaFormat: application/schema+json;version=draft-2020-12, schema: { allOf: [{ $ref: base.json }], properties: { kind: { const: a } } } } }
YAML
cat >run.js <<'JS'
import { Parser, fromFile } from "@asyncapi/parser";
const { document, diagnostics } = await fromFile(new Parser(), "document.yaml").parse();
for (const message of document.allMessages()) console.log(message.id(), Object.keys(message.payload().json().schema.properties).join());
console.log("complaints", diagnostics.filter((d) => d.severity < 2).length);
JS
npm ls --depth 0 | grep @
seen=$(node run.js)
echo "$seen"
[ "$seen" = $'beside id\nunder kind\ncomplaints 0' ]
