#!/bin/bash
# A text that has a format and a pattern, both of which hold in JSON Schema: a time in UTC with milliseconds, date-time and
# a pattern. One would guess: what makes examples from schemas obeys both, or says that it cannot.
# It is so: json-schema-faker and openapi-sampler obey the format alone, so that a time without milliseconds comes out, never a
# valid one; openapi-to-postmanv2 obeys the pattern alone, with months to 99. Nobody says a word. A pattern that
# admits real times only mends the last one, and an example the last two.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error json-schema-faker@0.6.3 openapi-sampler@1.7.10 openapi-to-postmanv2@6.3.3 >/dev/null
cat >run.js <<'JS'
import { generate } from "json-schema-faker";
import { sample } from "openapi-sampler";
import postman from "openapi-to-postmanv2";
const loose = "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$";
const strict = "^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z$";
const collection = (schema) => {
  const content = { "application/json": { schema: { type: "object", required: ["at"], properties: { at: schema } } } };
  const paths = { "/a": { get: { responses: { 200: { description: "d", content } } } } };
  const document = { openapi: "3.1.0", info: { title: "t", version: "1" }, paths };
  const items = (folder) => folder.item?.flatMap(items) ?? [folder];
  return new Promise((resolve, reject) => postman.convertV2({ type: "json", data: document }, { schemaFaker: true, parametersResolution: "Example" },
    (error, result) => error ? reject(error) : resolve(JSON.parse(items(result.output[0].data)[0].response[0].body).at)));
};
const makers = { "json-schema-faker": generate, "openapi-sampler": sample, "openapi-to-postmanv2": collection };
for (const [what, more] of Object.entries({ format: {}, loose: { pattern: loose }, strict: { pattern: strict }, example: { pattern: loose, example: "2026-11-11T12:00:00.123Z" } })) {
  for (const [name, make] of Object.entries(makers)) {
    let times = 0, matches = 0, seen;
    for (let i = 0; i < 50; i++) {
      seen = await make({ type: "string", format: "date-time", ...more });
      times += !Number.isNaN(Date.parse(seen));
      matches += new RegExp(more.pattern ?? "", "u").test(seen);
    }
    console.error(what, name, seen);
    console.log(what, name, times === 50 ? "times" : "not all times", matches === 50 ? "all match" : matches ? "some match" : "none match");
  }
}
JS
npm ls 2>/dev/null | grep -oE '(json-schema-faker|openapi-sampler|openapi-to-postmanv2)@.*'
seen=$(node run.js)
echo "$seen"
[ "$seen" = 'format json-schema-faker times all match
format openapi-sampler times all match
format openapi-to-postmanv2 times all match
loose json-schema-faker times none match
loose openapi-sampler times none match
loose openapi-to-postmanv2 not all times all match
strict json-schema-faker times none match
strict openapi-sampler times none match
strict openapi-to-postmanv2 times all match
example json-schema-faker times none match
example openapi-sampler times all match
example openapi-to-postmanv2 times all match' ]
