#!/bin/bash
# A schema of OpenAPI 3.1 with properties, and beside them an anyOf that says which of them are required.
# One would guess: both hold, so the type is an intersection, as it is with oneOf and with allOf.
# It is so: openapi-typescript makes it a union, so that an alternative without properties of its own makes the
# whole type unknown, and the compiler accepts anything.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error openapi-typescript@7.13.0 typescript@5.9.3 >/dev/null
for of in anyOf oneOf; do
	cat >$of.yaml <<YAML
openapi: 3.1.0
info: { title: t, version: "1" }
paths: {}
components:
  schemas:
    Text:
      type: object
      required: [id]
      properties: { id: { type: string }, name: { type: string }, about: { type: string } }
      $of: [{ required: [name] }, { required: [about] }]
YAML
	npx openapi-typescript $of.yaml -o $of.ts >/dev/null 2>&1
	printf 'import type { components } from "./%s.js";\nexport const text: components["schemas"]["Text"] = { id: 7 };\n' $of >use-$of.ts
done
npm ls --depth 0 | grep @
sed -n '/Text: {/,/}.*;/p' anyOf.ts
seen=""
for of in anyOf oneOf; do
	if npx tsc --strict --noEmit --module nodenext use-$of.ts >$of.log; then seen+="$of accepts a number as id; "; else seen+="$of refuses it; "; fi
done
cat ./*.log
echo "$seen"
[ "$seen" = "anyOf accepts a number as id; oneOf refuses it; " ]
