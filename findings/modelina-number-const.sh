#!/bin/bash
# Types that Modelina makes of a schema with constants: a text, and a number such as a version.
# One would guess: both are read and written.
# It is so: of a number the value is lost. The TypeScript class does not have it, neither made nor read, and so writes
# none; C# is `const int version = undefined`, which is no C#, and Python (Pydantic) has the text 'undefined' as default.
# The text is right in TypeScript and C#; in Python it is default=''paid'', which is no Python. A minimum and a maximum of
# 1 mean the same, and make a plain number.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @asyncapi/modelina@5.10.1 typescript@5.9.3 >/dev/null
cat >run.js <<'JS'
import { CSharpGenerator, PYTHON_PYDANTIC_PRESET, PythonGenerator, TS_COMMON_PRESET, TypeScriptGenerator } from "@asyncapi/modelina";
import ts from "typescript";
import { writeFileSync } from "node:fs";
const schema = {
  $schema: "http://json-schema.org/draft-07/schema#", title: "Order", type: "object", required: ["kind", "version", "bounded"],
  properties: { kind: { type: "string", const: "paid" }, version: { type: "integer", const: 1 }, bounded: { type: "integer", minimum: 1, maximum: 1 } },
};
const made = async (generator) => (await generator.generate(schema)).map((model) => model.result).join("\n");
const source = await made(new TypeScriptGenerator({ modelType: "class", presets: [{ preset: TS_COMMON_PRESET, options: { marshalling: true } }] }));
writeFileSync("order.js", ts.transpileModule(`export ${source}`, { compilerOptions: { target: "es2022", module: "es2022" } }).outputText);
const { Order } = await import("./order.js");
console.log("TypeScript", Order.unmarshal({ kind: "paid", version: 1, bounded: 1 }).marshal().replaceAll(" ", ""));
console.log("C#", (await made(new CSharpGenerator())).match(/const .*(?=;)/g).join(", "));
console.log("Python", (await made(new PythonGenerator({ presets: [PYTHON_PYDANTIC_PRESET] }))).match(/default=[^,]+/g).slice(0, 2).join(", "));
JS
npm ls --depth 0 | grep @
seen=$(node run.js)
echo "$seen"
[ "$seen" = "TypeScript {\"kind\":\"paid\",\"bounded\":1}
C# const string kind = \"paid\", const int version = undefined
Python default=''paid'', default='undefined'" ]
