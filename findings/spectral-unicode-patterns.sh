#!/bin/bash
# A pattern with Unicode classes, such as ^\p{L}+$, in a schema of OpenAPI 3.1.
# One would guess: it is read with the u flag, as JSON Schema 2020-12 asks for and ajv does.
# It is so: Spectral and Prism read it without. \p{L} is then the letter p and "{L}", so an example of letters is
# an error, and one that says "p{L}" is not.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @stoplight/spectral-cli@6.16.3 ajv@8.20.0 >/dev/null
echo '{"extends":["spectral:oas"]}' >.spectral.json
npm ls --depth 0 | grep @
seen=""
for example in abc 'p{L}'; do
	cat >document.yaml <<YAML
openapi: 3.1.0
info: { title: t, version: "1" }
paths: {}
components:
  schemas:
    Name: { type: string, pattern: '^\\p{L}+$', example: '$example' }
YAML
	npx spectral lint -r .spectral.json document.yaml >log 2>&1 || true
	grep pattern log || true
	errors=$(grep -c 'must match pattern' log || true)
	ajv=$(node -e 'const Ajv = require("ajv/dist/2020"); console.log(new Ajv().validate({ type: "string", pattern: "^\\p{L}+$" }, process.argv[1]))' "$example")
	seen+="$example: Spectral $errors errors, ajv $ajv; "
done
echo "$seen"
[ "$seen" = 'abc: Spectral 1 errors, ajv true; p{L}: Spectral 0 errors, ajv false; ' ]
