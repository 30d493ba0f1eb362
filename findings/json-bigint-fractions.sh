#!/bin/bash
# Order ids of 18 digits and amounts beside them, read by npm's json-bigint, which is made to keep the digits of large numbers.
#
# One would guess: whole numbers beyond 2^53 become big ones, and whatever has a fraction stays a number.
# It is so: what counts is that the text is longer than 15 characters, point and sign among them.
# - 0.30000000000000004, as JSON.stringify writes 0.1 + 0.2, a time such as 1764324000.123456 and an amount 12345678901234.50 are big, too.
#   With useNativeBigInt they are a SyntaxError, and with them the whole document.
# - Without it they are objects whose + puts texts together: fee + 1 is "0.300000000000000041".
# - -123456789012345, which fits, is big, and 123456789012345 is none. So the sign of a sum decides about its type.
# - 1e21 is a number, as its text is short.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts json-bigint@1.0.0 >/dev/null
cat >try.js <<'EOF2'
const library = require("json-bigint");
console.log("json-bigint " + require("json-bigint/package.json").version);
const kind = (options, text) => {
  try {
    return typeof library(options).parse(`{"v":${text}}`).v;
  } catch (error) {
    return error.name;
  }
};
for (const text of ["123456789012345678", "123456789012345", "-123456789012345", JSON.stringify(0.1 + 0.2), "1764324000.123456", "12345678901234.50", "1e21"]) {
  console.log(`${text}: ${kind({}, text)}, native ${kind({ useNativeBigInt: true }, text)}`);
}
console.log("fee + 1: " + JSON.stringify(library.parse(JSON.stringify({ fee: 0.1 + 0.2 })).fee + 1));
EOF2
node try.js | tee said
diff said - <<'EOF2'
json-bigint 1.0.0
123456789012345678: object, native bigint
123456789012345: number, native number
-123456789012345: object, native bigint
0.30000000000000004: object, native SyntaxError
1764324000.123456: object, native SyntaxError
12345678901234.50: object, native SyntaxError
1e21: number, native number
fee + 1: "0.300000000000000041"
EOF2
