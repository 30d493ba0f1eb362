#!/bin/bash
# A schema with a $ref, and beside it properties and required of its own (JSON Schema 2020-12: both hold).
# One would guess: whoever merges the two has the properties of both and requires those of both.
# It is so: @apidevtools/json-schema-ref-parser merges the properties, also of nested objects, but of two lists
# takes the nearer one: nothing that the $ref requires is required any more. bundle, which is said to keep
# references, does the same. Under allOf nothing is lost.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @apidevtools/json-schema-ref-parser@16.0.0 >/dev/null
echo '{"required":["id"],"properties":{"id":{"type":"string"}}}' >base.json
echo '{"$ref":"base.json","required":["kind"],"properties":{"kind":{"type":"string"}}}' >beside.json
echo '{"allOf":[{"$ref":"base.json"}],"required":["kind"],"properties":{"kind":{"type":"string"}}}' >under.json
cat >run.js <<'JS'
import parser from "@apidevtools/json-schema-ref-parser";
for (const how of ["dereference", "bundle"]) {
  for (const file of ["beside", "under"]) {
    const schema = await parser[how](`${file}.json`);
    const all = [schema, ...(schema.allOf ?? [])];
    console.log(how, file, all.flatMap((s) => Object.keys(s.properties)).sort().join(), "required", all.flatMap((s) => s.required).sort().join());
  }
}
JS
npm ls --depth 0 | grep @apidevtools
seen=$(node run.js)
echo "$seen"
[ "$seen" = $'dereference beside id,kind required kind\ndereference under id,kind required id,kind\nbundle beside id,kind required kind\nbundle under id,kind required id,kind' ]
