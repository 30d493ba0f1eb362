#!/bin/bash
# Items of DynamoDB as its streams and its exports have them, in DynamoDB's JSON and in Ion, by three readers of npm.
#
# One would guess: binary values are base64 in a stream's record for Lambda, so they are decoded; an id of 18 digits loses its last ones
# where numbers are JavaScript's; what a library writes it reads; and Ion's decimals, which have any number of digits, keep them.
# It is so:
# - dynamodb-streams-processor: a binary value is the bytes of its base64 text: AAEC is four bytes. The difference between two images of an
#   item whose id has changed in the last digit is empty, so that the change is not seen at all.
# - dynamo-converters: a number with an exponent is read up to its "e": 1e-7 and 1e21, as it writes them, are both 1. Sets throw.
# - ion-js: String keeps all digits, of whole numbers, too. JSON.stringify rounds both, without a word.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error dynamodb-streams-processor@1.0.2 dynamo-converters@9.1.1 ion-js@5.2.1 >/dev/null 2>&1
cat >run.js <<'JS'
const read = require("dynamodb-streams-processor"), { dataToItem, itemToData } = require("dynamo-converters"), ion = require("ion-js");
const image = N => ({ id: { N }, key: { B: "AAEC" } });
const [{ dynamodb }] = read([{ dynamodb: { Keys: { pk: { S: "a" } }, OldImage: image("529712906619584513"), NewImage: image("529712906619584514") } }], "default");
console.log("stream: key", dynamodb.NewImage.key.toString("hex"), "id", dynamodb.NewImage.id, "difference", JSON.stringify(dynamodb.Diff));
for (const v of [14.99, 1e-7, 1e21]) console.log("converter:", JSON.stringify(dataToItem({ v })), "is", itemToData(dataToItem({ v })).v);
try { itemToData({ v: { SS: ["a"] } }); } catch (e) { console.log("converter: a set:", e.message); }
for (const text of ["529712906619584513.", "529712906619584513"]) console.log("ion:", text, "is", String(ion.load(text)), "and in JSON", JSON.stringify(ion.load(text)));
JS
npm ls --depth 0 | grep @
seen=$(node --no-warnings run.js 2>/dev/null)
echo "$seen"
[ "$seen" = 'stream: key 41414543 id 529712906619584500 difference {}
converter: {"v":{"N":"14.99"}} is 14.99
converter: {"v":{"N":"1e-7"}} is 1
converter: {"v":{"N":"1e+21"}} is 1
converter: a set: Unsupported data type
ion: 529712906619584513. is 529712906619584513 and in JSON 529712906619584500
ion: 529712906619584513 is 529712906619584513 and in JSON 529712906619584500' ]
