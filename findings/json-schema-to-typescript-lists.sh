#!/bin/bash
# A list of texts with minItems 1 and maxItems 10.
# One would guess: its type is string[], or [string, ...string[]].
# It is so: json-schema-to-typescript makes a union of ten tuples, to which no list of unknown length can be
# assigned, not even one that is known not to be empty. With maxItems 40 it is [string, ...string[]].
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error json-schema-to-typescript@16.0.0 typescript@5.9.3 >/dev/null
npm ls --depth 0 | grep @
seen=""
for most in 10 40; do
	echo '{"title":"Texts","type":"array","items":{"type":"string"},"minItems":1,"maxItems":'$most'}' >texts.json
	npx json2ts texts.json >texts.ts
	sed -n '/^export type/,$p' texts.ts
	tuples=$(grep -cE '^  \| \[' texts.ts || true)
	printf 'import type { Texts } from "./texts.js";\ndeclare const all: [string, ...string[]];\nexport const texts: Texts = all;\n' >use.ts
	npx tsc --strict --noEmit --module nodenext use.ts >/dev/null && assigned=yes || assigned=no
	seen+="$most: $tuples tuples, assigned: $assigned; "
done
echo "$seen"
[ "$seen" = "10: 10 tuples, assigned: no; 40: 0 tuples, assigned: yes; " ]
